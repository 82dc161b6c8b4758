/*
 * tenon/util/sha256.h - SHA-256 (FIPS 180-4).
 *
 *     struct tn_sha256 state;
 *     char text[TN_SHA256_TEXT];
 *     tn_sha256_init(&state);
 *     tn_sha256_update(&state, bytes, length);   // any number of times
 *     tn_sha256_finish_text(&state, text);       // 64 hexadecimal digits and a NUL; the state is used up
 *
 * Not for passwords, and not a MAC by itself. Thread: any. Nothing here allocates or fails.
 */
#ifndef TENON_UTIL_SHA256_H
#define TENON_UTIL_SHA256_H

#include <stdint.h>
#include <string.h>
#include <tenon/util/cast.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_SHA256_BYTES 32
#define TN_SHA256_TEXT  65 /* with the NUL */

struct tn_sha256 {
    uint32_t hash[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
};

static inline uint32_t tn_sha256_rotate(uint32_t word, uint32_t by) { return word >> by | word << (32 - by); }

static inline void tn_sha256_store(unsigned char *out, uint64_t word, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) out[i] = TN_UTIL_CAST(unsigned char, word >> (8 * (size - 1 - i)) & 0xFF);
}

static inline void tn_sha256_mix(uint32_t hash[8], const unsigned char block[64]) {
    /* The fractional parts of the cube roots of the first 64 primes. */
    static const uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
    };
    /* Variables stay in registers; an array would be moved in memory by each step. */
    uint32_t a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4], f = hash[5], g = hash[6], h = hash[7];
    uint32_t words[64];
    for (uint32_t i = 0; i < 16; i++) {
        const unsigned char *from = block + 4 * i;
        words[i] = TN_UTIL_CAST(uint32_t, from[0]) << 24 | TN_UTIL_CAST(uint32_t, from[1]) << 16 |
                   TN_UTIL_CAST(uint32_t, from[2]) << 8 | from[3];
    }
    for (uint32_t i = 16; i < 64; i++) {
        uint32_t newer = words[i - 2], older = words[i - 15];
        words[i] = words[i - 16] + (tn_sha256_rotate(older, 7) ^ tn_sha256_rotate(older, 18) ^ older >> 3) +
                   words[i - 7] + (tn_sha256_rotate(newer, 17) ^ tn_sha256_rotate(newer, 19) ^ newer >> 10);
    }
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t first = h + (tn_sha256_rotate(e, 6) ^ tn_sha256_rotate(e, 11) ^ tn_sha256_rotate(e, 25)) +
                         ((e & f) ^ (~e & g)) + constants[i] + words[i];
        uint32_t second = (tn_sha256_rotate(a, 2) ^ tn_sha256_rotate(a, 13) ^ tn_sha256_rotate(a, 22)) +
                          ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + second;
    }
    hash[0] += a, hash[1] += b, hash[2] += c, hash[3] += d;
    hash[4] += e, hash[5] += f, hash[6] += g, hash[7] += h;
}

static inline void tn_sha256_init(struct tn_sha256 *state) {
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(state, 0, sizeof(*state));
    memcpy(state->hash, first, sizeof(first));
}

static inline void tn_sha256_update(struct tn_sha256 *state, const void *bytes, uint64_t length) {
    const unsigned char *from = TN_UTIL_CAST(const unsigned char *, bytes);
    uint64_t used = state->length % 64;
    state->length += length;
    while (length > 0) {
        uint64_t part = 64 - used < length ? 64 - used : length;
        memcpy(state->block + used, from, part);
        from += part;
        length -= part;
        used += part;
        if (used < 64) break;
        tn_sha256_mix(state->hash, state->block);
        used = 0;
    }
}

static inline void tn_sha256_finish(struct tn_sha256 *state, unsigned char out[TN_SHA256_BYTES]) {
    static const unsigned char padding[64] = {0x80};
    unsigned char bits[8];
    tn_sha256_store(bits, state->length * 8, 8);
    tn_sha256_update(state, padding, 1 + (119 - state->length % 64) % 64);
    tn_sha256_update(state, bits, 8);
    for (uint32_t i = 0; i < 8; i++) tn_sha256_store(out + 4 * i, state->hash[i], 4);
}

/* The same as 64 lower-case hexadecimal digits and a NUL. */
static inline void tn_sha256_finish_text(struct tn_sha256 *state, char out[TN_SHA256_TEXT]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[TN_SHA256_BYTES];
    tn_sha256_finish(state, hash);
    for (uint32_t i = 0; i < TN_SHA256_BYTES; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[TN_SHA256_TEXT - 1] = '\0';
}

/* All steps in one call. */
static inline void tn_sha256_hash(const void *bytes, uint64_t length, unsigned char out[TN_SHA256_BYTES]) {
    struct tn_sha256 state;
    tn_sha256_init(&state);
    tn_sha256_update(&state, bytes, length);
    tn_sha256_finish(&state, out);
}

#ifdef __cplusplus
}
#endif
#endif
