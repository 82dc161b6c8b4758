/*
 * replay_run.h - a whole thread replayed: every invocation after the other, as engine/replay.h does one.
 *
 *     tn_value report = NULL;
 *     status = replay_run_wait(graph, history, &report, &error);    // thread_read_history's
 *     if (value_is(value_get(report, "diverged"), TN_OBJECT)) ...
 */
#ifndef TENON_HOST_REPLAY_RUN_H
#define TENON_HOST_REPLAY_RUN_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct graph;

/*
 * {replayed, checkpoints, diverged: null | {seq, step, what, recorded, replayed}, error?}: `error` is what the run
 * failed with where it had not. Not TN_OK where there is nothing to replay. Runs the loop until it is done. [loop]
 */
int32_t replay_run_wait(struct graph *graph, tn_value history, tn_value *report, struct error *error);

#endif
