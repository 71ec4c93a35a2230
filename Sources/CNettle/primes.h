#ifndef TOUCHSTONE_CNETTLE_PRIMES_H
#define TOUCHSTONE_CNETTLE_PRIMES_H

#include <nettle/rsa.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "numbers.h"

// A process that gets no random bytes must not go on to make keys of others.
static inline void touchstone_random(void *context, size_t count, uint8_t *bytes) {
    (void)context;
    while (count > 0) {
        size_t part = count < 256 ? count : 256;
        if (getentropy(bytes, part) != 0) abort();
        bytes += part;
        count -= part;
    }
}

// Makes an RSA key of so many bits, a multiple of 8, with the exponent 65537. Writes the modulus, the private exponent,
// both primes, the private exponent modulo each of them less 1, and the inverse of the second prime modulo the first:
// big-endian, in bits / 8 bytes each.
static inline bool touchstone_generate_rsa(uint8_t *numbers, unsigned bits) {
    struct rsa_public_key public_key;
    struct rsa_private_key key;
    rsa_public_key_init(&public_key);
    rsa_private_key_init(&key);
    mpz_set_ui(public_key.e, 65537);
    bool is_done = rsa_generate_keypair(&public_key, &key, NULL, touchstone_random, NULL, NULL, bits, 0);
    size_t count = bits / 8;
    if (is_done) {
        touchstone_write_number(numbers, count, public_key.n);
        touchstone_write_number(numbers + count, count, key.d);
        touchstone_write_number(numbers + 2 * count, count, key.p);
        touchstone_write_number(numbers + 3 * count, count, key.q);
        touchstone_write_number(numbers + 4 * count, count, key.a);
        touchstone_write_number(numbers + 5 * count, count, key.b);
        touchstone_write_number(numbers + 6 * count, count, key.c);
    }
    mpz_ptr secrets[] = {key.d, key.p, key.q, key.a, key.b, key.c};
    for (size_t index = 0; index < sizeof secrets / sizeof *secrets; index++) {
        explicit_bzero(secrets[index]->_mp_d, (size_t)secrets[index]->_mp_alloc * sizeof(mp_limb_t));
    }
    rsa_private_key_clear(&key);
    rsa_public_key_clear(&public_key);
    return is_done;
}

#endif
