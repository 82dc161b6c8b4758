/*
 * address.h - addresses of authorization: taken apart, compared, and the well-known ones made of others.
 *
 * What cannot be read (no http or https, a user in it, a fragment, a control, more than OAUTH_URL_MAX bytes) is no
 * address here, and nothing is sent to it.
 *
 *     struct address at;
 *     if (!address_read(url, &at) || !address_is_safe(&at, local)) return refuse(url);
 *     tn_value next = address_well_known(&at, "oauth-authorization-server", WELL_KNOWN_INSERTED);
 */
#ifndef MCP_OAUTH_ADDRESS_H
#define MCP_OAUTH_ADDRESS_H

#include "base.h"
#include "bounds.h"

struct address {
    bool secure;        /* https */
    char host[256];     /* lower case; of IPv6 with its brackets */
    uint32_t port;      /* the scheme's where none is said */
    bool has_port;      /* it was said */
    const char *path;   /* in what was read: from its slash on, or "" */
    uint64_t path_size; /* without the query */
    const char *query;  /* behind the question mark; NULL where there is none */
};

bool address_read(const char *url, struct address *out);
/* This machine: localhost, 127.0.0.0/8, [::1]. */
bool address_is_local(const struct address *address);
/* https; or http on this machine, where the server that led to it is on this machine too. */
bool address_is_safe(const struct address *address, bool local);
/* "https://host:port", the port where it is not the scheme's. A new reference, as all of these. */
tn_value address_origin(const struct address *address);
/* The server as the `resource` of a token: scheme and host in lower case, no fragment, no single slash at its end. */
tn_value address_resource(const struct address *address);

enum well_known { WELL_KNOWN_ROOT, WELL_KNOWN_INSERTED, WELL_KNOWN_APPENDED };
/* origin/.well-known/NAME, origin/.well-known/NAME/path, origin/path/.well-known/NAME */
tn_value address_well_known(const struct address *address, const char *name, enum well_known where);
bool address_has_path(const struct address *address); /* more than a slash */

/* Whether `url` is `resource`, or below it: the same origin, and its path begins with the resource's, whole segments.
 */
bool address_covers(const char *resource, const char *url);

/* What a query says, decoded: {name: text}. NULL: it is no query, or says a name twice. */
tn_value address_query(const char *query);

#endif
