/*
 * blocking.c - a call of a blocking component: dispatched to a worker with everything it may read, and its end.
 *
 * A job lives until two things have happened, in any order: the component's start has returned, and the call has
 * ended. Only then is its inner instance lent to another job. A job whose worker hangs keeps its inner instance, and a
 * reference to the instance: nothing that hung code might still use is ever freed.
 */
#include "adl/value/memory.h"
#include "host/call/instance_internal.h"
#include "host/call/slot.h"
#include "host/plugin/plugin.h"
#include <stdatomic.h>
#include <stddef.h>

static void job_free(struct task_job *job) {
    for (uint32_t i = 0; i < job->instance->bindings.read_count; i++) value_unref(job->reads[i]);
    value_unref(job->input);
    value_unref(job->context);
    value_unref(job->run);
    callable_unref(&job->instance->callable);
    mem_free(job);
}

/* [worker] */
static void run_on_worker(struct job *base) {
    struct task_job *job = (struct task_job *)base;
    int32_t status = job->instance->component->vtable->start(job->inner, base->token, job->input);
    if (status != TN_OK) call_fail_status(base->token, status);
}

/* ---- Inner instances ---- */

/* Lends an inner instance; false: all are lent, and there may be no more. The error is set where create failed. */
static bool borrow(struct instance *instance, bool over_limit, void **inner, struct error *error) {
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

static void give_back(struct instance *instance, void *inner) {
    if (!instance->pooled) return;
    if (instance->idle_count == instance->idle_capacity) {
        instance->idle_capacity = instance->idle_capacity ? instance->idle_capacity * 2 : 4;
        instance->idle = mem_array((void *)instance->idle, instance->idle_capacity, sizeof(void *));
    }
    instance->idle[instance->idle_count++] = inner;
}

/* Submits the job if it can have an inner instance; else it waits in line. */
static void dispatch(struct task_job *job, struct loop *loop, struct worker *on) {
    struct instance *instance = job->instance;
    struct error error = ERROR_INIT;
    if (!borrow(instance, on != NULL, &job->inner, &error)) {
        job->lined = true;
        job->next = NULL;
        *instance->line_last = job;
        instance->line_last = &job->next;
        return;
    }
    if (!error.code) {
        job->lent = true;
        workers_submit(&job->job, loop, on);
        return;
    }
    job->returned = true;
    call_fail(job->job.token, &error);
    error_finish(&error);
}

static void leave_line(struct task_job *job) {
    struct instance *instance = job->instance;
    for (struct task_job **at = &instance->line; *at; at = &(*at)->next) {
        if (*at != job) continue;
        *at = job->next;
        if (instance->line_last == &job->next) instance->line_last = at;
        break;
    }
    job->lined = false;
}

static void dispatch_next(struct instance *instance, struct loop *loop) {
    struct task_job *job = instance->line;
    if (!job) return;
    leave_line(job);
    dispatch(job, loop, NULL);
}

/* What hung is not entered again, nor destroyed: it is kept here, where whoever looks for leaks finds it. */
static struct lost {
    struct lost *next;
    void *inner;
} * _Atomic lost;

static void keep_lost(void *inner) {
    struct lost *kept = mem_alloc(sizeof *kept);
    *kept = (struct lost){lost, inner};
    while (!atomic_compare_exchange_weak(&lost, &kept->next, kept)) continue;
}

/* Both have happened: the job has no use any more. */
static void finish(struct task_job *job, struct loop *loop) {
    struct instance *instance = job->instance;
    callable_ref(&instance->callable);
    if (job->lent && job->job.abandoned && instance->pooled) keep_lost(job->inner);
    if (job->lent && !job->job.abandoned) give_back(instance, job->inner);
    job_free(job);
    dispatch_next(instance, loop);
    callable_unref(&instance->callable);
}

/* [loop] Start has returned, now or, after it hung, at last. */
static void job_returned(struct loop_work *work) {
    struct task_job *job = (struct task_job *)(void *)((char *)work - offsetof(struct task_job, job.work));
    struct loop *loop = job->job.loop;
    workers_returned(&job->job);
    job->returned = true;
    bool over = job->over;
    if (!over) call_returned(job->job.token);
    if (over) finish(job, loop);
}

/* ---- The callable ---- */

int32_t blocking_start(struct callable *callable, struct call *call, tn_value input) {
    struct instance *instance = (struct instance *)callable;
    plugin_task_begin(instance->component->plugin);
    if (workers_refuse(instance->component->plugin)) {
        struct error error = ERROR_INIT;
        error_set(&error, TN_FAILED, "PLUGIN_HUNG",
                  "more than %u tasks of the plugin `%s` did not end when they were cancelled, nor return; it gets no "
                  "more tasks in this process",
                  WORKERS_HUNG_MAX, plugin_id(instance->component->plugin));
        call_fail(slot_token(call), &error);
        error_finish(&error);
        return TN_OK;
    }
    if (instance->input && !instance_accepts(instance, call, input)) return TN_OK;
    uint32_t reads = instance->bindings.read_count;
    struct task_job *job = mem_zalloc(sizeof *job + reads * sizeof job->reads[0]);
    job->job.run = run_on_worker;
    job->job.work.run = job_returned;
    job->job.token = slot_token(call);
    job->instance = instance;
    callable_ref(callable);
    job->input = value_ref(input);
    for (uint32_t i = 0; i < reads; i++)
        job->reads[i] = call->ops->read ? value_ref(call->ops->read(call, instance->bindings.reads[i])) : NULL;
    job->context = call->ops->context ? call->ops->context(call) : instance_plain_context(call);
    if (instance->bindings.uses_run && call->ops->run_value) job->run = call->ops->run_value(call);
    call_set_data(call, job);
    dispatch(job, call->loop, call->on_worker);
    return TN_OK;
}

/* What no worker has begun ends here; the others poll task_1.cancelled. */
void blocking_cancel(struct callable *callable, struct call *call) {
    (void)callable;
    struct task_job *job = call_data(call);
    if (!job || job->returned) return;
    if (job->lined)
        leave_line(job);
    else if (!workers_withdraw(&job->job))
        return;
    job->returned = true;
    call_fail(slot_token(call), NULL);
}

void blocking_over(struct callable *callable, struct call *call) {
    struct task_job *job = call_data(call);
    plugin_task_end(((struct instance *)callable)->component->plugin);
    if (!job) return;
    call_set_data(call, NULL);
    job->over = true;
    if (job->returned) finish(job, call->loop);
}

void blocking_hung(struct callable *callable, struct call *call) {
    struct task_job *job = call_data(call);
    struct instance *instance = (struct instance *)callable;
    if (!job || job->returned || job->job.abandoned) return;
    workers_abandon(&job->job, instance->component->plugin);
    instance->inner_count -= instance->pooled; /* another may be made in its place */
    dispatch_next(instance, call->loop);
}
