/*
 * person.h - sending a person to a page, and taking back what they come back with (RFC 6749, 4.1; RFC 7636; RFC 9207).
 *
 * What is under way is an object {state, verifier, redirect_uri, resource, scope?, client, server, made_at}: enough to
 * go on in another process. A code that comes back counts only with its state, and from its issuer.
 *
 *     tn_value pending = person_begin(client, server, resource, scope, redirect_uri);
 *     tn_value url = person_url(pending);                    // the page
 *     tn_value code = person_code(pending, query, why, sizeof why);
 */
#ifndef MCP_OAUTH_PERSON_H
#define MCP_OAUTH_PERSON_H

#include "base.h"
#include "bounds.h"

/* New references; NULL: no memory, or no libcrypto. `scope` may be NULL. */
tn_value person_begin(tn_value client, tn_value server, const char *resource, const char *scope,
                      const char *redirect_uri);
tn_value person_url(tn_value pending);
/* It was begun for the same, and not too long ago: the person may still be on the page. */
bool person_is(tn_value pending, tn_value client, tn_value server, const char *resource, const char *scope);
bool person_is_young(tn_value pending);

/*
 * The code in what they came back with, `query` being the part behind the question mark. NULL: why. *ours is whether
 * it is an answer to this, if one that says no: another's changes nothing.
 */
tn_value person_code(tn_value pending, const char *query, bool *ours, char *why, size_t size);

#endif
