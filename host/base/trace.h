/*
 * trace.h - spans: what has taken time on a loop, reported to subscribers when it ends.
 *
 * A span is an object {kind, name, id, parent?, start_us, us, outcome, code?, context?, …}; methods/host.yaml describes
 * it as the event `span/ended`. The server sets the sink of each loop while a client is subscribed to that event.
 * Without a sink nothing is measured or built: trace_wanted is one load and one branch.
 *
 *     self->started_us = trace_start(loop);                    // 0: without a subscriber
 *     ...
 *     if (self->started_us) trace_end_take(loop, self->started_us, trace_span("tool", name, "done", NULL));
 *
 * Thread: that of the loop.
 */
#ifndef TENON_HOST_BASE_TRACE_H
#define TENON_HOST_BASE_TRACE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/base/loop.h"

/* Receives each span, which it takes, on the thread of the loop. It must outlive the time for which it is set. */
struct trace_sink {
    bool contents;         /* spans of models and tools have `input` and `output` */
    _Atomic double sample; /* of the traces that begin here, how many are sampled: 0 to 1; any thread */
    void (*take)(struct trace_sink *sink, tn_value span);
};

static inline bool trace_wanted(const struct loop *loop) {
    return atomic_load_explicit(&loop_any_trace, memory_order_relaxed) && loop_trace(loop);
}

/* The time for trace_end_take; 0 if no span is wanted. */
int64_t trace_start(struct loop *loop);
/* {kind, name, outcome, code?}. `code`: NULL, or why it failed. */
tn_value trace_span(const char *kind, tn_value name, const char *outcome, const char *code);
/* Adds the times and reports the span. It is dropped if it is not wanted any more, or if `started_us` is 0. */
void trace_end_take(struct loop *loop, int64_t started_us, tn_value span);
/*
 * Adds `context` {run_id?, thread_id?, task_id?, node?, step?, traceparent?, tracestate?} from the context of a call
 * (tn_task_1.context). The last two are taken from its metadata, if they are well-formed.
 */
tn_value trace_add_context(tn_value span, tn_value context);
/* Adds `id`: that of the call with this context, "TASK_ID#ATTEMPT". */
tn_value trace_add_id(tn_value span, tn_value context);

#define TRACE_PARENT_TEXT 56
/*
 * Writes the traceparent of what a span causes. The id of a span is text; on the wire it is the digits 33 to 48 of its
 * SHA-256, and a trace that begins with a span has the first 32 as its id. `incoming`: of what has caused the span, or
 * NULL. A trace that begins here is sampled if the first 13 digits of its id, as a fraction, are less than `sample`.
 */
void trace_parent_write(const char *id, const char *incoming, double sample, char out[TRACE_PARENT_TEXT]);
/*
 * If the metadata of the context have a valid traceparent, it becomes that of what the span with this id causes. Takes
 * and returns the context.
 */
tn_value trace_context_take(tn_value context, const char *id);
/*
 * The trace context that the headers of a request have, {traceparent, tracestate?}, a new reference; NULL without a
 * valid traceparent.
 */
tn_value trace_of_headers(tn_value headers);
/*
 * If the method starts a run, its parameters get the trace context (of trace_of_headers; may be NULL) as metadata of
 * the run, unless they have one. Takes and returns the parameters.
 */
tn_value trace_run_params_take(const char *method, tn_value params, tn_value trace);
/* True if it is a traceparent of version 00 as W3C Trace Context defines it, with ids that are not zero. */
bool trace_parent_is_valid(const char *text, size_t length);
/* True if it can be sent as a tracestate: 1 to 512 printable characters of ASCII. */
bool trace_state_is_valid(const char *text, size_t length);

#endif
