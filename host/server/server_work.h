/*
 * server_work.h - the workers of a server: a table that outlives the calls that have started them.
 *
 * A worker belongs to the server, not to the client that has started it. It claims Tasks of the store and handles them
 * with the strategies of tenon.yaml, until it is stopped, or, in the modes `once` and `empty`, until it has nothing to
 * do. When the server drains, its workers drain: each run ends after its super-step, and its Task returns to the queue.
 *
 *     struct server_worker *worker = server_worker_start(workers, &options, &error);
 *     ...
 *     worker = server_worker_find(workers, "0193a0c2-…", &error);     // in later calls, by its id
 *     server_worker_stop(worker, false);
 *
 * Subscriptions receive task/claimed, task/event and task/ended (methods/work.yaml).
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_SERVER_WORK_H
#define TENON_HOST_SERVER_SERVER_WORK_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/work/task_worker.h"
#include <stdbool.h>
#include <stdint.h>

struct client;
struct server;
struct server_worker;
struct server_workers;
struct work_types;

#define SERVER_WORKERS_MAX 64u /* workers of one server that have not ended; then LIMIT */
#define SERVER_WORKERS_KEPT                                                                                            \
    100u /* ended workers whose counts are kept; the one that ended first is forgotten first                           \
          */

struct server_workers *server_workers_new(struct server *server);
/* From now on no worker starts (CANCELLED), and those that work drain. */
void server_workers_drain(struct server_workers *workers);
size_t server_workers_active(const struct server_workers *workers); /* workers that have not ended */
size_t server_workers_tasks(const struct server_workers *workers);  /* Tasks that they handle now */
/* Cancels the workers, runs the loop until their Tasks have returned to the queue, and forgets them. */
void server_workers_end(struct server_workers *workers);
void server_workers_free(struct server_workers *workers);
void server_workers_forget_client(struct server_workers *workers, const struct client *client);

struct server_worker_options {
    const struct client *client; /* that starts it; may be NULL */
    const char *name;            /* NULL: the name of this machine and the process id, "main/4711" */
    tn_value types;              /* an array of Task types; NULL: all that tenon.yaml and the defaults have */
    uint32_t concurrency;        /* 0: TASK_WORKER_CONCURRENCY */
    enum task_worker_mode mode;
    const char *task_id;       /* handles only this Task, whose questions its caller asks; NULL: any of the types */
    struct work_types *opened; /* instead of `types`; it takes them, also on failure */
    unsigned modes;            /* with `task_id`: of the events that are sent as task/event; 0: none */
};
/* The error of work_types_new, or INVALID_CONFIG if there is no Task type to handle. */
int32_t server_work_open_types(const struct server *server, tn_value names, struct work_types **types,
                               struct error *error);
/*
 * Opens the strategies, and claims Tasks from the next turn of the loop on. NULL with the error of
 * server_work_open_types or task_worker_new, CANCELLED if the server drains, or LIMIT.
 */
struct server_worker *server_worker_start(struct server_workers *workers, const struct server_worker_options *options,
                                          struct error *error);
/* NULL with NOT_FOUND if there is no such worker. */
struct server_worker *server_worker_find(const struct server_workers *workers, const char *id, struct error *error);
/* The workers, the newest first: the next older one; NULL: the newest. Returns NULL at the end. */
const struct server_worker *server_worker_older(const struct server_workers *workers,
                                                const struct server_worker *worker);
const char *server_worker_id(const struct server_worker *worker);
/* Claims nothing more; runs end after their super-step, or at once if `cancel`. No effect if it has ended. */
void server_worker_stop(struct server_worker *worker, bool cancel);
/* As `Worker` in methods/work.yaml, a new reference. */
tn_value server_worker_describe(const struct server_worker *worker);
/* The call of this token (work/wait) gets the description when the worker has ended; at once if it has. */
void server_worker_await(struct server_worker *worker, uint64_t token);

#endif
