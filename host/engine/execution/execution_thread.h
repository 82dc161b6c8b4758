/*
 * execution_thread.h - a run with a thread: checks the thread, loads it, and starts or resumes the run.
 *
 *     struct thread_request request = {.id = "support-42", .mode = THREAD_INPUT};
 *     status = thread_prepare_wait(engine, graph, &request, &options, &error);   // sets options: log, loaded, ...
 *     struct run *run = run_new(graph, &options);
 *     status = thread_begin(run, &request, input, &ended, &error);
 *     ...
 *     run_free(run);
 *     thread_log_free(options.log);
 *     value_unref(options.loaded);
 *
 * Nothing is written before the first commit of the run, so a refused request changes nothing. All functions are
 * [loop], except those marked [any].
 */
#ifndef TENON_HOST_ENGINE_EXECUTION_EXECUTION_THREAD_H
#define TENON_HOST_ENGINE_EXECUTION_EXECUTION_THREAD_H

#include "host/base/time_text.h"
#include "host/data/store/store.h"
#include "host/engine/graph/run.h"

struct authority;
struct graph;
struct engine;

enum thread_mode {
    THREAD_INPUT,  /* new input for a new thread, or for one that is done; its state stays */
    THREAD_RESUME, /* continues an unfinished thread, with answers if it waits */
    THREAD_UPDATE, /* changes its state from outside (run_update); runs no node */
    THREAD_REPLACE /* as THREAD_INPUT; discards what an unfinished thread was doing */
};

struct thread_request {
    const char *id;
    enum thread_mode mode;
    tn_value answers; /* THREAD_RESUME: {interrupt id: answer}, added to those stored in the thread; or NULL */
    const struct authority *answers_by; /* the component that answers; NULL: the operator (answer_rights.h) */
    bool force;          /* take the thread over even if a living process runs it; that run then ends with FENCED */
    bool accept_changes; /* the document may have changed since the thread began, as far as the state fits */
    const char *as;      /* THREAD_UPDATE: continue after this node; NULL leaves the plan unchanged */
    tn_value next;       /* THREAD_UPDATE: continue with these nodes (run_change); or NULL */
    tn_value from;       /* THREAD_UPDATE: the older checkpoint to begin with, -1 for none; or NULL */
    bool create;         /* THREAD_UPDATE: the thread may be new */
    const char *document;
    enum run_durability durability;
    tn_value served; /* THREAD_SERVED of the record, if the host is to continue the run; otherwise NULL */
    tn_value batch;  /* THREAD_BATCH of the record, if the run is a line of a batch; otherwise NULL */
};

/*
 * Reads the thread and sets `options`. The caller frees options->log and options->loaded after the run. Returns
 * OWNED (a living process runs the thread), NOT_FOUND, UNFINISHED (new input for a thread that is not done), DONE
 * (nothing to resume), GRAPH_CHANGED with the differences in `detail`, EXPIRED, or an error of the store; `options` is
 * unchanged then. Runs the loop.
 */
int32_t thread_prepare_wait(struct engine *engine, struct graph *graph, const struct thread_request *request,
                            struct run_options *options, struct error *error);
/*
 * The same without waiting: `done` receives the result, from the loop; or from inside this function if the id is
 * invalid or the store cannot be opened. `graph`, `request` and `options` must stay valid until then.
 */
typedef void thread_prepared_fn(void *user, int32_t status, struct error *error);
void thread_prepare(struct engine *engine, struct graph *graph, const struct thread_request *request,
                    struct run_options *options, thread_prepared_fn *done, void *user);
/*
 * Reads a thread without taking it over or checking it, to decide what to do with it. The result that `done` receives
 * is for thread_saved_output; its member `record` is the record of the thread, or null if the thread does not exist.
 * Fails at once, and does not call `done`, if the id is invalid or the store cannot be opened. The id is borrowed until
 * `done` is called.
 */
int32_t thread_look(struct engine *engine, struct graph *graph, const char *id, store_done *done, void *user,
                    struct error *error);
/*
 * What the last run of a thread that is done has returned, from the result of thread_look: *output is what run_result
 * returned then, a new reference. GRAPH_CHANGED, unless the request accepts changes; INVALID_STATE.
 */
int32_t thread_saved_output(struct graph *graph, const struct thread_request *request, tn_value looked,
                            tn_value *output, struct error *error);
/* [any] Returns EXPIRED if the thread has waited for an answer longer than limits.interrupt_hours allows. */
int32_t thread_check_expiry(const struct engine *engine, tn_value record, struct error *error);
/* [any] Returns `out` with the time since when a thread may wait; longer waits are expired. NULL if there is no limit.
 */
const char *thread_expiry_limit(const struct engine *engine, char out[TIME_TEXT]);
/*
 * Restores the run, then calls run_try_start, run_resume or run_update, and returns what that returns. THREAD_RESUME
 * does not use `input`; it returns PERMISSION_DENIED if `answers_by` may not give one of the answers.
 */
int32_t thread_begin(struct run *run, const struct thread_request *request, tn_value input, bool *ended,
                     struct error *error);
/*
 * After thread_begin has failed with INVALID_INPUT: true if a run was resumed that waits for answers, and there are
 * none. The run can be treated as if it had just been interrupted.
 */
bool thread_lacks_answers(const struct run *run, const struct thread_request *request);

/*
 * Changes a thread from outside, as `request` (THREAD_UPDATE) says: writes `channels`. The error is that of
 * thread_prepare_wait, thread_begin or the run. No result.
 *
 * `done` is called once, later, from the loop, also if the store cannot be opened; it may be NULL. The arguments are
 * copied, and `graph` and values are retained. The log, and so the lock of the thread, is released before `done` is
 * called. Updates of one thread that overlap do not wait for each other: one of them fails with FENCED. The host must
 * not be freed before `done` is called.
 */
void thread_update(struct engine *engine, struct graph *graph, const struct thread_request *request, tn_value channels,
                   store_done *done, void *user);
/* The same, but runs the loop until the update has ended. */
int32_t thread_update_wait(struct engine *engine, struct graph *graph, const struct thread_request *request,
                           tn_value channels, struct error *error);
/*
 * Saves answers, by interrupt id, until the thread is resumed. No result. NOT_FOUND; EXPIRED as thread_check_expiry;
 * INVALID_INPUT for unknown ids, for answers that do not match the schema of the interrupt, and if the thread does not
 * wait for answers. `done` and the arguments as for thread_update; it is one job of the store, so other operations that
 * are submitted later find the answers.
 */
void thread_answer(struct engine *engine, const char *id, tn_value answers, store_done *done, void *user);
/* The same, but runs the loop until the answers have been saved. */
int32_t thread_answer_wait(struct engine *engine, const char *id, tn_value answers, struct error *error);

#endif
