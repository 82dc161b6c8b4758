/*
 * compose.h - callables made of callables: pipe, parallel, function and identity.
 *
 *     struct callable *both = parallel_new(loop, (struct callable *[]){a, b}, NULL, 2);
 *     struct callable *chain = pipe_new(loop, (struct callable *[]){both, sum}, 2);
 *
 * Each function takes its own references to the parts and returns a new reference. A pipe streams the output of its
 * last stage, and {messages: delta} of the others; the error of a stage is the error of the pipe. A parallel runs all
 * branches at once; if branches fail, the first one in order determines the error. All functions are [loop].
 */
#ifndef TENON_HOST_ENGINE_EXECUTION_COMPOSE_H
#define TENON_HOST_ENGINE_EXECUTION_COMPOSE_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct callable;
struct loop;

struct callable *pipe_new(struct loop *loop, struct callable *const *stages, uint32_t count);
/* The same; the last stage is a model, whose chunks, the deltas, become {messages: delta}. */
struct callable *pipe_to_model_new(struct loop *loop, struct callable *const *stages, uint32_t count);
/* The output is an array in order, or with `names` (which are copied) an object. */
struct callable *parallel_new(struct loop *loop, struct callable *const *branches, const char *const *names,
                              uint32_t count);
/* The function returns a new reference, or NULL with *error set to an object {code, message} or left NULL. */
struct callable *lambda_new(tn_value (*function)(void *user, tn_value input, tn_value *error), void *user);
struct callable *identity_new(void);

#endif
