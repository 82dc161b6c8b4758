/*
 * view.h - a task as the functions of tenon.task/1 and tenon.eval see it: from the loop, or from the worker it runs on.
 *
 * On the loop everything is read where it is; on a worker from what was taken when the job was dispatched, because the
 * loop goes on meanwhile.
 *
 *     struct view view;
 *     if (!view_open(&view, task)) return NULL;       // ended, never was, or another thread's
 *     tn_value score = view_read(&view, index);       // borrowed
 */
#ifndef TENON_HOST_INTERFACE_VIEW_H
#define TENON_HOST_INTERFACE_VIEW_H

#include "host/call/instance_internal.h"
#include <stdbool.h>

struct view {
    const struct instance *instance;
    struct call *call;          /* on the loop; else NULL */
    const struct task_job *job; /* on a worker; else NULL */
};

/* False: the task has ended, is no plugin's, or belongs to another thread. */
bool view_open(struct view *view, tn_task task);
/* By index in bindings.reads, and by field of the state; borrowed; NULL where there is none. */
tn_value view_read(const struct view *view, uint32_t index);
tn_value view_field(const struct view *view, uint32_t field);
tn_value view_input(const struct view *view);   /* borrowed */
tn_value view_context(const struct view *view); /* a new reference */
tn_value view_run(const struct view *view);     /* a new reference, or NULL */

/* [loop] For what starts a call: TN_OK, TN_STALE, or TN_WRONG_THREAD on a worker or any other thread. */
int32_t view_open_to_start(struct view *view, tn_task task);
/* [worker] For what waits for a call, which goes through *job: TN_OK, TN_STALE, or TN_WRONG_THREAD anywhere else. */
int32_t view_open_to_wait(struct view *view, tn_task task, struct job **job);
/* [worker] Calls and waits; *result is set, to the output or to the error, where the call was made. */
int32_t view_wait(struct job *job, struct callable *callable, bool model, tn_value input, tn_value *result);

#endif
