/*
 * web_builtin.c - the routes of the host itself, for everybody: what is served, whether the process lives, and whether
 * it can work.
 *
 *   GET /         {name, version, protocols: [{plugin, title, routes: [{method, path, scope, summary?}]}]}
 *   GET /healthz  200 while the process runs its loop
 *   GET /readyz   200 if the store answers and the server takes requests; otherwise 503
 *
 * The store is asked at most once a second, however many probes there are.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/plugin/call/call.h"
#include "host/plugin/registry/plugin.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/server.h"
#include "host/server/web/web_internal.h"
#include <string.h>

#define PROBE_KEPT_MS 1000
#define PROBE_WAIT_MS 3000 /* then the store counts as unreachable */

/* Asks the store whether it answers. */
struct web_probe {
    struct web *web;
    struct client *client;
    struct call *call; /* thread/list; NULL if none is open */
    struct loop_timer late;
    uint64_t *waiting; /* numbers of requests for /readyz */
    size_t waiting_count;
    int64_t known_ms; /* when `reachable` was found; -1: never */
    bool reachable;
};

static void ready_answer(struct web_request *request, bool reachable) {
    bool draining = request->web->draining, ready = reachable && !draining;
    tn_value body = value_set_take(value_object_reserve(2), "status", value_text(ready ? "ready" : "unavailable"));
    body = value_set_take(body, "store", value_text(reachable ? "ok" : "unavailable"));
    if (draining) body = value_set_take(body, "draining", value_bool(true));
    tn_value headers = ready ? NULL : web_push_header(value_array(), "Retry-After", "1");
    web_answer_take(request, ready ? 200 : 503, headers, body);
}

static void probe_report(struct web_probe *probe, bool reachable) {
    struct web *web = probe->web;
    probe->reachable = reachable;
    probe->known_ms = loop_now_ms(web->loop);
    for (size_t i = 0; i < probe->waiting_count; i++) {
        struct web_request *request = web_request_find(web, probe->waiting[i]);
        if (request && !request->responded) ready_answer(request, reachable);
    }
    probe->waiting_count = 0;
}

static void probe_on_ended(struct call *call) {
    struct web_probe *probe = call_owner(call);
    bool reachable = call_outcome(call) == CALL_COMPLETED;
    bool late = !loop_timer_is_running(&probe->late);
    loop_timer_stop(probe->web->loop, &probe->late);
    probe->call = NULL;
    call_free(call);
    if (!late) probe_report(probe, reachable);
}

static void probe_on_late(struct loop_timer *timer) {
    struct web_probe *probe = CONTAINER_OF(timer, struct web_probe, late);
    probe_report(probe, false);
}

static void probe_start(struct web_probe *probe) {
    static const struct call_ops ops = {.ended = probe_on_ended};
    struct web *web = probe->web;
    struct callable *callable = method_call_new(probe->client, method_find("thread/list"), NULL);
    tn_value params = value_set_take(value_object_reserve(1), "limit", value_int(1));
    probe->call = call_new(web->loop, callable, &ops, probe);
    callable_unref(callable);
    loop_timer_start(web->loop, &probe->late, PROBE_WAIT_MS, probe_on_late);
    struct call *call = probe->call;
    if (call_start(call, params)) probe_on_ended(call);
    value_unref(params);
}

static void answer_ready(struct web_request *request) {
    struct web *web = request->web;
    struct web_probe *probe = web->probe;
    bool stuck = probe->call && !loop_timer_is_running(&probe->late);
    if (stuck || (probe->known_ms >= 0 && loop_now_ms(web->loop) - probe->known_ms < PROBE_KEPT_MS)) {
        ready_answer(request, !stuck && probe->reachable);
        return;
    }
    probe->waiting = mem_array(probe->waiting, probe->waiting_count + 1, sizeof *probe->waiting);
    probe->waiting[probe->waiting_count++] = request->number;
    if (!probe->call) probe_start(probe);
}

static void answer_health(struct web_request *request) {
    web_answer_take(request, 200, NULL, value_set_take(value_object_reserve(1), "status", value_text("ok")));
}

/* ---- / ---- */

static const char *scope_name(const struct web_route *route) {
    return route->scope == WEB_SCOPE_NONE ? "none" : method_scope_name((enum method_scope)route->scope);
}

static tn_value route_describe(const struct web_route *route) {
    tn_value shown = value_set_take(value_object_reserve(5), "method", value_text(route->method));
    shown = value_set_take(shown, "path", value_text(route->pattern));
    shown = value_set_take(shown, "scope", value_text(scope_name(route)));
    if (route->websocket) shown = value_set_take(shown, "websocket", value_bool(true));
    return route->summary ? value_set_take(shown, "summary", value_text(route->summary)) : shown;
}

tn_value web_routes(const struct web *web) {
    tn_value all = value_array();
    for (size_t i = 0; i < web->routes.count; i++) {
        const struct web_route *route = web->routes.items[i];
        tn_value shown = route_describe(route);
        if (route->plugin) shown = value_set_take(shown, "plugin", value_text(plugin_id(route->plugin)));
        all = value_push_take(all, shown);
    }
    return all;
}

static tn_value routes_of(const struct web *web, const struct plugin *plugin) {
    tn_value all = value_array();
    for (size_t i = 0; i < web->routes.count; i++)
        if (web->routes.items[i]->plugin == plugin) all = value_push_take(all, route_describe(web->routes.items[i]));
    return all;
}

static bool is_first_of_plugin(const struct web *web, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (web->routes.items[i]->plugin == web->routes.items[at]->plugin) return false;
    return web->routes.items[at]->plugin != NULL;
}

static void answer_list(struct web_request *request) {
    const struct web *web = request->web;
    tn_value protocols = value_array();
    for (size_t i = 0; i < web->routes.count; i++) {
        const struct plugin *plugin = web->routes.items[i]->plugin;
        if (!is_first_of_plugin(web, i)) continue;
        tn_value shown = value_set_take(value_object_reserve(3), "plugin", value_text(plugin_id(plugin)));
        shown = value_set_take(shown, "title", value_text(plugin_title(plugin)));
        protocols = value_push_take(protocols, value_set_take(shown, "routes", routes_of(web, plugin)));
    }
    tn_value body = value_set_take(value_object_reserve(3), "name", value_text("tenon"));
    body = value_set_take(body, "version", value_text(TENON_VERSION));
    web_answer_take(request, 200, NULL, value_set_take(body, "protocols", protocols));
}

void web_add_builtin(struct web *web) {
    web->probe = mem_zalloc(sizeof *web->probe);
    web->probe->web = web;
    web->probe->known_ms = -1;
    web->probe->client = client_new(web->server, &(struct client_options){.name = "readyz", .scope = METHOD_READ});
    web_routes_add_own(&web->routes, "/", "Lists what this server offers.", answer_list);
    web_routes_add_own(&web->routes, "/healthz", "Whether the process is alive.", answer_health);
    web_routes_add_own(&web->routes, "/readyz", "Whether the server takes requests, and its store answers.",
                       answer_ready);
}

static bool has_no_call(void *user) { return !((const struct web_probe *)user)->call; }

void web_builtin_free(struct web *web) {
    struct web_probe *probe = web->probe;
    if (!probe) return;
    if (probe->call) call_cancel(probe->call);
    (void)loop_run(web->loop, has_no_call, probe);
    loop_timer_stop(web->loop, &probe->late);
    client_free(probe->client);
    mem_free(probe->waiting);
    mem_free(probe);
    web->probe = NULL;
}
