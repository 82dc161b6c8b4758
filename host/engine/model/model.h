/*
 * model.h - a role's model: a provider's component and its fallbacks, as one callable.
 *
 * A call uses the first binding of a list. A transient failure (error_retryable) is retried after a pause, if nothing
 * was streamed. Then, and after failures that another model may not have (adl/document/model_role.h), the next binding
 * is called. Bindings can also share the load. The output has the form of tenon/message.h, with the name of the model,
 * and its cost if tenon.yaml has a price. Each call counts towards the budget of the run (call_ops.may_spend, spent).
 *
 *     struct callable *model;
 *     if (model_new(engine, "planner", binding, NULL, &model, &error) != TN_OK) ...
 *     call_child(token, model, true, input, done, user);
 *     callable_unref(model);
 */
#ifndef TENON_HOST_ENGINE_MODEL_MODEL_H
#define TENON_HOST_ENGINE_MODEL_MODEL_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct callable;
struct config;
struct engine;
struct loop;
struct models;

/* What the models of one host share. The host creates it and frees it after the last call. NULL is allowed. */
struct models *models_new(struct loop *loop);
/* The limits of keys are those of `with`, which belongs to another loop of the process. Call it before the first call.
 */
void models_share_limits(struct models *models, struct models *with);
void models_free(struct models *models);

#define MODEL_FALLBACKS_MAX 16u /* bindings of one role; MODEL_ROLE_MODELS_MAX */

/*
 * Creates a model. `binding` is "provider:model", {provider, model?, …options}, an array of these, which are tried
 * in order, or {models, fallback?, balance?, cooldown?, retry?, cache?}. `config` (or NULL) adds options of the caller;
 * the binding's options win. Entries of an array whose provider is not available are left out with a warning; if all
 * are, the function fails with the error of the last one. `name` is for messages.
 */
int32_t model_new(struct engine *engine, const char *name, tn_value binding, tn_value config, struct callable **out,
                  struct error *error);

/* The callable of a model's provider by index; borrowed. NULL past the last one, and if `callable` is not a model. */
struct callable *model_provider(const struct callable *callable, uint32_t index);

/*
 * Reads a binding from the command line: "provider:model" or JSON. *out is a new reference. Fails with INVALID_CONFIG,
 * or with the error of the JSON reader. The message begins with `what`; `before` is the text that may precede the
 * binding
 * ("" for none).
 */
int32_t model_binding_read(const char *text, const char *what, const char *before, tn_value *out, struct error *error);

/*
 * Validates a single binding with its provider's schema, without creating anything. Required options may be missing,
 * because a document can add them. A plugin is loaded only to find the provider. TN_INVALID with INVALID_CONFIG.
 * TN_NOT_FOUND if no plugin has the provider; then *error is not set.
 */
int32_t model_check(struct engine *engine, tn_value binding, struct error *error);

/*
 * Binds a role from a `--model` option: "planner=openai:gpt-4o", or "openai:gpt-4o" for the role `default`. The binding
 * may also be JSON: an object with options, or a list of fallbacks.
 */
int32_t model_bind(struct config *config, const char *text, struct error *error);
/* Binds a role to a binding that is a value. INVALID_CONFIG if it does not have the form of one. */
int32_t model_bind_value(struct config *config, const char *role, tn_value binding, struct error *error);

#endif
