/*
 * sign.c - RS256 and ES256 with libcrypto.
 */
#include "sign.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <tenon/base64.h>
#include <tenon/util/build.h>

#define SIGN_BITS_MIN 2048 /* of an RSA key; shorter keys are not secure */
#define ES256_BITS    256
#define ES256_BYTES   32

/* Keys that are protected by a password are not supported: no prompt. */
static int no_password(char *out, int size, int writing, void *user) {
    (void)out, (void)size, (void)writing, (void)user;
    return 0;
}

bool sign_is_available(void) { return true; }

/* ---- Keys ---- */

static const char *key_algorithm(EVP_PKEY *key) {
    int kind = EVP_PKEY_base_id(key), bits = EVP_PKEY_bits(key);
    if (kind == EVP_PKEY_RSA && bits >= SIGN_BITS_MIN) return "RS256";
    return kind == EVP_PKEY_EC && bits == ES256_BITS ? "ES256" : NULL;
}

static EVP_PKEY *read_private_key(const char *pem, uint64_t length) {
    BIO *memory = pem != NULL && length <= INT_MAX ? BIO_new_mem_buf(pem, (int)length) : NULL;
    EVP_PKEY *key = memory != NULL ? PEM_read_bio_PrivateKey(memory, NULL, no_password, NULL) : NULL;
    BIO_free(memory);
    if (key != NULL && key_algorithm(key) != NULL) return key;
    EVP_PKEY_free(key);
    return NULL;
}

const char *sign_key_algorithm(const char *pem, uint64_t length) {
    EVP_PKEY *key = read_private_key(pem, length);
    const char *algorithm = key != NULL ? key_algorithm(key) : NULL;
    EVP_PKEY_free(key);
    ERR_clear_error();
    return algorithm;
}

static EVP_PKEY *make_ec_key(void) {
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
    EVP_PKEY *key = NULL;
    bool good = context != NULL && EVP_PKEY_keygen_init(context) == 1 &&
                EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1 &&
                EVP_PKEY_keygen(context, &key) == 1;
    EVP_PKEY_CTX_free(context);
    return good ? key : NULL;
}

tn_value sign_make_key(void) {
    EVP_PKEY *key = make_ec_key();
    BIO *memory = key != NULL ? BIO_new(BIO_s_mem()) : NULL;
    char *text = NULL;
    tn_value result = NULL;
    if (memory != NULL && PEM_write_bio_PKCS8PrivateKey(memory, key, NULL, NULL, 0, NULL, NULL) == 1) {
        long length = BIO_get_mem_data(memory, &text);
        if (length > 0) result = tn_text_n(text, (uint64_t)length);
        if (length > 0) memset(text, 0, (size_t)length);
    }
    BIO_free(memory);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return result;
}

/* The DER form of a public key ends with its uncompressed point: a byte 4 and two coordinates. */
tn_value sign_public_key(const char *pem, uint64_t length) {
    EVP_PKEY *key = read_private_key(pem, length);
    bool curve = key != NULL && EVP_PKEY_base_id(key) == EVP_PKEY_EC;
    unsigned char *der = NULL;
    int size = curve ? i2d_PUBKEY(key, &der) : 0;
    const unsigned char *point = size > 2 * ES256_BYTES ? der + size - 2 * ES256_BYTES : NULL;
    tn_value result = NULL;
    if (point != NULL && point[-1] == 4) {
        char x[ES256_BYTES * 2], y[ES256_BYTES * 2];
        *tn_base64url_put(x, point, ES256_BYTES) = '\0';
        *tn_base64url_put(y, point + ES256_BYTES, ES256_BYTES) = '\0';
        result = tn_build("{s:s,s:s,s:s,s:s}", "kty", "EC", "crv", "P-256", "x", x, "y", y);
    }
    OPENSSL_free(der);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return result;
}

/* ---- Signatures ---- */

/* Converts libcrypto's signature on a curve (a DER SEQUENCE of two INTEGERs) to the form of JSON Web Tokens: the two
 * numbers one after the other, 32 bytes each. */
static bool der_to_raw_signature(const unsigned char *der, size_t size, unsigned char numbers[2 * ES256_BYTES]) {
    size_t at = 2;
    memset(numbers, 0, 2 * ES256_BYTES);
    for (size_t i = 0; i < 2; i++) {
        if (at + 2 > size || der[at] != 2) return false;
        size_t length = der[at + 1];
        at += 2;
        if (length == 0 || at + length > size) return false;
        const unsigned char *digits = der + at;
        at += length;
        while (length > ES256_BYTES && *digits == 0) digits++, length--;
        if (length > ES256_BYTES) return false;
        memcpy(numbers + (i + 1) * ES256_BYTES - length, digits, length);
    }
    return true;
}

/* Signs `text`. Returns memory from alloc, or NULL on failure. */
static unsigned char *make_signature(EVP_PKEY *key, const char *text, uint64_t length, size_t *size) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char *result = NULL;
    const unsigned char *bytes = (const unsigned char *)text;
    if (context != NULL && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
        EVP_DigestSign(context, NULL, size, bytes, length) == 1)
        result = tn.core->alloc(tn.host, *size);
    if (result != NULL && EVP_DigestSign(context, result, size, bytes, length) != 1) {
        tn.core->release(tn.host, result);
        result = NULL;
    }
    EVP_MD_CTX_free(context);
    if (result == NULL || EVP_PKEY_base_id(key) != EVP_PKEY_EC) return result;
    unsigned char numbers[2 * ES256_BYTES];
    bool good = der_to_raw_signature(result, *size, numbers);
    if (good) memcpy(result, numbers, sizeof numbers); /* fits: the DER form is at least as long */
    *size = sizeof numbers;
    if (good) return result;
    tn.core->release(tn.host, result);
    return NULL;
}

/* Returns "header.claims" with space for a signature of `more` bytes; *end is the end of the text. */
static char *make_signing_input(tn_value header, tn_value claims, uint64_t more, char **end) {
    tn_value first = tn_to_json(header), second = tn_to_json(claims);
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

tn_value sign_jwt_take(tn_value header, tn_value claims, const char *pem, uint64_t length) {
    EVP_PKEY *key = header != NULL && claims != NULL ? read_private_key(pem, length) : NULL;
    bool fits = key != NULL && strcmp(tn_get_text(header, "alg", ""), key_algorithm(key)) == 0;
    char *end = NULL, *text = fits ? make_signing_input(header, claims, (uint64_t)EVP_PKEY_size(key), &end) : NULL;
    size_t size = 0;
    unsigned char *signature = text != NULL ? make_signature(key, text, (uint64_t)(end - text), &size) : NULL;
    tn_value token = NULL;
    if (signature != NULL) {
        *end++ = '.';
        end = tn_base64url_put(end, signature, size);
        token = tn_text_n(text, (uint64_t)(end - text));
    }
    tn.core->release(tn.host, signature);
    tn.core->release(tn.host, text);
    EVP_PKEY_free(key);
    ERR_clear_error(); /* the thread's error queue is shared with other users of libcrypto */
    tn_release(header);
    tn_release(claims);
    return token;
}
