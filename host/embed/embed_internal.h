/*
 * embed_internal.h - the handles of tenon/embed.h. Only files of this folder include this.
 */
#ifndef TENON_HOST_EMBED_EMBED_INTERNAL_H
#define TENON_HOST_EMBED_EMBED_INTERNAL_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/base/loop.h"
#include <stdbool.h>
#include <tenon/embed.h>

struct callable;
struct diagnostics;
struct engine;
struct graph_origin;
struct host;
struct loops;

/*
 * A host. It is freed by tenon_close or, if objects of it are left then, by the release of the last one: until that
 * each call with such an object fails with CLOSED.
 */
struct tenon {
    uintptr_t thread;                /* loop_this_thread of the thread that opened it */
    struct host *host;               /* NULL after tenon_close */
    struct loop *loop;               /* of the host */
    struct engine *engine;           /* of the host */
    struct loops *loops;             /* for batches; NULL: only that of the host */
    struct diagnostics *diagnostics; /* diagnostics of the last document; may be NULL */
    struct error error;              /* error of the last call that failed */
    tn_value error_value;            /* the same as a value; created by tenon_error_value */
    _Atomic bool cancel;             /* ends the batch; set by any thread */
    _Atomic uint64_t cancel_before;  /* tenon_cancel cancels the runs with lower numbers */
    _Atomic bool cancel_posted;      /* `cancel_work` is posted and has not run */
    struct loop_work cancel_work;
    _Atomic uint64_t run_count;    /* the number of the next run */
    uint64_t active;               /* runs that have not ended */
    bool foreign;                  /* the program waits for the descriptor: work that is deferred must wake it */
    bool batching;                 /* inside tenon_batch */
    uint64_t components;           /* the number of components that builders have registered */
    struct embed_program *program; /* its own components; NULL until the first one is registered */
    tenon_runnable *runnables;     /* all of them */
    tenon_run *runs;               /* all of them */
    uint64_t objects;              /* objects that refer to the handle: runnables, runs, builders */
};

struct tenon_runnable {
    uint32_t references;
    tenon *host;
    struct callable *callable; /* NULL after tenon_close */
    /* For tenon_pipe: what messages call it, and JSON Schemas of its input and output; each NULL if not known. */
    tn_value name, input, output;
    bool transparent; /* its output is its input */
    tenon_runnable *next, *previous;
};

/*
 * Starts a call of the API: clears the last error, and makes the host's log the current log of the thread. Returns
 * false with an error, which belongs to the calling thread, if `handle` is NULL, is closed, or belongs to another
 * thread. Every function that is not [any] begins with it.
 */
#define embed_enter(handle) (embed_enter_function(handle, __func__) && (handle))
bool embed_enter_function(tenon *handle, const char *function);
/* The same for a runnable or a builder: NULL if the pointer to it is NULL. */
#define embed_enter_of(object) (embed_enter_function((object) ? (object)->host : NULL, __func__) && (object))

/* As embed_enter, but keeps the last error, and accepts a closed host: for functions that release or only read. */
#define embed_check_thread(handle) embed_check_thread_function(handle, __func__)
bool embed_check_thread_function(const tenon *handle, const char *function);

/*
 * Returns false with NESTED inside a callback of the host. Every function that runs the loop checks it after
 * embed_enter.
 */
#define embed_may_wait(handle) embed_may_wait_function(handle, __func__)
bool embed_may_wait_function(tenon *handle, const char *function);
/* Work was deferred: the loop of the program must notice it. */
void embed_wake(tenon *handle);
/* tenon_close: cancels the runs, waits until they have ended, and frees all but their handles. */
void embed_runs_close(tenon *handle);

/* An object that refers to the handle was created, or freed: the last one frees a closed handle. */
void embed_object_add(tenon *handle);
void embed_object_remove(tenon *handle);

/* Sets the error and returns false if a required argument is NULL. */
bool embed_check_not_null(tenon *handle, const void *argument, const char *what);
/* The same if a text is not UTF-8. */
bool embed_check_utf8(tenon *handle, const char *text, const char *what);
/* Sets the error and returns false if the runnable is NULL or belongs to another host. */
bool embed_check_runnable(tenon *handle, const tenon_runnable *runnable);
/* Takes the callable's reference. Returns NULL for NULL. */
tenon_runnable *embed_runnable_take(tenon *handle, struct callable *callable);
/* tenon_close: releases what the runnables hold. They stay until the program releases them. */
void embed_runnables_close(tenon *handle);
/* Checks and builds a document. Returns NULL with the error; the diagnostics stay in the handle. */
tenon_runnable *embed_graph(tenon *handle, const char *name, const char *text, size_t length,
                            const struct graph_origin *origin);

/* The error of the calling thread, for calls that have no host: embed_error.c. */
int32_t embed_thread_error(int32_t status, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same; moves the error. */
void embed_thread_error_move(struct error *error);

#endif
