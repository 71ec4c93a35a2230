// What Swift cannot import of tpm2-tss: constants behind casts, and templates, which are unions inside unions.
#ifndef C_TSS_H
#define C_TSS_H

#include <tss2/tss2_esys.h>
#include <tss2/tss2_mu.h>
#include <tss2/tss2_sys.h>

static const UINT32 TOUCHSTONE_PT_PERMANENT = TPM2_PT_PERMANENT;
static const UINT32 TOUCHSTONE_PT_LOCKOUT_COUNTER = TPM2_PT_LOCKOUT_COUNTER;
static const UINT32 TOUCHSTONE_PT_MAX_AUTH_FAIL = TPM2_PT_MAX_AUTH_FAIL;
static const UINT32 TOUCHSTONE_PT_LOCKOUT_INTERVAL = TPM2_PT_LOCKOUT_INTERVAL;
static const UINT32 TOUCHSTONE_PT_MANUFACTURER = TPM2_PT_MANUFACTURER;
static const UINT32 TOUCHSTONE_TRANSIENT_FIRST = TPM2_TRANSIENT_FIRST;
static const UINT32 TOUCHSTONE_LOADED_SESSION_FIRST = TPM2_LOADED_SESSION_FIRST;

// The parent of everything of ours: ECC P-256, restricted to decryption, AES-128-CFB, derived again from the hierarchy's seed.
static const TPM2B_PUBLIC TOUCHSTONE_PRIMARY = {
    .publicArea = {
        .type = TPM2_ALG_ECC,
        .nameAlg = TPM2_ALG_SHA256,
        .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN
            | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT,
        .parameters.eccDetail = {
            .symmetric = { .algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB },
            .scheme = { .scheme = TPM2_ALG_NULL },
            .curveID = TPM2_ECC_NIST_P256,
            .kdf = { .scheme = TPM2_ALG_NULL },
        },
    },
};

// Data that opens with its authorization value and nothing else.
static const TPM2B_PUBLIC TOUCHSTONE_SEALED = {
    .publicArea = {
        .type = TPM2_ALG_KEYEDHASH,
        .nameAlg = TPM2_ALG_SHA256,
        .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_USERWITHAUTH,
        .parameters.keyedHashDetail.scheme = { .scheme = TPM2_ALG_NULL },
    },
};

// A key of an app: P-256, signs and exchanges keys, made in the TPM and used there, with its authorization value and nothing else.
static const TPM2B_PUBLIC TOUCHSTONE_KEY = {
    .publicArea = {
        .type = TPM2_ALG_ECC,
        .nameAlg = TPM2_ALG_SHA256,
        .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN
            | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA | TPMA_OBJECT_SIGN_ENCRYPT | TPMA_OBJECT_DECRYPT,
        .parameters.eccDetail = {
            .symmetric = { .algorithm = TPM2_ALG_NULL },
            .scheme = { .scheme = TPM2_ALG_NULL },
            .curveID = TPM2_ECC_NIST_P256,
            .kdf = { .scheme = TPM2_ALG_NULL },
        },
    },
};

// What is signed is a digest that somebody else made.
static const TPMT_SIG_SCHEME TOUCHSTONE_SIGNATURE = { .scheme = TPM2_ALG_ECDSA, .details.ecdsa.hashAlg = TPM2_ALG_SHA256 };
static const TPMT_TK_HASHCHECK TOUCHSTONE_NO_TICKET = { .tag = TPM2_ST_HASHCHECK, .hierarchy = TPM2_RH_NULL };

// A counter that nobody writes or reads without its authorization value; wrong ones are not counted against anybody.
static const TPMA_NV TOUCHSTONE_COUNTER_ATTRIBUTES =
    (TPM2_NT_COUNTER << TPMA_NV_TPM2_NT_SHIFT) | TPMA_NV_AUTHREAD | TPMA_NV_AUTHWRITE | TPMA_NV_NO_DA;

// What opens with its authorization value alone; wrong ones are counted, as of objects.
static const TPMA_NV TOUCHSTONE_GATE_ATTRIBUTES = TPMA_NV_AUTHREAD | TPMA_NV_AUTHWRITE;

static const TPMT_SYM_DEF TOUCHSTONE_SESSION_CIPHER = {
    .algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB,
};

#endif
