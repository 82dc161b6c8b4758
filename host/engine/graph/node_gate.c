/*
 * node_gate.c - asks for approval of a node: in its place, or around a node that a component calls.
 */
#include "host/engine/graph/node_gate.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/engine/engine.h"
#include "host/engine/tool/approval.h"
#include "host/engine/tool/tool.h"
#include "host/engine/tool/tool_policy.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"

#define CONTINUATION "approve the node"

struct node_gate {
    struct callable callable; /* first */
    struct callable *node;    /* around a called node; NULL in the place of a node */
    const struct component_info *type;
    struct authority *authority; /* the node's frame */
    tn_value why;
};

static tn_value question(const struct node_gate *gate) {
    tn_value payload = value_set_take(value_object_reserve(8), "kind", value_text("approval"));
    if (gate->authority && gate->authority->name)
        payload = value_set_take(payload, "node", value_text(gate->authority->name));
    payload = value_set_take(payload, "type", value_text(gate->type->id));
    payload = value_set_take(payload, "effects", tool_effects(gate->type));
    payload = value_set_take(payload, "title", value_text(gate->type->title));
    payload = value_set_take(payload, "why", value_ref(gate->why));
    payload = value_set_take(payload, "chain", authority_chain(gate->authority));
    return value_set_take(payload, "caller", authority_chain_text(gate->authority));
}

static int32_t gate_refuse(const struct node_gate *gate, struct call *call, tn_value answer) {
    struct error error = ERROR_INIT;
    const char *reason = approval_reason(answer);
    error_set(&error, TN_FAILED, "NODE_DENIED", "the node was not approved (%s `%s`)%s%s", gate->type->kind,
              gate->type->id, *reason ? ": " : "", reason);
    int32_t status = call_fail(call_token(call), &error);
    error_finish(&error);
    return status;
}

static int32_t gate_ask_take(const struct node_gate *gate, struct call *call, tn_value continuation) {
    tn_value payload = question(gate), schema = approval_schema_take(NULL);
    int32_t status = call_interrupt(call_token(call), payload, schema, continuation);
    value_unref(payload);
    value_unref(schema);
    value_unref(continuation);
    return status;
}

static int32_t gate_start(struct callable *callable, struct call *call, tn_value input) {
    const struct node_gate *gate = (const struct node_gate *)callable;
    if (node_gate_is_answer(input)) return gate_refuse(gate, call, value_get(input, "answer"));
    return gate_ask_take(gate, call, value_text(CONTINUATION));
}

static void gate_free(struct callable *callable) {
    struct node_gate *gate = (struct node_gate *)callable;
    callable_unref(gate->node);
    authority_unref(gate->authority);
    value_unref(gate->why);
    mem_free(gate);
}

static const struct callable_ops gate_ops = {.start = gate_start, .free = gate_free};

static struct node_gate *gate_new(const struct callable_ops *ops, const struct component_info *type,
                                  struct authority *authority, tn_value why) {
    struct node_gate *gate = mem_zalloc(sizeof *gate);
    gate->callable = (struct callable){ops, 1};
    gate->type = type;
    gate->authority = authority_ref(authority);
    gate->why = value_ref(why);
    return gate;
}

struct callable *node_gate_refusal(const struct component_info *type) {
    return &gate_new(&gate_ops, type, NULL, NULL)->callable;
}

/* ---- Around a node that a component calls ---- */

static int32_t called_start(struct callable *callable, struct call *call, tn_value input) {
    const struct node_gate *gate = (const struct node_gate *)callable;
    uint64_t token = call_token(call);
    struct error error = ERROR_INIT;
    if (call_resumed(call)) {
        tn_value answer = value_get(input, "answer");
        if (!approval_is_granted(answer)) return gate_refuse(gate, call, answer);
        return call_wrapped(token, gate->node, value_get(input, "continuation"), call_end_alike,
                            (void *)(uintptr_t)token);
    }
    if (approval_can_wait(call)) return gate_ask_take(gate, call, input ? value_ref(input) : value_null());
    error_set(&error, TN_FAILED, "NODE_DENIED",
              "the node type `%s` needs approval (%s), and this call cannot be interrupted to request it",
              gate->type->id, value_chars(gate->why, NULL));
    (void)call_fail(token, &error);
    error_finish(&error);
    return TN_OK;
}

static struct component *called_component(const struct callable *callable) {
    return instance_component(((const struct node_gate *)callable)->node);
}

static struct callable *called_node(const struct callable *callable) {
    return ((const struct node_gate *)callable)->node;
}

static const struct callable_ops called_ops = {.start = called_start,
                                               .free = gate_free,
                                               .component = called_component,
                                               .wrapped = called_node,
                                               .saving = CALLABLE_SAVED,
                                               .is_wrapper = true};

/* ---- The rules ---- */

/* Sets *why to the reason of an approval that is needed, a new reference, or to NULL. */
static int32_t check_rules(struct engine *engine, const struct callable *node, const struct component_info *type,
                           tn_value *why, struct error *error) {
    struct tool_policy policy;
    int32_t status = TN_OK;
    *why = NULL;
    node_policy_of(instance_authority(node), config_tool_policies(engine->config), type->id, type->effects, &policy);
    if (policy.approval == TOOL_DENY)
        status = error_set(error, TN_INVALID, "PERMISSION_DENIED", "the node type `%s` of plugin `%s` is denied: %s",
                           type->id, type->plugin_id, value_chars(policy.why, NULL));
    else if (policy.approval == TOOL_ASK)
        *why = value_ref(policy.why);
    tool_policy_finish(&policy);
    return status;
}

int32_t node_gate_wrap(struct engine *engine, struct callable **node, struct error *error) {
    const struct component_info *type = instance_component(*node)->info;
    tn_value why;
    int32_t status = check_rules(engine, *node, type, &why, error);
    if (!why) return status;
    struct node_gate *gate = gate_new(&called_ops, type, instance_authority(*node), why);
    gate->node = *node;
    *node = &gate->callable;
    value_unref(why);
    return TN_OK;
}

int32_t node_gate_new(struct engine *engine, const struct callable *node, const struct component_info *type,
                      struct callable **out, struct error *error) {
    tn_value why;
    int32_t status = check_rules(engine, node, type, &why, error);
    *out = why ? &gate_new(&gate_ops, type, instance_authority(node), why)->callable : NULL;
    value_unref(why);
    return status;
}

bool node_gate_is_answer(tn_value input) {
    return value_is(input, TN_OBJECT) && value_text_is(value_get(input, "continuation"), CONTINUATION);
}

bool node_gate_approves(tn_value input) { return approval_is_granted(value_get(input, "answer")); }
