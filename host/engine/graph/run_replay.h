/*
 * run_replay.h - a run of a recorded thread, without calling anything outside.
 *
 * Components without effects compute again. All other results come from the journal, and so do the time, the answers
 * and the inputs. After each step the state and the next plan must equal the recorded ones, byte for byte. The first
 * difference ends the replay.
 *
 *     struct replay *replay = replay_new(checkpoints, journal);
 *     struct run *run = run_new(graph, &(struct run_options){.replay = replay, …});
 *     …                                                   // run_start with the recorded input, run_resume with answers
 *     if (replay_difference(replay)) report(replay_difference(replay));
 *     replay_free(replay);
 */
#ifndef TENON_HOST_ENGINE_GRAPH_RUN_REPLAY_H
#define TENON_HOST_ENGINE_GRAPH_RUN_REPLAY_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct replay;

/* `checkpoints`: an array of all checkpoints of the thread. `journal`: {key without the thread: entry}. Keeps both. */
struct replay *replay_new(tn_value checkpoints, tn_value journal);
void replay_free(struct replay *replay); /* NULL is allowed */
/* True if the recorded invocation did not end, because another one or a change from outside replaced it. */
bool replay_is_left(const struct replay *replay);
/* Moves on to the next recorded invocation or change. Returns false if the next checkpoint is not one. */
bool replay_enter(struct replay *replay);
/* True after a difference, or when no checkpoint is left to compare. */
bool replay_is_over(const struct replay *replay);
/* {seq, step, what, recorded, replayed}; borrowed; NULL without a difference. */
tn_value replay_difference(const struct replay *replay);
uint32_t replay_count(const struct replay *replay); /* the number of checkpoints that were equal */
void replay_pass(struct replay *replay);            /* skips a checkpoint that no run wrote */
/* The incarnation of the thread after the checkpoints that were equal; borrowed; NULL if it had none. */
const char *replay_incarnation(const struct replay *replay);
tn_value replay_answer(const struct replay *replay, const char *interrupt_id); /* borrowed, or NULL */

/* ---- Called by durable.c ---- */

/* Compares a checkpoint with the recorded one. Returns the recorded wall clock, or 0. */
int64_t replay_step(struct replay *replay, uint32_t seq, tn_value made);
/* The recorded outcome of an activation, and of one of its calls; borrowed, or NULL. */
tn_value replay_outcome(const struct replay *replay, const char *scope, uint32_t step, uint32_t index);
tn_value replay_call(const struct replay *replay, const char *scope, uint32_t step, uint32_t index, uint32_t round,
                     const char *path);

#endif
