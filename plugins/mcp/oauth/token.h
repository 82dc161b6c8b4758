/*
 * token.h - requests to a token endpoint, and its answers.
 *
 * A token is an object {access_token, refresh_token?, scope?, expires_at, renew_at, issuer, dpop?: true}: times in ms
 * since 1970; `scope` is what was granted. Error messages contain no sent or received text except the error's code.
 *
 *     tn_value request = token_make_request(&params, why, sizeof why);       // {url, form, …}, for fetch_send
 *     tn_value token = token_read(answer, &params, &fault);
 */
#ifndef MCP_OAUTH_TOKEN_H
#define MCP_OAUTH_TOKEN_H

#include "client.h"
#include "fetch.h"

struct token_params {
    const char *grant; /* authorization_code, refresh_token, client_credentials, or the names of jwt-bearer and token
                          exchange */
    tn_value client, server, config;
    const char *resource, *scope;               /* scope may be NULL */
    const char *code, *verifier, *redirect_uri; /* of authorization_code */
    const char *refresh;                        /* of refresh_token */
    const char *assertion;                      /* of jwt-bearer */
    tn_value key;                               /* the token is bound to it; NULL: not bound */
    const char *nonce;                          /* that the server requires in the proof; may be NULL */
    const char *subject, *audience; /* of exchange: the ID token, and the authorization server that it is for */
};

#define TOKEN_JWT_BEARER "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define TOKEN_EXCHANGE   "urn:ietf:params:oauth:grant-type:token-exchange"

/* Returns a new reference, or NULL with the reason in `why`. */
tn_value token_make_request(const struct token_params *params, char *why, size_t size);
/* Why there is no token. */
struct token_fault {
    const char *code;    /* error code of this plugin: AUTH, or the code of a failed request */
    bool final;          /* a repetition cannot succeed */
    bool client_unknown; /* the server does not know the client (invalid_client) */
    char why[OAUTH_WHY_MAX];
};

/* Returns a new reference, or NULL and fills *fault. */
tn_value token_read(const struct fetched *answer, const struct token_params *params, struct token_fault *fault);
/* Returns the assertion of an exchange, a string (draft-ietf-oauth-identity-assertion-authz-grant). */
tn_value token_read_assertion(const struct fetched *answer, const struct token_params *params,
                              struct token_fault *fault);

/* Returns the nonce that the server requires in the proof of the key (RFC 9449, 8): borrowed, or NULL. */
const char *token_read_nonce(const struct fetched *answer);

/* Returns the header's value, "Bearer …" or "DPoP …", a new reference; NULL if there is no token or it has expired. */
tn_value token_make_header(tn_value token, int64_t now_ms);

/* Returns `error` if it is valid by RFC 6749, else "an error without a name". */
const char *token_error_name(const char *error);

#endif
