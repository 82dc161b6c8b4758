/*
 * tool_policy.c - combines the rules of the document and of the operator for a tool.
 */
#include "host/engine/tool/tool_policy.h"
#include "adl/document/document.h"
#include "adl/document/duration.h"
#include "adl/document/effects.h"
#include "adl/value/wildcard.h"
#include "host/plugin/call/authority.h"
#include <string.h>

#define EFFECT_PREFIX      "effect:"
#define NODE_PREFIX        "node:"
#define EFFECT_DESTRUCTIVE "destructive"

static const char *const approval_names[] = {[TOOL_AUTO] = "auto", [TOOL_ASK] = "ask", [TOOL_DENY] = "deny"};

const char *tool_approval_name(enum tool_approval approval) { return approval_names[approval]; }

/* Returns false if `text` is not an approval. */
static bool tool_approval_read(tn_value text, enum tool_approval *out) {
    for (int i = TOOL_AUTO; i <= TOOL_DENY; i++) {
        if (!value_text_is(text, approval_names[i])) continue;
        *out = (enum tool_approval)i;
        return true;
    }
    return false;
}

/* ---- The best of several patterns ---- */

#define EXACT_NAME     INT64_MAX
#define EXACT_ORIGINAL (INT64_MAX - 1)

/* How exactly a pattern matches the name; -1 if it does not. A pattern without `*` is more exact than all others. */
static int64_t pattern_exactness(const char *pattern, const char *name) {
    if (!wildcard_matches_tool(pattern, name)) return -1;
    if (!strchr(pattern, '*')) return strcmp(pattern, name) == 0 ? EXACT_NAME : EXACT_ORIGINAL;
    int64_t literal = 0;
    for (const char *at = pattern; *at; at++) literal += *at != '*';
    return literal;
}

/* ---- Entries of a document ---- */

tn_value tool_entries(const struct document *document) {
    if (!document->tools_given) return NULL;
    tn_value entries = value_array_reserve(document->tool_count);
    for (uint32_t i = 0; i < document->tool_count; i++) {
        const struct document_tool *tool = &document->tools[i];
        tn_value entry = tool->options ? value_ref(tool->options) : value_object();
        entries = value_push_take(entries, value_set_take(entry, "name", value_ref(tool->pattern)));
    }
    return entries;
}

static const char *entry_pattern(tn_value entry) {
    tn_value name = value_get(entry, "name");
    return name && value_is(name, TN_STRING) ? value_chars(name, NULL) : "";
}

static tn_value best_entry_of(tn_value entries, const char *name) {
    tn_value best_match = NULL;
    int64_t best = -1;
    for (size_t i = 0; i < value_count(entries); i++) {
        int64_t exact = pattern_exactness(entry_pattern(value_at(entries, i)), name);
        if (exact <= best) continue;
        best = exact;
        best_match = value_at(entries, i);
    }
    return best_match;
}

static uint32_t entry_count(tn_value entry, const char *key) {
    int64_t number;
    tn_value value = value_get(entry, key);
    if (!value || !value_is_number(value) || !value_as_int(value, &number) || number < 1) return 0;
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static int64_t entry_duration(tn_value entry, const char *key) {
    tn_value value = value_get(entry, key);
    int64_t milliseconds = 0;
    size_t length;
    if (value && value_is(value, TN_STRING)) {
        const char *text = value_chars(value, &length);
        (void)duration_read(text, length, &milliseconds);
    } else if (value && value_is_number(value)) {
        (void)duration_from_seconds(value_to_double(value), &milliseconds);
    }
    return milliseconds;
}

/* ---- The decision ---- */

static void decide_take(struct tool_policy *policy, enum tool_approval approval, const char *by, tn_value why) {
    value_unref(policy->why);
    policy->approval = approval;
    policy->by = by;
    policy->why = why;
}

static void apply_document(tn_value entry, struct tool_policy *policy, bool *decided) {
    enum tool_approval approval;
    if (!tool_approval_read(value_get(entry, "approval"), &approval)) return;
    if (*decided && approval <= policy->approval) return;
    *decided = true;
    decide_take(policy, approval, "document",
                value_format("the document sets `%s` for `%s`", tool_approval_name(approval), entry_pattern(entry)));
}

/* The pattern without `prefix`; NULL if it does not have it. Without a prefix: NULL for a rule that has one. */
static const char *rule_pattern(const char *pattern, const char *prefix) {
    if (*prefix) return strncmp(pattern, prefix, strlen(prefix)) == 0 ? pattern + strlen(prefix) : NULL;
    bool other = strncmp(pattern, EFFECT_PREFIX, strlen(EFFECT_PREFIX)) == 0 ||
                 strncmp(pattern, NODE_PREFIX, strlen(NODE_PREFIX)) == 0;
    return other ? NULL : pattern;
}

/* The pattern of the best rule for the name, or NULL. */
static tn_value best_rule_of(tn_value rules, const char *prefix, const char *name, bool *exact) {
    tn_value best_match = NULL;
    int64_t best = -1;
    for (size_t i = 0; i < value_count(rules); i++) {
        const char *pattern = rule_pattern(value_chars(value_key_at(rules, i), NULL), prefix);
        if (!pattern) continue;
        int64_t exact_by = pattern_exactness(pattern, name);
        if (exact_by <= best) continue;
        best = exact_by;
        best_match = value_key_at(rules, i);
    }
    *exact = best >= EXACT_ORIGINAL;
    return best_match;
}

/* The pattern "network.http" also matches "network.http:example.com". */
bool tool_effect_fits(const char *pattern, const char *effect) {
    size_t length = strlen(pattern);
    return wildcard_matches(pattern, effect) || (strncmp(effect, pattern, length) == 0 && effect[length] == ':');
}

static bool has_effect(tn_value effects, const char *pattern) {
    if (!effects || !value_is(effects, TN_ARRAY)) return tool_effect_fits(pattern, TOOL_EFFECT_UNKNOWN);
    for (size_t i = 0; i < value_count(effects); i++) {
        tn_value effect = value_at(effects, i);
        const char *text = value_is(effect, TN_STRING) ? value_chars(effect, NULL) : "";
        /* A right to call has no effect itself: only a rule that names such rights is about it. */
        if (effect_is_call(text) && strncmp(pattern, "calls.", strlen("calls.")) != 0) continue;
        if (tool_effect_fits(pattern, text)) return true;
    }
    return false;
}

static void apply_operator(tn_value rules, const char *prefix, const char *name, tn_value effects,
                           struct tool_policy *policy, bool *decided) {
    enum tool_approval strictest = TOOL_AUTO, approval;
    bool exact;
    tn_value rule = best_rule_of(rules, prefix, name, &exact);
    if (rule && !tool_approval_read(value_get_key(rules, rule), &strictest)) rule = NULL;
    for (size_t i = 0; !(rule && exact) && i < value_count(rules); i++) {
        tn_value key = value_key_at(rules, i);
        const char *pattern = value_chars(key, NULL);
        if (strncmp(pattern, EFFECT_PREFIX, strlen(EFFECT_PREFIX)) != 0 ||
            !has_effect(effects, pattern + strlen(EFFECT_PREFIX)) ||
            !tool_approval_read(value_value_at(rules, i), &approval) || (rule && approval <= strictest))
            continue;
        strictest = approval;
        rule = key;
    }
    if (!rule || (*decided && strictest < policy->approval)) return;
    *decided = true;
    decide_take(policy, strictest, "operator",
                value_format("tenon.yaml sets `%s` for `%s`", tool_approval_name(strictest), value_chars(rule, NULL)));
}

/* `unknown:NAME`: of a server that declares nothing. */
static tn_value why_unknown(tn_value effects) {
    for (size_t i = 0; i < value_count(effects); i++) {
        tn_value effect = value_at(effects, i);
        const char *text = value_is(effect, TN_STRING) ? value_chars(effect, NULL) : "";
        if (strncmp(text, TOOL_EFFECT_UNKNOWN ":", sizeof TOOL_EFFECT_UNKNOWN) == 0)
            return value_format("its effects are not known: the server `%s` declares nothing about them",
                                text + sizeof TOOL_EFFECT_UNKNOWN);
    }
    return value_text("its effects are not known");
}

static void apply_effects(tn_value effects, struct tool_policy *policy) {
    if (!effects || !value_is(effects, TN_ARRAY))
        decide_take(policy, TOOL_ASK, "effects", value_text("it declares no effects"));
    else if (has_effect(effects, TOOL_EFFECT_UNKNOWN))
        decide_take(policy, TOOL_ASK, "effects", why_unknown(effects));
    else if (has_effect(effects, EFFECT_DESTRUCTIVE))
        decide_take(policy, TOOL_ASK, "effects", value_text("it declares the effect `" EFFECT_DESTRUCTIVE "`"));
}

static int64_t smaller_limit(int64_t limit, int64_t other) {
    return !limit || (other && other < limit) ? other : limit;
}

static void apply_limits(tn_value entry, struct tool_policy *policy) {
    policy->timeout_ms = smaller_limit(policy->timeout_ms, entry_duration(entry, "timeout"));
    policy->concurrency = (uint32_t)smaller_limit(policy->concurrency, entry_count(entry, "concurrency"));
    policy->max_calls = (uint32_t)smaller_limit(policy->max_calls, entry_count(entry, "max_calls"));
}

void tool_policy_of(const struct authority *caller, tn_value rules, const char *name, tn_value effects, bool chosen,
                    struct tool_policy *out) {
    *out = (struct tool_policy){.approval = TOOL_AUTO, .by = "default"};
    bool decided = false;
    for (const struct authority *frame = caller; frame; frame = frame->outer) {
        if (!frame->tools) continue;
        tn_value entry = best_entry_of(frame->tools, name);
        apply_document(entry, out, &decided);
        apply_limits(entry, out);
    }
    apply_operator(rules, "", name, effects, out, &decided);
    if (!decided && (chosen || authority_is_from_text(caller))) apply_effects(effects, out);
    if (!out->why) out->why = value_text("no rule restricts it");
}

static bool declares_effect(tn_value effects, const char *effect) {
    for (size_t i = 0; effects && value_is(effects, TN_ARRAY) && i < value_count(effects); i++)
        if (value_text_is(value_at(effects, i), effect)) return true;
    return false;
}

void node_policy_of(const struct authority *caller, tn_value rules, const char *type, tn_value effects,
                    struct tool_policy *out) {
    bool decided = false;
    *out = (struct tool_policy){.approval = TOOL_AUTO, .by = "default"};
    apply_operator(rules, NODE_PREFIX, type, effects, out, &decided);
    if (!decided && declares_effect(effects, NODE_EFFECT_PROGRAMS) && !authority_starts_programs(caller))
        decide_take(out, TOOL_DENY, "effects",
                    value_format("it starts programs that the document names; to allow it, write `tools: {approval: "
                                 "{\"node:%s\": ask}}` in tenon.yaml",
                                 type));
    if (!out->why) out->why = value_text("no rule restricts it");
}

void tool_policy_finish(struct tool_policy *policy) {
    value_unref(policy->why);
    policy->why = NULL;
}

bool tool_policy_is_plain(const struct tool_policy *policy) {
    return policy->approval == TOOL_AUTO && !policy->timeout_ms && !policy->concurrency && !policy->max_calls;
}
