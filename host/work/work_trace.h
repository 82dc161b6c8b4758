/*
 * work_trace.h - the span of a Task that a worker handles (host/base/trace.h): from the claim to its end. It begins a
 * trace, to which the run of the Task belongs.
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_WORK_WORK_TRACE_H
#define TENON_HOST_WORK_WORK_TRACE_H

#include "adl/value/value.h"
#include <stdint.h>

struct loop;
struct work_item;

struct work_trace {
    int64_t started_us; /* 0: no span is wanted */
    tn_value id;        /* owned; NULL if started_us is 0 */
};

void work_trace_start(struct work_trace *trace, struct loop *loop, const char *task_id);
/* Adds the traceparent to the metadata of the Task's run. Takes and returns them. */
tn_value work_trace_metadata_take(const struct work_trace *trace, const struct loop *loop, tn_value metadata);
/* Reports the span of an item that has ended. Has no effect the second time. */
void work_trace_end(struct work_trace *trace, struct loop *loop, const struct work_item *item);
void work_trace_finish(struct work_trace *trace);

#endif
