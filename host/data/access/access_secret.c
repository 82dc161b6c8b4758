/*
 * access_secret.c - makes, recognizes and hashes the texts of keys.
 */
#include "host/data/access/access_secret.h"
#include "host/base/random.h"
#include <stdint.h>
#include <string.h>
#include <tenon/util/sha256.h>

#define SECRET_PREFIX  "tn_"
#define RANDOM_BYTES   32
#define RANDOM_LENGTH  43 /* characters of RANDOM_BYTES */
#define CHECKED_LENGTH (sizeof SECRET_PREFIX - 1 + RANDOM_LENGTH)
#define CHECK_LENGTH   (ACCESS_SECRET_LENGTH - CHECKED_LENGTH)

/* Writes `length` characters of base64url without padding; `bytes` has at least 6 bits for each. */
static void write_base64url(const unsigned char *bytes, char *out, size_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t bits = 0, held = 0;
    for (size_t i = 0; i < length; i++) {
        if (held < 6) {
            bits = bits << 8 | *bytes++;
            held += 8;
        }
        held -= 6;
        out[i] = digits[bits >> held & 63];
    }
}

/* The characters that follow the first CHECKED_LENGTH ones of a secret. */
static void write_check(const char *text, char out[CHECK_LENGTH]) {
    unsigned char hash[ACCESS_HASH_BYTES];
    access_secret_hash(text, CHECKED_LENGTH, hash);
    write_base64url(hash, out, CHECK_LENGTH);
}

void access_secret_make(char out[ACCESS_SECRET_TEXT]) {
    unsigned char bytes[RANDOM_BYTES + 1] = {0}; /* the last character has only 4 random bits */
    random_fill(bytes, RANDOM_BYTES);
    memcpy(out, SECRET_PREFIX, sizeof SECRET_PREFIX - 1);
    write_base64url(bytes, out + sizeof SECRET_PREFIX - 1, RANDOM_LENGTH);
    write_check(out, out + CHECKED_LENGTH);
    out[ACCESS_SECRET_LENGTH] = '\0';
    explicit_bzero(bytes, sizeof bytes);
}

bool access_secret_is_formed(const char *text, size_t length) {
    char check[CHECK_LENGTH];
    if (length != ACCESS_SECRET_LENGTH || memcmp(text, SECRET_PREFIX, sizeof SECRET_PREFIX - 1) != 0) return false;
    write_check(text, check);
    return memcmp(text + CHECKED_LENGTH, check, CHECK_LENGTH) == 0;
}

void access_secret_hash(const char *text, size_t length, unsigned char out[ACCESS_HASH_BYTES]) {
    struct tn_sha256 state;
    tn_sha256_init(&state);
    tn_sha256_update(&state, text, length);
    tn_sha256_finish(&state, out);
}

void access_hash_write(const unsigned char hash[ACCESS_HASH_BYTES], char out[ACCESS_HASH_TEXT]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < ACCESS_HASH_BYTES; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[ACCESS_HASH_TEXT - 1] = '\0';
}

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

bool access_hash_read(const char *text, size_t length, unsigned char out[ACCESS_HASH_BYTES]) {
    if (length != ACCESS_HASH_TEXT - 1) return false;
    for (size_t i = 0; i < ACCESS_HASH_BYTES; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}
