/*
 * keys.c - keys and signatures with GnuTLS.
 */
#include "keys.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <tenon/base64.h>

#define NUMBER_MAX (RSA_BITS_MAX / 8) /* bytes of a number of a key */

struct algorithm {
    const char *name, *kind, *curve; /* `kty` and `crv` of the keys that fit */
    gnutls_sign_algorithm_t sign;
    size_t half; /* bytes of each of the two numbers of a signature on a curve; 0: it has another form */
};

struct key {
    char id[KEY_ID_MAX + 1];
    bool has_id;
    const char *kind, *curve; /* literals, as in algorithms */
    char algorithm[8];        /* "": any that fits */
    gnutls_pubkey_t key;
};

struct key_set {
    size_t count;
    struct key keys[KEYS_MAX];
};

static const struct algorithm algorithms[] = {
    {"RS256", "RSA", "", GNUTLS_SIGN_RSA_SHA256, 0},           {"RS384", "RSA", "", GNUTLS_SIGN_RSA_SHA384, 0},
    {"RS512", "RSA", "", GNUTLS_SIGN_RSA_SHA512, 0},           {"PS256", "RSA", "", GNUTLS_SIGN_RSA_PSS_RSAE_SHA256, 0},
    {"ES256", "EC", "P-256", GNUTLS_SIGN_ECDSA_SHA256, 32},    {"ES384", "EC", "P-384", GNUTLS_SIGN_ECDSA_SHA384, 48},
    {"EdDSA", "OKP", "Ed25519", GNUTLS_SIGN_EDDSA_ED25519, 0},
};

static const struct algorithm *find_algorithm(const char *name) {
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (strcmp(algorithms[i].name, name) == 0) return &algorithms[i];
    return NULL;
}

bool key_algorithm_is_known(const char *alg) { return find_algorithm(alg) != NULL; }

/* ---- Reading ---- */

/* A number of a key: base64url without padding. */
static bool read_number(tn_value jwk, const char *member, unsigned char out[NUMBER_MAX], gnutls_datum_t *number) {
    uint64_t length = 0;
    const char *text = tn_chars(tn_get(jwk, member), &length);
    if (text == NULL || length == 0 || length * 3 / 4 > NUMBER_MAX) return false;
    uint64_t size = tn_base64_take(text, length, out, NUMBER_MAX);
    *number = (gnutls_datum_t){out, (unsigned)size};
    return size > 0 && size == length * 3 / 4;
}

static bool import_rsa(tn_value jwk, gnutls_pubkey_t key) {
    unsigned char n[NUMBER_MAX], e[NUMBER_MAX];
    gnutls_datum_t modulus, exponent;
    unsigned bits = 0;
    if (!read_number(jwk, "n", n, &modulus) || !read_number(jwk, "e", e, &exponent) || exponent.size > 8) return false;
    return gnutls_pubkey_import_rsa_raw(key, &modulus, &exponent) == 0 &&
           gnutls_pubkey_get_pk_algorithm(key, &bits) == GNUTLS_PK_RSA && bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX;
}

static bool import_ec(tn_value jwk, const struct algorithm *fits, gnutls_pubkey_t key) {
    unsigned char x[NUMBER_MAX], y[NUMBER_MAX];
    gnutls_datum_t first, second;
    gnutls_ecc_curve_t curve = fits->half == 32 ? GNUTLS_ECC_CURVE_SECP256R1 : GNUTLS_ECC_CURVE_SECP384R1;
    return read_number(jwk, "x", x, &first) && read_number(jwk, "y", y, &second) && first.size == fits->half &&
           second.size == fits->half && gnutls_pubkey_import_ecc_raw(key, curve, &first, &second) == 0;
}

static bool import_ed25519(tn_value jwk, gnutls_pubkey_t key) {
    unsigned char x[NUMBER_MAX];
    gnutls_datum_t point;
    return read_number(jwk, "x", x, &point) && point.size == 32 &&
           gnutls_pubkey_import_ecc_raw(key, GNUTLS_ECC_CURVE_ED25519, &point, NULL) == 0;
}

/* A key for signatures: `use` and `key_ops` do not say otherwise. */
static bool is_for_signatures(tn_value jwk) {
    tn_value operations = tn_get(jwk, "key_ops");
    if (strcmp(tn_get_text(jwk, "use", "sig"), "sig") != 0) return false;
    if (operations == NULL) return true;
    for (uint64_t i = 0; i < tn.value->count(operations); i++) {
        const char *name = tn_chars(tn.value->at(operations, i), NULL);
        if (name != NULL && strcmp(name, "verify") == 0) return true;
    }
    return false;
}

/* Copies a text without NUL bytes. */
static bool copy_text(tn_value text, char *out, size_t size) {
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (chars == NULL || length >= size || strlen(chars) != length) return false;
    memcpy(out, chars, length + 1);
    return true;
}

static bool read_key(tn_value jwk, struct key *key) {
    const char *kind = tn_get_text(jwk, "kty", ""), *curve = tn_get_text(jwk, "crv", "");
    const struct algorithm *fits = NULL;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms && fits == NULL; i++)
        if (strcmp(kind, algorithms[i].kind) == 0 &&
            (algorithms[i].curve[0] == '\0' || strcmp(curve, algorithms[i].curve) == 0))
            fits = &algorithms[i];
    if (fits == NULL || !is_for_signatures(jwk)) return false;
    *key = (struct key){.kind = fits->kind, .curve = fits->curve};
    key->has_id = tn_get(jwk, "kid") != NULL;
    if (key->has_id && !copy_text(tn_get(jwk, "kid"), key->id, sizeof key->id)) return false;
    if (tn_get(jwk, "alg") != NULL && !copy_text(tn_get(jwk, "alg"), key->algorithm, sizeof key->algorithm))
        return false;
    if (gnutls_pubkey_init(&key->key) != 0) return false;
    bool good = fits->half > 0                   ? import_ec(jwk, fits, key->key)
                : strcmp(fits->kind, "RSA") == 0 ? import_rsa(jwk, key->key)
                                                 : import_ed25519(jwk, key->key);
    if (!good) gnutls_pubkey_deinit(key->key);
    return good;
}

struct key_set *key_set_read(tn_value json) {
    tn_value list = tn_get(json, "keys");
    if (tn.value->kind(list) != TN_ARRAY) return NULL;
    struct key_set *set = tn.core->alloc(tn.host, sizeof *set);
    if (set == NULL) return NULL;
    set->count = 0;
    for (uint64_t i = 0; i < tn.value->count(list) && set->count < KEYS_MAX; i++)
        if (read_key(tn.value->at(list, i), &set->keys[set->count])) set->count++;
    return set;
}

void key_set_free(struct key_set *set) {
    if (set == NULL) return;
    for (size_t i = 0; i < set->count; i++) gnutls_pubkey_deinit(set->keys[i].key);
    tn.core->release(tn.host, set);
}

size_t key_set_count(const struct key_set *set) { return set != NULL ? set->count : 0; }

/* ---- Signatures ---- */

static bool verify(const struct key *key, const struct algorithm *algorithm, const gnutls_datum_t *data,
                   const unsigned char *signature, size_t size) {
    gnutls_datum_t given = {(unsigned char *)(uintptr_t)signature, (unsigned)size}, der = {NULL, 0};
    if (algorithm->half == 0) return gnutls_pubkey_verify_data2(key->key, algorithm->sign, 0, data, &given) >= 0;
    gnutls_datum_t r = {given.data, (unsigned)algorithm->half},
                   s = {given.data + algorithm->half, (unsigned)algorithm->half};
    if (size != 2 * algorithm->half || gnutls_encode_rs_value(&der, &r, &s) != 0) return false;
    bool good = gnutls_pubkey_verify_data2(key->key, algorithm->sign, 0, data, &der) >= 0;
    gnutls_free(der.data);
    return good;
}

static bool key_fits(const struct key *key, const struct algorithm *algorithm) {
    if (key->algorithm[0] != '\0' && strcmp(key->algorithm, algorithm->name) != 0) return false;
    return strcmp(key->kind, algorithm->kind) == 0 && strcmp(key->curve, algorithm->curve) == 0;
}

enum key_result key_set_verify(const struct key_set *set, const char *alg, const char *kid, const char *text,
                               size_t length, const unsigned char *signature, size_t size) {
    const struct algorithm *algorithm = find_algorithm(alg);
    const gnutls_datum_t data = {(unsigned char *)(uintptr_t)text, (unsigned)length};
    size_t tries = 0;
    bool known = false;
    if (algorithm == NULL) return KEY_WRONG;
    for (size_t i = 0; i < set->count && tries < KEY_TRIES; i++) {
        bool named = kid != NULL && set->keys[i].has_id && strcmp(set->keys[i].id, kid) == 0;
        if (kid != NULL && !named) continue;
        known |= named;
        if (!key_fits(&set->keys[i], algorithm)) continue;
        tries++;
        if (verify(&set->keys[i], algorithm, &data, signature, size)) return KEY_VALID;
    }
    return tries > 0 || known ? KEY_WRONG : KEY_UNKNOWN;
}
