/*
 * task_worker.c - the loop of claims.
 *
 * A round claims as many Tasks as there is room for, in the order of the priority of the types. Types with the same ttl
 * are claimed together. One
 * claim is under way at a time. The next round begins at once if a type may have more Tasks than were asked for, or
 * when a Task has ended then; otherwise after the interval of polling.
 */
#include "host/work/task_worker.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/base/random.h"
#include "host/data/kernel/kernel.h"
#include "host/engine/engine.h"
#include "host/work/work_type.h"
#include <assert.h>
#include <string.h>

#define CLAIM_LIMIT_MAX 100u /* Tasks of one task.claim */
#define FAULT_DELAY_MS  1000 /* after a claim has failed */

/* A Task that the worker handles. */
struct task_worker_slot {
    struct task_worker *worker;
    struct task_worker_slot *next, *previous;
    struct work_item *item;
    size_t type;
};

struct task_worker {
    struct task_worker_options options;
    struct kernel kernel;
    char *name, *task_id;
    struct task_worker_counts *counts; /* of each type */
    struct task_worker_slot *slots;
    uint32_t active;
    struct loop_timer poll;
    struct store_watcher *watcher; /* NULL: not started */
    struct loop_work report;
    size_t place, place_count; /* in the round, of the claim: the first type, and how many */
    size_t turn;               /* counts the rounds */
    uint32_t asked;            /* Tasks, by the claim that is under way */
    bool claiming;             /* a claim is under way */
    bool changed;              /* the store has changed since the round began */
    bool more;                 /* the round has left claimable Tasks, as far as is known */
    bool found;                /* the round has claimed something */
    bool ending, cancelled, ended;
    struct error fault;
};

static struct loop *worker_loop(const struct task_worker *worker) { return worker->options.engine->loop; }
static void worker_poll_after(struct task_worker *worker, int64_t delay_ms);

/* ---- The end ---- */

static void worker_run_report(struct loop_work *work) {
    struct task_worker *worker = CONTAINER_OF(work, struct task_worker, report);
    worker->options.ended(worker->options.user);
}

static void worker_end_if_idle(struct task_worker *worker) {
    if (!worker->ending || worker->active || worker->claiming || worker->ended) return;
    worker->ended = true;
    loop_timer_stop(worker_loop(worker), &worker->poll);
    loop_defer(worker_loop(worker), &worker->report);
}

/* ---- Tasks ---- */

static void worker_remove_slot(struct task_worker_slot *slot) {
    struct task_worker *worker = slot->worker;
    if (slot->next) slot->next->previous = slot->previous;
    if (slot->previous)
        slot->previous->next = slot->next;
    else
        worker->slots = slot->next;
    work_item_free(slot->item);
    mem_free(slot);
}

static void worker_on_item_ended(struct work_item *item, void *user) {
    struct task_worker_slot *slot = user;
    struct task_worker *worker = slot->worker;
    struct task_worker_counts *counts = &worker->counts[slot->type];
    counts->running--;
    counts->outcomes[work_item_outcome(item)]++;
    worker->active--;
    if (worker->options.finished) worker->options.finished(worker->options.user, item);
    worker_remove_slot(slot);
    if (worker->options.mode == TASK_WORKER_ONCE) worker->ending = true;
    if (worker->more) worker_poll_after(worker, 0);
    worker_end_if_idle(worker);
}

static bool worker_on_event(void *user, tn_value event) {
    const struct task_worker *worker = ((const struct task_worker_slot *)user)->worker;
    return worker->options.event(worker->options.user, event);
}

/*
 * The index of the type at this place of the round. Types of the same priority take turns, so that one which always has
 * Tasks does not keep the others from being claimed.
 */
static size_t worker_index(const struct task_worker *worker, size_t place) {
    const struct work_types *types = worker->options.types;
    size_t first = place, end = place + 1, count = work_types_count(types);
    if (place >= count) return place;
    int64_t priority = work_types_at(types, place)->priority;
    while (first > 0 && work_types_at(types, first - 1)->priority == priority) first--;
    while (end < count && work_types_at(types, end)->priority == priority) end++;
    return first + (place - first + worker->turn) % (end - first);
}

/* The type at this place of the round; NULL past the end. */
static const struct work_type *worker_type(const struct task_worker *worker, size_t place) {
    return work_types_at(worker->options.types, worker_index(worker, place));
}

/* The index of the type, of those that the claim has asked for. */
static size_t type_of_task(const struct task_worker *worker, tn_value task) {
    for (size_t i = 1; i < worker->place_count; i++)
        if (value_text_is(value_get(task, "task_type"), worker_type(worker, worker->place + i)->name))
            return worker_index(worker, worker->place + i);
    return worker_index(worker, worker->place);
}

static void worker_start_item(struct task_worker *worker, tn_value task) {
    struct task_worker_slot *slot = mem_zalloc(sizeof *slot);
    size_t type = type_of_task(worker, task);
    const struct work_item_options options = {.engine = worker->options.engine,
                                              .kernel = &worker->kernel,
                                              .type = work_types_at(worker->options.types, type),
                                              .worker = worker->name,
                                              .no_notification = worker->options.no_notification,
                                              .modes = worker->options.modes,
                                              .event = worker_on_event,
                                              .ended = worker_on_item_ended,
                                              .user = slot};
    *slot = (struct task_worker_slot){worker, worker->slots, NULL, work_item_new(&options, task), type};
    if (slot->next) slot->next->previous = slot;
    worker->slots = slot;
    worker->active++;
    worker->counts[type].claimed++;
    worker->counts[type].running++;
    if (worker->options.claimed) worker->options.claimed(worker->options.user, slot->item);
    /* Claimed after the worker was cancelled: the Task returns to the queue. */
    if (worker->cancelled)
        work_item_cancel(slot->item);
    else if (worker->ending)
        work_item_drain(slot->item);
    work_item_start(slot->item);
}

/* ---- Claims ---- */

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* The number of Tasks of this type that the worker can start now. */
static uint32_t worker_room(const struct task_worker *worker, size_t type) {
    uint32_t own = work_types_at(worker->options.types, type)->concurrency, running = worker->counts[type].running;
    if (own != UINT32_MAX) own = task_worker_part_of(own, worker->options.part, worker->options.parts);
    uint32_t room = worker->options.concurrency - worker->active;
    if (worker->options.mode == TASK_WORKER_ONCE) room = worker->active || worker->found ? 0 : 1;
    return smaller(smaller(room, own > running ? own - running : 0), CLAIM_LIMIT_MAX);
}

static bool has_own_limit(const struct work_type *type) { return type->concurrency != UINT32_MAX; }

/*
 * The number of types from `first` on that one claim can ask for, in the order of preference: they have the same ttl,
 * and no limit of their own.
 */
static size_t claimable_together(const struct task_worker *worker, size_t first) {
    const struct work_type *one = worker_type(worker, first), *next;
    size_t count = 1;
    while (!has_own_limit(one) && (next = worker_type(worker, first + count)) != NULL && !has_own_limit(next) &&
           next->ttl_ms == one->ttl_ms)
        count++;
    return count;
}

static tn_value claim_arguments(const struct task_worker *worker) {
    const struct work_type *first = worker_type(worker, worker->place);
    tn_value names = value_array_reserve(worker->place_count), filter = value_object_reserve(2);
    for (size_t i = 0; i < worker->place_count; i++)
        names = value_push_take(names, value_text(worker_type(worker, worker->place + i)->name));
    filter = value_set_take(filter, "task_type", names);
    if (worker->task_id) filter = value_set_take(filter, "task_id", value_text(worker->task_id));
    tn_value arguments = value_set_take(value_object_reserve(4), "claimer_id", value_text(worker->name));
    arguments = value_set_take(arguments, "ttl_seconds", value_double((double)first->ttl_ms / 1000.0));
    arguments = value_set_take(arguments, "limit", value_int(worker->asked));
    return value_set_take(arguments, "filter", filter);
}

static void worker_on_claimed(void *user, int32_t status, tn_value result, const struct error *error);

/* Claims for the next type that has room; after the last one, ends the round. */
static void worker_continue_round(struct task_worker *worker) {
    size_t count = work_types_count(worker->options.types);
    while (!worker->ending && worker->place < count && worker_room(worker, worker_index(worker, worker->place)) == 0) {
        worker->more = true; /* it is not known */
        worker->place++;
    }
    if (!worker->ending && worker->place < count) {
        worker->asked = worker_room(worker, worker_index(worker, worker->place));
        worker->place_count = claimable_together(worker, worker->place);
        worker->claiming = true;
        tn_value arguments = claim_arguments(worker);
        kernel_call(&worker->kernel, kernel_find_operation("task.claim"), arguments, worker_on_claimed, worker);
        value_unref(arguments);
        return;
    }
    bool nothing = !worker->found && !worker->active;
    if (nothing && worker->options.mode != TASK_WORKER_FOREVER) worker->ending = true;
    int64_t delay_ms = store_watches_changes(worker->kernel.store) ? TASK_WORKER_WATCHED_POLL_MS : TASK_WORKER_POLL_MS;
    if (!worker->ending) worker_poll_after(worker, worker->changed ? 0 : delay_ms);
    worker_end_if_idle(worker);
}

static void worker_note_fault(struct task_worker *worker, const struct error *error) {
    if (!worker->fault.code || strcmp(worker->fault.message, error->message) != 0)
        log_write(LOG_WARN, NULL, "worker %s: cannot claim Tasks%s: %s", worker->name,
                  worker->options.mode == TASK_WORKER_FOREVER ? ", and tries again" : "", error->message);
    error_copy(&worker->fault, error);
}

static void worker_on_claimed(void *user, int32_t status, tn_value result, const struct error *error) {
    struct task_worker *worker = user;
    tn_value tasks = value_get(result, "tasks");
    worker->claiming = false;
    if (status != TN_OK) {
        worker_note_fault(worker, error);
        /* A worker that should end soon reports the fault instead of trying again. */
        if (worker->options.mode != TASK_WORKER_FOREVER) worker->ending = true;
        if (!worker->ending) worker_poll_after(worker, FAULT_DELAY_MS);
        worker_end_if_idle(worker);
        return;
    }
    error_finish(&worker->fault);
    worker->found = worker->found || value_count(tasks) > 0;
    worker->more = worker->more || value_count(tasks) == worker->asked;
    for (size_t i = 0; i < value_count(tasks); i++) worker_start_item(worker, value_at(tasks, i));
    worker->place += worker->place_count;
    worker_continue_round(worker);
}

static void worker_on_poll(struct loop_timer *timer) {
    struct task_worker *worker = CONTAINER_OF(timer, struct task_worker, poll);
    if (worker->claiming || worker->ending || worker->active >= worker->options.concurrency) return;
    worker->place = 0;
    worker->turn++;
    worker->more = worker->found = worker->changed = false;
    worker_continue_round(worker);
}

/* At most twice the delay, so that workers that were started together do not ask together. 0: soon. */
static void worker_poll_after(struct task_worker *worker, int64_t delay_ms) {
    unsigned char random = 0;
    if (worker->claiming || worker->ending) return;
    if (delay_ms) random_fill(&random, sizeof random);
    loop_timer_start(worker_loop(worker), &worker->poll, delay_ms + delay_ms * random / UINT8_MAX, worker_on_poll);
}

/* ---- The worker ---- */

struct task_worker *task_worker_new(const struct task_worker_options *options, struct error *error) {
    struct kernel kernel;
    if (kernel_open(options->kernel, &kernel, error) != TN_OK) return NULL;
    struct task_worker *worker = mem_zalloc(sizeof *worker);
    worker->options = *options;
    worker->kernel = kernel;
    worker->name = mem_text(options->name);
    worker->task_id = options->task_id ? mem_text(options->task_id) : NULL;
    if (!options->concurrency) worker->options.concurrency = TASK_WORKER_CONCURRENCY;
    worker->counts = mem_array(NULL, work_types_count(options->types), sizeof *worker->counts);
    memset(worker->counts, 0, work_types_count(options->types) * sizeof *worker->counts);
    worker->report.run = worker_run_report;
    return worker;
}

/* A Task may have been created or released. A claim that is under way may have missed it. */
static void worker_on_changed(void *user) {
    struct task_worker *worker = user;
    worker->changed = true;
    worker_poll_after(worker, 0);
}

void task_worker_start(struct task_worker *worker) {
    if (worker->options.mode == TASK_WORKER_FOREVER)
        worker->watcher = store_watch(worker->kernel.store, worker_on_changed, worker);
    worker_poll_after(worker, 0);
}

void task_worker_drain(struct task_worker *worker) {
    worker->ending = true;
    for (struct task_worker_slot *slot = worker->slots; slot; slot = slot->next) work_item_drain(slot->item);
    worker_end_if_idle(worker);
}

void task_worker_cancel(struct task_worker *worker) {
    worker->ending = worker->cancelled = true;
    for (struct task_worker_slot *slot = worker->slots; slot; slot = slot->next) work_item_cancel(slot->item);
    worker_end_if_idle(worker);
}

void task_worker_continue(struct task_worker *worker) {
    for (struct task_worker_slot *slot = worker->slots; slot; slot = slot->next) work_item_continue(slot->item);
}

void task_worker_free(struct task_worker *worker) {
    if (!worker) return;
    assert(!worker->active && !worker->claiming);
    store_unwatch(worker->kernel.store, worker->watcher);
    error_finish(&worker->fault);
    mem_free(worker->counts);
    mem_free(worker->task_id);
    mem_free(worker->name);
    mem_free(worker);
}

uint32_t task_worker_active(const struct task_worker *worker) { return worker->active; }
const char *task_worker_fault(const struct task_worker *worker) { return worker->fault.message; }

const struct task_worker_counts *task_worker_counts_at(const struct task_worker *worker, size_t type) {
    return &worker->counts[type];
}
