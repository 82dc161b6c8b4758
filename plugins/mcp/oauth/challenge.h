/*
 * challenge.h - what a server requires, from its WWW-Authenticate (RFC 9110, 11.6.1; RFC 6750, 3; RFC 9728, 5.1).
 *
 *     tn_value challenge = challenge_read("Bearer error=\"invalid_token\", scope=\"a b\"");
 *     // {error: "invalid_token", scope: "a b"}
 */
#ifndef MCP_OAUTH_CHALLENGE_H
#define MCP_OAUTH_CHALLENGE_H

#include "base.h"
#include "oauth_limits.h"

/*
 * Returns the parameters of a Bearer or DPoP challenge (with `scheme` for the latter), names in lower case: the first
 * challenge that names its metadata, else the first. Other schemes are ignored. A new reference; NULL if there is no
 * such challenge or the header is malformed.
 */
tn_value challenge_read(const char *header);
/* True if the token lacks a scope; true if a proof lacks its nonce (RFC 9449, 9). */
bool challenge_needs_scope(tn_value challenge);
bool challenge_needs_nonce(tn_value challenge);

/*
 * Joins two sets of scopes, each separated by single spaces, in order; those of `more` come last. Either may be NULL.
 * Invalid scopes (RFC 6749, 3.3) and those above OAUTH_SCOPES_MAX or OAUTH_SCOPE_MAX are left out. Returns a new
 * reference, or NULL if the set is empty.
 */
tn_value scopes_join(const char *scopes, const char *more);
bool scopes_include(const char *scopes, const char *wanted); /* all of `wanted` */

#endif
