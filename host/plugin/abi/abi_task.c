/*
 * abi_task.c - tenon.task/1: what a component does with its task.
 *
 * A token may arrive on any thread at any time, so every function first looks up its slot. Tasks of the host's own
 * callables (graphs, pipes) are treated as stale. Indices refer to the instance's bindings, which never change.
 */
#include "adl/value/memory.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_builder.h"
#include "host/plugin/abi/abi_name.h"
#include "host/plugin/abi/abi_view.h"
#include "host/plugin/call/call_internal.h"
#include "host/plugin/call/instance_internal.h"
#include <string.h>

/* ---- The view ---- */

/* [any] The open call of a plugin's task, locked, or NULL. */
static inline struct call *task_lock(tn_task task) {
    struct call *call = slot_lookup_lock(task);
    if (!call || instance_is(call->callable)) return call;
    slot_unlock(call);
    return NULL;
}

/* [any] True if it is an open task of a plugin. */
static bool task_is_open(tn_task task) {
    struct call *call = task_lock(task);
    if (call) slot_unlock(call);
    return call != NULL;
}

bool view_open(struct view *view, tn_task task) {
    struct call *call = slot_lookup_open(task);
    if (call) {
        *view = (struct view){(const struct instance *)call->callable, call, NULL};
        return instance_is(call->callable);
    }
    const struct task_job *job = (const struct task_job *)job_of(task);
    if (!job || !task_is_open(task)) return false;
    *view = (struct view){job->instance, NULL, job};
    return true;
}

struct component *view_component(const struct view *view) {
    return view->instance->component;
}

tn_value view_field(const struct view *view, uint32_t field) {
    if (!view->job) return view->call->ops->read ? view->call->ops->read(view->call, field) : NULL;
    const struct bindings *bindings = &view->instance->bindings;
    for (uint32_t i = 0; i < bindings->read_count; i++)
        if (bindings->reads[i] == field) return view->job->reads[i];
    return NULL;
}

tn_value view_read(const struct view *view, uint32_t index) {
    const struct bindings *bindings = &view->instance->bindings;
    if (index >= bindings->read_count) return NULL;
    return view->job ? view->job->reads[index] : view_field(view, bindings->reads[index]);
}

tn_value view_input(const struct view *view) { return view->job ? view->job->input : view->call->input; }

/* a new reference */
static tn_value view_context(const struct view *view) {
    if (view->job) return value_ref(view->job->context);
    struct call *call = view->call;
    return call_context(call);
}

tn_value view_run(const struct view *view) {
    if (view->job) return value_ref(view->job->run);
    return view->call->ops->run_value ? view->call->ops->run_value(view->call) : NULL;
}

int32_t view_open_to_start(struct view *view, tn_task task) {
    if (!view_open(view, task)) return task_is_open(task) ? TN_WRONG_THREAD : TN_STALE;
    return view->job ? TN_WRONG_THREAD : TN_OK;
}

int32_t view_open_to_wait(struct view *view, tn_task task, struct job **job) {
    *job = job_of(task);
    if (!*job) return task_is_open(task) ? TN_WRONG_THREAD : TN_STALE;
    return view_open(view, task) ? TN_OK : TN_STALE;
}

int32_t view_wait(struct job *job, struct callable *callable, bool model, const struct call_options *options,
                  tn_value input, tn_value *out, tn_value *error) {
    tn_value result = NULL;
    int32_t status = worker_call(job, callable, model, options, input, &result);
    if (status == TN_OK && out)
        *out = result;
    else if (status == TN_FAILED && error)
        *error = result;
    else
        value_unref(result);
    return status;
}

/* ---- Ending ---- */

static int32_t abi_task_complete(tn_task task, tn_value output) {
    int32_t status = call_end_task(task, CALL_COMPLETED, value_ref(output), NULL, "complete", true);
    if (status != TN_OK) value_unref(output);
    return status;
}

static int32_t abi_task_fail(tn_task task, tn_value object) {
    struct error error = ERROR_INIT;
    error_from_value(&error, object);
    if (!value_get(object, "code") || !*error.message)
        error_set(&error, TN_FAILED, value_get(object, "code") ? error.code : "NODE_EXECUTION", "%s",
                  *error.message ? error.message : "the task failed, and its component reported no reason");
    int32_t status = call_end_task(task, CALL_FAILED, NULL, &error, "fail", true);
    error_finish(&error);
    return status;
}

static int32_t task_interrupt(tn_task task, tn_value payload, tn_value answer_schema, tn_value continuation) {
    tn_value value = call_make_interrupt(payload, answer_schema, continuation);
    int32_t status = call_end_task(task, CALL_INTERRUPTED, value, NULL, "interrupt", true);
    if (status != TN_OK) value_unref(value);
    return status;
}

/* ---- Streaming, reading, writing ---- */

static int32_t task_emit(tn_task task, tn_value chunk) {
    if (!chunk) return TN_INVALID;
    if (!task_is_open(task)) return TN_STALE;
    const struct job *job = job_of(task);
    if (!job) return call_try_emit(task, chunk, NULL);
    int32_t status;
    while ((status = call_try_emit(task, chunk, job->worker)) == TN_AGAIN) worker_sleep(job->worker);
    return status;
}

static int32_t task_cancelled(tn_task task) { return call_cancelled(task); }

static int32_t task_context(tn_task task, tn_value *out) {
    struct view view;
    if (!out) return TN_INVALID;
    if (!view_open(&view, task)) return task_is_open(task) ? TN_WRONG_THREAD : TN_STALE;
    *out = view_context(&view);
    return TN_OK;
}

static int32_t task_read(tn_task task, uint32_t index, tn_value *out) {
    if (!out) return TN_INVALID;
    struct call *call = slot_lookup_open(task);
    if (call && call->callable->ops == &instance_async_ops) { /* the common case */
        const struct bindings *bindings = &((const struct instance *)call->callable)->bindings;
        if (index >= bindings->read_count) return TN_NOT_FOUND;
        *out = call->ops->read ? value_ref(call->ops->read(call, bindings->reads[index])) : NULL;
        return TN_OK;
    }
    struct view view;
    if (!view_open(&view, task)) return task_is_open(task) ? TN_WRONG_THREAD : TN_STALE;
    if (index >= view.instance->bindings.read_count) return TN_NOT_FOUND;
    *out = value_ref(view_read(&view, index));
    return TN_OK;
}

static int32_t task_write(tn_task task, uint32_t index, tn_value value) {
    if (!value) return TN_INVALID;
    struct call *call = task_lock(task);
    if (!call) return TN_STALE;
    const struct bindings *bindings = &((const struct instance *)call->callable)->bindings;
    int32_t status =
        index < bindings->write_count ? call_append_write(call, bindings->writes[index], value) : TN_NOT_FOUND;
    slot_unlock(call);
    return status;
}

/* ---- Calling ---- */

static const struct bound_callee *task_callee(const struct view *view, uint32_t callee) {
    const struct bindings *bindings = &view->instance->bindings;
    return callee < bindings->callee_count ? &bindings->callees[callee] : NULL;
}

static bool callee_is_model(const struct bound_callee *callee) { return strcmp(callee->kind, "model") == 0; }

static int32_t task_call(tn_task task, uint32_t callee, tn_value input, tn_value options, tn_call_handler handler,
                         void *user, tn_call *call) {
    struct view view;
    struct call_options read;
    if (!handler || call_options_read(options, &read) != TN_OK) return TN_INVALID;
    int32_t status = view_open_to_start(&view, task);
    if (status != TN_OK) return status;
    const struct bound_callee *bound = task_callee(&view, callee);
    if (!bound) return TN_NOT_FOUND;
    return call_child_with(task, bound->callable, callee_is_model(bound), input, &read, handler, user, call);
}

static int32_t task_cancel_call(tn_task task, tn_call call) {
    struct view view;
    int32_t status = view_open_to_start(&view, task);
    return status == TN_OK ? call_child_cancel(task, call) : status;
}

static int32_t task_resume_call(tn_task task, tn_call call) {
    struct view view;
    int32_t status = view_open_to_start(&view, task);
    return status == TN_OK ? call_child_resume(task, call) : status;
}

static int32_t task_call_wait(tn_task task, uint32_t callee, tn_value input, tn_value options, tn_value *out,
                              tn_value *error) {
    struct view view;
    struct job *job;
    struct call_options read;
    if (!out || call_options_read_to_wait(options, &read) != TN_OK) return TN_INVALID;
    int32_t status = view_open_to_wait(&view, task, &job);
    if (status != TN_OK) return status;
    const struct bound_callee *bound = task_callee(&view, callee);
    if (!bound) return TN_NOT_FOUND;
    return view_wait(job, bound->callable, callee_is_model(bound), &read, input, out, error);
}

/* ---- Binding ---- */

static int32_t task_bind_read(tn_binder *binder, const char *channel, uint64_t length, uint32_t *index) {
    return abi_bind_name(binder_read, binder, channel, length, index);
}

static int32_t task_bind_write(tn_binder *binder, const char *channel, uint64_t length, uint32_t *index) {
    return abi_bind_name(binder_write, binder, channel, length, index);
}

static int32_t task_bind_call(tn_binder *binder, const char *kind, uint64_t kind_length, const char *name,
                              uint64_t name_length, tn_value config, uint32_t *callee) {
    static const char *const kinds[] = {"node", "model", "tool", "runner"};
    if (!binder || !kind || !name || !callee) return TN_INVALID;
    char *kind_text = abi_name(kind, kind_length), *name_text = abi_name(name, name_length);
    bool known = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) known = known || strcmp(kinds[i], kind_text) == 0;
    int32_t status = known ? binder_call(binder, kind_text, name_text, config, callee)
                           : binder_fail(binder, TN_INVALID, "NOT_FOUND",
                                         "cannot call a `%.60s`; expected a node, model, tool or runner", kind_text);
    mem_free(kind_text);
    mem_free(name_text);
    return status;
}

const tn_task_1 interface_task = {.size = sizeof(tn_task_1),
                                  .complete = abi_task_complete,
                                  .fail = abi_task_fail,
                                  .interrupt = task_interrupt,
                                  .emit = task_emit,
                                  .cancelled = task_cancelled,
                                  .context = task_context,
                                  .read = task_read,
                                  .write = task_write,
                                  .call = task_call,
                                  .cancel_call = task_cancel_call,
                                  .resume_call = task_resume_call,
                                  .call_wait = task_call_wait,
                                  .bind_read = task_bind_read,
                                  .bind_write = task_bind_write,
                                  .bind_call = task_bind_call};
