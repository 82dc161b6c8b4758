/*
 * server_work_part.c - the part of a worker that runs on another loop.
 *
 *     first loop                                    the member's loop
 *     work_part_start ----------- start ----------> opens the types, starts a task worker
 *     counts it, ops.event <----- claimed, ended -- of a Task
 *     work_part_stop ------------ stop -----------> drains or cancels it
 *     ops.ended <---------------- end ------------- the task worker has ended, and is freed
 *
 * Each message is a job that is posted to the other loop; it holds a reference, because the part can end while a stop
 * is on its way. Each field belongs to one of the loops.
 */
#include "host/server/server_work_part.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/loops/loops.h"
#include "host/server/plugin_wait.h"
#include "host/work/work_type.h"
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

struct part_count {
    char *type;
    struct task_worker_counts counts;
};

struct work_part {
    struct loops *loops;
    char *worker_id, *name;
    tn_value names;
    struct work_part_options options;
    atomic_uint references;
    /* The member's loop: */
    struct plugin_wait wait; /* before the start, for components that plugins of this loop are adding */
    struct work_types *types;
    struct task_worker *worker; /* NULL before the start, and after the end */
    /* The first loop: */
    const struct work_part_ops *ops;
    void *user;
    struct part_count *counts;
    size_t count;
    char *fault; /* written by the member before the end */
    bool ended;
};

static struct work_part *part_ref(struct work_part *part) {
    atomic_fetch_add(&part->references, 1);
    return part;
}

static void part_unref(struct work_part *part) {
    if (atomic_fetch_sub(&part->references, 1) != 1) return;
    for (size_t i = 0; i < part->count; i++) mem_free(part->counts[i].type);
    mem_free(part->counts);
    mem_free(part->fault);
    mem_free(part->worker_id);
    mem_free(part->name);
    value_unref(part->names);
    mem_free(part);
}

/* ---- Parameters of events ---- */

static tn_value event_params(const char *worker_id, const struct work_item *item) {
    tn_value params = value_set_take(value_object_reserve(9), "worker_id", value_text(worker_id));
    params = value_set_take(params, "task_id", value_text(work_item_id(item)));
    return value_set_take(params, "task_type", value_text(work_item_type(item)->name));
}

tn_value work_claimed_params(const char *worker_id, const struct work_item *item) {
    tn_value attempts = value_get(work_item_task(item), "attempts");
    return value_set_take(event_params(worker_id, item), "attempt", value_ref(attempts));
}

tn_value work_ended_params(const char *worker_id, const struct work_item *item) {
    tn_value params = event_params(worker_id, item);
    params = value_set_take(params, "outcome", value_text(work_outcome_name(work_item_outcome(item))));
    if (work_item_error(item)->code) params = value_set_take(params, "error", error_to_value(work_item_error(item)));
    if (work_item_output(item)) params = value_set_take(params, "user_output", value_ref(work_item_output(item)));
    if (work_item_interrupts(item))
        params = value_set_take(params, "interrupts", value_ref(work_item_interrupts(item)));
    return params;
}

/* ---- To the first loop ---- */

struct part_event {
    struct work_part *part; /* a reference */
    tn_value params;
    bool ended; /* task/ended */
    enum work_outcome outcome;
};

static struct task_worker_counts *counts_of(struct work_part *part, const char *type) {
    for (size_t i = 0; i < part->count; i++)
        if (strcmp(part->counts[i].type, type) == 0) return &part->counts[i].counts;
    MEM_EXTEND(part->counts, part->count);
    struct part_count *added = &part->counts[part->count++];
    *added = (struct part_count){.type = mem_text(type)};
    return &added->counts;
}

static void on_part_event(void *user, struct host *host) {
    struct part_event *event = user;
    struct work_part *part = event->part;
    struct task_worker_counts *counts = counts_of(part, value_chars(value_get(event->params, "task_type"), NULL));
    (void)host;
    if (event->ended) {
        counts->running--;
        counts->outcomes[event->outcome]++;
    } else {
        counts->running++;
        counts->claimed++;
    }
    part->ops->event(part->user, event->ended ? "task/ended" : "task/claimed", event->params);
    value_unref(event->params);
    part_unref(part);
    mem_free(event);
}

static void part_post_event_take(struct work_part *part, tn_value params, bool ended, enum work_outcome outcome) {
    struct part_event *event = mem_alloc(sizeof *event);
    *event = (struct part_event){part_ref(part), params, ended, outcome};
    loops_post(part->loops, 0, on_part_event, event);
}

static void on_part_ended(void *user, struct host *host) {
    struct work_part *part = user;
    (void)host;
    part->ended = true;
    loop_release(loops_at(part->loops, 0));
    part->ops->ended(part->user);
    part_unref(part);
}

/* ---- On the member's loop ---- */

static void part_on_claimed(void *user, struct work_item *item) {
    struct work_part *part = user;
    part_post_event_take(part, work_claimed_params(part->worker_id, item), false, WORK_DONE);
}

static void part_on_finished(void *user, struct work_item *item) {
    struct work_part *part = user;
    part_post_event_take(part, work_ended_params(part->worker_id, item), true, work_item_outcome(item));
}

/* The message returns the reference of the member's loop. */
static void part_end(struct work_part *part, const char *fault) {
    part->fault = fault ? mem_text(fault) : NULL;
    task_worker_free(part->worker);
    work_types_free(part->types);
    part->worker = NULL;
    part->types = NULL;
    loops_post(part->loops, 0, on_part_ended, part);
}

static void part_on_ended(void *user) {
    struct work_part *part = user;
    part_end(part, task_worker_fault(part->worker));
}

static struct task_worker *part_open(struct work_part *part, struct error *error) {
    struct host *host = part->wait.host;
    const struct work_part_options *options = &part->options;
    plugin_wait_defer_loads(&part->wait, true);
    int32_t status = work_types_new(host_engine(host), part->names, &part->types, error);
    plugin_wait_defer_loads(&part->wait, false);
    if (status != TN_OK) return NULL;
    return task_worker_new(&(struct task_worker_options){.engine = host_engine(host),
                                                         .kernel = host_state(host),
                                                         .types = part->types,
                                                         .name = part->name,
                                                         .concurrency = options->concurrency,
                                                         .part = options->part,
                                                         .parts = options->parts,
                                                         .mode = options->mode,
                                                         .claimed = part_on_claimed,
                                                         .finished = part_on_finished,
                                                         .ended = part_on_ended,
                                                         .user = part},
                           error);
}

static void part_begin(struct plugin_wait *wait) {
    struct work_part *part = CONTAINER_OF(wait, struct work_part, wait);
    struct error error = ERROR_INIT;
    part->worker = part_open(part, &error);
    if (part->worker)
        task_worker_start(part->worker);
    else if (!part->types && plugin_wait_helps(wait))
        plugin_wait_start(wait);
    else
        part_end(part, error.message);
    error_finish(&error);
}

static void part_start(void *user, struct host *host) {
    struct work_part *part = user;
    plugin_wait_init(&part->wait, host, part_begin);
    part_begin(&part->wait);
}

/* A worker that has not started has nothing to end. */
static void part_end_wait(struct work_part *part) {
    if (!plugin_wait_is_running(&part->wait)) return;
    plugin_wait_stop(&part->wait);
    part_end(part, NULL);
}

static void part_drain(void *user, struct host *host) {
    struct work_part *part = user;
    (void)host;
    part_end_wait(part);
    if (part->worker) task_worker_drain(part->worker);
    part_unref(part);
}

static void part_cancel(void *user, struct host *host) {
    struct work_part *part = user;
    (void)host;
    part_end_wait(part);
    if (part->worker) task_worker_cancel(part->worker);
    part_unref(part);
}

/* ---- On the first loop ---- */

struct work_part *work_part_start(struct loops *loops, const struct work_part_options *options,
                                  const struct work_part_ops *ops, void *user) {
    struct work_part *part = mem_zalloc(sizeof *part);
    part->loops = loops;
    part->options = *options;
    part->worker_id = mem_text(options->worker_id);
    part->name = mem_text(options->name);
    part->names = options->names ? value_ref(options->names) : NULL;
    part->ops = ops;
    part->user = user;
    atomic_init(&part->references, 2); /* of the caller, and of the member's loop */
    loop_hold(loops_at(loops, 0));     /* it waits for messages */
    loops_post(loops, options->part, part_start, part);
    return part;
}

void work_part_stop(struct work_part *part, bool cancel) {
    if (!part->ended) loops_post(part->loops, part->options.part, cancel ? part_cancel : part_drain, part_ref(part));
}

bool work_part_has_ended(const struct work_part *part) { return part->ended; }

struct task_worker_counts work_part_counts(const struct work_part *part, const char *type) {
    for (size_t i = 0; i < part->count; i++)
        if (strcmp(part->counts[i].type, type) == 0) return part->counts[i].counts;
    return (struct task_worker_counts){0};
}

const char *work_part_fault(const struct work_part *part) { return part->ended ? part->fault : NULL; }

void work_part_free(struct work_part *part) {
    if (!part) return;
    assert(part->ended);
    part_unref(part);
}
