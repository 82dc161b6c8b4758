/*
 * call_blocking.c - calls of blocking components: dispatched to a worker together with everything that they may read.
 *
 * A job lives until two things have happened, in any order: the component's start has returned, and the call has
 * ended. Only then can another job borrow its inner instance. A job whose worker hangs keeps its inner instance and a
 * reference to the instance, so nothing that hung code might still use is ever freed.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/plugin/call/call_internal.h"
#include "host/plugin/call/instance_internal.h"
#include "host/plugin/registry/plugin.h"
#include <stdatomic.h>

static void task_job_free(struct task_job *job) {
    for (uint32_t i = 0; i < job->instance->bindings.read_count; i++) value_unref(job->reads[i]);
    value_unref(job->input);
    value_unref(job->context);
    value_unref(job->run);
    callable_unref(&job->instance->callable);
    mem_free(job);
}

/* [worker] */
static void task_job_run(struct job *base) {
    struct task_job *job = (struct task_job *)base;
    int32_t status = job->instance->component->vtable->start(job->inner, base->token, job->input);
    if (status != TN_OK) call_fail_status(base->token, status);
}

/* ---- Inner instances ---- */

/* Borrows an inner instance. Returns false if all are in use and at the limit. Sets the error if create fails. */
static bool inner_borrow(struct instance *instance, bool over_limit, void **inner, struct error *error) {
    if (!instance->pooled) {
        *inner = instance->self;
        return true;
    }
    if (instance->idle_count) {
        *inner = instance->idle[--instance->idle_count];
        return true;
    }
    if (instance->inner_count >= workers_count() && !over_limit) return false;
    if (instance_create_inner(instance, inner, error) == TN_OK) instance->inner_count++;
    return true;
}

static void inner_return(struct instance *instance, void *inner) {
    if (!instance->pooled) return;
    MEM_GROW(instance->idle, instance->idle_count, instance->idle_capacity);
    instance->idle[instance->idle_count++] = inner;
}

/* Submits the job if an inner instance is available; otherwise queues it. */
static void task_job_dispatch(struct task_job *job, struct loop *loop, struct worker *on) {
    struct instance *instance = job->instance;
    struct error error = ERROR_INIT;
    if (!inner_borrow(instance, on != NULL, &job->inner, &error)) {
        job->queued = true;
        job->next = NULL;
        *instance->queue_last = job;
        instance->queue_last = &job->next;
        return;
    }
    if (!error.code) {
        job->has_inner = true;
        workers_submit(&job->job, loop, on);
        return;
    }
    job->returned = true;
    call_fail(job->job.token, &error);
    error_finish(&error);
}

static void task_job_unqueue(struct task_job *job) {
    struct instance *instance = job->instance;
    for (struct task_job **at = &instance->queue; *at; at = &(*at)->next) {
        if (*at != job) continue;
        *at = job->next;
        if (instance->queue_last == &job->next) instance->queue_last = at;
        break;
    }
    job->queued = false;
}

static void instance_dispatch_next(struct instance *instance, struct loop *loop) {
    struct task_job *job = instance->queue;
    if (!job) return;
    task_job_unqueue(job);
    task_job_dispatch(job, loop, NULL);
}

/*
 * Inner instances that hung: never called again and never destroyed. Process-wide and kept forever, so that a leak
 * checker finds them reachable. A lock-free list: jobs of several loops are added.
 */
static struct hung_inner {
    struct hung_inner *next;
    void *inner;
} * _Atomic hung_inners;

static void inner_keep_hung(void *inner) {
    struct hung_inner *hung = mem_alloc(sizeof *hung);
    *hung = (struct hung_inner){hung_inners, inner};
    while (!atomic_compare_exchange_weak(&hung_inners, &hung->next, hung)) continue;
}

/* The component's start has returned, and the call has ended. */
static void task_job_finish(struct task_job *job, struct loop *loop) {
    struct instance *instance = job->instance;
    callable_ref(&instance->callable);
    if (job->has_inner && job->job.abandoned && instance->pooled) inner_keep_hung(job->inner);
    if (job->has_inner && !job->job.abandoned) inner_return(instance, job->inner);
    task_job_free(job);
    instance_dispatch_next(instance, loop);
    callable_unref(&instance->callable);
}

/* [loop] The component's start has returned, possibly after the job was abandoned. */
static void on_task_job_returned(struct loop_work *work) {
    struct task_job *job = CONTAINER_OF(work, struct task_job, job.work);
    struct loop *loop = job->job.loop;
    workers_returned(&job->job);
    job->returned = true;
    if (job->call_ended)
        task_job_finish(job, loop);
    else
        call_worker_returned(job->job.token); /* may end the call: then blocking_finished frees the job */
}

/* ---- The callable ---- */

int32_t blocking_start(struct callable *callable, struct call *call, tn_value input) {
    struct instance *instance = (struct instance *)callable;
    plugin_task_begin(instance->component->plugin);
    if (workers_refuse(instance->component->plugin)) {
        struct error error = ERROR_INIT;
        error_set(
            &error, TN_FAILED, "PLUGIN_HUNG",
            "more than %u tasks of the plugin `%s` neither ended nor returned after they were cancelled; this process "
            "starts no more of its tasks",
            WORKERS_HUNG_MAX, plugin_id(instance->component->plugin));
        call_fail(slot_token(call), &error);
        error_finish(&error);
        return TN_OK;
    }
    if (instance->input && !instance_accepts(instance, call, &input)) return TN_OK;
    uint32_t reads = instance->bindings.read_count;
    struct task_job *job = mem_zalloc(sizeof *job + reads * sizeof job->reads[0]);
    job->job.run = task_job_run;
    job->job.work.run = on_task_job_returned;
    job->job.token = slot_token(call);
    job->instance = instance;
    callable_ref(callable);
    job->input = value_ref(input);
    for (uint32_t i = 0; i < reads; i++)
        job->reads[i] = call->ops->read ? value_ref(call->ops->read(call, instance->bindings.reads[i])) : NULL;
    job->context = call_context(call);
    if (instance->bindings.uses_run && call->ops->run_value) job->run = call->ops->run_value(call);
    call_set_data(call, job);
    task_job_dispatch(job, call->loop, call->on_worker);
    return TN_OK;
}

/* Ends a job that no worker has started. The others poll task_1.cancelled. */
void blocking_cancel(struct callable *callable, struct call *call) {
    (void)callable;
    struct task_job *job = call_data(call);
    if (!job || job->returned) return;
    if (job->queued)
        task_job_unqueue(job);
    else if (!workers_withdraw(&job->job))
        return;
    job->returned = true;
    call_fail(slot_token(call), NULL);
}

void blocking_finished(struct callable *callable, struct call *call) {
    struct task_job *job = call_data(call);
    plugin_task_end(((struct instance *)callable)->component->plugin);
    if (!job) return;
    call_set_data(call, NULL);
    job->call_ended = true;
    if (job->returned) task_job_finish(job, call->loop);
}

void blocking_hung(struct callable *callable, struct call *call) {
    struct task_job *job = call_data(call);
    struct instance *instance = (struct instance *)callable;
    if (!job || job->returned || job->job.abandoned) return;
    workers_abandon(&job->job, instance->component->plugin);
    instance->inner_count -= instance->pooled; /* another one may replace it */
    instance_dispatch_next(instance, call->loop);
}
