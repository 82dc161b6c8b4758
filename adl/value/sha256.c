/*
 * sha256.c - as FIPS 180-4 writes it down; its constants are the fractional parts of roots of the first primes.
 */
#include "adl/value/sha256.h"
#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, unsigned by) { return word >> by | word << (32 - by); }

static uint32_t load(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void store(unsigned char *out, uint64_t word, unsigned size) {
    for (unsigned i = 0; i < size; i++) out[i] = (unsigned char)(word >> 8 * (size - 1 - i));
}

static void mix(uint32_t hash[8], const unsigned char block[64]) {
    uint32_t words[64], at[8];
    for (int i = 0; i < 16; i++) words[i] = load(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t a = words[i - 15], b = words[i - 2];
        words[i] = words[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + words[i - 7] +
                   (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(at, hash, sizeof at);
    for (int i = 0; i < 64; i++) {
        uint32_t a = at[0], e = at[4];
        uint32_t first = at[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & at[5]) ^ (~e & at[6])) +
                         round_constants[i] + words[i];
        uint32_t second =
            (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & at[1]) ^ (a & at[2]) ^ (at[1] & at[2]));
        memmove(at + 1, at, 7 * sizeof *at);
        at[4] += first;
        at[0] = first + second;
    }
    for (int i = 0; i < 8; i++) hash[i] += at[i];
}

void sha256_init(struct sha256 *state) {
    *state = (struct sha256){
        .hash = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *state, const void *bytes, size_t length) {
    const unsigned char *from = bytes;
    size_t used = state->length % 64;
    state->length += length;
    while (length > 0) {
        size_t part = 64 - used < length ? 64 - used : length;
        memcpy(state->block + used, from, part);
        from += part;
        length -= part;
        used += part;
        if (used < 64) break;
        mix(state->hash, state->block);
        used = 0;
    }
}

void sha256_finish(struct sha256 *state, unsigned char out[SHA256_BYTES]) {
    static const unsigned char padding[64] = {0x80};
    unsigned char length[8];
    store(length, state->length * 8, 8);
    sha256_add(state, padding, 1 + (119 - state->length % 64) % 64);
    sha256_add(state, length, 8);
    for (int i = 0; i < 8; i++) store(out + 4 * i, state->hash[i], 4);
}

void sha256_text(struct sha256 *state, char out[SHA256_TEXT]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[SHA256_BYTES];
    sha256_finish(state, hash);
    for (int i = 0; i < SHA256_BYTES; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[SHA256_TEXT - 1] = '\0';
}
