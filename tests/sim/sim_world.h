/*
 * sim_world.h - the state of one run, shared by the files of tests/sim.
 */
#ifndef TENON_TESTS_SIM_SIM_WORLD_H
#define TENON_TESTS_SIM_SIM_WORLD_H

#include "host/data/store/store.h"
#include "host/data/thread/thread_log.h"
#include "host/work/schedule_store.h"
#include "tests/sim/sim.h"

struct sim;

/* What host/data/store has under these names is opaque for everybody else, so here they are the simulation's. */
struct session {
    struct sim *sim;
};
struct store { /* what one writer of a thread has */
    struct sim *sim;
    int worker;
    uint32_t life, writer;
};

/* A commit that a worker has submitted. It may outlive the worker. */
struct sim_pending {
    struct sim_pending *next;
    int worker;
    uint32_t life;   /* of the worker */
    uint32_t writer; /* of the thread */
    tn_value batch;
    store_done *done;
    void *user;
};

/* A Task that a worker holds. */
struct sim_held {
    int task;
    uint32_t claim; /* index in sim.claims */
    char token[40];
};

enum sim_work { SIM_IDLE, SIM_CLAIMED, SIM_WORKING, SIM_ENDING };
enum sim_end { SIM_DONE, SIM_FAILED, SIM_RETRY, SIM_DRAIN, SIM_WAIT };

struct sim_worker {
    uint32_t life; /* increases with every crash */
    bool busy;     /* within an operation */
    int64_t skew_ms, paused_until_ms;
    enum sim_work work;
    struct sim_held held[SIM_HELD]; /* the first one is being worked on */
    uint32_t held_count;
    struct thread_log *log; /* of the first one; NULL if none is open */
    uint32_t writer;        /* a number for this log: who writes */
    uint32_t seq;           /* the next checkpoint */
    tn_value steps;         /* the channel of the thread: the steps so far */
    uint32_t in_flight;     /* commits of the log that have not ended */
    bool log_failed, asked; /* asked: the commit says that the thread is interrupted */
    enum sim_end end;
    int remembered; /* the Task of the log before this one, and its next checkpoint: for SIM_BREAK_RESUME */
    uint32_t remembered_seq;
};

/* What the simulation knows of a Task, from the commits that the store applied and from results. */
struct sim_task {
    char id[40], key[48];
    bool asks;
    uint32_t ended;        /* changes to done or failed */
    uint32_t completed_by; /* claims for which complete or fail succeeded */
    uint32_t owner;        /* the writer of its thread: the last one that took it over */
    uint32_t next_seq;     /* of its thread */
};

/* One call of task.claim that returned this Task. */
struct sim_claim {
    int task;
    char claimer[24];
    const char *tried, *ended; /* outcomes: that was asked for; that was confirmed; or NULL */
};

/* Who calls the store now. */
struct sim_actor {
    int worker;
    uint32_t life, writer;
    int64_t now_ms;
    const char *token; /* of the claim that is used, or NULL */
    enum sim_fault fault;
    uint32_t fault_at, number, commits, queries;
    bool claiming; /* a claim that fails returns Tasks to the queue */
    bool crashed;
};

struct sim {
    const struct sim_options *options;
    uint64_t random;
    int64_t now_ms;
    struct tn_store_map map;
    struct session session;
    struct sim_actor actor;
    struct sim_worker workers[SIM_WORKERS];
    struct sim_task tasks[SIM_TASKS];
    int task_count;
    struct sim_claim claims[SIM_CLAIMS];
    uint32_t claim_count, claim_calls;
    struct store writers[SIM_WRITERS]; /* a log may outlive its worker */
    uint32_t writer_count;
    struct sim_pending *pending;
    struct store schedulers[SIM_WORKERS];
    struct schedule *schedule;
    const struct sim_event *events;
    uint32_t count, next;
    int depth;    /* of events within events */
    bool healing; /* no faults any more */
    struct buffer *trace;
    struct sim_result *result;
};

/* Records the first failure. */
void sim_fail(struct sim *sim, const char *invariant, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Adds to the line of the current event. */
void sim_note(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* sim_store.c */
void sim_store_begin(struct sim *sim);
void sim_store_end(struct sim *sim);
/* Runs the oldest commit under way of the worker. False if there is none. */
bool sim_store_deliver(struct sim *sim, int worker);
tn_value sim_store_find(struct sim *sim, const char *collection,
                        const char *key); /* the value, a new reference; or NULL */

/* sim_worker.c */
void sim_worker_step(struct sim *sim, int worker, uint32_t number);
void sim_worker_crash(struct sim *sim, int worker);
/* Creates a Task, once per key. */
void sim_create(struct sim *sim, const char *key);
/* The scheduler of a worker. */
void sim_fire(struct sim *sim, int worker);
void sim_answer(struct sim *sim, int task);

/* sim_oracle.c */
int sim_task_by_id(const struct sim *sim, const char *id); /* -1 if it is not known */
/* Before a commit is final: checks what it changes. */
void sim_oracle_commit(struct sim *sim);
/* After all: checks what is left. */
void sim_oracle_end(struct sim *sim);

/* sim_run.c */
void sim_run_next(struct sim *sim); /* the next event, within another one */

#endif
