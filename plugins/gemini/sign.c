/*
 * sign.c - RS256 by libcrypto, and nothing else of it: the one thing here that we would not write ourselves.
 */
#include "sign.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#define SIGN_BITS_MIN 2048 /* of a key: shorter ones are not accepted any more, by anyone */

/* Appends base64url without padding; the end. */
static char *put_base64url(char *out, const unsigned char *bytes, uint64_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint64_t i = 0;
    for (; i + 2 < length; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6) *out++ = digits[three >> shift & 63];
    }
    if (i < length) {
        uint32_t rest = (uint32_t)bytes[i] << 16 | (i + 1 < length ? (uint32_t)bytes[i + 1] << 8 : 0);
        *out++ = digits[rest >> 18 & 63];
        *out++ = digits[rest >> 12 & 63];
        if (i + 1 < length) *out++ = digits[rest >> 6 & 63];
    }
    return out;
}

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
        char *at = put_base64url(text, (const unsigned char *)head, a);
        *at++ = '.';
        *end = put_base64url(at, (const unsigned char *)body, b);
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
        end = put_base64url(end, signature, size);
        token = tn_text_n(text, (uint64_t)(end - text));
    }
    tn.core->release(tn.host, signature);
    tn.core->release(tn.host, text);
    EVP_PKEY_free(key);
    ERR_clear_error(); /* the thread's list is shared with whoever else uses the library */
    return token;
}
