/*
 * use.h - one use of a tool: found, checked, allowed, agreed to, made, and its result checked.
 *
 * A use is a call of a callable that stands before the tool: of a *set* (tenon/tool.h), whose input is {name,
 * arguments, …}, or of one tool that a component has bound by name, whose input is its arguments. The tool itself is
 * called as that call's only child. Where somebody must agree the use is interrupted with
 *
 *     {kind: "approval", tool, arguments, effects, title, why}
 *
 * and goes on with the answer: {approved: bool, arguments?, reason?}, or true, false, "yes", "no". Arguments in the
 * answer take the place of those that were asked about, and must fit the tool as they do: an answer that does not is
 * refused, and the use still waits. A use that cannot ask, because nobody waits for what it is done for, is denied.
 *
 *     if (tool_set_new(host, entries, names, &set, &error) != TN_OK) ...
 *     call_child(task, set, false, call, done, user);
 *     callable_unref(set);
 *
 * Everything is [loop].
 */
#ifndef TENON_HOST_TOOL_USE_H
#define TENON_HOST_TOOL_USE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/tool/policy.h"
#include <stdbool.h>

struct call;
struct callable;
struct component;
struct component_info;
struct host;

#define TOOL_RESULT_MAX (16 << 20) /* bytes of a result, about; a larger one is LIMIT */

/* What is to be done. Everything is borrowed but the policy, which is taken. */
struct tool_request {
    struct host *host;
    struct component *component;
    struct callable *instance;
    tn_value arguments; /* NULL or null: none */
    bool approved;      /* somebody has agreed already */
    struct tool_policy policy;
};

/*
 * A use, of a callable's start: the call ends when it does. The callable must hand on tool_use_cancel; the call's data
 * is the use's.
 */
int32_t tool_use_start(struct call *call, struct tool_request request);
/* Of a call that goes on with an answer: what was asked, {name, arguments}; NULL where there was nothing. */
tn_value tool_use_asked(struct call *call, tn_value input);
void tool_use_cancel(struct callable *callable, struct call *call);

/* {kind: "approval", tool, arguments, effects, title, why}: what is asked; a new reference. */
tn_value tool_question(const struct component_info *info, const struct tool_policy *policy, tn_value arguments);
/*
 * {anyOf: [{approved, arguments?, reason?}, boolean, "yes" or "no"]}: what may be answered, with arguments as the tool
 * takes them; a new reference.
 */
tn_value tool_answer_schema(const struct component_info *info);

/*
 * The tool `name` as a component's callee: its instance made with `config` (may be NULL), or, where there is something
 * to be seen to, a callable before it. `entries` are the document's (policy.h). `chosen`: a model may have asked for
 * it. TOOL_NOT_FOUND, and what registry_resolve and instance_new refuse with.
 */
int32_t tool_bind(struct host *host, tn_value entries, const char *name, tn_value config, bool chosen,
                  struct callable **out, struct error *error);

#endif
