#ifndef TOUCHSTONE_COPENSSL_H
#define TOUCHSTONE_COPENSSL_H

#if !__has_include(<openssl/x509.h>)
#error "OpenSSL's headers are missing. On Debian, install libssl-dev."
#endif

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// Every function of libcrypto that is called. Nothing links libcrypto: a program that verifies no certificate never
// loads it (DEC-340). The types are those of OpenSSL's own headers.
#define COPENSSL_FUNCTIONS(FUNCTION) \
    FUNCTION(ASN1_TIME_to_tm) \
    FUNCTION(ERR_clear_error) \
    FUNCTION(EVP_PKEY_get_base_id) \
    FUNCTION(EVP_PKEY_get_bits) \
    FUNCTION(EVP_get_digestbyname) \
    FUNCTION(OBJ_nid2obj) \
    FUNCTION(OBJ_nid2sn) \
    FUNCTION(OBJ_obj2nid) \
    FUNCTION(OCSP_BASICRESP_free) \
    FUNCTION(OCSP_CERTID_free) \
    FUNCTION(OCSP_RESPONSE_free) \
    FUNCTION(OCSP_SINGLERESP_get0_id) \
    FUNCTION(OCSP_basic_verify) \
    FUNCTION(OCSP_cert_to_id) \
    FUNCTION(OCSP_id_cmp) \
    FUNCTION(OCSP_id_get0_info) \
    FUNCTION(OCSP_resp_count) \
    FUNCTION(OCSP_resp_get0) \
    FUNCTION(OCSP_response_get1_basic) \
    FUNCTION(OCSP_response_status) \
    FUNCTION(OCSP_single_get0_status) \
    FUNCTION(OPENSSL_sk_free) \
    FUNCTION(OPENSSL_sk_new_null) \
    FUNCTION(OPENSSL_sk_num) \
    FUNCTION(OPENSSL_sk_push) \
    FUNCTION(OPENSSL_sk_value) \
    FUNCTION(X509_NAME_entry_count) \
    FUNCTION(X509_STORE_CTX_free) \
    FUNCTION(X509_STORE_CTX_get0_chain) \
    FUNCTION(X509_STORE_CTX_get0_param) \
    FUNCTION(X509_STORE_CTX_get_error) \
    FUNCTION(X509_STORE_CTX_get_error_depth) \
    FUNCTION(X509_STORE_CTX_get_ex_data) \
    FUNCTION(X509_STORE_CTX_init) \
    FUNCTION(X509_STORE_CTX_new) \
    FUNCTION(X509_STORE_CTX_set_ex_data) \
    FUNCTION(X509_STORE_CTX_set_verify_cb) \
    FUNCTION(X509_STORE_add_cert) \
    FUNCTION(X509_STORE_free) \
    FUNCTION(X509_STORE_get0_param) \
    FUNCTION(X509_STORE_new) \
    FUNCTION(X509_VERIFY_PARAM_add0_policy) \
    FUNCTION(X509_VERIFY_PARAM_set_depth) \
    FUNCTION(X509_VERIFY_PARAM_set_flags) \
    FUNCTION(X509_VERIFY_PARAM_set_time) \
    FUNCTION(X509_check_email) \
    FUNCTION(X509_check_host) \
    FUNCTION(X509_check_ip_asc) \
    FUNCTION(X509_free) \
    FUNCTION(X509_get0_notAfter) \
    FUNCTION(X509_get0_notBefore) \
    FUNCTION(X509_get0_pubkey) \
    FUNCTION(X509_get_ext_by_NID) \
    FUNCTION(X509_get_extended_key_usage) \
    FUNCTION(X509_get_extension_flags) \
    FUNCTION(X509_get_signature_info) \
    FUNCTION(X509_get_subject_name) \
    FUNCTION(X509_up_ref) \
    FUNCTION(X509_verify_cert) \
    FUNCTION(d2i_OCSP_RESPONSE) \
    FUNCTION(d2i_X509) \
    FUNCTION(i2d_X509)

struct copenssl_functions {
#define COPENSSL_FIELD(name) __typeof__(name) *_Nonnull name;
    COPENSSL_FUNCTIONS(COPENSSL_FIELD)
#undef COPENSSL_FIELD
};

// The functions of libcrypto.so.3, which is loaded at the first call. NULL if the library or one of the functions is
// not there. The answer never changes while the process runs. Any thread may call this.
const struct copenssl_functions *_Nullable copenssl_load(void);

#endif
