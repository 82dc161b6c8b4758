/*
 * web_trace.c - the span of a request, and the trace context that it passes on.
 */
#include "host/base/trace.h"
#include "host/server/web/web_internal.h"
#include <string.h>

/* The header if it is valid, borrowed; else NULL, and it is removed from the headers. */
static tn_value read_header(tn_value *headers, const char *name, bool (*is_valid)(const char *text, size_t length)) {
    tn_value header = value_get(*headers, name);
    size_t length = 0;
    if (!header) return NULL;
    const char *text = value_is(header, TN_STRING) ? value_chars(header, &length) : "";
    if (is_valid(text, length)) return header;
    *headers = value_remove_take(*headers, value_text(name));
    return NULL;
}

tn_value web_trace_begin_take(struct web_request *request, tn_value headers) {
    const struct trace_sink *sink = loop_trace(request->web->loop);
    char out[TRACE_PARENT_TEXT];
    tn_value parent = read_header(&headers, "traceparent", trace_parent_is_valid);
    tn_value state = read_header(&headers, "tracestate", trace_state_is_valid);
    if (!parent && state) headers = value_remove_take(headers, value_text("tracestate"));
    if (!sink) {
        request->causes = trace_of_headers(headers);
        return headers;
    }
    tn_value id = value_format("request:%s/%lld", request->id, (long long)request->started_us);
    tn_value context = value_object();
    if (parent) context = value_set_take(context, "traceparent", value_ref(parent));
    if (parent && state) context = value_set_take(context, "tracestate", value_ref(state));
    trace_parent_write(value_chars(id, NULL), parent ? value_chars(parent, NULL) : NULL, sink->sample, out);
    request->trace = value_set_take(value_object_reserve(2), "id", id);
    request->trace = value_set_take(request->trace, "context", context);
    headers = value_set_take(headers, "traceparent", value_text(out));
    request->causes = trace_of_headers(headers);
    return headers;
}

static const char *method_name(const struct web_request *request) {
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
    tn_value method = value_get(request->head, "method");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (method && value_text_is(method, known[i])) return known[i];
    return "_OTHER"; /* as in OpenTelemetry: the names that clients invent are not bounded */
}

void web_trace_end(struct web_request *request, const char *reason, int64_t sent) {
    struct loop *loop = request->web->loop;
    if (!trace_wanted(loop)) return;
    bool done = strcmp(reason, "done") == 0 && request->status < 500;
    tn_value name = value_text(request->route ? request->route->pattern : "");
    tn_value span =
        trace_span("request", name, done ? "done" : "failed", done ? NULL : (request->code ? request->code : reason));
    value_unref(name);
    for (size_t i = 0; i < value_count(request->trace); i++)
        span = value_set_key_take(span, value_ref(value_key_at(request->trace, i)),
                                  value_ref(value_value_at(request->trace, i)));
    span = value_set_take(span, "method", value_text(method_name(request)));
    span = value_set_take(span, "status", value_int(request->status));
    span = value_set_take(span, "received", value_int((int64_t)request->received));
    span = value_set_take(span, "sent", value_int(sent > 0 ? sent : 0));
    trace_end_take(loop, request->started_us, span);
}
