/*
 * web_match.c - which route a path selects.
 */
#include "adl/value/memory.h"
#include "host/server/web/web_route.h"
#include <string.h>

static bool route_matches(const struct web_route *route, const struct web_path *path) {
    bool rest = route->count && route->segments[route->count - 1].kind == WEB_REST;
    size_t fixed = route->count - rest;
    if (!path->count || (rest ? path->count <= fixed : path->count != fixed)) return false;
    for (size_t i = 0; i < fixed; i++) {
        const struct web_segment *segment = &route->segments[i];
        if (segment->kind == WEB_LITERAL && strcmp(segment->text, path->segments[i]) != 0) return false;
        if (segment->kind == WEB_PARAM && !*path->segments[i]) return false;
    }
    return true;
}

/* A text that has each method once. */
static void allow_add(struct buffer *allow, const char *method) {
    const char *found = strstr(buffer_cstr(allow), method);
    if (found) return;
    buffer_format(allow, "%s%s", allow->length ? ", " : "", method);
}

struct web_route *web_routes_find(const struct web_routes *routes, const char *method, const struct web_path *path,
                                  struct buffer *allow) {
    bool head = strcmp(method, "HEAD") == 0;
    struct web_route *found = NULL, *get = NULL;
    for (size_t i = 0; i < routes->count && !found; i++) {
        struct web_route *route = routes->items[i];
        if (!route_matches(route, path)) continue;
        if (strcmp(route->method, method) == 0) found = route;
        if (head && !get && strcmp(route->method, "GET") == 0) get = route;
        if (!allow) continue;
        allow_add(allow, route->method);
        if (strcmp(route->method, "GET") == 0) allow_add(allow, "HEAD");
    }
    return found ? found : get;
}

struct web_route *web_routes_nearest(const struct web_routes *routes, const struct web_path *path) {
    struct web_route *nearest = NULL;
    size_t best = 0;
    for (size_t i = 0; i < routes->count; i++) {
        struct web_route *route = routes->items[i];
        size_t same = 0;
        while (route->refusals && same < route->count && same < path->count &&
               route->segments[same].kind == WEB_LITERAL &&
               strcmp(route->segments[same].text, path->segments[same]) == 0)
            same++;
        if (same <= best) continue;
        best = same;
        nearest = route;
    }
    return nearest;
}

static tn_value rest_of(const struct web_path *path, size_t from) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    for (size_t i = from; i < path->count; i++) buffer_format(&text, "%s%s", i > from ? "/" : "", path->segments[i]);
    tn_value value = value_text(buffer_cstr(&text));
    buffer_finish(&text);
    return value;
}

tn_value web_route_params(const struct web_route *route, const struct web_path *path) {
    tn_value params = value_object();
    for (size_t i = 0; i < route->count; i++) {
        const struct web_segment *segment = &route->segments[i];
        if (segment->kind == WEB_LITERAL) continue;
        tn_value text = segment->kind == WEB_REST ? rest_of(path, i) : value_text(path->segments[i]);
        params = value_set_take(params, segment->text, text);
    }
    return params;
}
