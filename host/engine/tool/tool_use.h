/*
 * tool_use.h - one use of a tool: validates the arguments, checks policy and approval, calls it, validates the result.
 *
 * A use is a call of a wrapper of the tool: of a *tool set* (tenon/tool.h), with the input {name, arguments, …}, or of
 * a tool that a component has bound by name, with the arguments as input. The tool is called as the only child of this
 * call. If approval is needed, the use is interrupted with
 *
 *     {kind: "approval", tool, arguments, effects, title, why, chain?, caller?}
 *
 * and resumes with the answer: {approved: bool, arguments?, reason?}, or true, false, "yes", "no". `arguments` in the
 * answer replace those of the use. They must match the tool's schema; otherwise the answer is rejected, and the use
 * continues to wait. A use that cannot be interrupted is denied.
 *
 *     if (tool_set_new(engine, entries, names, &set, &error) != TN_OK) ...
 *     call_child(task, set, false, call, done, user);
 *     callable_unref(set);
 *
 * Thread: loop.
 */
#ifndef TENON_HOST_ENGINE_TOOL_TOOL_USE_H
#define TENON_HOST_ENGINE_TOOL_TOOL_USE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/engine/tool/tool_policy.h"
#include <stdbool.h>

struct authority;
struct call;
struct callable;
struct component;
struct component_info;
struct engine;

#define TOOL_RESULT_MAX (16 << 20) /* approximate bytes of a result; a larger one fails with LIMIT */

/* The policy is taken; everything else is borrowed. */
struct tool_request {
    struct engine *engine;
    struct component *component;
    struct callable *instance;
    const struct authority *caller; /* for the question of an approval; NULL: the operator */
    tn_value arguments;             /* NULL or null: {} */
    bool approved;                  /* the caller grants approval */
    struct tool_policy policy;
};

/*
 * Starts a use, from the `start` of a callable: the call ends when the use ends. The callable must have tool_use_cancel
 * as its `cancel`, and must not use the data of the call.
 */
int32_t tool_use_start(struct call *call, struct tool_request request);
/* For a call that is resumed with an answer: the request {name, arguments} that was saved; otherwise NULL. */
tn_value tool_use_saved_request(struct call *call, tn_value input);
void tool_use_cancel(struct callable *callable, struct call *call);

/* The payload of the interrupt; a new reference. `caller` may be NULL. */
tn_value tool_question(const struct component_info *info, const struct authority *caller,
                       const struct tool_policy *policy, tn_value arguments);
/* True if a grant of approval by the caller counts: the document's author has named the tool, and no rule of the
 * operator requests the approval. */
bool tool_grant_counts(const struct authority *caller, const struct tool_policy *policy, const char *name);
/* TOOL_NOT_FOUND if a document on the chain does not allow the tool. */
int32_t tool_check_allowed(const struct authority *caller, const char *name, struct error *error);
/* The schema of the answer: {anyOf: [{approved, arguments?, reason?}, boolean, "yes" or "no"]}. A new reference. */
tn_value tool_answer_schema(const struct component_info *info);

/*
 * Binds the tool `name` for a component that calls it. *out is an instance with `config` (may be NULL), or a wrapper of
 * it if policy, schemas or audit require one. `caller` is the frame of the component that binds it; NULL: the operator.
 * `chosen` is true if a model chooses the tool. Fails with TOOL_NOT_FOUND and the errors of registry_resolve and
 * instance_new.
 */
int32_t tool_bind(struct engine *engine, struct authority *caller, const char *name, tn_value config, bool chosen,
                  struct callable **out, struct error *error);

#endif
