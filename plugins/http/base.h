/*
 * base.h - what every file of this plugin leans on: the operator's settings, failures, texts.
 *
 * A failure is the error object of tenon/http.h, made where it is found; who gets one owns it. Nothing of what a
 * request carries is ever in one, or in a log: no value of a header, no query, no body.
 *
 *     return failure("INVALID_INPUT", "`url` is text, and %s was found", tn_kind_name(url));
 */
#ifndef TENON_PLUGINS_HTTP_BASE_H
#define TENON_PLUGINS_HTTP_BASE_H

#include "bytes.h"
#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/http.h>
#include <tenon/poll.h>

/* From tenon.yaml; http.json says what each is. NULL where it is left to libcurl. */
struct settings {
    const char *proxy, *no_proxy, *ca_bundle, *user_agent;
    uint32_t per_origin, connections;
    bool http2;
    tn_value section; /* what the texts are borrowed from */
};
extern struct settings settings;
extern const tn_poll_draft *poll_draft;

int64_t now_ms(void); /* monotonic */

tn_value failure(const char *code, const char *format, ...) __attribute__((format(printf, 2, 3)));
tn_value failure_memory(void);
/* `phase`: connect, idle or total. Retryable, but for the last. */
tn_value failure_timeout(const char *phase, const char *what, int64_t ms);
/* The same, taken, with `retryable: true`. */
tn_value failure_retryable_take(tn_value failure);

/* A string, with U+FFFD for what is not UTF-8; NULL where there is no memory. */
tn_value text_lossy(const char *data, size_t length);

#endif
