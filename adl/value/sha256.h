/*
 * sha256.h - SHA-256 (FIPS 180-4), for identities that outlive a process: graphs, contents of files.
 *
 *     struct sha256 state;
 *     char text[SHA256_TEXT];
 *     sha256_init(&state);
 *     sha256_add(&state, bytes, length);      // any number of times
 *     sha256_text(&state, text);              // 64 hexadecimal digits and a NUL; the state is used up
 */
#ifndef TENON_ADL_SHA256_H
#define TENON_ADL_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_TEXT  65 /* with the NUL */

struct sha256 {
    uint32_t hash[8];
    uint64_t length;
    unsigned char block[64];
};

void sha256_init(struct sha256 *state);
void sha256_add(struct sha256 *state, const void *bytes, size_t length);
void sha256_finish(struct sha256 *state, unsigned char out[SHA256_BYTES]);
void sha256_text(struct sha256 *state, char out[SHA256_TEXT]);

#endif
