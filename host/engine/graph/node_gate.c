/*
 * node_gate.c - asks for approval of a node, in its place.
 */
#include "host/engine/graph/node_gate.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/engine/engine.h"
#include "host/engine/tool/tool_policy.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include <string.h>

#define CONTINUATION "approve the node"

struct node_gate {
    struct callable callable; /* first */
    const struct component_info *type;
    struct authority *authority; /* the node's frame */
    tn_value why;
};

static tn_value type_schema(const char *type) {
    return value_set_take(value_object_reserve(1), "type", value_text(type));
}

/* {anyOf: [{approved, reason?}, boolean, "yes" or "no"]} */
static tn_value answer_schema(void) {
    tn_value words = value_push_take(value_push_take(value_array(), value_text("yes")), value_text("no"));
    tn_value properties = value_set_take(value_object_reserve(2), "approved", type_schema("boolean"));
    properties = value_set_take(properties, "reason", type_schema("string"));
    tn_value object = value_set_take(type_schema("object"), "properties", properties);
    object = value_set_take(object, "required", value_push_take(value_array(), value_text("approved")));
    object = value_set_take(object, "additionalProperties", value_bool(false));
    tn_value ways = value_push_take(value_push_take(value_array_reserve(3), object), type_schema("boolean"));
    ways = value_push_take(ways, value_set_take(value_object_reserve(1), "enum", words));
    return value_set_take(value_object_reserve(1), "anyOf", ways);
}

static tn_value question(const struct node_gate *gate) {
    tn_value payload = value_set_take(value_object_reserve(8), "kind", value_text("approval"));
    if (gate->authority && gate->authority->name)
        payload = value_set_take(payload, "node", value_text(gate->authority->name));
    payload = value_set_take(payload, "type", value_text(gate->type->id));
    tn_value effects = value_is(gate->type->effects, TN_ARRAY)
                           ? value_ref(gate->type->effects)
                           : value_push_take(value_array(), value_text(TOOL_EFFECT_UNKNOWN));
    payload = value_set_take(payload, "effects", effects);
    payload = value_set_take(payload, "title", value_text(gate->type->title));
    payload = value_set_take(payload, "why", value_ref(gate->why));
    payload = value_set_take(payload, "chain", authority_chain(gate->authority));
    return value_set_take(payload, "caller", authority_chain_text(gate->authority));
}

static int32_t gate_refuse(const struct node_gate *gate, struct call *call, tn_value answer) {
    struct error error = ERROR_INIT;
    tn_value reason = value_get(answer, "reason");
    bool why = reason && value_is(reason, TN_STRING) && *value_chars(reason, NULL);
    error_set(&error, TN_FAILED, "NODE_DENIED", "the node was not approved (%s `%s`)%s%s", gate->type->kind,
              gate->type->id, why ? ": " : "", why ? value_chars(reason, NULL) : "");
    int32_t status = call_fail(call_token(call), &error);
    error_finish(&error);
    return status;
}

static int32_t gate_start(struct callable *callable, struct call *call, tn_value input) {
    const struct node_gate *gate = (const struct node_gate *)callable;
    if (node_gate_is_answer(input)) return gate_refuse(gate, call, value_get(input, "answer"));
    tn_value payload = question(gate), schema = answer_schema(), continuation = value_text(CONTINUATION);
    int32_t status = call_interrupt(call_token(call), payload, schema, continuation);
    value_unref(payload);
    value_unref(schema);
    value_unref(continuation);
    return status;
}

static void gate_free(struct callable *callable) {
    struct node_gate *gate = (struct node_gate *)callable;
    authority_unref(gate->authority);
    value_unref(gate->why);
    mem_free(gate);
}

static const struct callable_ops gate_ops = {.start = gate_start, .free = gate_free};

int32_t node_gate_new(struct engine *engine, const struct callable *node, const struct component_info *type,
                      struct callable **out, struct error *error) {
    struct tool_policy policy;
    int32_t status = TN_OK;
    *out = NULL;
    node_policy_of(config_tool_policies(engine->config), type->id, type->effects, &policy);
    if (policy.approval == TOOL_DENY) {
        status = error_set(error, TN_INVALID, "PERMISSION_DENIED", "the node type `%s` of plugin `%s` is denied: %s",
                           type->id, type->plugin_id, value_chars(policy.why, NULL));
    } else if (policy.approval == TOOL_ASK) {
        struct node_gate *gate = mem_zalloc(sizeof *gate);
        gate->callable = (struct callable){&gate_ops, 1};
        gate->type = type;
        gate->authority = authority_ref(instance_authority(node));
        gate->why = value_ref(policy.why);
        *out = &gate->callable;
    }
    tool_policy_finish(&policy);
    return status;
}

bool node_gate_is_answer(tn_value input) {
    return value_is(input, TN_OBJECT) && value_text_is(value_get(input, "continuation"), CONTINUATION);
}

bool node_gate_approves(tn_value input) {
    tn_value answer = value_get(input, "answer");
    tn_value approved = value_is(answer, TN_OBJECT) ? value_get(answer, "approved") : answer;
    return approved && (approved == value_bool(true) || value_text_is(approved, "yes"));
}
