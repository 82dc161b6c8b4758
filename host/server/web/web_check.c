/*
 * web_check.c - what is checked before a plugin gets a request, in this order: the path and its route, the host,
 * whether the server takes requests, the page's origin, the key and its scope, the key's limits (web_key.c), the body.
 *
 * The route is looked up first, so that the plugin of the route can word a refusal.
 */
#include "adl/value/memory.h"
#include "host/plugin/registry/plugin.h"
#include "host/server/web/web_internal.h"
#include "host/server/web/web_query.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *web_header(const struct web_request *request, const char *name) {
    tn_value text = value_get(value_get(request->head, "headers"), name);
    return text && value_is(text, TN_STRING) ? value_chars(text, NULL) : NULL;
}

const char *web_head_text(const struct web_request *request, const char *member) {
    tn_value text = value_get(request->head, member);
    return text && value_is(text, TN_STRING) ? value_chars(text, NULL) : "";
}

/* ---- Pages of browsers ---- */

/* What a response to this origin says; NULL if its pages may not call the route. */
static const char *origin_answer(const struct web_request *request, const struct web_route *route, const char *origin) {
    if (route->any_origin) return "*";
    return web_origin_allows(&request->web->origin, origin) ? origin : NULL;
}

static bool check_origin(struct web_request *request) {
    const char *origin = web_header(request, "origin");
    if (!origin || web_origin_is_own(origin, web_header(request, "host"))) return true;
    const char *answer = origin_answer(request, request->route, origin);
    if (answer) request->origin = mem_text(answer);
    if (!answer)
        web_refuse_format(request, 403, "ORIGIN",
                          "pages of the origin %.200s may not call this server; the operator can allow it with `serve: "
                          "{origins: [%.200s]}` in tenon.yaml",
                          origin, origin);
    return answer != NULL;
}

/* False: a name that the server does not have, so perhaps one that a site has pointed here (DNS rebinding). */
static bool host_is_known(const struct web_request *request, const struct web_route *route) {
    const char *host = web_header(request, "host");
    return route->any_host || (host && web_origin_allows_host(&request->web->origin, host));
}

/* The names that a page asks for; NULL if they are no names of headers. */
static const char *asked_headers(const struct web_request *request) {
    const char *names = web_header(request, "access-control-request-headers");
    bool valid = names && strlen(names) <= 2048 &&
                 strspn(names, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_., ") == strlen(names);
    return valid ? names : NULL;
}

static void answer_preflight(struct web_request *request, const struct web_path *path) {
    const struct web *web = request->web;
    const char *origin = web_header(request, "origin"), *method = web_header(request, "access-control-request-method");
    const char *names = asked_headers(request);
    struct buffer allow;
    buffer_init(&allow, 256);
    const struct web_route *route = web_routes_find(&web->routes, method, path, &allow);
    bool asked = route && origin && host_is_known(request, route);
    const char *answer = asked ? origin_answer(request, route, origin) : NULL;
    bool own = asked && web_origin_is_own(origin, web_header(request, "host"));
    if (answer || own) {
        tn_value headers = web_push_header(value_array(), "Access-Control-Allow-Methods", buffer_cstr(&allow));
        if (names) headers = web_push_header(headers, "Access-Control-Allow-Headers", names);
        if (value_text_is(value_get(value_get(request->head, "headers"), "access-control-request-private-network"),
                          "true"))
            headers = web_push_header(headers, "Access-Control-Allow-Private-Network", "true");
        headers = web_push_header(headers, "Access-Control-Max-Age", "600");
        request->origin = mem_text(answer ? answer : origin);
        web_answer_take(request, 204, headers, NULL);
    } else {
        web_refuse_format(request, 403, "ORIGIN", "pages of this origin may not call %.20s of this path", method);
    }
    buffer_finish(&allow);
}

/* ---- Path and route ---- */

static void refuse_method(struct web_request *request, const struct web_path *path, const char *allow) {
    struct web_refusal refusal = {.status = 405, .code = "METHOD_NOT_ALLOWED", .headers = {{"Allow", allow}}};
    char message[256];
    (void)snprintf(message, sizeof message, "the path has no method %.20s; it has %.150s",
                   web_head_text(request, "method"), allow);
    refusal.message = message;
    struct web_route *words = web_routes_nearest(&request->web->routes, path);
    if (words) request->route = web_route_ref(words);
    web_refuse(request, &refusal);
}

static void refuse_path(struct web_request *request, const struct web_path *path) {
    struct web_route *words = web_routes_nearest(&request->web->routes, path);
    if (words) request->route = web_route_ref(words);
    web_refuse_format(request, 404, "NOT_FOUND", "this server has no path %.200s; GET / lists what it serves",
                      web_head_text(request, "path"));
}

/* No route for OPTIONS: the methods of the path. */
static void answer_options(struct web_request *request, const char *allow) {
    web_answer_take(request, 204, web_push_header(value_array(), "Allow", allow), NULL);
}

static bool find_route(struct web_request *request, const struct web_path *path) {
    const char *method = web_head_text(request, "method");
    bool options = strcmp(method, "OPTIONS") == 0;
    struct buffer allow;
    buffer_init(&allow, 256);
    struct web_route *route = web_routes_find(&request->web->routes, method, path, &allow);
    if (options && web_header(request, "access-control-request-method"))
        answer_preflight(request, path);
    else if (route)
        request->route = web_route_ref(route);
    else if (!allow.length)
        refuse_path(request, path);
    else if (options)
        answer_options(request, buffer_cstr(&allow));
    else
        refuse_method(request, path, buffer_cstr(&allow));
    buffer_finish(&allow);
    return route && !request->responded;
}

static bool check_host(struct web_request *request) {
    const char *host = web_header(request, "host");
    if (host_is_known(request, request->route)) return true;
    web_refuse_format(
        request, 403, "HOST",
        "the host `%.200s` is not one of this server; the operator can add it with `serve: {hosts: […]}` in "
        "tenon.yaml",
        host ? host : "");
    return false;
}

static bool check_room(struct web_request *request) {
    const struct web *web = request->web;
    if (request->route->answer) return true;
    if (web->draining)
        web_refuse_drain(request);
    else if (web->open > web->open_max)
        web_refuse_format(request, 503, "LIMIT",
                          "the server has %zu open requests, which is the limit; try again later", web->open_max);
    else if (request->client && request->client->requests > web->client_max)
        web_refuse_format(request, 429, "RATE_LIMITED",
                          "this address has %u open requests, which is the limit; try again later", web->client_max);
    return !request->responded;
}

/* ---- The request as the plugin gets it ---- */

static bool is_upgrade(const struct web_request *request) {
    const char *upgrade = web_header(request, "upgrade");
    return request->route->websocket && upgrade && strcasecmp(upgrade, "websocket") == 0;
}

tn_value web_shown_headers(const struct web_request *request, bool keyless) {
    static const char *const secrets[] = {"authorization", "x-api-key"};
    tn_value headers = value_get(request->head, "headers");
    if (!value_is(headers, TN_OBJECT)) return value_object();
    headers = value_ref(headers);
    for (size_t i = 0; keyless && i < 2; i++) headers = value_remove_take(headers, value_text(secrets[i]));
    return headers;
}

static void event_begin(struct web_request *request, const struct web_path *path, tn_value query) {
    static const char *const copied[] = {"method", "path", "address", "secure"};
    const char *host = web_header(request, "host");
    tn_value secure = value_get(request->head, "secure");
    tn_value event = value_set_take(value_object_reserve(14), "id", value_text(request->id));
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        tn_value found = value_get(request->head, copied[i]);
        if (found) event = value_set_take(event, copied[i], value_ref(found));
    }
    event = value_set_take(event, "route", value_text(request->route->pattern));
    event = value_set_take(event, "params", web_route_params(request->route, path));
    event = value_set_take(event, "query", query);
    event = value_set_take(
        event, "origin", value_format("%s://%s", secure && value_to_bool(secure) ? "https" : "http", host ? host : ""));
    tn_value issuers = access_issuers(request->web->access);
    if (issuers && request->route->scope == WEB_SCOPE_NONE)
        event = value_set_take(event, "issuers", value_ref(issuers));
    request->event = event;
}

/* Everything but the body. */
static bool check_head(struct web_request *request, const struct web_path *path) {
    tn_value query = NULL;
    if (!find_route(request, path) || !check_host(request) || !check_room(request) || !check_origin(request))
        return false;
    if (!web_query_read(web_head_text(request, "query"), &query)) {
        web_refuse_format(request, 400, "INVALID_INPUT",
                          "the query is malformed: expected NAME=TEXT&…, percent-encoded UTF-8, at most %u members",
                          WEB_QUERY_MAX);
        return false;
    }
    if (!is_upgrade(request)) web_socket_forget_key(request);
    event_begin(request, path, query);
    return web_check_key(request) && web_check_rest(request);
}

bool web_check_rest(struct web_request *request) {
    request->event = value_set_take(request->event, "headers",
                                    web_trace_begin_take(request, web_shown_headers(request, request->key != NULL)));
    request->upgrade = is_upgrade(request);
    web_socket_forget_key(request);
    return web_check_body(request);
}

bool web_request_check(struct web_request *request) {
    struct web_path path;
    int64_t length = 0;
    tn_value body = value_get(request->head, "body");
    if (body) (void)value_as_int(body, &length);
    request->length = length;
    request->head_only = strcmp(web_head_text(request, "method"), "HEAD") == 0;
    web_socket_take_key(request);
    bool valid = web_path_read(&path, web_head_text(request, "path"));
    if (!valid)
        web_refuse_format(request, 400, "INVALID_INPUT",
                          "the path is malformed: expected percent-encoded UTF-8 without the segments . and ..");
    bool passed = valid && check_head(request, &path);
    web_path_finish(&path);
    return passed;
}

/* What the log needs: an open stream keeps no headers. `accept` reads the protocols that the client offers. */
static void head_shrink(struct web_request *request) {
    static const char *const kept[] = {"address", "method", "path"};
    if (request->upgrade) return;
    tn_value head = value_object_reserve(3);
    for (size_t i = 0; i < 3; i++) {
        tn_value found = value_get(request->head, kept[i]);
        if (found) head = value_set_take(head, kept[i], value_ref(found));
    }
    value_unref(request->head);
    request->head = head;
}

void web_request_open(struct web_request *request) {
    const struct web_route *route = request->route;
    tn_value event = request->event;
    request->event = NULL;
    if (route->answer) {
        route->answer(request);
    } else if (route->handler) {
        request->handler = route->handler;
        head_shrink(request);
        web_request_deliver(request, TN_SERVER_REQUEST, event);
        if (request->web->draining) loop_defer(request->web->loop, &request->later);
    } else {
        web_refuse_format(request, 503, "UNAVAILABLE", "the plugin that serves this path has ended");
    }
    value_unref(event);
}
