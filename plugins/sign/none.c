/*
 * none.c - for builds without libcrypto: every function fails, and sign_is_available returns false.
 */
#include "sign.h"

bool sign_is_available(void) { return false; }

const char *sign_key_algorithm(const char *pem, uint64_t length) {
    (void)pem, (void)length;
    return NULL;
}

tn_value sign_jwt_take(tn_value header, tn_value claims, const char *pem, uint64_t length) {
    (void)pem, (void)length;
    tn_release(header);
    tn_release(claims);
    return NULL;
}

tn_value sign_make_key(void) { return NULL; }

tn_value sign_public_key(const char *pem, uint64_t length) {
    (void)pem, (void)length;
    return NULL;
}
