/*
 * address.h - URLs of an authorization: splitting and comparing them, and making the well-known ones.
 *
 * A URL is refused, and nothing is sent to it, if it is not http or https, contains a user, a fragment or a control
 * character, or is longer than OAUTH_URL_MAX bytes.
 *
 *     struct address at;
 *     if (!address_read(url, &at) || !address_is_safe(&at, local)) return false;
 *     tn_value next = address_well_known(&at, "oauth-authorization-server", WELL_KNOWN_INSERTED);
 */
#ifndef MCP_OAUTH_ADDRESS_H
#define MCP_OAUTH_ADDRESS_H

#include "base.h"
#include "oauth_limits.h"

struct address {
    bool secure;        /* https */
    char host[256];     /* lower case; IPv6 with brackets */
    uint32_t port;      /* the scheme's default if the URL has none */
    bool has_port;      /* the URL contains it */
    const char *path;   /* points into the URL: starts with a slash, or is "" */
    uint64_t path_size; /* without the query */
    const char *query;  /* after the question mark; NULL: no query */
};

bool address_read(const char *url, struct address *out);
/* This machine: localhost, 127.0.0.0/8, [::1]. */
bool address_is_local(const struct address *address);
/* True for https, and for http on this machine if the server that named the URL is also on this machine. */
bool address_is_safe(const struct address *address, bool local);
/* Returns "https://host:port", without the scheme's default port. A new reference, as for all these functions. */
tn_value address_origin(const struct address *address);
/* Returns the server as `resource` of a token: scheme and host in lower case, without a fragment, and without the slash
 * if the path is only a slash. */
tn_value address_resource(const struct address *address);

enum well_known { WELL_KNOWN_ROOT, WELL_KNOWN_INSERTED, WELL_KNOWN_APPENDED };
/* origin/.well-known/NAME, origin/.well-known/NAME/path, origin/path/.well-known/NAME */
tn_value address_well_known(const struct address *address, const char *name, enum well_known where);
bool address_has_path(const struct address *address); /* more than a slash */

/* Whether `url` is `resource`, or below it: the same origin, and its path begins with the resource's, whole segments.
 */
bool address_covers(const char *resource, const char *url);

/* Decodes a query: {name: string}. Returns NULL if it is malformed or repeats a name. */
tn_value address_query(const char *query);

#endif
