/*
 * web.c - creates and frees a web, its listener, and its drain.
 */
#include "host/server/web/web.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/plugin/registry/plugin.h"
#include "host/server/server.h"
#include "host/server/web/web_budget.h"
#include "host/server/web/web_internal.h"
#include <string.h>

/* The limits of http_server.h, with their defaults. */
static const struct {
    const char *name;
    int64_t otherwise;
} listen_limits[] = {
#define LISTEN_LIMIT(name, least, most, otherwise, documentation) {#name, otherwise},
    CONFIG_LISTEN_LIMITS(LISTEN_LIMIT)
#undef LISTEN_LIMIT
};

static int64_t limit_of(tn_value config, const char *name, int64_t otherwise) {
    tn_value number = value_get(value_get(config, "limits"), name);
    int64_t found;
    return number && value_as_int(number, &found) && found > 0 ? found : otherwise;
}

static tn_value limits_of(tn_value config) {
    tn_value limits = value_object_reserve(8);
    for (size_t i = 0; i < sizeof listen_limits / sizeof *listen_limits; i++)
        limits = value_set_take(limits, listen_limits[i].name,
                                value_int(limit_of(config, listen_limits[i].name, listen_limits[i].otherwise)));
    return limits;
}

/* Each second: keep-alive of streams, and keys that were revoked. */
static void web_on_tick(struct loop_timer *timer) {
    struct web *web = CONTAINER_OF(timer, struct web, tick);
    web_keep_streams_alive(web);
    web_callers_check(web);
    loop_timer_start(web->loop, &web->tick, WEB_TICK_MS, web_on_tick);
}

struct web *web_new(struct server *server, const struct web_options *options, struct error *error) {
    struct web *web = mem_zalloc(sizeof *web);
    tn_value config = options->config;
    web->server = server;
    web->loop = server_loop(server);
    web->access = options->access;
    web->listen = limits_of(config);
    web->config = config ? value_ref(config) : NULL;
    web->open_max = (size_t)limit_of(config, "open_requests", CONFIG_OPEN_REQUESTS);
    web->origin.hosts = value_get(config, "hosts");
    web->origin.origins = value_get(config, "origins");
    web_proxies_init(&web->proxies, value_get(config, "trusted_proxies"));
    web->client_max = (uint32_t)value_to_int(value_get(web->listen, "connections_per_address"));
    buffer_init(&web->text, SIZE_MAX);
    int32_t status = web_provider_find(web, value_get(config, "use"), error);
    if (status == TN_OK) web->log = web_log_new(value_get(config, "log"), error);
    if (status != TN_OK || !web->log) {
        web_free(web);
        return NULL;
    }
    web->limits = web_limits_new(server);
    web->budget = web_budget_new(server, web->limits);
    web_add_builtin(web);
    web_set_routes(web, true);
    web_set_starter(web, true);
    return web;
}

static tn_value listen_options(const struct web *web, const char *address, uint16_t port, tn_value tls) {
    tn_value options = value_set_take(value_object_reserve(5), "address", value_text(address));
    options = value_set_take(options, "port", value_int(port));
    options = value_set_take(options, "limits", value_ref(web->listen));
    if (web->proxies.count)
        options = value_set_take(options, "trusted", value_ref(value_get(web->config, "trusted_proxies")));
    return tls ? value_set_take(options, "tls", value_ref(tls)) : options;
}

int32_t web_listen(struct web *web, const char *address, uint16_t port, tn_value tls, uint16_t *bound,
                   struct error *error) {
    const struct web_provider *provider = &web->provider;
    tn_value options = listen_options(web, address, port, tls), where = NULL, why = NULL;
    int64_t number = port;
    int32_t status = provider->vtable->listen(provider->self, options, web_on_http, web, &web->listener, &where, &why);
    value_unref(options);
    if (status != TN_OK) {
        web->listener = 0;
        if (why)
            error_from_value(error, why);
        else
            error_set(error, status, "IO", "the HTTP server of the plugin `%s` did not start",
                      plugin_id(provider->plugin));
        value_unref(why);
        return status;
    }
    if (value_get(where, "port")) (void)value_as_int(value_get(where, "port"), &number);
    value_unref(where);
    *bound = (uint16_t)number;
    web->origin.loopback = config_is_loopback(address);
    loop_timer_start(web->loop, &web->tick, WEB_TICK_MS, web_on_tick);
    return TN_OK;
}

void web_drain(struct web *web) {
    if (web->draining) return;
    web->draining = true;
    if (web->listener) (void)web->provider.vtable->drain(web->provider.self, web->listener);
    web_requests_drain(web);
}

bool web_is_drained(const struct web *web) { return web->open == 0; }

void web_reopen_log(struct web *web) { web_log_reopen(web->log); }

void web_free(struct web *web) {
    if (!web) return;
    web->ending = true;
    if (web->listener) (void)web->provider.vtable->unlisten(web->provider.self, web->listener);
    web_requests_free(web);
    if (web->limits) web_set_starter(web, false);
    web_set_routes(web, false);
    loop_timer_stop(web->loop, &web->tick);
    web_callers_end(web, NULL);
    web_builtin_free(web);
    web_budget_free(web->budget);
    web_limits_free(web->limits);
    web_routes_finish(&web->routes);
    web_proxies_finish(&web->proxies);
    web_log_free(web->log);
    if (web->provider.plugin) plugin_unref(web->provider.plugin);
    buffer_finish(&web->text);
    value_unref(web->listen);
    value_unref(web->config);
    mem_free(web);
}

bool web_has_route_of(const struct web *web, const struct plugin *plugin) {
    for (size_t i = 0; i < web->routes.count; i++)
        if (web->routes.items[i]->plugin == plugin) return true;
    return false;
}
