/*
 * sign.c - RS256 by libcrypto, and nothing else of it: the one thing here that we would not write ourselves.
 */
#include "sign.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <tenon/base64.h>

#define SIGN_BITS_MIN 2048 /* of a key: shorter ones are not accepted any more, by anyone */

static EVP_PKEY *read_key(const char *pem, uint64_t length) {
    BIO *memory = length <= INT_MAX ? BIO_new_mem_buf(pem, (int)length) : NULL;
    EVP_PKEY *key = memory != NULL ? PEM_read_bio_PrivateKey(memory, NULL, NULL, NULL) : NULL;
    BIO_free(memory);
    if (key != NULL && EVP_PKEY_base_id(key) == EVP_PKEY_RSA && EVP_PKEY_bits(key) >= SIGN_BITS_MIN) return key;
    EVP_PKEY_free(key);
    return NULL;
}

/* The signature of `text`, alloc'ed; NULL where it cannot be made. */
static unsigned char *sign(EVP_PKEY *key, const char *text, uint64_t length, size_t *size) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char *made = NULL;
    const unsigned char *bytes = (const unsigned char *)text;
    if (context != NULL && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
        EVP_DigestSign(context, NULL, size, bytes, length) == 1)
        made = tn.core->alloc(tn.host, *size);
    if (made != NULL && EVP_DigestSign(context, made, size, bytes, length) != 1) {
        tn.core->release(tn.host, made);
        made = NULL;
    }
    EVP_MD_CTX_free(context);
    return made;
}

/* "header.claims." with room for a signature of `more` bytes; the end of it in *end. */
static char *signed_part(tn_value header, tn_value claims, uint64_t more, char **end) {
    tn_value first = tn.value->to_json(header), second = tn.value->to_json(claims);
    uint64_t a = 0, b = 0;
    const char *head = tn_chars(first, &a), *body = tn_chars(second, &b);
    char *text = head != NULL && body != NULL ? tn.core->alloc(tn.host, (a + b + more) / 3 * 4 + 16) : NULL;
    if (text != NULL) {
        char *at = tn_base64url_put(text, head, a);
        *at++ = '.';
        *end = tn_base64url_put(at, body, b);
    }
    tn_release(first);
    tn_release(second);
    return text;
}

tn_value sign_jwt(tn_value header, tn_value claims, const char *pem, uint64_t length) {
    EVP_PKEY *key = read_key(pem, length);
    char *end = NULL, *text = key != NULL ? signed_part(header, claims, (uint64_t)EVP_PKEY_size(key), &end) : NULL;
    size_t size = 0;
    unsigned char *signature = text != NULL ? sign(key, text, (uint64_t)(end - text), &size) : NULL;
    tn_value token = NULL;
    if (signature != NULL) {
        *end++ = '.';
        end = tn_base64url_put(end, signature, size);
        token = tn_text_n(text, (uint64_t)(end - text));
    }
    tn.core->release(tn.host, signature);
    tn.core->release(tn.host, text);
    EVP_PKEY_free(key);
    ERR_clear_error(); /* the thread's list is shared with whoever else uses the library */
    return token;
}
