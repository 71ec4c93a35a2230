#ifndef TOUCHSTONE_CNETTLE_CURVES_H
#define TOUCHSTONE_CNETTLE_CURVES_H

#include <nettle/dsa.h>
#include <nettle/ecc-curve.h>
#include <nettle/ecc.h>
#include <nettle/ecdsa.h>
#include <stdbool.h>

#include "numbers.h"

// Points are X ‖ Y. Coordinates and numbers are big-endian and have `count` bytes each.

// P-192 or P-224; NULL for any other size.
static inline const struct ecc_curve *touchstone_old_curve(unsigned bits) {
    switch (bits) {
    case 192: return nettle_get_secp_192r1();
    case 224: return nettle_get_secp_224r1();
    default: return NULL;
    }
}

// False if the coordinates are no point of the curve.
static inline bool touchstone_read_point(struct ecc_point *point, const uint8_t *bytes, size_t count) {
    mpz_t x, y;
    mpz_inits(x, y, NULL);
    touchstone_read_number(x, bytes, count);
    touchstone_read_number(y, bytes + count, count);
    bool is_point = ecc_point_set(point, x, y);
    mpz_clears(x, y, NULL);
    return is_point;
}

// Whether the coordinates are a point of the curve. The point at infinity has none.
static inline bool touchstone_is_point(unsigned bits, const uint8_t *bytes, size_t count) {
    const struct ecc_curve *curve = touchstone_old_curve(bits);
    if (curve == NULL) return false;
    struct ecc_point point;
    ecc_point_init(&point, curve);
    bool is_point = touchstone_read_point(&point, bytes, count);
    ecc_point_clear(&point);
    return is_point;
}

// A secret number times a point, or times the generator where `point` is NULL. The memory accesses of nettle's
// multiplication do not depend on the number. False for a number that is 0 or not less than the order, and for what is
// no point of the curve.
static inline bool touchstone_multiply(uint8_t *product, unsigned bits, const uint8_t *number, const uint8_t *point,
                                       size_t count) {
    const struct ecc_curve *curve = touchstone_old_curve(bits);
    if (curve == NULL) return false;
    struct ecc_scalar scalar;
    struct ecc_point factor, result;
    ecc_scalar_init(&scalar, curve);
    ecc_point_init(&factor, curve);
    ecc_point_init(&result, curve);
    mpz_t k, x, y;
    mpz_inits(k, x, y, NULL);
    touchstone_read_number(k, number, count);
    bool is_allowed = ecc_scalar_set(&scalar, k) && (point == NULL || touchstone_read_point(&factor, point, count));
    if (is_allowed) {
        if (point == NULL) {
            ecc_point_mul_g(&result, &scalar);
        } else {
            ecc_point_mul(&result, &scalar, &factor);
        }
        ecc_point_get(&result, x, y);
        touchstone_write_number(product, count, x);
        touchstone_write_number(product + count, count, y);
    }
    touchstone_erase_number(k);
    touchstone_erase_number(x);
    touchstone_erase_number(y);
    explicit_bzero(scalar.p, (size_t)ecc_size(curve) * sizeof(mp_limb_t));
    explicit_bzero(result.p, (size_t)ecc_size_a(curve) * sizeof(mp_limb_t));
    ecc_scalar_clear(&scalar);
    ecc_point_clear(&factor);
    ecc_point_clear(&result);
    return is_allowed;
}

// Whether r ‖ s is the signature of a digest by the holder of a point.
static inline bool touchstone_verify(unsigned bits, const uint8_t *point, const uint8_t *signature, size_t count,
                                     const uint8_t *digest, size_t digest_count) {
    const struct ecc_curve *curve = touchstone_old_curve(bits);
    if (curve == NULL) return false;
    struct ecc_point key;
    struct dsa_signature numbers;
    ecc_point_init(&key, curve);
    dsa_signature_init(&numbers);
    touchstone_read_number(numbers.r, signature, count);
    touchstone_read_number(numbers.s, signature + count, count);
    bool is_valid = touchstone_read_point(&key, point, count) && ecdsa_verify(&key, digest_count, digest, &numbers);
    dsa_signature_clear(&numbers);
    ecc_point_clear(&key);
    return is_valid;
}

#endif
