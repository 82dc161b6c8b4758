/*
 * work_trace.c - see work_trace.h. The id of the span is "task:TASK_ID/START".
 */
#include "host/work/work_trace.h"
#include "host/base/trace.h"
#include "host/work/work_item.h"
#include "host/work/work_type.h"

void work_trace_start(struct work_trace *trace, struct loop *loop, const char *task_id) {
    trace->started_us = trace_start(loop);
    if (trace->started_us) trace->id = value_format("task:%s/%lld", task_id, (long long)trace->started_us);
}

tn_value work_trace_metadata_take(const struct work_trace *trace, const struct loop *loop, tn_value metadata) {
    const struct trace_sink *sink = loop_trace(loop);
    char out[TRACE_PARENT_TEXT];
    if (!trace->id || !sink) return metadata;
    trace_parent_write(value_chars(trace->id, NULL), NULL, sink->sample, out);
    return value_set_take(metadata, "traceparent", value_text(out));
}

static const char *outcome_of(const struct work_item *item) {
    static const char *const outcomes[] = {
        [WORK_DONE] = "done",           [WORK_FAILED] = "failed",    [WORK_RETRIED] = "failed",
        [WORK_WAITING] = "interrupted", [WORK_RELEASED] = "stopped", [WORK_LOST] = "failed"};
    return outcomes[work_item_outcome(item)];
}

void work_trace_end(struct work_trace *trace, struct loop *loop, const struct work_item *item) {
    if (!trace->id) return;
    tn_value name = value_text(work_item_type(item)->name), task = value_text(work_item_id(item));
    tn_value attempts = value_get(work_item_task(item), "attempts");
    tn_value span = trace_span("task", name, outcome_of(item), work_item_error(item)->code);
    /* Without `run_id`: the trace is that of the span. */
    tn_value context = value_set_take(value_object_reserve(2), "thread_id", value_ref(task));
    span = value_set_take(span, "id", trace->id);
    span = value_set_take(span, "context", value_set_take(context, "task_id", task));
    if (attempts) span = value_set_take(span, "attempt", value_ref(attempts));
    value_unref(name);
    trace->id = NULL;
    trace_end_take(loop, trace->started_us, span);
}

void work_trace_finish(struct work_trace *trace) { value_unref(trace->id); }
