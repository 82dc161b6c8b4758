/*
 * web_route.h - routes: patterns of paths, and which one a request selects.
 *
 *     struct web_route *route = web_routes_add(&routes, plugin, value, &error);
 *     web_path_read(&path, "/v1/responses/abc");
 *     route = web_routes_find(&routes, "POST", &path, &allow);
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_WEB_WEB_ROUTE_H
#define TENON_HOST_SERVER_WEB_WEB_ROUTE_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <tenon/server.h>

struct plugin;
struct web_request;

#define WEB_ROUTES_MAX   4096u /* of a host; then LIMIT */
#define WEB_SEGMENTS_MAX 32u   /* of a pattern or a path; a longer path gets 404 */
#define WEB_PATTERN_MAX  512u  /* bytes */

enum web_segment_kind { WEB_LITERAL, WEB_PARAM, WEB_REST };

struct web_segment {
    enum web_segment_kind kind;
    char *text; /* the literal, or the name */
};

#define WEB_SCOPE_NONE (-1)

struct web_route {
    unsigned references;
    uint64_t number;
    struct plugin *plugin;     /* NULL: the host itself */
    tn_server_handler handler; /* NULL after unroute: its requests continue, but get no events when the plugin ends */
    void *user;
    void (*answer)(struct web_request *request); /* of the host's own routes */
    char *method, *pattern, *summary, *expose;   /* the last two may be NULL */
    struct web_segment *segments;
    size_t count, literals;
    int scope; /* enum method_scope, or WEB_SCOPE_NONE */
    bool body, streams, optional, websocket, refusals, any_origin;
    bool any_host; /* of the host's own routes: for probes, which do not know the name of the server */
    int64_t body_max;
    tn_value types; /* [media types], or NULL: every one */
};

struct web_routes {
    struct web_route **items; /* those that win come first */
    size_t count, capacity;
    uint64_t last_number;
};

/* The decoded segments of a path. */
struct web_path {
    char *text; /* owned: the segments, each ended by NUL */
    const char *segments[WEB_SEGMENTS_MAX];
    size_t count;
};

/* False if an escape or the UTF-8 is malformed, or a segment is "." or "..". A path that is too long has count 0. */
bool web_path_read(struct web_path *path, const char *text);
void web_path_finish(struct web_path *path);

/* INVALID_INPUT, PERMISSION_DENIED, EXISTS or LIMIT. Borrowed until it is removed. */
struct web_route *web_routes_add(struct web_routes *routes, struct plugin *plugin, tn_value route, struct error *error);
/* A route of the host, without a key. A plugin can replace it only if its pattern is "/". */
void web_routes_add_own(struct web_routes *routes, const char *pattern, const char *summary,
                        void (*answer)(struct web_request *request));
/* The route with this number of this plugin; NULL if there is none. */
struct web_route *web_routes_lookup(const struct web_routes *routes, const struct plugin *plugin, uint64_t number);
void web_routes_remove(struct web_routes *routes, struct web_route *route);
void web_routes_remove_all(struct web_routes *routes, const struct plugin *plugin); /* NULL: of all */
struct web_route *web_route_ref(struct web_route *route);
void web_route_unref(struct web_route *route); /* NULL is allowed */
void web_routes_finish(struct web_routes *routes);

/* NULL if there is none. `allow` (may be NULL) gets the methods of the routes with this path: "GET, HEAD, POST". */
struct web_route *web_routes_find(const struct web_routes *routes, const char *method, const struct web_path *path,
                                  struct buffer *allow);
/* The route that words the refusal of a path without a route, or of a method: with `refusals`, and the longest common
 * beginning. NULL: none. */
struct web_route *web_routes_nearest(const struct web_routes *routes, const struct web_path *path);
tn_value web_route_params(const struct web_route *route, const struct web_path *path); /* {name: TEXT}, new */

#endif
