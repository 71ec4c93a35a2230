#ifndef TOUCHSTONE_CNETTLE_NUMBERS_H
#define TOUCHSTONE_CNETTLE_NUMBERS_H

#include <gmp.h>
#include <stdint.h>
#include <string.h>

// Reads a big-endian number.
static inline void touchstone_read_number(mpz_t number, const uint8_t *bytes, size_t count) {
    mpz_import(number, count, 1, 1, 1, 0, bytes);
}

// Writes a number in so many bytes, big-endian; it fits.
static inline void touchstone_write_number(uint8_t *bytes, size_t count, const mpz_t number) {
    memset(bytes, 0, count);
    size_t used = (mpz_sizeinbase(number, 2) + 7) / 8;
    if (mpz_sgn(number) != 0) mpz_export(bytes + count - used, NULL, 1, 1, 1, 0, number);
}

// Frees a number that may be a secret.
static inline void touchstone_erase_number(mpz_t number) {
    explicit_bzero(number->_mp_d, (size_t)number->_mp_alloc * sizeof(mp_limb_t));
    mpz_clear(number);
}

#endif
