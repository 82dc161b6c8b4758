/*
 * sim.h - a deterministic simulation of workers that share a store.
 *
 * One process plays all of them. The operations of the kernel (host/data/kernel) and the log of a thread
 * (host/data/thread) are the real ones; sim_store.c defines the functions of host/data/store that they call, on records
 * in memory. A run is a list of events, which a seed determines. An event says what happens next, and which fault the
 * store has meanwhile; it does not depend on the events before it, so a list without some of its events is a run, too.
 *
 *     struct sim_result result;
 *     sim_run(&options, seed, events, count, NULL, &result);
 *     if (result.failed) printf("%s\n", result.failure);
 */
#ifndef TENON_TESTS_SIM_SIM_H
#define TENON_TESTS_SIM_SIM_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/data/kernel/kernel_task.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenon/store/map.h>

#define SIM_WORKERS    3
#define SIM_CLIENT     (-1) /* the actor of what no worker does */
#define SIM_TASKS      32
#define SIM_HELD       4 /* Tasks that one worker has claimed */
#define SIM_CLAIMS     1024
#define SIM_WRITERS    1024
#define SIM_STEPS      3             /* checkpoints of a thread: 0, 1, 2 */
#define SIM_EPOCH_MS   1767225600000 /* when a run begins */
#define SIM_EVENTS     60            /* of a run, by default */
#define SIM_EVENTS_MAX 1000

/* ---- Events ---- */

enum sim_kind {
    SIM_STEP,    /* a worker does the next part of its work */
    SIM_DELIVER, /* the store receives the oldest commit that is under way from a worker, which may be dead */
    SIM_TIME,    /* time passes */
    SIM_CREATE,  /* a client creates a Task with an idempotency key, perhaps again */
    SIM_FIRE,    /* a worker's clock has reached a due time of the schedule, perhaps after another one's */
    SIM_ANSWER,  /* a person answers the thread of a Task, or wakes a Task that asks nothing */
    SIM_CRASH,   /* a worker loses its memory, and starts again */
    SIM_PAUSE,   /* a worker stands still for a time, and then continues */
    SIM_SKEW,    /* a worker's clock is set */
    SIM_KINDS
};

enum sim_fault {
    SIM_NO_FAULT,
    SIM_FAIL_BEFORE,  /* a commit fails */
    SIM_FAIL_AFTER,   /* a commit succeeds, and is reported as failed */
    SIM_CRASH_BEFORE, /* the worker dies before a commit */
    SIM_CRASH_AFTER,  /* the worker dies after a commit, and never learns its result */
    SIM_FAIL_QUERY,   /* a query fails */
    SIM_INTERLEAVE,   /* the next events happen before a commit: within an operation of this worker */
    SIM_FAULTS
};

struct sim_event {
    enum sim_kind kind;
    int worker;
    uint32_t number; /* what the event needs to choose: a Task, a time, … */
    enum sim_fault fault;
    uint32_t fault_at; /* the commit or query of the event that has the fault; 1 is the first */
};

/* ---- Defects that are built in on purpose ---- */

enum sim_break {
    SIM_BREAK_NONE,
    SIM_BREAK_IF,       /* the store ignores all conditions */
    SIM_BREAK_FENCE,    /* the store ignores conditions on threads */
    SIM_BREAK_TOKEN,    /* the claim is not checked: any token is that of the Task */
    SIM_BREAK_TAKE,     /* the store takes Tasks that are claimed */
    SIM_BREAK_KEY,      /* the schedule uses no idempotency key */
    SIM_BREAK_BATCH,    /* the store applies the first half of a batch that fails */
    SIM_BREAK_WAKE,     /* a wake of a claimed Task is forgotten */
    SIM_BREAK_ATTEMPTS, /* the second commit of a claim does nothing */
    SIM_BREAK_RESUME,   /* a worker trusts its own count of steps instead of the log */
    SIM_BREAKS
};

const char *sim_break_name(enum sim_break which); /* NULL past the end */

struct sim_options {
    enum sim_break broken;
    uint32_t events;
};

/* ---- A run ---- */

struct sim_result {
    bool failed;
    const char *invariant; /* its name; static */
    char failure[320];
    uint32_t tasks, claims, faults; /* what happened, to check that it does */
    uint32_t ended, fenced, lost, repeated;
};

/* Fills in the events of a seed. */
void sim_make_events(uint64_t seed, struct sim_event *events, uint32_t count);
/*
 * Runs the events; then no fault happens any more, and the workers end all Tasks. `trace` receives a line for each
 * event; it may be NULL.
 */
void sim_run(const struct sim_options *options, uint64_t seed, const struct sim_event *events, uint32_t count,
             struct buffer *trace, struct sim_result *result);
/* Removes events as long as the run still fails, with any invariant. Returns the number that is left. */
uint32_t sim_shrink(const struct sim_options *options, uint64_t seed, struct sim_event *events, uint32_t count);

#endif
