/*
 * durable.h - a run that writes its thread's log (thread/log.h): when it does, and what it waits for.
 *
 * Each step is one commit, and nothing that follows from it is done or told before it is written. What tasks have done
 * is noted when they end, so that a step of many is not repeated whole. A run inside a task writes to the same log,
 * under the scope of its task, until the step around it is over. Where the log fails, the run does: RUN_FAILED with the
 * store's error, and what was committed stays.
 *
 * For the engine's own files.
 */
#ifndef TENON_HOST_DURABLE_H
#define TENON_HOST_DURABLE_H

#include "host/engine/run.h"

struct run;
struct task;

/* Where the run's options, or the run around it, have a log. After run_restore, before run_start or run_resume. */
void durable_begin(struct run *run);
void durable_end(struct run *run);           /* with the run */
uint32_t durable_seq(const struct run *run); /* of its next checkpoint */
bool durable_waits(const struct run *run);   /* for a commit: the run must not advance */
/*
 * What has changed, and what comes next; by a NULL source the run goes on from where it stood, and takes the thread
 * over. True: run_advance is called when it is written.
 */
bool durable_commit(struct run *run, const char *source);
/* The run has come to `status`. True: run_end is called when that is written. */
bool durable_finish(struct run *run, enum run_status status);
void durable_task(struct task *task);                   /* it has ended, or failed where that is handled */
void durable_call(struct task *task, const char *path); /* a call that it made has ended */
void durable_answer(struct run *run, const char *id, tn_value answer);
/* Of a replay: what was recorded of a task, or of a call that it makes; borrowed; NULL where nothing was. */
bool durable_replays(const struct run *run);
tn_value durable_recorded(const struct task *task);
tn_value durable_recorded_call(const struct task *task, const char *path);
/* What is in the log of a run in this scope, taken out of what was loaded; NULL where nothing is. A new reference. */
tn_value durable_take_nested(struct run *run);

#endif
