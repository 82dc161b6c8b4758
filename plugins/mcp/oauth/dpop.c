/*
 * dpop.c - one proof: a token of our own, signed with a key that is nowhere else.
 */
#include "dpop.h"
#include "sign.h" /* of plugins/sign */
#include "text.h" /* of plugins/rest */
#include <sys/random.h>
#include <tenon/base64.h>

#define JTI_BYTES 16
#define HASH_SIZE (SIGN_SHA256 * 4 / 3 + 3)

static tn_value head(const char *pem, uint64_t length) {
    tn_value key = sign_public(pem, length);
    if (key == NULL) return NULL;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "typ", "dpop+jwt");
    tn_put_text(builder, "alg", "ES256");
    tn_put_take(builder, "jwk", key);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static tn_value claims(const char *method, const char *url, const char *token, const char *nonce) {
    unsigned char chance[JTI_BYTES], hash[SIGN_SHA256];
    char jti[JTI_BYTES * 2], ath[HASH_SIZE];
    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) return NULL;
    if (token != NULL && !sign_sha256(token, strlen(token), hash)) return NULL;
    *tn_base64url_put(jti, chance, sizeof chance) = '\0';
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "jti", jti);
    tn_put_text(builder, "htm", method);
    tn_put_take(builder, "htu", tn_text_n(url, strcspn(url, "?#")));
    tn_put_int(builder, "iat", tn.core->wall_ms(tn.host) / 1000);
    if (token != NULL) *tn_base64url_put(ath, hash, sizeof hash) = '\0';
    if (token != NULL) tn_put_text(builder, "ath", ath);
    if (nonce != NULL) tn_put_text(builder, "nonce", nonce);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

tn_value dpop_proof(tn_value pem, const char *method, const char *url, const char *token, const char *nonce) {
    uint64_t length = 0;
    const char *text = tn_chars(pem, &length);
    return text != NULL ? sign_jwt_take(head(text, length), claims(method, url, token, nonce), text, length) : NULL;
}

const char *dpop_nonce(tn_value headers) {
    uint64_t length = 0;
    const char *nonce = tn_chars(tn.value->get(headers, "dpop-nonce"), &length);
    for (uint64_t i = 0; i < length; i++)
        if (nonce[i] <= ' ' || nonce[i] > '~' || nonce[i] == '"' || nonce[i] == '\\') return NULL;
    return length > 0 && length <= OAUTH_NONCE_MAX ? nonce : NULL;
}
