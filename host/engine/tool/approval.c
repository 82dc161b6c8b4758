/*
 * approval.c - see approval.h.
 */
#include "host/engine/tool/approval.h"
#include "adl/document/catalog.h"
#include "adl/value/error.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

bool approval_can_wait(struct call *call) {
    struct call *root = call_root(call);
    return root != call && call_ops_of(root)->record;
}

/* ---- Answers ---- */

static tn_value type_schema(const char *type) {
    return value_set_take(value_object_reserve(1), "type", value_text(type));
}

tn_value approval_schema_take(tn_value arguments) {
    tn_value words = value_push_take(value_push_take(value_array(), value_text("yes")), value_text("no"));
    tn_value properties = value_set_take(value_object_reserve(3), "approved", type_schema("boolean"));
    if (arguments) properties = value_set_take(properties, "arguments", arguments);
    properties = value_set_take(properties, "reason", type_schema("string"));
    tn_value object = value_set_take(type_schema("object"), "properties", properties);
    object = value_set_take(object, "required", value_push_take(value_array(), value_text("approved")));
    object = value_set_take(object, "additionalProperties", value_bool(false));
    tn_value ways = value_push_take(value_array_reserve(3), object);
    ways = value_push_take(ways, type_schema("boolean"));
    ways = value_push_take(ways, value_set_take(value_object_reserve(1), "enum", words));
    return value_set_take(value_object_reserve(1), "anyOf", ways);
}

bool approval_is_granted(tn_value answer) {
    tn_value approved = value_is(answer, TN_OBJECT) ? value_get(answer, "approved") : answer;
    return approved && (approved == value_bool(true) || value_text_is(approved, "yes"));
}

const char *approval_reason(tn_value answer) {
    tn_value reason = value_is(answer, TN_OBJECT) ? value_get(answer, "reason") : NULL;
    return value_is(reason, TN_STRING) ? value_chars(reason, NULL) : "";
}

/* ---- The call that an answer belongs to ---- */

static tn_value callee_name(const struct callable *callee, bool wrapped) {
    const struct component *component = instance_component(callee);
    const char *prefix = wrapped ? "approval of " : "";
    if (!component) return value_format("%s%s", prefix, wrapped ? "a tool set" : "a graph");
    return value_format("%s%s %s", prefix, component->info->kind, component->info->id);
}

tn_value approval_keep_callee_take(tn_value entry, tn_value known, const struct callable *callee) {
    if (!value_get(known, "asked")) return value_set_take(entry, "by", callee_name(callee, callee->ops->is_wrapper));
    tn_value by = value_get(known, "by");
    return by ? value_set_take(entry, "by", value_ref(by)) : entry;
}

static bool entry_is_by_take(tn_value entry, tn_value name) {
    tn_value by = value_get(entry, "by");
    bool same = by && value_equal(by, name);
    value_unref(name);
    return same;
}

bool approval_is_for(tn_value entry, const struct callable *callee) {
    return !value_get(entry, "by") || entry_is_by_take(entry, callee_name(callee, callee->ops->is_wrapper));
}

tn_value approval_without_rule(tn_value entry, const struct callable *callee) {
    tn_value answer = value_get(value_get(entry, "input"), "answer");
    if (callee->ops->is_wrapper || !answer || !entry_is_by_take(entry, callee_name(callee, true))) return NULL;
    bool granted = approval_is_granted(answer), changed = value_is(answer, TN_OBJECT) && value_get(answer, "arguments");
    if (granted && !changed) return NULL;
    const struct component_info *info = instance_component(callee)->info;
    bool tool = strcmp(info->kind, "tool") == 0;
    const char *reason = approval_reason(answer);
    struct error error = ERROR_INIT;
    error_set(&error, TN_FAILED, tool ? "TOOL_DENIED" : "NODE_DENIED", "the call of the %s `%s` was not approved%s%s",
              info->kind, info->id,
              granted   ? " with these arguments"
              : *reason ? ": "
                        : "",
              granted ? "" : reason);
    tn_value value = error_to_value(&error);
    error_finish(&error);
    return value;
}
