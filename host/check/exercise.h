/*
 * exercise.h - a plugin put through what a host may do to it, in a process that may die: `tenon plugin check`, part
 * two.
 *
 * Each component is created from configurations made from its schema, valid ones and mutants; created and destroyed
 * EXERCISE_ROUNDS times; run, where it declares that it does nothing to the world, on inputs made from its schema; and
 * cancelled at random points. The
 * same is done once more with allocations that fail. All of it under check mode (interface/guard.h), whose findings are
 * findings. The seed makes everything again.
 *
 *     exercise("acme.so", seed, false, &check);
 *
 * The process must be able to fork: call it before starting threads. Takes EXERCISE_TIMEOUT_MS at most.
 */
#ifndef TENON_HOST_EXERCISE_H
#define TENON_HOST_EXERCISE_H

#include "host/plugin/check.h"

#define EXERCISE_ROUNDS     1000  /* of create and destroy */
#define EXERCISE_CONFIGS    8     /* made for each component, and as many mutants */
#define EXERCISE_CANCELS    20    /* runs that are cancelled, each after another number of turns */
#define EXERCISE_RUN_MS     100   /* for one run to end by itself */
#define EXERCISE_ENOUGH_MS  10000 /* then no further component is begun */
#define EXERCISE_DEAF_MS    1000  /* from its cancel to the end of a run */
#define EXERCISE_TIMEOUT_MS 20000 /* for all of it */

void exercise(const char *path, uint64_t seed, bool allow_drafts, struct check *check);

#endif
