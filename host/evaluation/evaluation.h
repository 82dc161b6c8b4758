/*
 * evaluation.h - runs the cases of a suite with one version of the document and one set of models.
 *
 *     struct evaluation_options options = {.suite = suite, .document = "v1", .model = "small", .result = on_result, …};
 *     status = evaluation_run(engine, graph, &options, &cancel, &error);     // runs the loop
 *
 * Each run of a case has a result:
 *     {document, model, case, repeat, key, status: "passed" | "failed" | "error", checks: [{kind, passed, why?}],
 *      answer?, usage?, judge_usage?, ms, error?}
 * `key` is a hash of everything that can change the result, except the models themselves: the names of the pair, the
 * document, the bindings of roles, the case, and the judge. A result with the same key need not be computed again.
 *
 * Nothing is saved: runs have no threads. A question to a person is an error of the case. Thread: [loop].
 */
#ifndef TENON_HOST_EVALUATION_EVALUATION_H
#define TENON_HOST_EVALUATION_EVALUATION_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

struct engine;
struct graph;
struct suite;

struct evaluation_options {
    const struct suite *suite;
    const char *document, *model; /* names of the suite; borrowed */
    tn_value bindings;            /* {role: binding} of the suite, for the key */
    const char *only;             /* the id of the only case, or NULL for all */
    /* True if a run with this key has a result already. May be NULL. */
    bool (*known)(void *user, tn_value key);
    void (*result)(void *user, tn_value result); /* in the order of the ends; borrowed */
    void *user;
};

/*
 * Returns TN_OK after all runs have ended, also if cases have failed or *cancel was set: runs that were cancelled have
 * no result. INVALID_CONFIG or another error if the judge cannot be used. *cancel is read between two runs.
 */
int32_t evaluation_run(struct engine *engine, struct graph *graph, const struct evaluation_options *options,
                       const _Atomic bool *cancel, struct error *error);

#endif
