/*
 * token.h - a JSON Web Token in its compact form (RFC 7519, RFC 7515), and what its claims must say.
 *
 *     struct token token;
 *     if (token_read(&token, text, length, &refusal)) … token.alg, token.claims …
 *     token_finish(&token);
 */
#ifndef TENON_PLUGINS_JWT_TOKEN_H
#define TENON_PLUGINS_JWT_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <tenon/easy.h>

#define TOKEN_LEEWAY_S      60   /* clocks of issuers may differ by so much */
#define TOKEN_SIGNATURE_MAX 1024 /* bytes: of an RSA key with 8,192 bits */
#define TOKEN_SUBJECT_MAX   1024 /* bytes of `sub` */
#define TOKEN_OWNER_TEXT    33

/* Why a token is refused: texts of this plugin, never of the token. */
struct refusal {
    const char *code, *message;
};

struct token {
    tn_value header, claims;        /* objects */
    const char *alg, *kid, *issuer; /* of them; kid may be NULL */
    const char *text;               /* what is signed, borrowed */
    size_t length;
    unsigned char signature[TOKEN_SIGNATURE_MAX];
    size_t size;
};

/* False with NOT_FOUND for a text that is no such token. The text is borrowed until token_finish. */
bool token_read(struct token *token, const char *text, size_t length, struct refusal *refusal);
void token_finish(struct token *token);
/* Whether the claims allow the use of this host. `rules` is an item of `issuers` in the configuration. */
bool token_check(const struct token *token, tn_value rules, int64_t now_s, struct refusal *refusal);
/* {owner, scope, expires_at}; NULL with *refusal. */
tn_value token_identity(const struct token *token, tn_value rules, struct refusal *refusal);

#endif
