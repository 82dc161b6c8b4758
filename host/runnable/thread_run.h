/*
 * thread_run.h - a run for a thread: loaded, found to fit, and begun or gone on with.
 *
 *     struct thread_request request = {.id = "support-42", .mode = THREAD_INPUT};
 *     status = thread_prepare_wait(host, graph, &request, &options, &error);   // fills options: log, loaded, …
 *     struct run *run = run_new(graph, &options);
 *     status = thread_begin(run, &request, input, &ended, &error);
 *     ...
 *     run_free(run);
 *     thread_log_free(options.log);
 *     value_unref(options.loaded);
 *
 * Nothing is written before the run's first commit; so what is refused has changed nothing. [loop]
 */
#ifndef TENON_HOST_THREAD_RUN_H
#define TENON_HOST_THREAD_RUN_H

#include "host/engine/run.h"

struct graph;
struct host;

enum thread_mode {
    THREAD_INPUT,  /* a new thread, or one that is done: with new input, on its state */
    THREAD_RESUME, /* from where it stands: with answers where it waits */
    THREAD_UPDATE, /* its state is changed from outside, by run_update; nothing is run */
    THREAD_REPLACE /* as THREAD_INPUT, whatever it was at: that is given up */
};

struct thread_request {
    const char *id;
    enum thread_mode mode;
    tn_value answers; /* THREAD_RESUME: {interrupt id: answer}, beside those that the thread has been given; or NULL */
    bool accept_changes; /* of the document since the thread began, as far as they fit */
    const char *as;      /* THREAD_UPDATE: the node that is taken to have run; NULL: what was next stays */
    const char *document;
    enum run_durability durability;
};

/*
 * Looks the thread up and fills `options`: log and loaded are the caller's to free after the run. NOT_FOUND,
 * UNFINISHED (new input for one that is not done), DONE (nothing to resume), GRAPH_CHANGED with the differences in
 * `detail`, and what the store says.
 */
int32_t thread_prepare_wait(struct host *host, struct graph *graph, const struct thread_request *request,
                            struct run_options *options, struct error *error);
/* EXPIRED where the thread, by its record, has waited for an answer longer than the operator's limit. */
int32_t thread_check_wait(const struct host *host, tn_value record, struct error *error);
/* Whoever has waited since before that, as records have times, has waited too long; `out`, or NULL: nobody has. */
#define THREAD_TIME_MAX 40
const char *thread_wait_limit(const struct host *host, char out[THREAD_TIME_MAX]);
/* run_begin, run_resume or run_update, whichever it is; *ended as theirs, and refused as they refuse. */
int32_t thread_begin(struct run *run, const struct thread_request *request, tn_value input, bool *ended,
                     struct error *error);

#endif
