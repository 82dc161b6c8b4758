/*
 * replay.h - a thread run once more, without the world: what came from outside comes from its journal.
 *
 * Components that declare no effects compute again; what others gave is what they gave then, as are the time, the
 * answers, and the inputs. After each step, what the run has changed and what comes next must be what was recorded,
 * byte for byte; the first checkpoint that is not ends the replay, with what is different.
 *
 *     struct replay *replay = replay_new(checkpoints, journal);
 *     struct run *run = run_new(graph, &(struct run_options){.replay = replay, …});
 *     …                                                   // run_start with the recorded input, run_resume with answers
 *     if (replay_diverged(replay)) report(replay_difference(replay));
 *     replay_free(replay);
 */
#ifndef TENON_HOST_REPLAY_H
#define TENON_HOST_REPLAY_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct replay;

/* Of a thread: its checkpoints from the first on, an array; {key without the thread: entry}. Both are kept. */
struct replay *replay_new(tn_value checkpoints, tn_value journal);
void replay_free(struct replay *replay); /* NULL is allowed */
bool replay_diverged(const struct replay *replay);
/* What is run is left where another invocation, or a change from outside, took its place before it had ended. */
bool replay_is_left(const struct replay *replay);
bool replay_enter(struct replay *replay); /* … and the next is begun: false where what comes next is no such thing */
bool replay_is_over(const struct replay *replay); /* it has, or there are no more checkpoints to compare with */
/* {seq, step, what, recorded, replayed}; borrowed; NULL while nothing is. */
tn_value replay_difference(const struct replay *replay);
uint32_t replay_count(const struct replay *replay); /* checkpoints that have been replayed and were the same */
void replay_pass(struct replay *replay);            /* the next checkpoint is not a run's: it is taken as it is */
tn_value replay_answer(const struct replay *replay, const char *interrupt_id); /* borrowed, or NULL */

/* ---- For the engine ---- */

/* The checkpoint made now against the recorded one; gives the wall clock that was then. */
int64_t replay_step(struct replay *replay, uint32_t seq, tn_value made);
tn_value replay_outcome(const struct replay *replay, const char *scope, uint32_t step, uint32_t index);
tn_value replay_call(const struct replay *replay, const char *scope, uint32_t step, uint32_t index, uint32_t round,
                     const char *path);

#endif
