/*
 * server_run.h - the runs that clients of a server have started: a table that outlives the calls, and their events.
 *
 * A run belongs to the server, not to the client that has started it. It can have any number of subscriptions. While
 * one of them waits for credit, the run starts no more work, so a slow client slows the run and uses no memory. The
 * last events of a run are kept, so that a client that was disconnected can continue where it stopped. When a run has
 * ended, its result is kept for a time; a run with a thread is in the store as well.
 *
 *     struct server_run *run = server_run_new(runs, &options, &error);
 *     server_run_start(run, NULL, &error);                       // events and the end come later, from the loop
 *     ...
 *     run = server_run_find(runs, "0193a0c2-…");                 // in later calls, by its id
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_SERVER_RUN_H
#define TENON_HOST_SERVER_SERVER_RUN_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct authority;
struct client;
struct graph;
struct server;
struct server_run;
struct server_runs;
struct subscription;

#define SERVER_RUNS_MAX        10000u /* runs of one server that have not ended; then LIMIT */
#define SERVER_RUNS_PLUGIN_MAX 1000u  /* of them started by one plugin; then LIMIT */
#define SERVER_RUNS_KEPT       1000u /* ended runs whose results are kept; the one that ended first is forgotten first */
#define SERVER_RUNS_WAITING    10000u /* runs that wait for run/answer; the one that waits longest is forgotten first */
#define SERVER_EVENTS_KEPT     256u   /* last events of a run that run/subscribe can send again */
#define SERVER_EVENTS_SIZE     (1 << 20) /* bytes of these events, approximately; older ones are not kept */
#define SERVER_RUNS_SIZE       (64 << 20) /* bytes of all that is kept of runs: older ended runs and events are forgotten */

struct server_runs *server_runs_new(struct server *server);
/* From now on no run starts (CANCELLED), and active runs end after their super-step. */
void server_runs_drain(struct server_runs *runs);
size_t server_runs_active(const struct server_runs *runs); /* the number of active runs */
/* Cancels the runs, runs the loop until they have ended, and forgets them. Clients still exist. */
void server_runs_end(struct server_runs *runs);
void server_runs_free(struct server_runs *runs);
void server_runs_forget_client(struct server_runs *runs, struct client *client);
/*
 * Cancels the active runs whose clients have left (client_set_left), if they were started so that they end then. No
 * effect when the host ends: what the next host continues is not cancelled.
 */
void server_runs_end_left(struct server_runs *runs);

struct server_run_options {
    struct client *client;
    const char *owner;    /* to whom it must belong; NULL: the operator, or the owner of the ids in `config` */
    struct graph *graph;  /* the run keeps a reference */
    const char *file;     /* the name with which the graph was opened; NULL for a text */
    const char *document; /* as the client has named it; NULL for a text without a name */
    tn_value input, config;
    unsigned modes;        /* of its events: those that its subscriptions can have */
    bool resumes;          /* continues the thread of `config`, with `answers` */
    bool ends_with_client; /* is cancelled when the client has left */
    tn_value answers;
    int64_t
        continued; /* the checkpoint from which the host continues the run, as server_continue.h says; otherwise -1 */
};
/*
 * INVALID_INPUT if the config is not valid, EXISTS if a run has its id, NOT_FOUND if an id belongs to another owner,
 * LIMIT. NULL with the error then. The ids of a run of an owner have its prefix, also the one that is made here.
 */
struct server_run *server_run_new(struct server_runs *runs, const struct server_run_options *options,
                                  struct error *error);
/*
 * Starts it in the next turn of the loop. Returns an error, and forgets the run, if the answers have a wrong form. `by`
 * is the frame of the component that answers; NULL: the operator.
 */
int32_t server_run_start(struct server_run *run, struct authority *by, struct error *error);
void server_run_forget(struct server_run *run); /* not started, or ended */

/* The run of this owner, who may leave the prefix of the id out. NULL with NOT_FOUND if there is no such run. */
struct server_run *server_run_find(const struct server_runs *runs, const char *owner, const char *id,
                                   struct error *error);
bool server_run_is_of(const struct server_run *run, const char *owner); /* `owner` NULL: the operator, true */
const char *server_run_id(const struct server_run *run);
const char *server_run_thread(const struct server_run *run); /* NULL without a thread */
/* PERMISSION_DENIED if the component `by` may not give one of the answers (engine/graph/answer_rights.h). */
int32_t server_run_answer(struct server_run *run, struct authority *by, tn_value answers, struct error *error);
/* The open nodes of an active run of this loop, as run_open_nodes; otherwise []. A new reference. */
tn_value server_run_open_nodes(const struct server_run *run);
/*
 * Of an active run on another loop: returns true, and the call of this token gets {state, steps} later. Otherwise
 * returns false: use the two functions below.
 */
bool server_run_await_state(const struct server_run *run, uint64_t token);
tn_value server_run_state(const struct server_run *run); /* a new reference; NULL if it has none yet */
uint32_t server_run_steps(const struct server_run *run);
/*
 * Ends an active run soon, or after its super-step if `drain`. A run that waits becomes `cancelled`; its thread stays
 * as it is. No effect if the run is over.
 */
void server_run_cancel(struct server_run *run, bool drain);
/* True if it has this status and thread; NULL matches all. */
bool server_run_matches(const struct server_run *run, const char *status, const char *thread);
/* As `Run` in methods/run.yaml, a new reference. */
tn_value server_run_describe(const struct server_run *run, bool with_report);
/* True if an active run has this thread. */
bool server_runs_thread_is_active(const struct server_runs *runs, const char *thread);
/* The active run of this thread that the host itself has continued; NULL if there is none. */
struct server_run *server_runs_find_continued(const struct server_runs *runs, const char *thread);
/* The runs, the newest first: the next older one; NULL: the newest. Returns NULL at the end. */
const struct server_run *server_run_older(const struct server_runs *runs, const struct server_run *run);
bool server_run_is_active(const struct server_run *run);
/* The call of this token (run/wait) gets the description when the run has ended; at once if it has. */
void server_run_await(struct server_run *run, uint64_t token);

/* The union of the modes that the array `names` has; 0 if it is NULL. */
unsigned server_run_modes(tn_value names);
/*
 * The subscription that `params` describes: those of run/subscribe, or the member `subscribe` of run/start, whose run
 * is given. NULL with the error on failure: INVALID_INPUT for a mode that the run does not have.
 */
struct subscription *server_run_subscribe(struct client *client, struct server_run *run, tn_value params,
                                          struct error *error);

#endif
