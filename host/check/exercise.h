/*
 * exercise.h - a plugin put through what a host may do to it, in a process that may die: `tenon plugin check`, part
 * two.
 *
 * Each component is created from the examples of its manifest, from configurations made from its schema, and from
 * mutants of these; created and destroyed EXERCISE_ROUNDS times; and, where it declares that it does nothing to the
 * world, run: its examples must come out as they say, made inputs must give the same once more, with others at the same
 * time on threads of their own, and in a process of its own; it is cancelled at random points; and each of its
 * allocations fails once. All of it under check mode (interface/guard.h), whose findings are findings. The seed makes
 * everything again.
 *
 *     exercise("acme.so", &(struct exercise_options){.seed = seed}, &check);
 *
 * The process must be able to fork: call it before starting threads.
 */
#ifndef TENON_HOST_EXERCISE_H
#define TENON_HOST_EXERCISE_H

#include "host/plugin/check.h"

#define EXERCISE_TIMEOUT_MS 20000 /* for all of it; half of it is shared out among the components */

struct exercise_options {
    uint64_t seed;
    bool allow_drafts;
    int timeout_ms; /* 0: EXERCISE_TIMEOUT_MS */
};

void exercise(const char *path, const struct exercise_options *options, struct check *check);

#endif
