/*
 * web_refuse.c - requests that the host refuses: in the form of the plugin of the route, or as
 * {"error": {code, message, status}}.
 *
 * A refused request is not open: its plugin gets no other event than TN_SERVER_REFUSED.
 */
#include "adl/value/error.h"
#include "adl/value/memory.h"
#include "host/plugin/abi/abi.h"
#include "host/server/web/web_internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static tn_value default_body(const struct web_refusal *refusal) {
    tn_value error = value_set_take(value_object_reserve(3), "code", value_text(refusal->code));
    error = value_set_take(error, "message", value_string_lossy(refusal->message, strlen(refusal->message)));
    error = value_set_take(error, "status", value_int(refusal->status));
    return value_set_take(value_object_reserve(1), "error", error);
}

static tn_value headers_of(const struct web_refusal *refusal) {
    tn_value headers = value_array();
    for (size_t i = 0; i < sizeof refusal->headers / sizeof *refusal->headers && refusal->headers[i][0]; i++)
        headers = web_push_header(headers, refusal->headers[i][0], refusal->headers[i][1]);
    return headers;
}

/* The value of TN_SERVER_REFUSED. */
static tn_value event_of(const struct web_request *request, const struct web_refusal *refusal) {
    tn_value event = value_set_take(value_object_reserve(9), "id", value_text(request->id));
    event = value_set_take(event, "method", value_ref(value_get(request->head, "method")));
    event = value_set_take(event, "path", value_ref(value_get(request->head, "path")));
    event = value_set_take(event, "route", value_text(request->route->pattern));
    event = value_set_take(event, "status", value_int(refusal->status));
    event = value_set_take(event, "code", value_text(refusal->code));
    event = value_set_take(event, "message", value_string_lossy(refusal->message, strlen(refusal->message)));
    tn_value json = value_get(request->event, "json");
    /* It may be refused before its key is known, so what could be one is removed. */
    event = value_set_take(event, "headers", web_shown_headers(request, true));
    return json ? value_set_take(event, "json", value_ref(json)) : event;
}

/* The plugin responds inside of its handler, with the status and the headers of the host. */
static void let_plugin_word(struct web_request *request, const struct web_refusal *refusal) {
    const struct web_route *route = request->route;
    tn_value event = event_of(request, refusal);
    request->refusing = true;
    void *before = interface_enter(route->plugin);
    route->handler(route->user, request->number, TN_SERVER_REFUSED, event);
    interface_leave(route->plugin, before);
    request->refusing = false;
    value_unref(event);
}

void web_refuse(struct web_request *request, const struct web_refusal *refusal) {
    const struct web_route *route = request->route;
    request->status = refusal->status;
    request->code = refusal->code;
    request->handler = NULL;
    value_unref(request->refusal);
    request->refusal = headers_of(refusal);
    if (route && route->refusals && route->handler) let_plugin_word(request, refusal);
    if (!request->responded)
        web_answer_take(request, refusal->status, value_ref(request->refusal), default_body(refusal));
}

void web_refuse_format(struct web_request *request, int status, const char *code, const char *format, ...) {
    char message[1024], seconds[24];
    va_list args;
    struct web_refusal refusal = {.status = status, .code = code, .message = message};
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (status == 429 || status == 503) {
        int64_t wait_s = status == 429 && request->use ? key_use_retry_s(request->use) : 1;
        (void)snprintf(seconds, sizeof seconds, "%lld", (long long)wait_s);
        refusal.headers[0][0] = "Retry-After";
        refusal.headers[0][1] = seconds;
    }
    web_refuse(request, &refusal);
}

void web_refuse_drain(struct web_request *request) {
    web_refuse_format(request, 503, "DRAINING", "the server is about to end; try again later");
}
