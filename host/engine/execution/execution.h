/*
 * execution.h - one invocation of what a user named, a graph or any other callable; and batches of them.
 *
 *     struct execution *execution = execution_new(engine, callable, &options, my_ended, me);
 *     if (execution_start(execution, input)) my_ended(execution, me);   // ended at once
 *     ...
 *     use(execution_output(execution), execution_error(execution));     // in my_ended
 *     execution_free(execution);
 *
 * A graph becomes a run with its stream modes. Anything else becomes a call whose chunks are `custom` events. All
 * functions are [loop].
 */
#ifndef TENON_HOST_ENGINE_EXECUTION_EXECUTION_H
#define TENON_HOST_ENGINE_EXECUTION_EXECUTION_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/engine/graph/run.h"

struct callable;
struct execution;
struct engine;
struct thread_request;

#define BATCH_CONCURRENCY 16u /* default of `concurrency` */

typedef void execution_ended_fn(struct execution *execution, void *user);

/* `options` as for run_new; `options->ended` is not used, and `options->user` is passed to `event`. */
struct execution *execution_new(struct engine *engine, struct callable *callable, const struct run_options *options,
                                execution_ended_fn *ended, void *user);
bool execution_start(struct execution *execution, tn_value input); /* true if it has already ended */
void execution_cancel(struct execution *execution);
/* The subscriber has room again, after event() returned false. */
void execution_continue(struct execution *execution);
void execution_free(struct execution *execution);             /* not while running; NULL is allowed */
struct run *execution_run(const struct execution *execution); /* NULL if the callable is not a graph */
/* After the end: the output, a new reference; NULL if it failed, was cancelled or is interrupted. */
tn_value execution_output(const struct execution *execution);
const struct error *execution_error(const struct execution *execution);
/* Of a call: RUN_RUNNING, RUN_DONE, RUN_FAILED, RUN_CANCELLED or RUN_INTERRUPTED. */
enum run_status execution_status(const struct execution *execution);
/* As run_resume; fails if it is not a run. */
int32_t execution_resume(struct execution *execution, tn_value answers, bool *ended, struct error *error);
/*
 * After the end: the last event of `tenon run --json`, {type: "result", status, …}: with run_id, steps, usage and state
 * of a run, and, depending on the status, error, interrupts, or next. A new reference.
 */
tn_value execution_report(const struct execution *execution);

/*
 * Reads options from an object (the RunnableConfig of the first seed); strings are borrowed from it. `config` may be
 * NULL. Returns INVALID_INPUT if a key is unknown or has the wrong kind.
 */
int32_t run_options_read(struct run_options *options, tn_value config, struct error *error);
/*
 * The same, and the options of a run with a thread: thread_id becomes request->id, and replace, force, accept_changes
 * and durability are allowed.
 */
int32_t run_request_read(struct run_options *options, struct thread_request *request, tn_value config,
                         struct error *error);

/* ---- Batches ---- */

struct batch;
/*
 * How one loop takes part in a batch that several loops share (host/loops/loops_batch.h): it does not run all inputs,
 * but those that `take` names. All functions are called on this loop.
 */
struct batch_share {
    void *user;
    void (*begun)(void *user, struct batch *batch); /* batch_wake and batch_move may be called from now on */
    /*
     * Names the next input of this loop, or a run that was moved here: `*moved` is then what run_carry returned, and
     * owned by the batch. False if there is none now; batch_wake asks again.
     */
    bool (*take)(void *user, size_t *index, tn_value *moved);
    bool (*is_over)(void *user); /* every input of the batch has ended, or will not be run; read before each turn */
    void (*ended)(void *user, size_t index, tn_value result);  /* borrowed; in the order of the ends */
    void (*moved)(void *user, size_t index, tn_value carried); /* a run has left this loop; borrowed */
    void (*stops)(void *user); /* `cancel` was read as true, or `drains` has returned true; once for each */
};

/*
 * The threads in which the runs of a batch are saved. With THREAD_RESUME, inputs that are done do not run again: their
 * result is what the thread saved. Others are continued, or run if they have not begun.
 */
struct batch_threads {
    const char *batch; /* the id of the batch (thread_batch.h) */
    bool replaces;     /* THREAD_RESUME: inputs that have not begun replace what their threads were doing */
    bool was_done;     /* THREAD_RESUME: every input was done, so an input without its thread does not run */
    tn_value ids;      /* [the id of the thread of each input]; all differ */
    const struct thread_request *request; /* of each run; its `id` and `batch` are not used */
    /* Called before each turn of the loop. True: start nothing more, and stop each run after its super-step. */
    bool (*drains)(void *user); /* may be NULL */
};

struct batch_options {
    uint32_t concurrency;            /* 0 means BATCH_CONCURRENCY */
    struct run_options options;      /* options of each execution; `event` is not used */
    const struct batch_share *share; /* NULL: this loop runs all inputs. Otherwise `result`, `progress` are not used */
    const struct batch_threads *threads; /* NULL: nothing is saved. Otherwise the callable is a graph */
    /*
     * Called in the order of the inputs: {output}, {output, next} if the strategy has stopped the run, or {error};
     * borrowed. May be NULL.
     */
    void (*result)(void *user, size_t index, tn_value result);
    void (*progress)(void *user, size_t ended, size_t total); /* may be NULL */
    void *user;
};
/*
 * Runs the loop until every input has been run, or the batch has been drained. Returns an array of {output} or {error}
 * in order, a new reference; NULL if options->result receives them, or with `share`. *cancel is read between
 * completions; `cancel` may be NULL.
 */
tn_value batch_run(struct engine *engine, struct callable *callable, tn_value inputs,
                   const struct batch_options *options, const _Atomic bool *cancel);
/* There may be more inputs, or the batch is over. */
void batch_wake(struct batch *batch);
/*
 * Asks a run to leave this loop between two super-steps; share->moved receives it, unless it ends before: then
 * share->ended does. *index is that of its input. Returns false if no run can move.
 */
bool batch_move(struct batch *batch, size_t *index);
uint32_t batch_open_count(const struct batch *batch); /* the runs that have not ended */
/* The result of an input that a batch has not run, because it was cancelled, or drained: {error}; a new reference. */
tn_value batch_unrun_result(bool drained);

#endif
