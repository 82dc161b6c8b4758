/*
 * remote_task.c - the table of a remote plugin's tasks, the queues of those that wait, and the message that starts one.
 */
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/base/container_of.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/call/call.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin.h"
#include <stdio.h>

#define INDEX_BITS 20

/* ---- The table ---- */

struct remote_task *remote_task_at(const struct remote *remote, uint32_t index) {
    return &remote->tasks[index / 64][index % 64];
}

int64_t remote_task_number(const struct remote_task *task) {
    return (int64_t)task->generation << INDEX_BITS | task->index;
}

/* The entry of the number, which may have another task now, or NULL. */
static struct remote_task *remote_task_of_number(const struct remote *remote, int64_t number) {
    uint32_t index = (uint32_t)(number & ((1 << INDEX_BITS) - 1));
    return number < 0 || index >= remote->task_count ? NULL : remote_task_at(remote, index);
}

struct remote_task *remote_task_lookup(const struct remote *remote, int64_t number) {
    struct remote_task *task = remote_task_of_number(remote, number);
    return task && task->state == TASK_OPEN && task->generation == number >> INDEX_BITS ? task : NULL;
}

bool remote_task_was_ended(const struct remote *remote, int64_t number) {
    const struct remote_task *task = remote_task_of_number(remote, number);
    return task && !task->was_cancelled && task->generation == (number >> INDEX_BITS) + 1;
}

/* A linear search, because cancels are rare. */
struct remote_task *remote_task_lookup_by_token(const struct remote *remote, tn_task token) {
    for (uint32_t i = 0; i < remote->task_count; i++) {
        struct remote_task *task = remote_task_at(remote, i);
        if (task->state != TASK_FREE && task->token == token) return task;
    }
    return NULL;
}

struct remote_task *remote_task_acquire(struct remote *remote) {
    if (remote->free_task == UINT32_MAX) {
        if (remote->task_count >= remote->tasks_max) return NULL;
        uint32_t block = remote->task_count / 64;
        MEM_EXTEND(remote->tasks, block);
        remote->tasks[block] = mem_zalloc(64 * sizeof **remote->tasks);
        for (uint32_t i = 64; i-- > 0;) {
            remote->tasks[block][i].index = remote->task_count + i;
            remote->tasks[block][i].next_free = remote->free_task;
            remote->free_task = remote->task_count + i;
        }
        remote->task_count += 64;
    }
    struct remote_task *task = remote_task_at(remote, remote->free_task);
    remote->free_task = task->next_free;
    task->failed_starts = 0;
    return task;
}

void remote_task_reserve(struct remote_task *task, struct remote_child *child) {
    task->child = child;
    if (!child->shared) {
        child->task = task;
        child->remote->pool_busy++;
    }
    if (child->open++ == 0) process_hold(child->process);
}

void remote_task_leave_child(struct remote_task *task) {
    struct remote_child *child = task->child;
    if (task->nested && !child->shared) child->remote->pool_nested--;
    task->nested = 0;
    task->child = NULL;
    if (child->task == task) {
        child->task = NULL;
        child->remote->pool_busy--;
    }
    if (--child->open > 0) return;
    process_unhold(child->process);
    child->used_ms = clock_now_ms();
}

void remote_task_release(struct remote *remote, struct remote_task *task) {
    task->was_cancelled = loop_timer_is_running(&task->deadline);
    loop_timer_stop(remote->host->loop, &task->deadline);
    if (task->queue) remote_queue_remove(task);
    if (task->child) remote_task_leave_child(task);
    task->state = TASK_FREE;
    task->instance = NULL;
    task->generation++;
    task->next_free = remote->free_task;
    remote->free_task = task->index;
}

void remote_task_fail(struct remote *remote, struct remote_task *task, const struct error *why) {
    tn_task token = task->token;
    remote_task_release(remote, task);
    call_fail(token, why);
}

/* ---- Queues ---- */

void remote_queue_append(struct remote_queue *queue, struct remote_task *task) {
    task->state = TASK_WAITING;
    task->queue = queue;
    task->next = NULL;
    task->previous = queue->last;
    *(queue->last ? &queue->last->next : &queue->first) = task;
    queue->last = task;
    queue->count++;
}

void remote_queue_remove(struct remote_task *task) {
    struct remote_queue *queue = task->queue;
    task->queue = NULL;
    *(task->previous ? &task->previous->next : &queue->first) = task->next;
    *(task->next ? &task->next->previous : &queue->last) = task->previous;
    queue->count--;
}

/* ---- Sending a task ---- */

/* Adds the channels that the instance reads: whole, or only the new items of an array that grew. */
static tn_value task_add_reads(struct remote_copy *copy, tn_task token, tn_value params) {
    tn_value names = value_get(copy->instance->bound, "reads"), reads = NULL, grown = NULL;
    size_t count = value_count(names);
    for (uint32_t i = 0; i < count; i++) {
        tn_value value = NULL, name = value_ref(value_at(names, i));
        (void)interface_task.read(token, i, &value);
        tn_value more = value ? protocol_grown(copy->sent[i], value) : NULL;
        if (more)
            grown = value_set_key_take(grown ? grown : value_object_reserve(1), name, more);
        else if (value)
            reads = value_set_key_take(reads ? reads : value_object_reserve((uint32_t)count), name, value_ref(value));
        else
            value_unref(name);
        value_unref(copy->sent[i]);
        copy->sent[i] = value_is(value, TN_ARRAY) ? value_ref(value) : NULL;
        value_unref(value);
    }
    if (reads) params = value_set_take(params, "reads", reads);
    return grown ? value_set_take(params, "grown", grown) : params;
}

/* Adds the descriptions of the tool sets that have changed since they were last sent: {index: definitions}. */
static tn_value task_add_tools(struct remote_copy *copy, tn_task token, tn_value params) {
    size_t first = value_count(value_get(copy->instance->bound, "reads"));
    size_t count = value_count(value_get(copy->instance->bound, "tools"));
    tn_value tools = NULL;
    for (size_t i = 0; i < count; i++) {
        char index[24];
        tn_value described = NULL;
        (void)interface_tool.describe(token, (uint32_t)i, &described);
        snprintf(index, sizeof index, "%zu", i);
        if (described && described != copy->sent[first + i])
            tools = value_set_take(tools ? tools : value_object_reserve(1), index, value_ref(described));
        value_unref(copy->sent[first + i]);
        copy->sent[first + i] = described;
    }
    return tools ? value_set_take(params, "tools", tools) : params;
}

void remote_task_open(struct remote_task *task, struct remote_copy *copy) {
    const struct remote_instance *instance = task->instance;
    struct remote *remote = instance->remote;
    tn_task token = task->token;
    struct call *call = call_lookup_open(token);
    if (!call) { /* ended while it waited */
        remote_task_release(remote, task);
        return;
    }
    task->state = TASK_OPEN;
    task->uncredited = 0;
    task->reader_full = false;
    tn_value params = value_set_take(value_object_reserve(6), "task", value_int(remote_task_number(task)));
    params = value_set_take(params, "instance", value_int(instance->number));
    params = value_set_take(params, "input", value_ref(call_input(call)));
    if (call_resumed(call)) params = value_set_take(params, "resumed", value_bool(true));
    params = task_add_reads(copy, token, params);
    params = task_add_tools(copy, token, params);
    tn_value context = NULL;
    if (interface_task.context(token, &context) == TN_OK) params = value_set_take(params, "context", context);
    if (instance->uses_run && call_ops_of(call)->run_value)
        params = value_set_take(params, "run", call_ops_of(call)->run_value(call));
    enum frame_fit fit = process_notify_take(task->child->process, "start", params);
    if (fit == FRAME_FITS) return;
    struct error error = ERROR_INIT;
    copy_discard_sent(copy);
    error_set(&error, TN_LIMIT, "LIMIT", "the input of `%s` is %s that can be sent to plugin `%s`", instance->component,
              frame_fit_text(fit), plugin_id(remote->plugin));
    remote_task_fail(remote, task, &error);
    error_finish(&error);
}

void remote_task_send_credit(struct remote_task *task, uint32_t least) {
    if (task->reader_full || task->uncredited < least) return;
    tn_value params = value_set_take(value_object_reserve(2), "task", value_int(remote_task_number(task)));
    process_notify_take(task->child->process, "credit", value_set_take(params, "chunks", value_int(task->uncredited)));
    task->uncredited = 0;
}

/* The end of a process of the pool costs only this task, so it is not counted against the plugin. */
static void remote_task_on_deadline(struct loop_timer *timer) {
    struct remote_task *task = CONTAINER_OF(timer, struct remote_task, deadline);
    task->child->blameless = !task->child->shared;
    process_kill(task->child->process, "it did not end a cancelled task");
}

void remote_task_cancel(struct remote_task *task) {
    if (loop_timer_is_running(&task->deadline)) return;
    process_notify_take(task->child->process, "cancel",
                        value_set_take(value_object_reserve(1), "task", value_int(remote_task_number(task))));
    loop_timer_start(task->instance->remote->host->loop, &task->deadline, REMOTE_CANCEL_MS, remote_task_on_deadline);
}
