/*
 * execution.h - one invocation of whatever a user named, a graph or any other callable, with its configuration; and
 * many of them, a bounded number at once.
 *
 *     execution_start(execution) ... ended(execution, user) ... execution_output / execution_error ... execution_free
 *
 * A graph becomes a run (with its stream modes), anything else a call whose chunks are `custom` events. [loop]
 */
#ifndef TENON_HOST_EXECUTION_H
#define TENON_HOST_EXECUTION_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/engine/run.h"

struct callable;
struct execution;
struct host;

#define BATCH_CONCURRENCY 16u /* by default */

typedef void execution_ended_fn(struct execution *execution, void *user);

/* `options` as run_new takes them, without `ended`; its `user` goes to `event`. */
struct execution *execution_new(struct host *host, struct callable *callable, const struct run_options *options,
                                execution_ended_fn *ended, void *user);
bool execution_start(struct execution *execution, tn_value input); /* true: ended inside */
void execution_cancel(struct execution *execution);
void execution_free(struct execution *execution);             /* not while it goes on; NULL is allowed */
struct run *execution_run(const struct execution *execution); /* NULL where it is no graph */
/* After the end: the output, a new reference; NULL where it failed, was cancelled or waits. */
tn_value execution_output(const struct execution *execution);
const struct error *execution_error(const struct execution *execution);

/*
 * Options from the first seed's RunnableConfig, as an object; strings are borrowed from it. INVALID_INPUT names an
 * unknown key, or one of the wrong kind. `config` may be NULL.
 */
int32_t run_options_read(struct run_options *options, tn_value config, struct error *error);

/* ---- Many ---- */

struct batch_options {
    uint32_t concurrency;       /* 0: BATCH_CONCURRENCY */
    struct run_options options; /* of each; `event` is not used */
    /* In the order of inputs, as soon as all before it are known: {output} or {error}; borrowed. May be NULL. */
    void (*result)(void *user, size_t index, tn_value result);
    void (*progress)(void *user, size_t ended, size_t total); /* may be NULL */
    void *user;
};
/*
 * Runs the loop until every input has been run. Gives an array of {output} or {error}, in order (a new reference), or
 * NULL where `result` takes them. *cancel, which may be NULL, is looked at between completions.
 */
tn_value batch_run(struct host *host, struct callable *callable, tn_value inputs, const struct batch_options *options,
                   const _Atomic bool *cancel);

#endif
