/*
 * dpop.h - proofs that the sender of a token has the key that the token is bound to (RFC 9449), so that a stolen token
 * is useless.
 *
 * Each proof is valid for one request, identified by its method and URL, and for one use; for a resource it also names
 * the token.
 *
 *     tn_value proof = dpop_make_proof(pem, "POST", url, token, nonce);        // token and nonce may be NULL
 */
#ifndef MCP_OAUTH_DPOP_H
#define MCP_OAUTH_DPOP_H

#include "base.h"
#include "oauth_limits.h"

/* `pem` is a key of sign_make_key. Returns a new reference, or NULL if memory runs out or there is no libcrypto. */
tn_value dpop_make_proof(tn_value pem, const char *method, const char *url, const char *token, const char *nonce);
/* Returns the nonce that an answer's headers require in the next proof: borrowed, NULL if they contain no valid one. */
const char *dpop_read_nonce(tn_value headers);

#endif
