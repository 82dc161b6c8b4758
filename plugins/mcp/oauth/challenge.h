/*
 * challenge.h - what a server wants to see, by its WWW-Authenticate (RFC 9110, 11.6.1; RFC 6750, 3; RFC 9728, 5.1).
 *
 *     tn_value challenge = challenge_read("Bearer error=\"invalid_token\", scope=\"a b\"");
 *     // {error: "invalid_token", scope: "a b"}
 */
#ifndef MCP_OAUTH_CHALLENGE_H
#define MCP_OAUTH_CHALLENGE_H

#include "base.h"
#include "bounds.h"

/*
 * The parameters of its Bearer or DPoP challenge (which has `scheme` besides), names in lower case: of the first that
 * names its metadata, else of the first. Other schemes are passed over. A new reference; NULL: there is no Bearer
 * challenge, or it cannot be read.
 */
tn_value challenge_read(const char *header);
/* The server says that the token lacks a scope; that a proof lacks its nonce (RFC 9449, 9). */
bool challenge_wants_scope(tn_value challenge);
bool challenge_wants_nonce(tn_value challenge);

/*
 * Scopes as a set, separated by single spaces, in the order of their coming: those of `more` are put behind. Either may
 * be NULL. What is no scope (RFC 6749, 3.3), and what is past OAUTH_SCOPES_MAX or OAUTH_SCOPE_MAX, is left out. A new
 * reference, NULL where there is none at all.
 */
tn_value scopes_join(const char *scopes, const char *more);
bool scopes_have(const char *scopes, const char *wanted); /* every one of `wanted` */

#endif
