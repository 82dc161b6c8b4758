/*
 * call_trace.h - the spans of calls that tasks make: of tools here, of models in engine/model.
 *
 *     span = call_trace_add_place(span, call);     // `id`, `parent` and `context`
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_PLUGIN_CALL_CALL_TRACE_H
#define TENON_HOST_PLUGIN_CALL_CALL_TRACE_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct call;
struct callable;

/* "done", "failed", "cancelled" or "interrupted", of a call that has ended. */
const char *call_trace_outcome(const struct call *call);
/* True if the calls of it are spans: a tool itself, not what wraps it. */
bool call_trace_is_tool(const struct callable *callee);
/*
 * Adds `id`, `context`, and as `parent` the id of the nearest span around the call: of a tool, or of what its root call
 * belongs to (call_ops.trace_id).
 */
tn_value call_trace_add_place(tn_value span, struct call *call);
/* The context of a call that a task makes, with the traceparent of what the call causes. Takes and returns it. */
tn_value call_trace_context_take(tn_value context, const struct call *call, bool model);
/* If contents are wanted: adds a member without the secrets of the host. `content` may be NULL. */
tn_value call_trace_add_content(tn_value span, const struct call *call, const char *member, tn_value content);
/* Reports the call of a tool that has ended. One that waits for an answer is not reported: it is made again. */
void call_trace_tool(struct call *call, int64_t started_us);

#endif
