/*
 * http.h - HTTP requests of plugins (tenon/http.h). The host stands between the plugin that sends a request and the
 * *HTTP provider*, the plugin that implements the HTTP client.
 *
 * An *exchange* is one request of a plugin and its response. The plugin names it by a token, which contains an index
 * and a generation. An exchange ends once: with the event END or FAILED, or without an event when the plugin cancels
 * it, the plugin ends, or the host ends. http_send only queues the request. The loop then checks it, inserts the
 * secrets and sends it, so that errors arrive as events, too.
 *
 *     struct http *http = http_new(&options);
 *     status = http_send(http, plugin, request, on_event, me, &exchange);
 *     ...
 *     http_cancel(http, plugin, exchange);
 *     http_plugin_ended(http, plugin);                                 // cancels all of its exchanges
 *     http_close(http);                                                // cancels all exchanges; no further requests
 *     http_free(http);
 *
 * The host itself follows redirects, after it has checked that the plugin may send requests to the new target. The
 * provider never sees them. Thread: the loop's, for all functions.
 */
#ifndef TENON_HOST_NET_HTTP_H
#define TENON_HOST_NET_HTTP_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <tenon/http.h>

struct callable;
struct config;
struct http;
struct loop;
struct plugin;
struct recorder;
struct registry;
struct replayer;
struct secrets;

#define HTTP_EXCHANGES_MAX 65536u /* open exchanges of one plugin; beyond that, http_send returns TN_LIMIT */

/* All are borrowed until http_free. */
struct http_options {
    struct loop *loop;
    const struct config *config;
    struct registry *registry; /* contains the provider of HTTP */
    struct secrets *secrets;
    struct recorder *recorder; /* NULL if not recording */
    struct replayer *replayer; /* NULL if not replaying */
};
struct http *http_new(const struct http_options *options);
/* Cancels all exchanges and releases the provider. Tokens are stale afterwards. Repeatable; NULL is allowed. */
void http_close(struct http *http);
void http_free(struct http *http); /* NULL is allowed */

/* These implement the functions of tn_http_1. After http_close, http_send returns TN_UNSUPPORTED. */
int32_t http_send(struct http *http, struct plugin *plugin, tn_value request, tn_http_handler handler, void *user,
                  uint64_t *exchange);
int32_t http_pause(struct http *http, const struct plugin *plugin, uint64_t exchange);
int32_t http_resume(struct http *http, const struct plugin *plugin, uint64_t exchange);
int32_t http_cancel(struct http *http, const struct plugin *plugin, uint64_t exchange);
/*
 * A request of the host itself, for an address that its user has named. All hosts and secrets are allowed, but a secret
 * is sent only to its `hosts`.
 */
int32_t http_send_own(struct http *http, tn_value request, tn_http_handler handler, void *user, uint64_t *exchange);
int32_t http_cancel_own(struct http *http, uint64_t exchange);
/* Cancels all exchanges of the plugin. */
void http_plugin_ended(struct http *http, const struct plugin *plugin);

/* For tests: the number of open exchanges. */
uint32_t http_open_count(const struct http *http);

#endif
