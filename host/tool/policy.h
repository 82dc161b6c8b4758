/*
 * policy.h - what may become of one use of a tool: at once, after somebody has agreed, or not at all; and its limits.
 *
 * Two have a say. The document: its `tools:` entries, of which the one that names the tool most exactly counts. The
 * operator: `tools.approval` of tenon.yaml, by the tool's name and by what it does. The stricter of the two wins. Where
 * neither says anything, a tool that a model has chosen is asked for if it is `destructive` or does not declare what it
 * does; one that a document's node names itself is not, as whoever wrote the document chose it.
 *
 *     struct tool_policy policy;
 *     tool_policy_of(entries, config_tool_approval(config), "files.delete", effects, true, &policy);
 *     if (policy.approval == TOOL_DENY) refuse(policy.why);
 *     tool_policy_finish(&policy);
 *
 * Of the operator's rules for names, one without `*` is the last word, whatever those for effects say; else the longest
 * that fits and every one for an effect are looked at, and the strictest counts. [any]
 */
#ifndef TENON_HOST_TOOL_POLICY_H
#define TENON_HOST_TOOL_POLICY_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct document;

/* What a tool whose manifest leaves `effects` out is said to do, in rules and to people. */
#define TOOL_EFFECT_UNKNOWN "unknown"

enum tool_approval { TOOL_AUTO, TOOL_ASK, TOOL_DENY }; /* the later, the stricter */

const char *tool_approval_name(enum tool_approval approval); /* "auto", … */
/* False where it is none of those. */
bool tool_approval_read(tn_value text, enum tool_approval *out);

struct tool_policy {
    enum tool_approval approval;
    const char *by; /* static: "operator", "document", "effects", "default" */
    tn_value why;   /* owned; who said so of what, for people */
    int64_t timeout_ms;
    uint32_t concurrency, max_calls; /* 0: as many as may be */
};

/* The entries of a document's `tools`, [{name, approval?, …}]; a new reference; NULL where everything is allowed. */
tn_value tool_entries(const struct document *document);
/* Whether they have the tool; NULL has all. */
bool tool_entries_have(tn_value entries, const char *name);

/* `rules`: {pattern or "effect:PATTERN": approval}, NULL is none. `effects`: an array, NULL is unknown. */
void tool_policy_of(tn_value entries, tn_value rules, const char *name, tn_value effects, bool chosen,
                    struct tool_policy *out);
/* Whether "effect:PATTERN" of the operator's means an effect that a tool has; `pattern` is what is after the colon. */
bool tool_effect_fits(const char *pattern, const char *effect);
void tool_policy_finish(struct tool_policy *policy);
/* Says nothing that must be seen to: the tool may as well be called by itself. */
bool tool_policy_is_plain(const struct tool_policy *policy);

#endif
