/*
 * invocation.h - what a client starts and asks for later: an execution from the request to start it until its end, and
 * each time that it is resumed.
 *
 *     struct invocation_options options = {.run = RUN_OPTIONS_INIT, .config = config, .ended = my_ended};
 *     run_request_read(&options.run, &options.request, config, &error);
 *     options.run.user = me;
 *     struct invocation *invocation = invocation_new(engine, callable, &options, &error);
 *     invocation_start(invocation);                                 // my_ended(me) is called later, from the loop
 *     ...
 *     if (invocation_status(invocation) == RUN_INTERRUPTED)         // in my_ended, or at any time after it
 *         invocation_resume(invocation, answers, &error);           // and so my_ended(me) is called again
 *     invocation_free(invocation);
 *
 * A run with a thread is prepared without waiting (execution_thread.h). Each of its starts has an execution and a log,
 * which are freed at the end; the results are kept. Without a thread, the execution is kept, and the run can only be
 * resumed here.
 *
 * No function waits. The run starts in the next turn of the loop, so callbacks are not called from inside
 * invocation_start or invocation_resume. Results are those of the last end; invocation_resume clears them. The caller
 * owns the invocation; the engine must outlive it, unless invocation_clear was called. All functions are [loop].
 */
#ifndef TENON_HOST_ENGINE_EXECUTION_INVOCATION_H
#define TENON_HOST_ENGINE_EXECUTION_INVOCATION_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/engine/execution/execution_thread.h"
#include "host/engine/graph/run.h"

struct authority;
struct callable;
struct engine;
struct invocation;

struct invocation_options {
    /*
     * As run_request_read sets them, with the `modes`, `event` and `user` of the caller; `log`, `loaded` and `ended`
     * are not used. After `event` has returned false, invocation_continue must be called.
     */
    struct run_options run;
    /* `id` is NULL without a thread. If `document` is NULL, it is the path of the file that the graph was read from. */
    struct thread_request request;
    tn_value config; /* the value that `run` and `request` borrow from: the invocation keeps a reference; may be NULL */
    tn_value input;  /* may be NULL */
    /* Called with run.user, from the loop, at the end of each start and resume. It may resume or free the invocation.
     */
    void (*ended)(void *user);
};

enum invocation_phase {
    INVOCATION_IDLE,      /* not started, or ended */
    INVOCATION_QUEUED,    /* starts, or continues, in the next turn of the loop */
    INVOCATION_PREPARING, /* its thread is being read */
    INVOCATION_RUNNING    /* it has an execution that has not ended */
};

/*
 * Keeps references to the callable, the configuration and the input. NULL with INVALID_INPUT if the request has a
 * thread and the callable is not a graph.
 */
struct invocation *invocation_new(struct engine *engine, struct callable *callable,
                                  const struct invocation_options *options, struct error *error);
/* Releases all that the invocation holds, except its status, so that the engine can be freed. Only while idle. */
void invocation_clear(struct invocation *invocation);
void invocation_free(struct invocation *invocation); /* only while idle; NULL is allowed */

/* Starts it, once. A failure, such as a thread that another process runs, is the error of its end. */
void invocation_start(struct invocation *invocation);
/*
 * Continues a run that is interrupted, with `answers` {interrupt id: answer} to some or all of its interrupts; one that
 * is stopped, or failed by its recursion_limit; and, with a thread, one that failed or was cancelled after it began.
 * `answers` may be NULL or null if nothing is asked, or if they are saved in the thread. Instead of invocation_start:
 * continues the thread that another invocation started; its interrupts are not known yet, so answers that do not fit
 * are the error of its end. Returns an error, and changes nothing, if there is nothing to continue, or if an answer has
 * an unknown id or does not fit.
 */
int32_t invocation_resume(struct invocation *invocation, tn_value answers, struct error *error);
/*
 * The same for answers of a component, whose frame is `by`; NULL is the operator. PERMISSION_DENIED if it may not give
 * one of them (answer_rights.h). If the interrupts are not known yet, or the thread has other ones when it is read,
 * that is the error of the end.
 */
int32_t invocation_resume_by(struct invocation *invocation, struct authority *by, tn_value answers,
                             struct error *error);
/* A run that has ended and is to be continued with answers. */
struct answered_run {
    tn_value interrupts; /* as run_interrupts, or NULL; borrowed */
    enum run_status status;
    bool has_thread;
};
/* What invocation_resume_by checks, for a run that another loop has. `answers` is NULL without answers. */
int32_t invocation_check_answers(struct engine *engine, const struct answered_run *run, const struct authority *by,
                                 tn_value answers, struct error *error);
/* Sets the modes of the events from the next start on. A run without a thread keeps its modes when it is resumed. */
void invocation_set_modes(struct invocation *invocation, unsigned modes);
/* Ends it soon as RUN_CANCELLED. If it has not begun, it does not begin. No effect while idle. */
void invocation_cancel(struct invocation *invocation);
/* Ends the run of a graph as RUN_STOPPED after its super-step, or after the first one. No effect while idle. */
void invocation_drain(struct invocation *invocation);
/* The subscriber has room again. No effect unless it was full. */
void invocation_continue(struct invocation *invocation);

enum invocation_phase invocation_phase(const struct invocation *invocation);
/* RUN_NEW before the start, RUN_RUNNING in all phases except INVOCATION_IDLE. */
enum run_status invocation_status(const struct invocation *invocation);
/*
 * True if the last start or resume has reached the run: it was not cancelled before, and its thread, if it has one,
 * has accepted it.
 */
bool invocation_has_begun(const struct invocation *invocation);
tn_value invocation_output(const struct invocation *invocation); /* borrowed; NULL unless it is RUN_DONE */
/* Of RUN_FAILED and RUN_CANCELLED; `code` is NULL otherwise. */
const struct error *invocation_error(const struct invocation *invocation);
/* As execution_report; only {type, status, error?} while it is not idle, and if it failed before it began. A new
 * reference. */
tn_value invocation_report(struct invocation *invocation);
tn_value invocation_interrupts(struct invocation *invocation); /* as run_interrupts; a new reference */
/*
 * The committed state, the super-steps and the usage of the run; those of the report while it is idle. The state and
 * the usage are new references, and NULL if there are none: before it begins, if the callable is not a graph, or if
 * the store does not have all of the state.
 */
tn_value invocation_state(struct invocation *invocation);
uint32_t invocation_steps(struct invocation *invocation);
tn_value invocation_usage(struct invocation *invocation);
/* As run_open_nodes; [] while it is idle. A new reference. */
tn_value invocation_open_nodes(struct invocation *invocation);
uint32_t invocation_mapped_items(const struct invocation *invocation, tn_value node); /* as run_mapped_items */

#endif
