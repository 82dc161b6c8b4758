/*
 * server_run_internal.h - one run of a server, for server_run.c (its life) and run_events.c (its events).
 */
#ifndef TENON_HOST_SERVER_SERVER_RUN_INTERNAL_H
#define TENON_HOST_SERVER_SERVER_RUN_INTERNAL_H

#include "host/base/config/config.h"
#include "host/engine/graph/run.h"
#include "host/plugin/call/owner.h"
#include "host/server/server_run.h"

/* One of the last events of a run: the parameters of run/event, or those of run/ended, whose `mode` is 0. */
struct kept_event {
    tn_value params;
    unsigned mode;
    int64_t size;
};

struct run_part;
struct run_subscription;

struct server_run {
    struct server_runs *runs;
    struct server_run *newer, *older; /* in the table */
    struct server_run *next_alike;    /* in the same bucket */
    struct run_queue *queue;          /* in which it waits to be forgotten; NULL while it is active */
    struct server_run *queue_next, *queue_previous;
    const struct client *client;   /* that has started it; NULL if it has gone */
    struct invocation *invocation; /* on this loop; cleared when the run is over; NULL with a part */
    struct run_part *part;         /* on another loop; freed when the run is over; NULL with an invocation */
    char *id, *thread, *document;
    char owner[OWNER_TEXT]; /* that of its thread, or of its id; "": the operator */
    tn_value answers;       /* of run/resume, until it starts */
    unsigned modes;         /* of its events */
    enum run_status status; /* of the last end; RUN_NEW before the start */
    tn_value report;        /* of the last end; NULL before it */
    int64_t report_size;
    struct run_subscription *subscriptions;
    struct kept_event *kept;   /* a ring: event `seq` is at seq % kept_capacity */
    uint64_t seq, first_kept;  /* of the last event that is known here; of the oldest one that is kept */
    uint64_t base;             /* before its first event: 0, or more than the number of any event of another host */
    uint64_t listen, listened; /* of a part: the last run_part_listen; the last one that it has answered */
    uint64_t kept_capacity;
    int64_t kept_size;
    uint64_t *waiting; /* tokens of run/wait */
    size_t waiting_count;
    int64_t started_ms, ended_ms;
    int64_t continued; /* -1: the host does not continue it by itself */
    bool served;       /* the next host continues it */
    bool counts;       /* as one that server_continue has started */
    bool resumes, active, full;
    bool ends_with_client;
    bool cancels; /* its part was asked to */
};

#define RUN_BUCKETS 1024u

/* Runs that are not active, the one that ended first is the first. */
struct run_queue {
    struct server_run *first, *last;
    size_t count;
};

struct server_runs {
    struct server *server;
    struct server_run *newest;
    struct server_run *buckets[RUN_BUCKETS]; /* by the hash of the id */
    struct run_queue over, waiting;          /* waiting: run/answer can continue it */
    size_t active;
    uint32_t active_at[CONFIG_LOOPS_MAX]; /* by loop */
    _Atomic int64_t parts_size;           /* bytes of events that parts keep */
    size_t parts;                         /* that exist, with those that their loops still release */
    int64_t size;                         /* of what is kept of all runs */
    bool ending;
};

/* True if no event will come any more: the run cannot be continued here. */
bool server_run_is_over(const struct server_run *run);
/* {run_id, thread_id?, document?, …} is added to the object. */
tn_value server_run_add_names(tn_value object, const struct server_run *run);

/* The subscriptions of an active run have room again. */
void server_run_continue(struct server_run *run);

/* run_events.c */
/* run_options.event of the run `user`. */
bool run_events_receive(void *user, tn_value event);
/* run_part_ops.kept of the run `user`. */
void run_events_receive_kept(void *user, uint64_t listen, uint64_t lost, tn_value events);
/* Sends run/ended to all subscriptions, which end if the run is over. Takes `report`, a new reference of the report. */
void run_events_end_take(struct server_run *run, tn_value report);
void run_events_free(struct server_run *run);

#endif
