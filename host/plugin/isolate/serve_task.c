/*
 * serve_task.c - tasks in a child process: each is a call of the call layer, whose chunks and end are sent to the host.
 *
 * The arrays that an instance reads are kept from one start to the next, so that the host can send only new items.
 */
#include "adl/value/memory.h"
#include "host/plugin/isolate/serve_internal.h"

tn_value served_task_params(const struct served_task *task, uint32_t more) {
    return value_set_take(value_object_reserve(1 + more), "task", value_int(task->number));
}

/* ---- Tasks ---- */

/* Returns the link that points to the task, or to NULL at the end of its list. */
static struct served_task **served_task_link(int64_t number) {
    struct served_task **at = &server.tasks[(uint64_t)number % TASK_BUCKETS];
    while (*at && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void served_task_free(struct served_task *task) {
    *served_task_link(task->number) = task->next;
    for (uint32_t i = 0; i < task->instance->read_count; i++) value_unref(task->reads[i]);
    mem_free((void *)task->reads);
    value_unref(task->context);
    value_unref(task->run);
    call_free(task->call);
    mem_free(task);
}

static tn_value served_task_writes(const struct served_task *task) {
    uint32_t count;
    const struct call_write *writes = call_writes(task->call, &count);
    if (!count) return NULL;
    tn_value list = value_array();
    for (uint32_t i = 0; i < count; i++) {
        tn_value pair = value_push_take(value_array(), value_text(task->instance->writes[writes[i].channel]));
        list = value_push_take(list, value_push_take(pair, value_ref(writes[i].value)));
    }
    return list;
}

/* Sends the outcome. Returns why it was not sent, or FRAME_FITS. */
static enum frame_fit served_task_notify_end(const struct served_task *task) {
    tn_value params = served_task_params(task, 4), writes, interrupt;
    switch (call_outcome(task->call)) {
    case CALL_COMPLETED:
        writes = served_task_writes(task);
        if (call_output(task->call)) params = value_set_take(params, "output", value_ref(call_output(task->call)));
        if (writes) params = value_set_take(params, "writes", writes);
        return serve_notify_take("complete", params);
    case CALL_INTERRUPTED:
        interrupt = call_interrupt_value(task->call);
        for (uint32_t i = 0; i < value_count(interrupt); i++)
            params = value_set_key_take(params, value_ref(value_key_at(interrupt, i)),
                                        value_ref(value_value_at(interrupt, i)));
        return serve_notify_take("interrupt", params);
    default: return serve_notify_take("fail", value_set_take(params, "error", error_to_value(call_error(task->call))));
    }
}

static void served_task_finish(struct served_task *task) {
    enum frame_fit fit = task->chunk_fit != FRAME_FITS ? task->chunk_fit : served_task_notify_end(task);
    if (fit != FRAME_FITS) {
        struct error error = ERROR_INIT;
        serve_set_unsendable(&error, task->chunk_fit != FRAME_FITS ? "a chunk" : "the result of the task", fit);
        serve_notify_take("fail", value_set_take(served_task_params(task, 1), "error", error_to_value(&error)));
        error_finish(&error);
    }
    served_task_free(task);
}

static void served_task_on_ended(struct call *call) { served_task_finish(call_owner(call)); }

void serve_fail_unsendable(const struct call *call, const char *what, enum frame_fit fit) {
    struct error error = ERROR_INIT;
    serve_set_unsendable(&error, what, fit);
    call_fail(call_token(call), &error);
    error_finish(&error);
}

static bool served_task_on_chunk(struct call *call, tn_value chunk) {
    struct served_task *task = call_owner(call);
    enum frame_fit fit =
        serve_notify_take("emit", value_set_take(served_task_params(task, 1), "chunk", value_ref(chunk)));
    if (fit != FRAME_FITS) {
        task->chunk_fit = fit; /* served_task_finish reports this even if the task has already ended */
        serve_fail_unsendable(call, "a chunk", fit);
        return true;
    }
    return --task->credit > 0;
}

static tn_value served_task_on_read(struct call *call, uint32_t field) {
    const struct served_task *task = call_owner(call);
    return field < task->instance->read_count ? task->reads[field] : NULL;
}

static tn_value served_task_on_context(struct call *call) {
    return value_ref(((struct served_task *)call_owner(call))->context);
}
static tn_value served_task_on_run(struct call *call) {
    return value_ref(((struct served_task *)call_owner(call))->run);
}

static const struct call_ops served_task_ops = {.ended = served_task_on_ended,
                                                .chunk = served_task_on_chunk,
                                                .read = served_task_on_read,
                                                .context = served_task_on_context,
                                                .run_value = served_task_on_run};

void serve_start_task(tn_value params) {
    int64_t number = value_to_int(value_get(params, "task"));
    struct served_instance *instance = served_instance_lookup(value_to_int(value_get(params, "instance")));
    if (!instance || *served_task_link(number)) return; /* a host never sends this */
    struct served_task *task = mem_zalloc(sizeof *task), **place = served_task_link(number);
    tn_value reads = value_get(params, "reads"), grown = value_get(params, "grown");
    *place = task;
    task->number = number;
    task->instance = instance;
    task->credit = PROTOCOL_CHUNKS;
    task->context = value_ref(value_get(params, "context"));
    task->run = value_ref(value_get(params, "run"));
    task->reads = mem_zalloc((instance->read_count + 1) * sizeof *task->reads);
    for (uint32_t i = 0; i < instance->read_count; i++) {
        tn_value value = reads ? value_ref(value_get(reads, instance->reads[i])) : NULL;
        tn_value more = grown ? value_get(grown, instance->reads[i]) : NULL;
        if (more && instance->last_reads[i]) value = protocol_grow(instance->last_reads[i], more);
        task->reads[i] = value;
        value_unref(instance->last_reads[i]);
        instance->last_reads[i] = value_is(value, TN_ARRAY) ? value_ref(value) : NULL;
    }
    served_sets_update(instance, value_get(params, "tools"));
    task->call = call_new(server.loop, instance->callable, &served_task_ops, task);
    if (value_get(params, "resumed") == value_bool(true)) call_set_resumed(task->call);
    if (call_start(task->call, value_get(params, "input"))) served_task_finish(task);
}

void serve_cancel_task(tn_value params) {
    struct served_task *task = *served_task_link(value_to_int(value_get(params, "task")));
    if (task) call_cancel(task->call);
}

void serve_credit_task(tn_value params) {
    struct served_task *task = *served_task_link(value_to_int(value_get(params, "task")));
    if (!task) return;
    bool full = task->credit <= 0;
    task->credit += value_to_int(value_get(params, "chunks"));
    if (full && task->credit > 0) call_resume(task->call);
}

/* A reducer has no channels and no context, and must complete inside `start`; the host reports it if it does not. */
void serve_reduce(tn_value id, tn_value params) {
    static const struct call_ops reduce_ops = {.ended = call_free};
    struct served_instance *instance = served_instance_lookup(value_to_int(value_get(params, "instance")));
    if (!instance) return;
    struct call *call = call_new(server.loop, instance->callable, &reduce_ops, NULL);
    bool completed = call_start(call, value_get(params, "input"));
    tn_value result = value_set_take(value_object_reserve(2), "completed", value_bool(completed));
    if (completed && call_outcome(call) != CALL_COMPLETED) {
        serve_respond_error(id, call_error(call));
        value_unref(result);
    } else {
        if (completed && call_output(call)) result = value_set_take(result, "output", value_ref(call_output(call)));
        serve_respond_take(id, result);
    }
    if (completed) call_free(call);
}
