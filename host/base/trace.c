/*
 * trace.c - builds spans and passes them to the sink of the loop.
 */
#include "host/base/trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/util/sha256.h>
#include <time.h>

#define TRACE_PARENT_LENGTH 55u
#define TRACE_STATE_MAX     512u

int64_t trace_start(struct loop *loop) {
    if (!trace_wanted(loop)) return 0;
    int64_t now = loop_clock_us(loop);
    return now > 0 ? now : 1;
}

tn_value trace_span(const char *kind, tn_value name, const char *outcome, const char *code) {
    tn_value span = value_set_take(value_object_reserve(12), "kind", value_text(kind));
    span = value_set_take(span, "name", name ? value_ref(name) : value_text(""));
    span = value_set_take(span, "outcome", value_text(outcome));
    return code ? value_set_take(span, "code", value_text(code)) : span;
}

/* Finer than loop_wall_ms, so that a span is never outside of the one around it. */
static int64_t wall_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void trace_end_take(struct loop *loop, int64_t started_us, tn_value span) {
    struct trace_sink *sink = loop_trace(loop);
    if (!sink || !started_us) {
        value_unref(span);
        return;
    }
    int64_t us = loop_clock_us(loop) - started_us;
    if (us < 0) us = 0;
    span = value_set_take(span, "start_us", value_int(wall_us() - us));
    sink->take(sink, value_set_take(span, "us", value_int(us)));
}

/* ---- W3C Trace Context ---- */

static bool is_hex(const char *text, size_t length, bool zero_allowed) {
    bool zero = true;
    for (size_t i = 0; i < length; i++) {
        bool digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
        if (!digit) return false;
        zero = zero && text[i] == '0';
    }
    return zero_allowed || !zero;
}

bool trace_parent_is_valid(const char *text, size_t length) {
    return length == TRACE_PARENT_LENGTH && memcmp(text, "00-", 3) == 0 && is_hex(text + 3, 32, false) &&
           text[35] == '-' && is_hex(text + 36, 16, false) && text[52] == '-' && is_hex(text + 53, 2, true);
}

static bool is_sampled(const char *trace_id, double sample) {
    char digits[14];
    memcpy(digits, trace_id, 13);
    digits[13] = 0;
    return (double)strtoull(digits, NULL, 16) < sample * 4503599627370496.0; /* 16 to the power of 13 */
}

void trace_parent_write(const char *id, const char *incoming, double sample, char out[TRACE_PARENT_TEXT]) {
    struct tn_sha256 state;
    char digits[TN_SHA256_TEXT];
    tn_sha256_init(&state);
    tn_sha256_update(&state, id, strlen(id));
    tn_sha256_finish_text(&state, digits);
    const char *flags = incoming ? incoming + 53 : is_sampled(digits, sample) ? "01" : "00";
    snprintf(out, TRACE_PARENT_TEXT, "00-%.32s-%.16s-%.2s", incoming ? incoming + 3 : digits, digits + 32, flags);
}

tn_value trace_context_take(tn_value context, const char *id) {
    tn_value metadata = value_get(context, "metadata"), parent = value_get(metadata, "traceparent");
    char out[TRACE_PARENT_TEXT];
    size_t length = 0;
    const char *incoming = value_is(parent, TN_STRING) ? value_chars(parent, &length) : "";
    if (!trace_parent_is_valid(incoming, length)) return context;
    trace_parent_write(id, incoming, 0, out);
    metadata = value_set_take(value_ref(metadata), "traceparent", value_text(out));
    return value_set_take(context, "metadata", metadata);
}

bool trace_state_is_valid(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~') return false;
    return length > 0 && length <= TRACE_STATE_MAX;
}

static tn_value add_if_valid(tn_value out, tn_value metadata, const char *name,
                             bool (*is_valid)(const char *text, size_t length)) {
    tn_value member = value_get(metadata, name);
    size_t length;
    if (!member || !value_is(member, TN_STRING)) return out;
    const char *text = value_chars(member, &length);
    return is_valid(text, length) ? value_set_take(out, name, value_ref(member)) : out;
}

tn_value trace_of_headers(tn_value headers) {
    tn_value parent = value_get(headers, "traceparent");
    size_t length = 0;
    const char *text = value_is(parent, TN_STRING) ? value_chars(parent, &length) : "";
    if (!trace_parent_is_valid(text, length)) return NULL;
    tn_value trace = value_set_take(value_object_reserve(2), "traceparent", value_ref(parent));
    return add_if_valid(trace, headers, "tracestate", trace_state_is_valid);
}

tn_value trace_run_params_take(const char *method, tn_value params, tn_value trace) {
    bool starts = strcmp(method, "run/start") == 0 || strcmp(method, "run/resume") == 0;
    tn_value config = value_get(params, "config"), metadata = value_get(config, "metadata");
    bool fits = (!config || value_is(config, TN_OBJECT)) && (!metadata || value_is(metadata, TN_OBJECT));
    if (!trace || !starts || !value_is(params, TN_OBJECT) || !fits || value_get(metadata, "traceparent")) return params;
    metadata = metadata ? value_ref(metadata) : value_object();
    for (size_t i = 0; i < value_count(trace); i++)
        metadata = value_set_key_take(metadata, value_ref(value_key_at(trace, i)), value_ref(value_value_at(trace, i)));
    config = config ? value_ref(config) : value_object();
    return value_set_take(params, "config", value_set_take(config, "metadata", metadata));
}

tn_value trace_add_context(tn_value span, tn_value context) {
    static const char *const members[] = {"run_id", "thread_id", "task_id", "node", "step"};
    tn_value out = value_object_reserve(7), metadata = value_get(context, "metadata");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(context, members[i]);
        if (member && !value_is(member, TN_NULL)) out = value_set_take(out, members[i], value_ref(member));
    }
    if (value_is(metadata, TN_OBJECT)) {
        out = add_if_valid(out, metadata, "traceparent", trace_parent_is_valid);
        out = add_if_valid(out, metadata, "tracestate", trace_state_is_valid);
    }
    return value_set_take(span, "context", out);
}

tn_value trace_add_id(tn_value span, tn_value context) {
    tn_value task = value_get(context, "task_id"), attempt = value_get(context, "attempt");
    if (!value_is(task, TN_STRING)) return span;
    long long number = attempt && value_is_number(attempt) ? (long long)value_to_int(attempt) : 1;
    return value_set_take(span, "id", value_format("%s#%lld", value_chars(task, NULL), number));
}
