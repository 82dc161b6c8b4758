/*
 * base.h - settings of the operator, and failures, for every file of this plugin.
 *
 * A failure is the error object of tenon/http.h; the receiver owns it. Failures and log messages never contain
 * data of a request: no header values, no query, no body.
 *
 *     return http_failure("INVALID_INPUT", "`url` must be a string; found %s", tn_kind_name(url));
 *
 * Thread: the loop's, for every file of this plugin. Its state is in static variables without locks: they belong to one
 * host, because the host loads a private copy of a plugin that another host in the process has loaded.
 */
#ifndef TENON_PLUGINS_HTTP_BASE_H
#define TENON_PLUGINS_HTTP_BASE_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/http.h>
#include <tenon/poll.h>
#include <tenon/util/build.h>
#include <tenon/util/text.h>

/* From tenon.yaml; http.json documents each. NULL: libcurl's default. */
struct settings {
    const char *proxy, *no_proxy, *ca_bundle, *user_agent;
    uint32_t per_origin, connections; /* how many exchanges at one time: with one origin, in all */
    bool http2;
    tn_value section; /* owns the strings */
};
extern struct settings settings;
extern const tn_poll_1 *http_poll;

int64_t http_now_ms(void); /* monotonic clock */

tn_value http_failure(const char *code, const char *format, ...) __attribute__((format(printf, 2, 3)));
tn_value http_failure_memory(void);
/*
 * `phase` is connect, idle or total. `what` begins the message: "the exchange did not end". The failure is retryable.
 */
tn_value http_failure_timeout(const char *phase, const char *what, int64_t ms);
/* Takes `failure`; returns it with `retryable: true`. */
tn_value http_failure_retryable_take(tn_value failure);

#endif
