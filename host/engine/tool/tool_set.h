/*
 * tool_set.h - the tools that an agent may use: names and patterns, limited to what the document allows.
 *
 * The definitions are computed on request, because tools can be added and removed. They exclude tools that the policy
 * denies, and mark those that need approval. The set is a callable: its input {name, arguments, id?, approved?} uses
 * the tool (tool_use.h).
 *
 *     struct callable *set;
 *     if (tool_set_new(engine, caller, names, &set, &error) != TN_OK) ...
 *     tn_value definitions = tool_set_describe(set);
 *     callable_unref(set);
 *
 * Thread: loop.
 */
#ifndef TENON_HOST_ENGINE_TOOL_TOOL_SET_H
#define TENON_HOST_ENGINE_TOOL_TOOL_SET_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/call_tools.h"

struct authority;
struct engine;

#define TOOL_SET_NAMES_MAX 1000u /* names and patterns of one set */

/*
 * Creates a set for the component whose frame is `caller` (plugin/call/authority.h; NULL: the operator). `names` is an
 * array of names and patterns, or NULL for all tools that the caller may use. TOOL_NOT_FOUND for a name without `*`
 * that does not exist or that a document does not allow; PERMISSION_DENIED if the caller may not call it; INVALID_INPUT
 * if `names` is malformed; LIMIT.
 */
int32_t tool_set_new(struct engine *engine, struct authority *caller, tn_value names, struct callable **out,
                     struct error *error);

#endif
