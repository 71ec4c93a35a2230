#ifndef TOUCHSTONE_CGMP_H
#define TOUCHSTONE_CGMP_H

#include <gmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline void touchstone_wipe(mpz_t number) {
    explicit_bzero(number->_mp_d, (size_t)number->_mp_alloc * sizeof(mp_limb_t));
    mpz_clear(number);
}

// base^exponent modulo an odd modulus, in as many bytes as the base has; all numbers big-endian. In a time that does not
// depend on the base. False for an even modulus or one less than 3, a base that is not less than it, and the exponent 0.
static inline bool touchstone_power(uint8_t *result, const uint8_t *base, size_t count, uint64_t exponent,
                                    const uint8_t *modulus, size_t modulus_count) {
    mpz_t b, e, m, r;
    mpz_inits(b, e, m, r, NULL);
    mpz_import(b, count, 1, 1, 1, 0, base);
    mpz_import(e, 1, 1, sizeof exponent, 0, 0, &exponent);
    mpz_import(m, modulus_count, 1, 1, 1, 0, modulus);
    bool is_allowed = exponent > 0 && mpz_odd_p(m) && mpz_cmp_ui(m, 3) >= 0 && mpz_cmp(b, m) < 0;
    if (is_allowed) {
        mpz_powm_sec(r, b, e, m);
        size_t bytes = (mpz_sizeinbase(r, 2) + 7) / 8;
        is_allowed = bytes <= count || mpz_sgn(r) == 0;
        if (is_allowed) {
            memset(result, 0, count);
            if (mpz_sgn(r) != 0) mpz_export(result + count - bytes, NULL, 1, 1, 1, 0, r);
        }
    }
    touchstone_wipe(b);
    touchstone_wipe(r);
    mpz_clears(e, m, NULL);
    return is_allowed;
}

// base^exponent modulo an odd modulus, in as many bytes as the modulus has; all numbers big-endian. In a time that does
// not depend on the exponent. False for an even modulus or one less than 3, a base that is not less than it, and the exponent 0.
static inline bool touchstone_secret_power(uint8_t *result, const uint8_t *base, size_t count, const uint8_t *exponent,
                                           size_t exponent_count, const uint8_t *modulus, size_t modulus_count) {
    mpz_t b, e, m, r;
    mpz_inits(b, e, m, r, NULL);
    mpz_import(b, count, 1, 1, 1, 0, base);
    mpz_import(e, exponent_count, 1, 1, 1, 0, exponent);
    mpz_import(m, modulus_count, 1, 1, 1, 0, modulus);
    bool is_allowed = mpz_sgn(e) > 0 && mpz_odd_p(m) && mpz_cmp_ui(m, 3) >= 0 && mpz_cmp(b, m) < 0;
    if (is_allowed) {
        mpz_powm_sec(r, b, e, m);
        size_t bytes = mpz_sgn(r) == 0 ? 0 : (mpz_sizeinbase(r, 2) + 7) / 8;
        memset(result, 0, modulus_count);
        if (bytes > 0) mpz_export(result + modulus_count - bytes, NULL, 1, 1, 1, 0, r);
    }
    touchstone_wipe(e);
    touchstone_wipe(r);
    mpz_clears(b, m, NULL);
    return is_allowed;
}

#endif
