/*
 * authorize.h - sends a person to a page, and reads what the browser returns (RFC 6749, 4.1; RFC 7636; RFC 9207).
 *
 * A pending question is an object {state, verifier, redirect_uri, resource, scope?, client, server, made_at}, which is
 * sufficient to continue in another process. A returned code is accepted only with its state and from its issuer.
 *
 *     tn_value pending = authorize_begin(client, server, resource, scope, redirect_uri);
 *     tn_value url = authorize_url(pending);                    // the page
 *     tn_value code = authorize_read_code(pending, query, why, sizeof why);
 */
#ifndef MCP_OAUTH_AUTHORIZE_H
#define MCP_OAUTH_AUTHORIZE_H

#include "base.h"
#include "oauth_limits.h"

/* They return new references; NULL if memory runs out or there is no libcrypto. `scope` may be NULL. */
tn_value authorize_begin(tn_value client, tn_value server, const char *resource, const char *scope,
                         const char *redirect_uri);
tn_value authorize_url(tn_value pending);
/* True if it was started for the same values and is not too old: the person may still be on the page. */
bool authorize_matches(tn_value pending, tn_value client, tn_value server, const char *resource, const char *scope);
bool authorize_is_recent(tn_value pending);

/*
 * Returns the code in `query`, the part after the question mark of the returned URL. Returns NULL with the reason in
 * `why` on failure. *ours is true if the query answers this question, even with a refusal; other queries must be
 * ignored.
 */
tn_value authorize_read_code(tn_value pending, const char *query, bool *ours, char *why, size_t size);

#endif
