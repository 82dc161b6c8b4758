/*
 * tool.h - the tool kernel of a host: tools by name, described and found; and what is kept of those in use.
 *
 * Tools are the registry's components of the kind "tool"; the kernel holds no list of its own. An instance is made when
 * a tool is first used by name, and kept while the component is there. Uses of one tool that are limited to so many at
 * once wait here for each other, whatever document they are of.
 *
 *     tool_search(host, "read file", 10, show, out);              // the best first
 *     struct tools *tools = tools_of(host);
 *     if (tools_instance(tools, component, &instance, &error) != TN_OK) ...
 *
 * A definition is as in tenon/tool.h: {tool_name, description, input_schema, output_schema?, effects,
 * implementation_ref, approval?}. Everything is [loop].
 */
#ifndef TENON_HOST_TOOL_H
#define TENON_HOST_TOOL_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>

struct audit;
struct callable;
struct component;
struct component_info;
struct host;
struct tool_policy;
struct tools;

#define TOOL_QUERY_MAX 1000u /* bytes of a search that are looked at */

/* Of the host; made when first asked for. */
struct tools *tools_of(struct host *host);
void tools_free(struct tools *tools); /* with the host, before its registry; NULL is allowed */
/* Lets go of instances whose component is gone, or `gone` says so; NULL: of the former alone. Calls end with theirs. */
void tools_sweep(struct tools *tools, bool (*gone)(void *user, const struct component *component), void *user);

/* An instance without a configuration; borrowed, until the component is gone. */
int32_t tools_instance(struct tools *tools, struct component *component, struct callable **out, struct error *error);

/* A new reference. `policy` may be NULL: then nothing is said of approval. */
tn_value tool_definition(const struct component_info *info, const struct tool_policy *policy);
/* What it declares that it does; ["unknown"] where that is nothing; a new reference. */
tn_value tool_effects(const struct component_info *info);
/* The definition's description: what a model is told of it. */
const char *tool_description(const struct component_info *info);

/*
 * Those whose name, title or documentation have the words of `query`, the best first: a name before a title before
 * documentation, a whole word before a part. No words: all, by name. `visit` is borrowed what it gets; at most `limit`.
 */
void tool_search(struct host *host, const char *query, size_t limit,
                 void (*visit)(void *user, const struct component_info *info), void *user);

/* Of the host: where uses are noted. */
struct audit *tools_audit(struct tools *tools);

/* ---- So many at once ---- */

struct tool_place {
    struct tool_place *next;
    struct tool_gate *gate;
    uint32_t limit;
    bool inside;
    void (*enter)(struct tool_place *place); /* called once, from tools_enter or later; never after tools_leave */
};

/* One use of the tool `name`, of which `limit` may be made at once: enters now, or when others have left. */
void tools_enter(struct tools *tools, const char *name, struct tool_place *place);
/* Leaves, or waits no longer. Nothing where it never came. */
void tools_leave(struct tools *tools, struct tool_place *place);

#endif
