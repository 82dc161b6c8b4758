/*
 * web_route.c - reads routes, and finds the one of a request.
 *
 * The table is kept in the order in which routes win, so the first one that matches is the result. A host has some
 * hundred routes; most of them differ from a path in its number of segments or in its first segment.
 */
#include "host/server/web/web_route.h"
#include "adl/value/memory.h"
#include "adl/value/wildcard.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/server/method.h"
#include "host/server/web/web_internal.h"
#include <string.h>

#define EFFECT "server.route"

struct web_route *web_route_ref(struct web_route *route) {
    route->references++;
    return route;
}

void web_route_unref(struct web_route *route) {
    if (!route || --route->references) return;
    for (size_t i = 0; i < route->count; i++) mem_free(route->segments[i].text);
    mem_free(route->segments);
    mem_free(route->method);
    mem_free(route->pattern);
    mem_free(route->summary);
    mem_free(route->expose);
    value_unref(route->types);
    mem_free(route);
}

/* ---- Reading ---- */

static int32_t refuse(struct error *error, const char *member, const char *expected) {
    return error_set(error, TN_FAILED, "INVALID_INPUT", "route: `%s` must be %s", member, expected);
}

static bool is_method(const char *text) {
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", NULL};
    for (size_t i = 0; methods[i]; i++)
        if (strcmp(methods[i], text) == 0) return true;
    return false;
}

static bool is_name(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", text[i])) return false;
    return length > 0 && length <= 64;
}

/* One segment of a pattern; false if it is malformed. */
static bool segment_read(struct web_segment *segment, const char *text, size_t length, bool last) {
    bool braces = length > 2 && text[0] == '{' && text[length - 1] == '}';
    if (!braces) {
        if (memchr(text, '{', length) || memchr(text, '}', length) || memchr(text, '%', length)) return false;
        *segment = (struct web_segment){WEB_LITERAL, mem_text_n(text, length)};
        return true;
    }
    bool rest = text[length - 2] == '*';
    size_t name = length - 2 - rest;
    if (!is_name(text + 1, name) || (rest && !last)) return false;
    *segment = (struct web_segment){rest ? WEB_REST : WEB_PARAM, mem_text_n(text + 1, name)};
    return true;
}

static int32_t pattern_read(struct web_route *route, const char *text, struct error *error) {
    static const char expected[] = "a path as \"/v1/items/{id}\": it begins with /, has at most 32 segments and 512 "
                                   "bytes, a name in braces is a whole segment, and {name*} is the last one";
    size_t capacity = 0;
    if (*text != '/' || strlen(text) > WEB_PATTERN_MAX || strpbrk(text, "?#\\ "))
        return refuse(error, "path", expected);
    for (const char *at = text; *at == '/';) {
        struct web_segment segment;
        size_t length = strcspn(++at, "/");
        if (route->count == WEB_SEGMENTS_MAX || !segment_read(&segment, at, length, at[length] == '\0'))
            return refuse(error, "path", expected);
        MEM_GROW(route->segments, route->count, capacity);
        route->segments[route->count++] = segment;
        route->literals += segment.kind == WEB_LITERAL;
        at += length;
    }
    return TN_OK;
}

static int32_t flag_read(tn_value object, const char *member, bool *out, struct error *error) {
    tn_value flag = value_get(object, member);
    if (flag && !value_is(flag, TN_BOOL)) return refuse(error, member, "true or false");
    *out = flag && value_to_bool(flag);
    return TN_OK;
}

static bool is_texts(tn_value value) {
    for (size_t i = 0; i < value_count(value); i++)
        if (!value_is(value_at(value, i), TN_STRING)) return false;
    return value_is(value, TN_ARRAY);
}

static int32_t body_read(struct web_route *route, tn_value body, struct error *error) {
    tn_value max = value_get(body, "max"), types = value_get(body, "types");
    if (!body) return TN_OK;
    if (!value_is(body, TN_OBJECT)) return refuse(error, "body", "an object");
    route->body = true;
    route->body_max = WEB_BODY_DEFAULT;
    int32_t status = flag_read(body, "stream", &route->streams, error);
    if (status == TN_OK) status = flag_read(body, "optional", &route->optional, error);
    if (status != TN_OK) return status;
    if (max && (!value_as_int(max, &route->body_max) || route->body_max < 1 ||
                route->body_max > (route->streams ? WEB_UPLOAD_MAX : WEB_BODY_MAX)))
        return refuse(error, "body.max", "1 to 67108864 bytes, or to 1073741824 with `stream`");
    if (types && !is_texts(types)) return refuse(error, "body.types", "an array of media types");
    route->types = types ? value_ref(types) : NULL;
    return TN_OK;
}

static int32_t scope_read(struct web_route *route, tn_value scope, struct error *error) {
    if (value_text_is(scope, "none")) {
        route->scope = WEB_SCOPE_NONE;
        return TN_OK;
    }
    for (int i = 0; i < METHOD_SCOPES; i++) {
        route->scope = i;
        if (value_text_is(scope, method_scope_name((enum method_scope)i))) return TN_OK;
    }
    return refuse(error, "scope", "\"read\", \"run\", \"admin\" or \"none\"");
}

/* "a, b"; NULL if there are none. */
static int32_t expose_read(struct web_route *route, tn_value names, struct error *error) {
    struct buffer text;
    if (!names) return TN_OK;
    if (!is_texts(names)) return refuse(error, "expose", "an array of names of headers");
    buffer_init(&text, 1024);
    for (size_t i = 0; i < value_count(names); i++)
        buffer_format(&text, "%s%s", i ? ", " : "", value_chars(value_at(names, i), NULL));
    bool valid = !text.overflow && !strpbrk(buffer_cstr(&text), "\r\n");
    if (valid) route->expose = mem_text(buffer_cstr(&text));
    buffer_finish(&text);
    return valid ? TN_OK : refuse(error, "expose", "names of headers, together at most 1,024 bytes");
}

static int32_t route_read(struct web_route *route, tn_value value, struct error *error) {
    tn_value method = value_get(value, "method"), path = value_get(value, "path"), text = value_get(value, "summary");
    tn_value origins = value_get(value, "origins");
    if (!value_is(method, TN_STRING) || !is_method(value_chars(method, NULL)))
        return refuse(error, "method", "GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS");
    if (!value_is(path, TN_STRING)) return refuse(error, "path", "a text");
    if (text && !value_is(text, TN_STRING)) return refuse(error, "summary", "a text");
    if (origins && !value_text_is(origins, "*")) return refuse(error, "origins", "\"*\", or absent");
    route->method = mem_text(value_chars(method, NULL));
    route->pattern = mem_text(value_chars(path, NULL));
    route->summary = text ? mem_text(value_chars(text, NULL)) : NULL;
    route->any_origin = origins != NULL;
    int32_t status = pattern_read(route, route->pattern, error);
    if (status == TN_OK) status = scope_read(route, value_get(value, "scope"), error);
    if (status == TN_OK) status = body_read(route, value_get(value, "body"), error);
    if (status == TN_OK) status = flag_read(value, "websocket", &route->websocket, error);
    if (status == TN_OK) status = flag_read(value, "refusals", &route->refusals, error);
    if (status == TN_OK) status = expose_read(route, value_get(value, "expose"), error);
    if (status == TN_OK && route->websocket && strcmp(route->method, "GET") != 0)
        status = refuse(error, "method", "GET with `websocket`");
    return status;
}

/* ---- The table ---- */

/* Negative if `a` wins over `b`; 0 if they match the same paths. */
static int segments_compare(const struct web_route *a, const struct web_route *b) {
    if (a->literals != b->literals) return a->literals > b->literals ? -1 : 1;
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        const struct web_segment *x = &a->segments[i], *y = &b->segments[i];
        if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
        int order = x->kind == WEB_LITERAL ? strcmp(x->text, y->text) : 0;
        if (order) return order;
    }
    return a->count == b->count ? 0 : a->count > b->count ? -1 : 1;
}

static bool is_allowed(const struct plugin *plugin, const char *pattern) {
    tn_value effects = value_get(manifest_plugin(plugin_manifest(plugin)), "effects");
    for (size_t i = 0; value_is(effects, TN_ARRAY) && i < value_count(effects); i++) {
        tn_value effect = value_at(effects, i);
        const char *text = value_is(effect, TN_STRING) ? value_chars(effect, NULL) : "";
        if (strcmp(text, EFFECT) == 0) return true;
        if (strncmp(text, EFFECT ":", strlen(EFFECT) + 1) == 0 && wildcard_matches(text + strlen(EFFECT) + 1, pattern))
            return true;
    }
    return false;
}

static size_t count_of(const struct web_routes *routes, const struct plugin *plugin) {
    size_t count = 0;
    for (size_t i = 0; i < routes->count; i++) count += routes->items[i]->plugin == plugin;
    return count;
}

static int32_t limit_check(const struct web_routes *routes, const struct plugin *plugin, struct error *error) {
    if (routes->count >= WEB_ROUTES_MAX)
        return error_set(error, TN_FAILED, "LIMIT", "the host has %u routes, which is the limit", WEB_ROUTES_MAX);
    if (count_of(routes, plugin) >= TN_SERVER_ROUTES_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "`%s` has %u routes, which is the limit", plugin_id(plugin),
                         TN_SERVER_ROUTES_MAX);
    return TN_OK;
}

/* True if `route` is that of another build of the same plugin: both exist while the plugin is upgraded. */
static bool replaces(const struct web_route *route, const struct web_route *other) {
    return route->plugin && other->plugin && route->plugin != other->plugin &&
           strcmp(plugin_id(route->plugin), plugin_id(other->plugin)) == 0 &&
           strcmp(route->method, other->method) == 0 && segments_compare(route, other) == 0;
}

static int32_t place_check(struct web_routes *routes, const struct web_route *route, struct error *error) {
    for (size_t i = 0; i < routes->count; i++) {
        struct web_route *other = routes->items[i];
        if (strcmp(other->method, route->method) != 0 || segments_compare(other, route) != 0) continue;
        if (replaces(route, other)) continue;
        if (!other->plugin && strcmp(other->pattern, "/") == 0) {
            web_routes_remove(routes, other);
            return TN_OK;
        }
        return error_set(error, TN_FAILED, "EXISTS", "the route %s %s is one of %s%s%s already", route->method,
                         other->pattern, other->plugin ? "the plugin `" : "the host",
                         other->plugin ? plugin_id(other->plugin) : "", other->plugin ? "`" : "");
    }
    return TN_OK;
}

/* Before one that it replaces. If the new build is refused, or ends, the route of the old one is used again. */
static void routes_insert(struct web_routes *routes, struct web_route *route) {
    size_t at = 0;
    route->number = ++routes->last_number;
    MEM_GROW(routes->items, routes->count, routes->capacity);
    while (at < routes->count && segments_compare(routes->items[at], route) <= 0 && !replaces(route, routes->items[at]))
        at++;
    memmove(routes->items + at + 1, routes->items + at, (routes->count - at) * sizeof(struct web_route *));
    routes->items[at] = route;
    routes->count++;
}

struct web_route *web_routes_add(struct web_routes *routes, struct plugin *plugin, tn_value value,
                                 struct error *error) {
    struct web_route *route = mem_zalloc(sizeof *route);
    route->references = 1;
    route->plugin = plugin;
    int32_t status = limit_check(routes, plugin, error);
    if (status == TN_OK && !value_is(value, TN_OBJECT)) status = refuse(error, "route", "an object");
    if (status == TN_OK) status = route_read(route, value, error);
    if (status == TN_OK && !is_allowed(plugin, route->pattern))
        status = error_set(error, TN_FAILED, "PERMISSION_DENIED",
                           "`%s` serves %s, but its manifest does not declare the effect; add \"" EFFECT
                           ":%s\" to the `effects` of the plugin",
                           plugin_id(plugin), route->pattern, route->pattern);
    if (status == TN_OK) status = place_check(routes, route, error);
    if (status != TN_OK) {
        web_route_unref(route);
        return NULL;
    }
    routes_insert(routes, route);
    return route;
}

void web_routes_add_own(struct web_routes *routes, const char *pattern, const char *summary,
                        void (*answer)(struct web_request *request)) {
    struct web_route *route = mem_zalloc(sizeof *route);
    route->references = 1;
    route->method = mem_text("GET");
    route->pattern = mem_text(pattern);
    route->summary = mem_text(summary);
    route->scope = WEB_SCOPE_NONE;
    route->answer = answer;
    route->any_host = strcmp(pattern, "/") != 0;
    (void)pattern_read(route, pattern, NULL);
    routes_insert(routes, route);
}

struct web_route *web_routes_lookup(const struct web_routes *routes, const struct plugin *plugin, uint64_t number) {
    for (size_t i = 0; i < routes->count; i++)
        if (routes->items[i]->number == number && routes->items[i]->plugin == plugin) return routes->items[i];
    return NULL;
}

void web_routes_remove(struct web_routes *routes, struct web_route *route) {
    size_t at = 0;
    while (routes->items[at] != route) at++;
    routes->count--;
    memmove(routes->items + at, routes->items + at + 1, (routes->count - at) * sizeof(struct web_route *));
    web_route_unref(route);
}

void web_routes_remove_all(struct web_routes *routes, const struct plugin *plugin) {
    for (size_t i = routes->count; i-- > 0;)
        if (!plugin || routes->items[i]->plugin == plugin) web_routes_remove(routes, routes->items[i]);
}

void web_routes_finish(struct web_routes *routes) {
    web_routes_remove_all(routes, NULL);
    mem_free(routes->items);
    *routes = (struct web_routes){.items = NULL};
}
