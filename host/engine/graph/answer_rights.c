/*
 * answer_rights.c - see answer_rights.h.
 */
#include "host/engine/graph/answer_rights.h"
#include "host/engine/engine.h"
#include "host/engine/tool/tool.h"
#include "host/engine/tool/tool_policy.h"
#include "host/engine/tool/tool_use.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/registry/registry.h"

/* True if `by` may approve the call of the tool. A tool that is not known any more cannot be judged. */
static bool may_approve_tool(struct engine *engine, const struct authority *by, const char *name) {
    struct component *component;
    struct tool_policy policy;
    if (registry_resolve(engine->registry, "tool", name, &component, NULL) != TN_OK) return false;
    tool_policy_chosen(engine, by, component->info, &policy);
    bool counts = tool_grant_counts(by, &policy, component->info->id);
    tool_policy_finish(&policy);
    return counts;
}

static const char *payload_text(tn_value payload, const char *key) {
    tn_value text = value_get(payload, key);
    return text && value_is(text, TN_STRING) ? value_chars(text, NULL) : NULL;
}

/* Checks an answer to the question of this payload: {kind, tool} of a tool, {kind, node, type} of a node. */
static int32_t check_answer(struct engine *engine, const struct authority *by, tn_value payload, struct error *error) {
    if (!value_text_is(value_get(payload, "kind"), "approval")) return TN_OK;
    const char *tool = payload_text(payload, "tool"), *type = payload_text(payload, "type");
    if (tool && may_approve_tool(engine, by, tool)) return TN_OK;
    tn_value chain = authority_chain_text(by);
    int32_t status =
        error_set(error, TN_FAILED, "PERMISSION_DENIED",
                  "the run asks for approval of the %s `%.200s`, which %s may not approve; let a person answer%s",
                  tool ? "tool" : "node",
                  tool   ? tool
                  : type ? type
                         : "?",
                  value_chars(chain, NULL),
                  tool ? ", or declare the effect \"calls.approved\", which counts if no rule of tenon.yaml asks" : "");
    value_unref(chain);
    return status;
}

int32_t answer_rights_check(struct engine *engine, const struct authority *by, tn_value interrupts, tn_value answers,
                            struct error *error) {
    int32_t status = TN_OK;
    if (!by || !answers || !value_is(answers, TN_OBJECT)) return TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), id = value_get(entry, "id");
        if (id && value_get_key(answers, id)) status = check_answer(engine, by, value_get(entry, "payload"), error);
    }
    return status;
}
