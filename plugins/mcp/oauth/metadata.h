/*
 * metadata.h - the metadata of a resource and of an authorization server, checked before use.
 *
 * Valid metadata becomes a new object with only the members listed here. Invalid metadata is refused as a whole, and
 * `why` states what was found, what was expected and where.
 */
#ifndef MCP_OAUTH_METADATA_H
#define MCP_OAUTH_METADATA_H

#include "base.h"
#include "oauth_limits.h"

/*
 * RFC 9728: {resource, authorization_servers: [URL…], scope?, dpop?: true}. `server` is the MCP server's URL; the
 * resource must be equal to it or a parent of it. `local`: the server is on this machine. `scope` is scopes_supported
 * as one string.
 */
tn_value metadata_read_resource(tn_value document, const char *server, bool local, char *why, size_t size);

/*
 * RFC 8414 and OpenID Connect Discovery: {issuer, token_endpoint, authorization_endpoint?, registration_endpoint?,
 * methods?: [string…], iss: bool, url_clients: bool, dpop?: true, offline: bool}. The issuer must be exactly `issuer`.
 * If a `person` is to be asked, PKCE with S256 and an authorization endpoint are required. `methods`: how clients
 * authenticate at the token endpoint; `iss`: the redirect names the issuer; `dpop`: tokens can be bound to a key (for a
 * resource: must be); `offline`: offline_access is supported.
 */
tn_value metadata_read_server(tn_value document, const char *issuer, bool local, bool person, char *why, size_t size);

/* Returns the metadata that version 2025-03-26 assumes if there is none: /authorize, /token and /register at the
 * origin. */
tn_value metadata_make_default(const char *origin);

bool metadata_contains(tn_value list, const char *text); /* true if the array contains the string */

#endif
