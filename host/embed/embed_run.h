/*
 * embed_run.h - the handle of a run, for the files of this folder that start runs or read from them.
 */
#ifndef TENON_HOST_EMBED_EMBED_RUN_H
#define TENON_HOST_EMBED_EMBED_RUN_H

#include "host/base/loop.h"
#include "host/embed/embed_internal.h"
#include "host/engine/execution/execution_thread.h"
#include <stdatomic.h>

struct execution;

struct tenon_run {
    tenon *host;
    tenon_run *next, *previous;    /* in host->runs */
    uint64_t number;               /* counts the runs of the host */
    uint32_t references;           /* of the program; one while it is active; one of each wait */
    struct callable *callable;     /* owned */
    tn_value input, config;        /* owned; may be NULL */
    tn_value answers;              /* owned; those with which it continues; may be NULL */
    struct run_options base;       /* as `config` sets them; borrows its texts */
    struct run_options options;    /* of the present invocation; owns `log` and `loaded` */
    struct thread_request request; /* its id is NULL without a thread */
    struct execution *execution;   /* NULL before the start and, with a thread, after the end */
    struct loop_work start, cancel;
    _Atomic bool cancel_posted; /* `cancel` is posted and has not run; set by any thread */
    unsigned modes;             /* of the events; 0 without `event` */
    tenon_event event;
    tenon_ended ended;
    void *event_user, *ended_user;
    int32_t status;
    bool active;             /* from the request to start or to continue it until its end is reported */
    bool began;              /* with a thread: the thread has accepted the present invocation */
    bool cancelled, drains;  /* as requested; also before the execution exists */
    tn_value output, report; /* owned; after the end; the report is made on request if there is an execution */
    struct error error;      /* of a failed or cancelled run */
    tn_value error_value;    /* created by tenon_run_error */
};

/* A run that has not been started; its reference belongs to the caller. NULL with the error of the host. */
tenon_run *embed_run_new(tenon_runnable *runnable, tn_value input, tn_value config);
/* The last reference frees it; a request to cancel it that is posted also keeps it. */
void embed_run_unref(tenon_run *run);
/* [{id, node, …}]; a new reference. Empty if it does not wait. */
tn_value embed_run_questions(tenon_run *run);
/* Cancels it soon; no effect if it is not active. */
void embed_run_cancel(tenon_run *run);
/* tenon_close: frees everything except the handle. The run must not be active. */
void embed_run_empty(tenon_run *run);
const char *embed_run_status_name(const tenon_run *run); /* "running", "done", … */

#endif
