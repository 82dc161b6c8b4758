/*
 * tool.h - the tool kernel of a host: describes and searches tools, caches instances, limits concurrent use.
 *
 * Tools are the registry's components of kind "tool"; the kernel has no separate list. An instance is created when a
 * tool is first used by name, and cached while the component exists. A limit of concurrent uses applies to all
 * documents of the host, and to all loops of the process that share its gates (tool_gate.h).
 *
 *     tool_search(engine, "read file", NULL, 10, show, out);            // the best match first
 *     if (tools_instance(engine->tools, component, caller, &instance, &error) != TN_OK) ...
 *
 * A definition is as in tenon/tool.h: {tool_name, description, input_schema, output_schema?, effects,
 * implementation_ref, approval?}. Thread: loop.
 */
#ifndef TENON_HOST_ENGINE_TOOL_TOOL_H
#define TENON_HOST_ENGINE_TOOL_TOOL_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>

struct audit;
struct authority;
struct callable;
struct component;
struct component_info;
struct engine;
struct tool_policy;
struct tools;

#define TOOL_QUERY_MAX 1000u /* bytes; the rest of a query is ignored */

/* The host creates one for its engine, which has its loop, and frees it before its registry. NULL is allowed. */
struct tools *tools_new(struct engine *engine);
void tools_free(struct tools *tools);
/*
 * Releases instances whose component was removed, and those for which `gone` returns true; `gone` may be NULL. Pending
 * calls keep their instance. NULL `tools` is allowed.
 */
void tools_sweep(struct tools *tools, bool (*gone)(void *user, const struct component *component), void *user);

/*
 * The cached instance without a configuration; borrowed until the component is removed. Callers share it, unless the
 * tool itself calls something: then there is one for each `caller` (a frame, or NULL), which limits what it may call.
 */
int32_t tools_instance(struct tools *tools, struct component *component, struct authority *caller,
                       struct callable **out, struct error *error);

/* The definition; a new reference. Without `policy` (NULL) it has no `approval`. */
tn_value tool_definition(const struct component_info *info, const struct tool_policy *policy);
/*
 * The policy of a use that a model, a person or a client chooses. `caller` is the frame that uses the tool; NULL: the
 * operator. Call tool_policy_finish on it.
 */
void tool_policy_chosen(const struct engine *engine, const struct authority *caller, const struct component_info *info,
                        struct tool_policy *out);
/* The definition with that policy, and the members {title, plugin, why}; a new reference. */
tn_value tool_describe(const struct engine *engine, const struct authority *caller, const struct component_info *info);
/* The declared effects, or ["unknown"] if the manifest declares none; a new reference. */
tn_value tool_effects(const struct component_info *info);

/*
 * Visits at most `limit` tools whose name, title or documentation contain all words of `query`, the best match first: a
 * match in the name ranks above the title, the title above the documentation, a whole word above a part. An empty query
 * visits all tools by name. `pattern`: only those whose name matches it (`*` stands for any characters); tools of
 * others that are registered at run time are not waited for; may be NULL. `info` is borrowed.
 */
void tool_search(struct engine *engine, const char *query, const char *pattern, size_t limit,
                 void (*visit)(void *user, const struct component_info *info), void *user);

/* The audit log of the host. */
struct audit *tools_audit(struct tools *tools);

/* ---- Limit of concurrent uses ---- */

struct tool_ticket; /* tool_gate.h */
/* Requests one of `limit` concurrent uses of the tool `name`. `enter` is called now, or when another use has left. */
void tools_enter(struct tools *tools, const char *name, struct tool_ticket *ticket);
/* Ends the use, or stops waiting. Does nothing if tools_enter was not called. */
void tools_leave(struct tools *tools, struct tool_ticket *ticket);
/*
 * The limits apply to both together from now on: for the hosts of one process that run one set of runs. Call it before
 * a tool of `tools` is used. Thread: that of the loop of `tools`.
 */
void tools_share_gates(struct tools *tools, struct tools *with);

#endif
