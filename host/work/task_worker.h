/*
 * task_worker.h - claims Tasks of some types and handles them, several at a time.
 *
 *     struct task_worker_options options = {.engine = engine, .kernel = kernel_source, .types = types, .user = me};
 *     options.name = "main-1";
 *     options.ended = my_ended;
 *     struct task_worker *worker = task_worker_new(&options, &error);
 *     task_worker_start(worker);
 *     ...
 *     task_worker_drain(worker);        // my_ended(me) is called when the last Task has been returned to the queue
 *     task_worker_free(worker);
 *
 *     claim ---> one work_item for each Task ---> its outcome is reported ---> claim
 *       ^  nothing to claim: wait                                                |
 *       +------------------------------------------------------------------------+
 *
 * Any number of workers, in any number of processes, can use one store: the claim decides who handles a Task. Types
 * with a higher priority are claimed first; types of the same priority take turns. An idle worker asks the store every
 * TASK_WORKER_POLL_MS to 2 * TASK_WORKER_POLL_MS milliseconds, which costs one indexed read. If the store reports
 * changes (store_watch), it asks at once after one, and otherwise every TASK_WORKER_WATCHED_POLL_MS to twice that:
 * polling is what makes the start of a Task certain.
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_WORK_TASK_WORKER_H
#define TENON_HOST_WORK_TASK_WORKER_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/work/work_item.h"
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct kernel_source;
struct work_types;
struct task_worker;

#define TASK_WORKER_POLL_MS         15
#define TASK_WORKER_WATCHED_POLL_MS 200 /* of a store that reports changes: for what it has missed, and for times */
#define TASK_WORKER_CONCURRENCY     16u /* default of `concurrency` */
#define TASK_WORKER_CONCURRENCY_MAX 10000u

enum task_worker_mode {
    TASK_WORKER_FOREVER, /* until task_worker_drain */
    TASK_WORKER_ONCE,    /* ends after the first Task, or at once if there is none */
    TASK_WORKER_EMPTY    /* ends when no Task is claimable and none is being handled */
};

struct task_worker_options {
    struct engine *engine;              /* borrowed */
    const struct kernel_source *kernel; /* borrowed */
    const struct work_types *types;     /* borrowed; not empty */
    const char *name;                   /* the claimer; copied */
    uint32_t concurrency;               /* Tasks at the same time; 0 means TASK_WORKER_CONCURRENCY */
    /*
     * It is number `part` (from 0) of `parts` workers of one process that share the concurrency of each type: it
     * handles its part of them, which is 0 if there are fewer Tasks than parts. `parts` 0 means 1.
     */
    uint32_t part, parts;
    enum task_worker_mode mode;
    const char *task_id;                                  /* claims only this Task; copied; NULL: any of the types */
    bool no_notification;                                 /* of a question that a Task asks: the caller asks a person */
    unsigned modes;                                       /* of the events of the runs that `event` receives */
    bool (*event)(void *user, tn_value event);            /* NULL if `modes` is 0 */
    void (*claimed)(void *user, struct work_item *item);  /* before it starts; may be NULL */
    void (*finished)(void *user, struct work_item *item); /* its outcome is known; may be NULL */
    /* Called once, from the loop, when the worker has ended; it may free the worker. */
    void (*ended)(void *user);
    void *user;
};

/* The error of kernel_open, if the store cannot be opened. */
struct task_worker *task_worker_new(const struct task_worker_options *options, struct error *error);
void task_worker_start(struct task_worker *worker);
/* Claims nothing more; each run ends after its super-step, and its Task returns to the queue. */
void task_worker_drain(struct task_worker *worker);
/* The same, but runs are cancelled. */
void task_worker_cancel(struct task_worker *worker);
/* The subscriber of the events has room again. */
void task_worker_continue(struct task_worker *worker);
void task_worker_free(struct task_worker *worker); /* before task_worker_start or after `ended`; NULL is allowed */

uint32_t task_worker_active(const struct task_worker *worker); /* Tasks that are being handled */
/* Why the last claim failed, borrowed; NULL if it did not. A worker that is TASK_WORKER_FOREVER tries again. */
const char *task_worker_fault(const struct task_worker *worker);

/* The part of a number that is shared by `parts`: 7 shared by 3 is 3, 2, 2. */
static inline uint32_t task_worker_part_of(uint32_t number, uint32_t part, uint32_t parts) {
    return parts > 1 ? number / parts + (part < number % parts) : number;
}

/* What has happened to the Tasks of one type since the start. */
struct task_worker_counts {
    uint64_t claimed, outcomes[WORK_LOST + 1];
    uint32_t running;
};
const struct task_worker_counts *task_worker_counts_at(const struct task_worker *worker,
                                                       size_t type); /* index as in the types */

#endif
