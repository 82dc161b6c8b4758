/*
 * execution_replay.h - replays a whole thread, one invocation after the other (engine/graph/run_replay.h replays one
 * run).
 *
 *     tn_value report = NULL;
 *     status = replay_run_wait(graph, history, &report, &error);    // history: from thread_read_history
 *     if (value_is(value_get(report, "diverged"), TN_OBJECT)) ...
 */
#ifndef TENON_HOST_ENGINE_EXECUTION_EXECUTION_REPLAY_H
#define TENON_HOST_ENGINE_EXECUTION_EXECUTION_REPLAY_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct graph;

/*
 * Sets *report to {replayed, checkpoints, diverged: null | {seq, step, what, recorded, replayed}}. If a run failed that
 * had not failed when it was recorded, the difference has its error. Fails if there is nothing to replay. Runs the loop
 * until it is done. [loop]
 */
int32_t replay_run_wait(struct graph *graph, tn_value history, tn_value *report, struct error *error);

#endif
