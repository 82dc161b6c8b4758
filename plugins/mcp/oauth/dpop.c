/*
 * dpop.c - a proof: a token of this client, signed with a key that only this client has.
 */
#include "dpop.h"
#include "encode.h" /* in plugins/rest */
#include "sign.h"   /* in plugins/sign */
#include <sys/random.h>
#include <tenon/base64.h>
#include <tenon/util/sha256.h>

#define JTI_BYTES 16
#define HASH_SIZE (TN_SHA256_BYTES * 4 / 3 + 3)

static tn_value make_proof_header(const char *pem, uint64_t length) {
    tn_value key = sign_public_key(pem, length);
    if (key == NULL) return NULL;
    return tn_build("{s:s,s:s,s:V}", "typ", "dpop+jwt", "alg", "ES256", "jwk", key);
}

static tn_value make_proof_claims(const char *method, const char *url, const char *token, const char *nonce) {
    unsigned char chance[JTI_BYTES], hash[TN_SHA256_BYTES];
    char jti[JTI_BYTES * 2], ath[HASH_SIZE];
    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) return NULL;
    if (token != NULL) tn_sha256_hash(token, strlen(token), hash);
    *tn_base64url_put(jti, chance, sizeof chance) = '\0';
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "jti", jti);
    tn_put_text(builder, "htm", method);
    tn_put_take(builder, "htu", tn_text_n(url, strcspn(url, "?#")));
    tn_put_int(builder, "iat", tn.core->wall_ms(tn.host) / 1000);
    if (token != NULL) *tn_base64url_put(ath, hash, sizeof hash) = '\0';
    if (token != NULL) tn_put_text(builder, "ath", ath);
    if (nonce != NULL) tn_put_text(builder, "nonce", nonce);
    tn.value->end(builder);
    return tn_finish(builder);
}

tn_value dpop_make_proof(tn_value pem, const char *method, const char *url, const char *token, const char *nonce) {
    uint64_t length = 0;
    const char *text = tn_chars(pem, &length);
    return text != NULL ? sign_jwt_take(make_proof_header(text, length), make_proof_claims(method, url, token, nonce),
                                        text, length)
                        : NULL;
}

const char *dpop_read_nonce(tn_value headers) {
    uint64_t length = 0;
    const char *nonce = tn_chars(tn_get(headers, "dpop-nonce"), &length);
    for (uint64_t i = 0; i < length; i++)
        if (nonce[i] <= ' ' || nonce[i] > '~' || nonce[i] == '"' || nonce[i] == '\\') return NULL;
    return length > 0 && length <= OAUTH_NONCE_MAX ? nonce : NULL;
}
