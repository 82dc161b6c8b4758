/*
 * web_origin.h - from where pages of browsers may call: `Host` and `Origin`.
 *
 * A page of any site can send requests to a server on loopback, and a name of the site's domain can point there (DNS
 * rebinding). So a server on loopback answers only requests for `localhost`, 127.0.0.1 and [::1], and for `serve:
 * {hosts}`; and a page of another origin needs `serve: {origins}`, or a route for every origin.
 *
 * Thread: any.
 */
#ifndef TENON_HOST_SERVER_WEB_WEB_ORIGIN_H
#define TENON_HOST_SERVER_WEB_WEB_ORIGIN_H

#include "adl/value/value.h"
#include <stdbool.h>

struct web_origin {
    tn_value hosts, origins; /* arrays of texts, borrowed; NULL: none */
    bool loopback;           /* the server listens there only */
};

/* True if the host of a request ("localhost:8700") is one of this server. */
bool web_origin_allows_host(const struct web_origin *self, const char *host);
/* True for a page of this server itself. `host` may be NULL. */
bool web_origin_is_own(const char *origin, const char *host);
/* True if `origins` contains it, or "*". */
bool web_origin_allows(const struct web_origin *self, const char *origin);

#endif
