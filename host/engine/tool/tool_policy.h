/*
 * tool_policy.h - the policy for one use of a tool: allowed, allowed with approval, or denied; and its limits.
 *
 * The document has rules in its `tools:` entries; the entry that matches the tool most exactly counts. The operator has
 * rules in `tools.approval` of tenon.yaml, for names and for effects. The stricter of the two wins. Without a rule, a
 * tool that a model has chosen needs approval if it is `destructive` or declares no effects. A tool that a node of the
 * document names does not, because the author has chosen it.
 *
 *     struct tool_policy policy;
 *     tool_policy_of(caller, config_tool_policies(config), "files.delete", effects, true, &policy);
 *     if (policy.approval == TOOL_DENY) refuse(policy.why);
 *     tool_policy_finish(&policy);
 *
 * Of the operator's rules, one for the exact name (without `*`) overrides all others. Otherwise the strictest counts of
 * the longest matching pattern and all matching rules for effects. Thread: any.
 */
#ifndef TENON_HOST_ENGINE_TOOL_TOOL_POLICY_H
#define TENON_HOST_ENGINE_TOOL_TOOL_POLICY_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct authority;
struct document;

/* The effect of a tool whose manifest has no `effects`, in rules and messages. */
#define TOOL_EFFECT_UNKNOWN "unknown"

enum tool_approval { TOOL_AUTO, TOOL_ASK, TOOL_DENY }; /* ordered by strictness */

const char *tool_approval_name(enum tool_approval approval); /* "auto", … */

struct tool_policy {
    enum tool_approval approval;
    const char *by; /* static: "operator", "document", "effects", "default" */
    tn_value why;   /* owned; the reason, for people */
    int64_t timeout_ms;
    uint32_t concurrency, max_calls; /* 0 means no limit */
};

/* The document's `tools` as [{name, approval?, …}]; a new reference, or NULL if all tools are allowed. */
tn_value tool_entries(const struct document *document);

/*
 * The policy for a use by the component whose frame is `caller` (plugin/call/authority.h): the rules of every document
 * on the chain apply, and the strictest wins. `rules` is {pattern or "effect:PATTERN": approval} or NULL. `effects` is
 * an array, or NULL if unknown.
 */
void tool_policy_of(const struct authority *caller, tn_value rules, const char *name, tn_value effects, bool chosen,
                    struct tool_policy *out);
/*
 * The same for a node of a document: of `rules`, those for "node:PATTERN" and for effects apply. Without a rule, a node
 * type with the effect NODE_EFFECT_PROGRAMS is denied: a document must not start programs that the operator has not
 * chosen. The session of a client may allow it for a run (authority_starts_programs).
 */
#define NODE_EFFECT_PROGRAMS "process.spawn:config" /* it starts programs that its configuration names */
void node_policy_of(const struct authority *caller, tn_value rules, const char *type, tn_value effects,
                    struct tool_policy *out);
/* True if a rule "effect:PATTERN" matches the effect. `pattern` is the part after the colon. */
bool tool_effect_fits(const char *pattern, const char *effect);
void tool_policy_finish(struct tool_policy *policy);
/* True if the policy has no restriction, so that the tool can be called without a wrapper. */
bool tool_policy_is_plain(const struct tool_policy *policy);

#endif
