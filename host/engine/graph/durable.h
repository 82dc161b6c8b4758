/*
 * durable.h - the checkpoints that a run writes to its thread's log (data/thread/thread_log.h), or compares with a
 * replay.
 *
 * Each step is one commit. Nothing that follows from a step is done or reported before it is written. The outcome of
 * each activation is written when it ends, so that a large step need not be repeated completely. A nested run writes to
 * the same log, under the scope of its call, until the step around it is committed. If the log fails, the run fails
 * with the store's error; what was committed stays.
 *
 *     durable_start(run);
 *     if (durable_commit(run, "step")) ...   // run_on_written is called when it is written
 *
 * A run without a log and without a replay has run->durable == NULL. The functions do nothing for it, and return false
 * or NULL, unless their comment requires a log or a replay. Some callers check run->durable first; that only saves
 * time.
 *
 * Only the files of this folder use this header. [loop]
 */
#ifndef TENON_HOST_ENGINE_GRAPH_DURABLE_H
#define TENON_HOST_ENGINE_GRAPH_DURABLE_H

#include "host/engine/graph/run.h"

struct run;
struct activation;

/*
 * Prepares the run to write, if its options, or those of the outermost run, have a log or a replay. Call it after
 * run_restore and before the first commit. May be called again.
 */
void durable_start(struct run *run);
void durable_free(struct run *run);          /* part of run_free */
uint32_t durable_seq(const struct run *run); /* the number of its next checkpoint; requires run->durable */
/* Arrays and objects in each other, in a value that is written to a channel of a saved thread. */
#define DURABLE_DEPTH_MAX 100
/*
 * A larger part must not be inside of so many. A change doubles the levels that it descends (at most 16), and some are
 * around it: what is large stays above PACK_DEPTH_MAX.
 */
#define DURABLE_LARGE_DEPTH_MAX 24
#define DURABLE_PART_MAX        2097152 /* bytes; as JSON, they may be six times as many */
/* Returns LIMIT if the value cannot be saved. Called when it is written, while the step can be repeated. */
int32_t durable_check_write(const struct run *run, uint32_t channel, tn_value value, struct error *error);
/*
 * Writes what changed and what comes next. `source` is NULL if the run was resumed where it stood, and only takes over
 * the thread. Returns true if run_on_written will be called; false if there is nothing to wait for.
 */
bool durable_commit(struct run *run, const char *source);
/* The same for the end of the run with `status`; `source` is "end" or "update". */
bool durable_finish(struct run *run, enum run_status status, const char *source);
/* It is done, its failure is handled, or its writes were refused. */
void durable_save_outcome(struct activation *activation);
void durable_save_call(struct activation *activation, const char *path); /* a call that it made has ended */
void durable_answer(struct run *run, const char *id, tn_value answer);
bool durable_replays(const struct run *run); /* the run is a replay */
/*
 * Only in a replay: the recorded outcome of an activation, or of a call that it makes; borrowed; NULL if nothing was
 * recorded.
 */
tn_value durable_recorded(const struct activation *activation);
tn_value durable_recorded_call(const struct activation *activation, const char *path);
/* Takes the saved state of a nested run out of what was loaded of the thread; a new reference, or NULL. */
tn_value durable_take_nested(struct run *run);

#endif
