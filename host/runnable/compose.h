/*
 * compose.h - callables made of callables: the first seed's RunnableSequence, RunnableParallel, RunnableLambda and
 * IdentityRunnable.
 *
 *     struct callable *both = parallel_new(loop, (struct callable *[]){a, b}, NULL, 2);
 *     struct callable *chain = pipe_new(loop, (struct callable *[]){both, sum}, 2);
 *
 * Each takes references of its own, and gives one. A pipe's output streams as its last stage does; the error of a stage
 * is the pipe's. In parallel all branches run at once, and the first failing in order is the error. [loop]
 */
#ifndef TENON_HOST_COMPOSE_H
#define TENON_HOST_COMPOSE_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct callable;
struct loop;

struct callable *pipe_new(struct loop *loop, struct callable *const *stages, uint32_t count);
/* `names` NULL: an array comes out, in order; else an object. Names are copied. */
struct callable *parallel_new(struct loop *loop, struct callable *const *branches, const char *const *names,
                              uint32_t count);
/* The function gives a new reference, or NULL with *error, an object {code, message}, or left NULL. */
struct callable *lambda_new(tn_value (*function)(void *user, tn_value input, tn_value *error), void *user);
struct callable *identity_new(void);

#endif
