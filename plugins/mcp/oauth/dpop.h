/*
 * dpop.h - proofs that whoever sends a token has the key that it is bound to (RFC 9449): a stolen token is of no use.
 *
 * Each is for one request, by its method and address, and for one time; for a resource it names the token, too.
 *
 *     tn_value proof = dpop_proof(pem, "POST", url, token, nonce);        // token and nonce may be NULL
 */
#ifndef MCP_OAUTH_DPOP_H
#define MCP_OAUTH_DPOP_H

#include "base.h"
#include "bounds.h"

/* `pem`: a key of sign_new_key. A new reference; NULL: no memory, or no libcrypto. */
tn_value dpop_proof(tn_value pem, const char *method, const char *url, const char *token, const char *nonce);
/* What a server wants to see in the next proof: a nonce, where `headers` have one that can be sent. Borrowed, or NULL.
 */
const char *dpop_nonce(tn_value headers);

#endif
