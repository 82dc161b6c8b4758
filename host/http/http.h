/*
 * http.h - HTTP for plugins, as the host gives it (tenon/http.h): what stands between one that asks and one that has a
 * client.
 *
 * An exchange is a request of a plugin's and everything that comes of it. It belongs to that plugin and to its host's
 * loop, is known by a token (a slot and its generation), and ends once: with END or FAILED, or because it is cancelled,
 * by the plugin or because that or the host ends. Nothing happens inside send: a request is looked at, filled in and
 * passed on from the loop, so that what is wrong with it is told like everything else.
 *
 *     struct http *http = http_new(host);                              // the host's own
 *     status = http_send(http, plugin, request, on_event, me, &exchange);
 *     ...
 *     http_cancel(http, plugin, exchange);
 *     http_plugin_ended(http, plugin);                                 // cancels what it has left
 *     http_close(http);                                                // all exchanges; nothing is sent any more
 *     http_free(http);
 *
 * Redirects are followed here, each after asking whether the plugin may go there: a provider never sees `redirects`.
 * Everything is [loop] unless it says otherwise.
 */
#ifndef TENON_HOST_HTTP_H
#define TENON_HOST_HTTP_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <tenon/http.h>

struct host;
struct http;
struct plugin;

#define HTTP_EXCHANGES_MAX 65536u /* of a plugin, open at once: TN_LIMIT */

struct http *http_new(struct host *host);
/* Cancels everything, and lets go of the provider; later calls find no exchange. Repeatable; NULL is allowed. */
void http_close(struct http *http);
void http_free(struct http *http); /* NULL is allowed */

/* As tn_http_draft. TN_UNSUPPORTED after http_close. */
int32_t http_send(struct http *http, struct plugin *plugin, tn_value request, tn_http_handler handler, void *user,
                  uint64_t *exchange);
int32_t http_pause(struct http *http, const struct plugin *plugin, uint64_t exchange);
int32_t http_resume(struct http *http, const struct plugin *plugin, uint64_t exchange);
int32_t http_cancel(struct http *http, const struct plugin *plugin, uint64_t exchange);
void http_plugin_ended(struct http *http, const struct plugin *plugin);

/* What a plugin has been told in its section: secrets in it are looked for in what comes back (secrets.h). */
void http_learn_secrets(struct http *http, tn_value section, tn_value revealed);
/* [any] A line for the log without secrets, mem_free it; NULL where it has none. */
char *http_scrub_line(struct http *http, const char *line);

/* For tests: how many are open. */
uint32_t http_open_count(const struct http *http);

#endif
