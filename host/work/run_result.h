/*
 * run_result.h - the RunResult in which a strategy or a runner says how its Task has ended.
 *
 *     struct run_result result = RUN_RESULT_INIT;
 *     if (run_result_read(output, &result, &error) != TN_OK) ...
 *     run_result_finish(&result);
 *
 * The shape is the output in sdk/schema/component/1/runner.schema.json. The result of a strategy is checked here as
 * well as by `tenon check --strategy`, because a schema in a document can be wider than its values. Thread: any.
 */
#ifndef TENON_HOST_WORK_RUN_RESULT_H
#define TENON_HOST_WORK_RUN_RESULT_H

#include "adl/value/error.h"
#include "adl/value/value.h"

enum run_result_state {
    RUN_RESULT_DONE,
    RUN_RESULT_FAILED,
    RUN_RESULT_RUNNING /* not finished: the Task returns to the queue */
};

struct run_result {
    enum run_result_state state;
    tn_value user_output;   /* a string; owned; NULL if there is nothing for the user */
    tn_value artifact_refs; /* an array of ids; owned; NULL if the result has none */
    struct error error; /* of RUN_RESULT_FAILED; of RUN_RESULT_RUNNING, why the attempt has not finished, if known */
};

#define RUN_RESULT_INIT                                                                                                \
    { RUN_RESULT_DONE, NULL, NULL, ERROR_INIT }

/* INVALID_RESULT if `output` is not a RunResult; *result is then as it was. */
int32_t run_result_read(tn_value output, struct run_result *result, struct error *error);
void run_result_finish(struct run_result *result);

#endif
