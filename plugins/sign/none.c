/*
 * none.c - a build without libcrypto: nothing can be signed, and whoever asks is told.
 */
#include "sign.h"

bool sign_there(void) { return false; }

bool sign_sha256(const void *bytes, uint64_t length, unsigned char hash[SIGN_SHA256]) {
    (void)bytes, (void)length, (void)hash;
    return false;
}

const char *sign_algorithm(const char *pem, uint64_t length) {
    (void)pem, (void)length;
    return NULL;
}

tn_value sign_jwt_take(tn_value header, tn_value claims, const char *pem, uint64_t length) {
    (void)pem, (void)length;
    tn_release(header);
    tn_release(claims);
    return NULL;
}

tn_value sign_new_key(void) { return NULL; }

tn_value sign_public(const char *pem, uint64_t length) {
    (void)pem, (void)length;
    return NULL;
}
