/*
 * web.h - serves protocols over HTTP: the routes that plugins register with tenon.server (sdk/include/tenon/server.h),
 * behind one listener of a plugin that provides tenon.http_server.
 *
 * A web belongs to one server. It exists before the plugins with routes are loaded, because they register them in
 * `init`; without a web, `route` returns TN_UNSUPPORTED. One listener is opened when all plugins are loaded.
 *
 *     struct web *web = web_new(server, &(struct web_options){.access = access, .config = section}, &error);
 *     ... load the plugins of the protocols ...
 *     if (web_listen(web, "127.0.0.1", 8700, NULL, &address, &error) != TN_OK) ...
 *     web_drain(web);                         // SIGTERM
 *     if (web_is_drained(web)) ...            // in the condition of loop_run
 *     web_free(web);                          // before host_free: server_free does not know it
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_WEB_WEB_H
#define TENON_HOST_SERVER_WEB_WEB_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct access;
struct plugin;
struct server;
struct web;

struct web_options {
    struct access *access; /* borrowed; must outlive the web */
    /*
     * The section `serve` of tenon.yaml, validated, or NULL. Read here: use (the provider), hosts, origins,
     * trusted_proxies, log ("-" is stderr, false nothing, else a file) and limits: {open_requests, connections,
     * connections_per_address, headers_bytes, headers_ms, idle_ms, body_bytes, write_bytes, message_bytes}. All of them
     * are optional.
     */
    tn_value config;
};

/* NULL with *error: UNSUPPORTED (no provider), IO (the log), or as plugin_load of the provider fails. */
struct web *web_new(struct server *server, const struct web_options *options, struct error *error);
/*
 * Opens the listener. `tls`: {certificate, key}, PEM texts, or NULL. *bound: the port (any free one if `port` is 0).
 * Fails with INVALID_INPUT, IO or TLS. Once.
 */
int32_t web_listen(struct web *web, const char *address, uint16_t port, tn_value tls, uint16_t *bound,
                   struct error *error);
/* [{plugin, method, path, scope, summary?}, …]: what is served; a new reference. */
tn_value web_routes(const struct web *web);
/*
 * No new connections; new requests get 503; streams get TN_SERVER_DRAIN. Calling it again has no effect. The caller
 * limits the time: web_free closes what is left.
 */
void web_drain(struct web *web);
bool web_is_drained(const struct web *web); /* no request is open */
/* Opens the access log again, after it was renamed (SIGHUP). If that fails, the old file is kept. */
void web_reopen_log(struct web *web);
/* Ends all connections. Plugins get CLOSED, and from then on TN_UNSUPPORTED. NULL is allowed. */
void web_free(struct web *web);

/* True if the plugin has a route. */
bool web_has_route_of(const struct web *web, const struct plugin *plugin);

#endif
