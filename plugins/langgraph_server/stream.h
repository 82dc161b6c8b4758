/*
 * stream.h - a run that is known here, and the clients that follow it.
 *
 *     run_life.c      starts, ends and frees runs
 *     run_share.c     what the runs of one user may take
 *     stream.c        their events, and the clients
 *     stream_saved.c  saves the events of resumable runs, before clients get them
 *     run_load.c      runs of an earlier process
 *     crons_run.c     runs that crons have started
 */
#ifndef LANGGRAPH_STREAM_H
#define LANGGRAPH_STREAM_H

#include "langgraph.h"

#define OWNER_MAX   64  /* bytes of an owner, with its NUL */
#define HOST_ID_MAX 128 /* bytes of the id of a run as the host has it */

enum follow_kind { FOLLOW, WAIT, TELL, THEN };

struct follower {
    struct follower *next;
    struct run *run;
    struct exchange *exchange;
    enum follow_kind kind;
    uint64_t position; /* the number of the next event */
    bool full, begun;
    bool with_start; /* the client has started the run */
};

struct run {
    struct run *next;
    struct langgraph *langgraph;
    uint64_t caller; /* SERVING_PLUGIN: a cron has started it */
    char id[UUID_TEXT], thread[ID_MAX];
    char created[TIME_TEXT_SIZE], updated[TIME_TEXT_SIZE];
    char *owner, *assistant, *graph, *method, *strategy;
    tn_value params, metadata, kwargs;
    uint64_t size; /* bytes of kwargs and metadata; when it has ended, also of the log and the result */
    const char *status;
    struct serving_run *serving; /* NULL: it waits for another one */
    uint64_t prepares;           /* open: it has waited, and reads what the thread is before it begins */
    int64_t base;                /* as in run_options */
    struct events events;
    struct follower *followers;
    tn_value log; /* [{id, event, data: JSON as a text}] */
    uint64_t log_first, log_size;
    uint64_t excess; /* bytes of the log above LOG_MAX, before the end */
    tn_value result;
    bool stateless, cancel_on_disconnect;
    bool delayed, cancelling; /* `after_seconds` have not passed; run_cancel was called */
    uint64_t due;             /* posted; 0: not, or not any more */
    bool unsaved;             /* its thread was deleted */
    bool started, ended;
    bool stopped;   /* the host ends, and the thread can be continued */
    tn_value state; /* whose values the stream begins with; or NULL */
    bool loaded;    /* a run of an earlier process */
    bool continued; /* it was continued by the host, not here */
    /* Saving; stream_saved.c. */
    bool resumable;
    uint64_t saved, saving;             /* the newest event that is saved, that is being saved */
    uint64_t record_first, record_size; /* the record that grows: its first event, its size */
    uint64_t save_call, save_retry;     /* open */
};

/* ---- stream.c ---- */

void run_set_status(struct run *run, const char *status);
void run_add_event(void *run, const char *name, tn_value data);
uint64_t run_event_size(tn_value event);
void run_count_excess(struct run *run); /* `log_size` or `ended` has changed */
void run_pump(struct run *run);
void follower_remove(struct follower *follower);
void follower_end_wait(struct follower *follower); /* run_await: no effect before the end */

/* ---- run_life.c ---- */

/* A run that has not begun; NULL if there are too many. `id`: of a run of an earlier process, or NULL. */
struct run *run_make(struct exchange *exchange, const struct run_options *options, const char *id);
void run_begin(struct run *run);
bool run_has_begun(const struct run *run);
void run_follow_host(struct run *run); /* the host runs it already */
/* A run of an earlier process that has ended with this status; its result is not known. */
void run_set_ended(struct run *run, const char *status);
void run_take_report(struct run *run, tn_value report);
void run_free(struct run *run);

/* ---- crons_run.c ---- */

/* The id of the run for calls of `run->caller`. Returns `text`. */
const char *run_host_id(const struct run *run, char text[HOST_ID_MAX]);
/* The namespace for calls of `run->caller`. Takes and returns it. */
tn_value run_namespace_take(const struct run *run, tn_value names);

/* ---- run_share.c ---- */

/* After run_make of a run that waits: false, and 429, if those of the user have too many bytes. */
bool run_check_size(struct exchange *exchange);

/* ---- stream_saved.c ---- */

tn_value events_namespace(const char *thread, const char *run); /* NULL as `run`: of all runs of the thread */
/* Saves what is not saved yet. */
void run_save_events(struct run *run);
void run_save_stop(struct run *run);
/* The number behind the last event that clients may get. */
uint64_t run_visible_end(const struct run *run);

#endif
