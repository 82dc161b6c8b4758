/*
 * token.h - what a token endpoint is asked, and what it answers.
 *
 * A token is an object {access_token, refresh_token?, scope?, expires_at, renew_at, issuer, dpop?: true}: times in ms
 * since 1970, `scope` what was granted. No text of an error has any of what was sent, or of what came, but for the
 * error's code.
 *
 *     tn_value request = token_request(&ask, why, sizeof why);       // {url, form, …}, for fetch_send
 *     tn_value token = token_read(answer, &ask, &fault);
 */
#ifndef MCP_OAUTH_TOKEN_H
#define MCP_OAUTH_TOKEN_H

#include "client.h"
#include "fetch.h"

struct token_ask {
    const char *grant; /* authorization_code, refresh_token, client_credentials, or jwt-bearer's or exchange's name */
    tn_value client, server, config;
    const char *resource, *scope;       /* scope may be NULL */
    const char *code, *verifier, *back; /* of authorization_code: `back` is the redirect_uri */
    const char *refresh;                /* of refresh_token */
    const char *assertion;              /* of jwt-bearer */
    tn_value key;                       /* that the token is to be bound to; NULL: to none */
    const char *nonce;                  /* that the server wants to see of it; may be NULL */
    const char *subject, *audience;     /* of exchange: who it is, as an ID token, and for which authorization server */
};

#define TOKEN_JWT_BEARER "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define TOKEN_EXCHANGE   "urn:ietf:params:oauth:grant-type:token-exchange"

/* A new reference; NULL: why. */
tn_value token_request(const struct token_ask *ask, char *why, size_t size);
/* Why there is no token. */
struct token_fault {
    const char *code; /* of this plugin's errors: AUTH, or that of a failure on the way */
    bool final;       /* what was sent will not do the next time either */
    bool stranger;    /* the server does not know the client (invalid_client) */
    char why[OAUTH_WHY_MAX];
};

/* A new reference; NULL: *fault. */
tn_value token_read(const struct fetched *answer, const struct token_ask *ask, struct token_fault *fault);
/* Of an exchange: the assertion that it gave, a string (draft-ietf-oauth-identity-assertion-authz-grant). */
tn_value token_read_assertion(const struct fetched *answer, const struct token_ask *ask, struct token_fault *fault);

/* The server wants a nonce in the proof of the key, and says which (RFC 9449, 8): borrowed, or NULL. */
const char *token_nonce(const struct fetched *answer);

/* What goes into the header: "Bearer …" or "DPoP …", a new reference; NULL where there is no token, or it has ended. */
tn_value token_header(tn_value token, int64_t now_ms);

/* An `error` that a server gave, where it is one as RFC 6749 has them; else "an error without a name". */
const char *token_error_name(const char *error);

#endif
