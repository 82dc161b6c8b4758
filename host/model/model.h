/*
 * model.h - a model as a role names it: a provider's component, and those to fall back on, as one callable.
 *
 * What is called is the first of a list of bindings; where that fails in a way that another one might not (overloaded,
 * a limit of its rate, no connection, no sensible answer: error_retryable), the next is. What comes out has the shape
 * of tenon/message.h, and says who gave it, and what it cost where tenon.yaml has its price. Calling one is what a
 * run's budget is asked about (call_ops.may_spend, spent).
 *
 *     struct callable *model;
 *     if (model_new(host, "planner", binding, NULL, &model, &error) != TN_OK) ...
 *     call_child(token, model, true, input, done, user);
 *     callable_unref(model);
 */
#ifndef TENON_HOST_MODEL_H
#define TENON_HOST_MODEL_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct callable;
struct config;
struct host;

#define MODEL_FALLBACKS_MAX 16u /* bindings of one role */

/*
 * `binding`: "provider:model", {provider, model?, …options}, or an array of these, to be tried in order. `config` (or
 * NULL): what whoever asks for it adds; the binding's own members win. Of an array, those whose provider cannot be had
 * are left out, with a warning; where none can, the error is the last one's. `name` is for messages.
 */
int32_t model_new(struct host *host, const char *name, tn_value binding, tn_value config, struct callable **out,
                  struct error *error);

/* The providers' components that a model stands for, in order; borrowed. NULL past the last one, and of what is none.
 */
struct callable *model_provider(const struct callable *callable, uint32_t index);

/*
 * What somebody has typed as a model: "provider:model", or JSON, as above; *out is a new reference. INVALID_CONFIG, or
 * the code of what is no JSON; the message begins with `what`, for people, and says what may stand `before` a binding
 * there ("" for nothing).
 */
int32_t model_binding_read(const char *text, const char *what, const char *before, tn_value *out, struct error *error);

/*
 * Whether a provider's own schema takes a binding that is no list, as far as that is known without what a document adds
 * to it: nothing is made, and no plugin loaded but to find the provider. TN_NOT_FOUND: nobody has it, and nothing is in
 * *error. TN_INVALID: INVALID_CONFIG.
 */
int32_t model_check(struct host *host, tn_value binding, struct error *error);

/*
 * Binds a role from now on, as `--model` says it: "planner=openai:gpt-4o", or without a role "openai:gpt-4o", which
 * binds `default`. Instead of provider:model it may be JSON: a mapping with options, or a list to fall back along.
 */
int32_t model_bind(struct config *config, const char *text, struct error *error);

#endif
