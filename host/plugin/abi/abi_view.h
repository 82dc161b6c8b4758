/*
 * abi_view.h - a task as the interfaces for plugins see it: from the loop, or from the worker that runs it.
 *
 * On the loop, values are read in place. On a worker, they are read from the copies that were made when the job was
 * submitted, because the loop runs in parallel.
 *
 *     struct view view;
 *     if (!view_open(&view, task)) return NULL;       // ended, invalid, or of another thread
 *     tn_value score = view_read(&view, index);       // borrowed
 */
#ifndef TENON_HOST_PLUGIN_ABI_ABI_VIEW_H
#define TENON_HOST_PLUGIN_ABI_ABI_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <tenon.h>

struct call;
struct callable;
struct component;
struct instance;
struct job;
struct task_job;
struct call_options;

struct view {
    const struct instance *instance;
    struct call *call;          /* NULL on a worker */
    const struct task_job *job; /* NULL on the loop */
};

/* Returns false if the task has ended, is not a plugin's, or belongs to another thread. */
bool view_open(struct view *view, tn_task task);
/* The component that the task runs. */
struct component *view_component(const struct view *view);
/* A state field by its index in bindings.reads, or by its number; borrowed; NULL if it is unset or not bound. */
tn_value view_read(const struct view *view, uint32_t index);
tn_value view_field(const struct view *view, uint32_t field);
tn_value view_input(const struct view *view); /* borrowed */
tn_value view_run(const struct view *view);   /* a new reference, or NULL */

/* [loop] view_open before starting a call. TN_OK, TN_STALE, or TN_WRONG_THREAD if this is not the loop's thread. */
int32_t view_open_to_start(struct view *view, tn_task task);
/* [worker] view_open before waiting for a call through *job. TN_OK, TN_STALE, or TN_WRONG_THREAD if it is not the
 * task's worker. */
int32_t view_open_to_wait(struct view *view, tn_task task, struct job **job);
/* [worker] Calls and waits: TN_OK and *out, TN_FAILED and *error, or another status. Both may be NULL. */
int32_t view_wait(struct job *job, struct callable *callable, bool model, const struct call_options *options,
                  tn_value input, tn_value *out, tn_value *error);

#endif
