/*
 * serve_task.c - tasks in a process of its own: each is a call here, and what becomes of it is told to the host.
 *
 * Numbers of tasks are the host's. What of an instance's channels only grows is kept from one start to the next.
 */
#include "adl/value/memory.h"
#include "host/isolate/serve_internal.h"

tn_value serve_of_task(const struct task *task, uint32_t more) {
    return value_set_take(value_object_reserve(1 + more), "task", value_int(task->number));
}

/* ---- Tasks ---- */

static struct task **find_task(int64_t number) {
    struct task **at = &server.tasks[(uint64_t)number % TASK_BUCKETS];
    while (*at && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void task_free(struct task *task) {
    *find_task(task->number) = task->next;
    for (uint32_t i = 0; i < task->instance->read_count; i++) value_unref(task->reads[i]);
    mem_free((void *)task->reads);
    value_unref(task->context);
    value_unref(task->run);
    call_free(task->call);
    mem_free(task);
}

static tn_value task_writes(const struct task *task) {
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

static bool tell_end(const struct task *task) {
    tn_value params = serve_of_task(task, 4), writes, given;
    switch (call_outcome(task->call)) {
    case CALL_COMPLETED:
        writes = task_writes(task);
        if (call_output(task->call)) params = value_set_take(params, "output", value_ref(call_output(task->call)));
        if (writes) params = value_set_take(params, "writes", writes);
        return serve_notify_take("complete", params);
    case CALL_INTERRUPTED:
        given = call_interrupt_value(task->call);
        for (uint32_t i = 0; i < value_count(given); i++)
            params = value_set_key_take(params, value_ref(value_key_at(given, i)), value_ref(value_value_at(given, i)));
        return serve_notify_take("interrupt", params);
    default: return serve_notify_take("fail", value_set_take(params, "error", error_to_value(call_error(task->call))));
    }
}

static void task_over(struct task *task) {
    if (task->chunk_lost || !tell_end(task)) {
        struct error error = ERROR_INIT;
        serve_set_too_long(&error, task->chunk_lost ? "a chunk" : "what the task ended with");
        serve_notify_take("fail", value_set_take(serve_of_task(task, 1), "error", error_to_value(&error)));
        error_finish(&error);
    }
    task_free(task);
}

static void on_ended(struct call *call) { task_over(call_owner(call)); }

void serve_fail_too_long(const struct call *call, const char *what) {
    struct error error = ERROR_INIT;
    serve_set_too_long(&error, what);
    call_fail(call_token(call), &error);
    error_finish(&error);
}

static bool on_chunk(struct call *call, tn_value chunk) {
    struct task *task = call_owner(call);
    if (!serve_notify_take("emit", value_set_take(serve_of_task(task, 1), "chunk", value_ref(chunk)))) {
        task->chunk_lost = true; /* it may have ended already: then that is not what is told */
        serve_fail_too_long(call, "a chunk");
        return true;
    }
    return --task->room > 0;
}

static tn_value on_read(struct call *call, uint32_t field) {
    const struct task *task = call_owner(call);
    return field < task->instance->read_count ? task->reads[field] : NULL;
}

static tn_value on_context(struct call *call) { return value_ref(((struct task *)call_owner(call))->context); }
static tn_value on_run(struct call *call) { return value_ref(((struct task *)call_owner(call))->run); }

static const struct call_ops task_ops = {
    .ended = on_ended, .chunk = on_chunk, .read = on_read, .context = on_context, .run_value = on_run};

void serve_start_task(tn_value params) {
    int64_t number = value_to_int(value_get(params, "task"));
    struct served *served = serve_instance(value_to_int(value_get(params, "instance")));
    if (!served || *find_task(number)) return; /* the host does not do that */
    struct task *task = mem_zalloc(sizeof *task), **place = find_task(number);
    tn_value reads = value_get(params, "reads"), grown = value_get(params, "grown");
    *place = task;
    task->number = number;
    task->instance = served;
    task->room = PROTOCOL_CHUNKS;
    task->context = value_ref(value_get(params, "context"));
    task->run = value_ref(value_get(params, "run"));
    task->reads = mem_zalloc((served->read_count + 1) * sizeof *task->reads);
    for (uint32_t i = 0; i < served->read_count; i++) {
        tn_value value = reads ? value_ref(value_get(reads, served->reads[i])) : NULL;
        tn_value more = grown ? value_get(grown, served->reads[i]) : NULL;
        if (more && served->kept[i]) value = protocol_grow(served->kept[i], more);
        task->reads[i] = value;
        value_unref(served->kept[i]);
        served->kept[i] = value_is(value, TN_ARRAY) ? value_ref(value) : NULL;
    }
    serve_take_tools(served, value_get(params, "tools"));
    task->call = call_new(server.host.loop, served->callable, &task_ops, task);
    if (value_get(params, "resumed") == value_bool(true)) call_set_resumed(task->call);
    if (call_start(task->call, value_get(params, "input"))) task_over(task);
}

void serve_cancel_task(tn_value params) {
    struct task *task = *find_task(value_to_int(value_get(params, "task")));
    if (task) call_cancel(task->call);
}

void serve_credit_task(tn_value params) {
    struct task *task = *find_task(value_to_int(value_get(params, "task")));
    if (!task) return;
    bool full = task->room <= 0;
    task->room += value_to_int(value_get(params, "chunks"));
    if (full && task->room > 0) call_resume(task->call);
}

/* A reducer has no state and no context, and completes inside start; the host says what it is to one that does not. */
void serve_reduce(tn_value id, tn_value params) {
    static const struct call_ops nothing = {.ended = call_free};
    struct served *served = serve_instance(value_to_int(value_get(params, "instance")));
    if (!served) return;
    struct call *call = call_new(server.host.loop, served->callable, &nothing, NULL);
    bool completed = call_start(call, value_get(params, "input"));
    tn_value result = value_set_take(value_object_reserve(2), "completed", value_bool(completed));
    if (completed && call_outcome(call) != CALL_COMPLETED) {
        serve_refuse(id, call_error(call));
        value_unref(result);
    } else {
        if (completed && call_output(call)) result = value_set_take(result, "output", value_ref(call_output(call)));
        serve_answer_take(id, result);
    }
    if (completed) call_free(call);
}
