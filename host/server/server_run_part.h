/*
 * server_run_part.h - a run of a server that another loop of the process runs (host/loops): its graph and its
 * invocation belong to a member of the server's loops, everything else of it to the first loop.
 *
 *     part = run_part_new(loops, 1, &options, &ops, me);
 *     run_part_start(part);
 *     ... ops.event(me, event), ops.ended(me, status, report) ...       // on the first loop
 *     run_part_free(part);
 *
 * All functions and callbacks belong to the first loop. A request reaches the run later, in the order of the requests.
 */
#ifndef TENON_HOST_SERVER_SERVER_RUN_PART_H
#define TENON_HOST_SERVER_SERVER_RUN_PART_H

#include "host/engine/graph/run.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph;
struct loops;
struct run_part;

/* Events that are on their way to the first loop; the run starts nothing more while there are so many. */
#define RUN_PART_EVENTS_MAX 64u

/* Events that the member keeps while nobody listens: as many as a run keeps (server_run.h). */
#define RUN_PART_KEPT      256u
#define RUN_PART_KEPT_SIZE (1 << 20) /* bytes of them, about */

struct run_part_ops {
    /* As run_options.event: `event` is borrowed; false if the subscriber is full, until run_part_continue. */
    bool (*event)(void *user, tn_value event);
    /*
     * Events that were kept while nobody listened: [event, …], borrowed; `lost` more before them are gone. `listen` is
     * that of the call of run_part_listen that asked for them; 0: the run ends.
     */
    void (*kept)(void *user, uint64_t listen, uint64_t lost, tn_value events);
    /* At the end of each start and resume; takes the report. It may free the part. */
    void (*ended)(void *user, enum run_status status, tn_value report);
};

struct run_part_options {
    struct graph *graph;        /* of the first loop; the member builds the same document. Borrowed by run_part_new */
    const char *file;           /* the name with which it was opened; NULL for a text */
    tn_value config;            /* read with run_request_read */
    tn_value input;             /* may be NULL */
    tn_value served;            /* THREAD_SERVED of the record; may be NULL */
    unsigned modes;             /* of the events */
    _Atomic int64_t *kept_size; /* bytes of kept events of all parts of the owner, at most `kept_max` */
    int64_t kept_max;
    size_t *count; /* the number of parts of the owner that exist; one that is freed counts until its member knows */
};

/* Loop number `index`, from 1. References to values are kept. */
struct run_part *run_part_new(struct loops *loops, uint32_t index, const struct run_part_options *options,
                              const struct run_part_ops *ops, void *user);
/* If the document cannot be built there, or is not the same, this is the error of the end. */
void run_part_start(struct run_part *part);
/* As invocation_resume; the caller has checked the answers. A refusal is the error of the end. */
void run_part_resume(struct run_part *part, tn_value answers);
void run_part_cancel(struct run_part *part);   /* as invocation_cancel */
void run_part_drain(struct run_part *part);    /* as invocation_drain; it does not wait for a full subscriber */
void run_part_continue(struct run_part *part); /* the subscriber has room again */
/*
 * From now on events are sent; `listen` is not 0, and returned by ops.kept before the first one. With 0, as at first,
 * nobody listens: the member keeps the last events, so that the first loop has no work with them.
 */
void run_part_listen(struct run_part *part, uint64_t listen);
uint32_t run_part_index(const struct run_part *part);
uint32_t run_part_steps(const struct run_part *part); /* super-steps, as far as they are known here */
/* Completes the call `token` with {state, steps}, as the run has them when it is asked. */
void run_part_await_state(struct run_part *part, uint64_t token);
/* After its end, or before the start. The member releases its graph soon; no callback comes any more. NULL is allowed.
 */
void run_part_free(struct run_part *part);

#endif
