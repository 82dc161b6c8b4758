/*
 * task.c - tenon.task/1: what a component does with its task, over host/call.
 *
 * A token may come from anywhere, at any time: everything begins with finding its slot, and tasks of the host's own
 * callables (graphs, pipes) are nobody's here. Indices are those of the instance's bindings, which never change.
 */
#include "host/call/slot.h"
#include "host/interface/interface.h"
#include "host/interface/view.h"
#include <string.h>

/* ---- The view ---- */

/* [any] The open slot of a plugin's task, locked. */
static inline struct call *lock_task(tn_task task) {
    struct call *call = slot_lock(task);
    if (!call || instance_is(call->callable)) return call;
    slot_unlock(call);
    return NULL;
}

/* [any] Is it a plugin's, and open? */
static bool is_task(tn_task task) {
    struct call *call = lock_task(task);
    if (call) slot_unlock(call);
    return call != NULL;
}

bool view_open(struct view *view, tn_task task) {
    struct call *call = slot_here(task);
    if (call) {
        *view = (struct view){(const struct instance *)call->callable, call, NULL};
        return instance_is(call->callable);
    }
    const struct task_job *job = (const struct task_job *)job_of(task);
    if (!job || !is_task(task)) return false;
    *view = (struct view){job->instance, NULL, job};
    return true;
}

tn_value view_field(const struct view *view, uint32_t field) {
    if (view->call) return view->call->ops->read ? view->call->ops->read(view->call, field) : NULL;
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

tn_value view_context(const struct view *view) {
    if (view->job) return value_ref(view->job->context);
    struct call *call = view->call;
    return call->ops->context ? call->ops->context(call) : instance_plain_context(call);
}

tn_value view_run(const struct view *view) {
    if (view->job) return value_ref(view->job->run);
    return view->call->ops->run_value ? view->call->ops->run_value(view->call) : NULL;
}

int32_t view_open_to_start(struct view *view, tn_task task) {
    if (!view_open(view, task)) return is_task(task) ? TN_WRONG_THREAD : TN_STALE;
    return view->job ? TN_WRONG_THREAD : TN_OK;
}

int32_t view_open_to_wait(struct view *view, tn_task task, struct job **job) {
    *job = job_of(task);
    if (!*job) return is_task(task) ? TN_WRONG_THREAD : TN_STALE;
    return view_open(view, task) ? TN_OK : TN_STALE;
}

int32_t view_wait(struct job *job, struct callable *callable, bool model, tn_value input, tn_value *result) {
    tn_value given = NULL;
    int32_t status = worker_call(job, callable, model, input, &given);
    if (status == TN_OK || status == TN_FAILED || status == TN_CANCELLED) *result = given;
    return status;
}

/* ---- Ending ---- */

static int32_t complete(tn_task task, tn_value output) {
    int32_t status = slot_end_take(task, CALL_COMPLETED, value_ref(output), NULL, "complete", true);
    if (status != TN_OK) value_unref(output);
    return status;
}

static int32_t fail(tn_task task, const char *code, const char *message, tn_value more) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_FAILED, code && *code ? code : "NODE_EXECUTION", "%s",
              message ? message : "the task failed, and its component does not say why");
    if (value_is(more, TN_OBJECT)) error.more = value_ref(more);
    int32_t status = slot_end_take(task, CALL_FAILED, NULL, &error, "fail", true);
    error_finish(&error);
    return status;
}

static int32_t interrupt(tn_task task, tn_value payload, tn_value answer_schema, tn_value continuation) {
    tn_value value = slot_interrupt_value(payload, answer_schema, continuation);
    int32_t status = slot_end_take(task, CALL_INTERRUPTED, value, NULL, "interrupt", true);
    if (status != TN_OK) value_unref(value);
    return status;
}

/* ---- Streaming, reading, writing ---- */

static int32_t emit(tn_task task, tn_value chunk) {
    if (!chunk) return TN_INVALID;
    if (!is_task(task)) return TN_STALE;
    const struct job *job = job_of(task);
    if (!job) return slot_emit(task, chunk, NULL);
    int32_t status;
    while ((status = slot_emit(task, chunk, job->worker)) == TN_AGAIN) worker_sleep(job->worker);
    return status;
}

static int32_t cancelled(tn_task task) { return call_cancelled(task); }

static tn_value context(tn_task task) {
    struct view view;
    return view_open(&view, task) ? view_context(&view) : NULL;
}

static tn_value read(tn_task task, uint32_t index) {
    struct call *call = slot_here(task);
    if (call && call->callable->ops == &instance_async_ops) { /* nearly always */
        const struct bindings *bindings = &((const struct instance *)call->callable)->bindings;
        if (index >= bindings->read_count || !call->ops->read) return NULL;
        return value_ref(call->ops->read(call, bindings->reads[index]));
    }
    struct view view;
    return view_open(&view, task) ? value_ref(view_read(&view, index)) : NULL;
}

static int32_t write(tn_task task, uint32_t index, tn_value value) {
    if (!value) return TN_INVALID;
    struct call *call = lock_task(task);
    if (!call) return TN_STALE;
    const struct bindings *bindings = &((const struct instance *)call->callable)->bindings;
    int32_t status = index < bindings->write_count ? slot_write(call, bindings->writes[index], value) : TN_NOT_FOUND;
    slot_unlock(call);
    return status;
}

/* ---- Calling ---- */

static const struct bound_callee *callee_of(const struct view *view, uint32_t callee) {
    const struct bindings *bindings = &view->instance->bindings;
    return callee < bindings->callee_count ? &bindings->callees[callee] : NULL;
}

static bool is_model(const struct bound_callee *callee) { return strcmp(callee->kind, "model") == 0; }

static int32_t call(tn_task task, uint32_t callee, tn_value input, tn_call_done done, void *user) {
    struct view view;
    if (!done) return TN_INVALID;
    int32_t status = view_open_to_start(&view, task);
    if (status != TN_OK) return status;
    const struct bound_callee *bound = callee_of(&view, callee);
    return bound ? call_child(task, bound->callable, is_model(bound), input, done, user) : TN_NOT_FOUND;
}

static int32_t call_wait(tn_task task, uint32_t callee, tn_value input, tn_value *result) {
    struct view view;
    struct job *job;
    if (!result) return TN_INVALID;
    int32_t status = view_open_to_wait(&view, task, &job);
    if (status != TN_OK) return status;
    const struct bound_callee *bound = callee_of(&view, callee);
    return bound ? view_wait(job, bound->callable, is_model(bound), input, result) : TN_NOT_FOUND;
}

/* ---- Binding ---- */

static int32_t bind_call(tn_binder *binder, const char *kind, const char *name, tn_value config, uint32_t *callee) {
    static const char *const kinds[] = {"node", "model", "tool", "runner"};
    if (!binder || !kind || !name || !callee) return TN_INVALID;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i], kind) == 0) return binder_call(binder, kind, name, config, callee);
    return binder_fail(binder, TN_INVALID, "NOT_FOUND",
                       "it is to call a `%.60s`; what can be called is a node, model, tool or runner", kind);
}

const tn_task_1 interface_task = {
    sizeof(tn_task_1), 0,           complete,     fail,      interrupt,    emit, cancelled, context, read, write, call,
    call_wait,         binder_read, binder_write, bind_call, binder_refuse};
