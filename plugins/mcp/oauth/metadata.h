/*
 * metadata.h - what a resource and an authorization server say of themselves, checked before anything is done by it.
 *
 * What passes is a new object with the members named here and no others; whatever does not is refused as a whole, and
 * `why` says what was found, what was expected and where.
 */
#ifndef MCP_OAUTH_METADATA_H
#define MCP_OAUTH_METADATA_H

#include "base.h"
#include "bounds.h"

/*
 * RFC 9728: {resource, authorization_servers: [URL…], scope?, dpop?: true}. `server`: the MCP server's URL, which the
 * resource must be, or be above. `local`: the server is on this machine. `scope` is scopes_supported as one text.
 */
tn_value metadata_resource(tn_value document, const char *server, bool local, char *why, size_t size);

/*
 * RFC 8414 and OpenID Connect Discovery: {issuer, token_endpoint, authorization_endpoint?, registration_endpoint?,
 * methods?: [text…], iss: bool, url_clients: bool, dpop?: true, offline: bool}. The issuer must be `issuer`, letter by
 * letter. Where `person` is to be asked it must have PKCE with S256, and somewhere to send the person to. `methods`:
 * how clients authenticate at the token endpoint; `iss`: the redirect says who sent it; `dpop`: tokens can be (and of a
 * resource, must be) bound to a key; `offline`: it knows offline_access.
 */
tn_value metadata_server(tn_value document, const char *issuer, bool local, bool person, char *why, size_t size);

/* What version 2025-03-26 takes where there is no metadata at all: /authorize, /token and /register of the origin. */
tn_value metadata_guessed(const char *origin);

bool metadata_lists(tn_value list, const char *text); /* an array with this text in it */

#endif
