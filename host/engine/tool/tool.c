/*
 * tool.c - the tool kernel: definitions, and cached instances. tool_gate.c limits concurrent uses, tool_search.c
 * searches tools.
 */
#include "host/engine/tool/tool.h"
#include "adl/document/catalog.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/engine/engine.h"
#include "host/engine/tool/tool_audit.h"
#include "host/engine/tool/tool_gate.h"
#include "host/engine/tool/tool_policy.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

struct tool_instance {
    struct component *component;
    struct authority *caller; /* NULL if callers share it */
    struct callable *instance;
};

struct tools {
    struct engine *engine;
    struct tool_instance *instances;
    size_t instance_count;
    uint64_t generation; /* generation of the registry when `instances` was last swept */
    struct tool_gate_side side;
    struct audit audit;
};

struct tools *tools_new(struct engine *engine) {
    struct tools *tools = mem_zalloc(sizeof *tools);
    tools->engine = engine;
    tools->audit = (struct audit)AUDIT_INIT;
    tool_gate_side_init_take(&tools->side, tool_gates_new(), engine->loop);
    return tools;
}

void tools_free(struct tools *tools) {
    if (!tools) return;
    for (size_t i = 0; i < tools->instance_count; i++) {
        callable_unref(tools->instances[i].instance);
        authority_unref(tools->instances[i].caller);
    }
    mem_free(tools->instances);
    tool_gate_side_finish(&tools->side);
    audit_finish(&tools->audit);
    mem_free(tools);
}

struct audit *tools_audit(struct tools *tools) {
    return &tools->audit;
}

/* ---- Instances ---- */

void tools_sweep(struct tools *tools, bool (*gone)(void *user, const struct component *component), void *user) {
    if (!tools) return;
    for (size_t i = 0; i < tools->instance_count;) {
        struct tool_instance entry = tools->instances[i];
        /* The instance and this list have the last references: the caller is gone. */
        bool unused = entry.caller && entry.caller->references == 2;
        if (!entry.component->removed && !unused && !(gone && gone(user, entry.component))) {
            i++;
            continue;
        }
        /* Freeing an instance may free a graph, which sweeps too: remove the entry first, and start again after. */
        tools->instances[i] = tools->instances[--tools->instance_count];
        callable_unref(entry.instance);
        authority_unref(entry.caller);
        i = 0;
    }
}

int32_t tools_instance(struct tools *tools, struct component *component, struct authority *caller,
                       struct callable **out, struct error *error) {
    struct instance_scope scope = tools->engine->scope(tools->engine, "a tool that is called");
    if (!authority_matters(component->info)) caller = NULL;
    scope.authority = caller;
    if (tools->generation != registry_generation(tools->engine->registry)) {
        tools_sweep(tools, NULL, NULL);
        tools->generation = registry_generation(tools->engine->registry);
    }
    for (size_t i = 0; i < tools->instance_count; i++) {
        if (tools->instances[i].component != component || tools->instances[i].caller != caller) continue;
        *out = tools->instances[i].instance;
        return TN_OK;
    }
    struct callable *instance = NULL;
    int32_t status = instance_new(component, value_object(), &scope, &instance, error);
    if (status != TN_OK) return status;
    MEM_EXTEND(tools->instances, tools->instance_count);
    tools->instances[tools->instance_count++] = (struct tool_instance){component, authority_ref(caller), instance};
    *out = instance;
    return TN_OK;
}

/* ---- Definitions ---- */

/* The `description` of the definition, for models. */
static const char *tool_description(const struct component_info *info) {
    return *info->documentation ? info->documentation : info->title;
}

static tn_value schema_or_anything(tn_value schema) {
    if (schema && !value_is(schema, TN_NULL)) return value_ref(schema);
    return value_set_take(value_object_reserve(1), "type", value_text("object"));
}

tn_value tool_effects(const struct component_info *info) {
    if (value_is(info->effects, TN_ARRAY)) return value_ref(info->effects);
    return value_push_take(value_array(), value_text(TOOL_EFFECT_UNKNOWN));
}

tn_value tool_definition(const struct component_info *info, const struct tool_policy *policy) {
    tn_value output = value_get(info->manifest, "output"), definition = value_object_reserve(7);
    definition = value_set_take(definition, "tool_name", value_text(info->id));
    definition = value_set_take(definition, "description", value_text(tool_description(info)));
    definition = value_set_take(definition, "input_schema", schema_or_anything(value_get(info->manifest, "input")));
    if (output && !value_is(output, TN_NULL))
        definition = value_set_take(definition, "output_schema", value_ref(output));
    definition = value_set_take(definition, "effects", tool_effects(info));
    definition = value_set_take(definition, "implementation_ref", value_format("%s/%s", info->plugin_id, info->id));
    if (!policy) return definition;
    return value_set_take(definition, "approval", value_text(tool_approval_name(policy->approval)));
}

void tool_policy_chosen(const struct engine *engine, const struct authority *caller, const struct component_info *info,
                        struct tool_policy *out) {
    tool_policy_of(caller, config_tool_policies(engine->config), info->id, info->effects, true, out);
}

tn_value tool_describe(const struct engine *engine, const struct authority *caller, const struct component_info *info) {
    struct tool_policy policy;
    tool_policy_chosen(engine, caller, info, &policy);
    tn_value row = tool_definition(info, &policy);
    row = value_set_take(row, "title", value_text(info->title));
    row = value_set_take(row, "plugin", value_text(info->plugin_id));
    row = value_set_take(row, "why", value_ref(policy.why));
    tool_policy_finish(&policy);
    return row;
}

/* ---- Limit of concurrent uses ---- */

void tools_share_gates(struct tools *tools, struct tools *with) {
    struct tool_gates *gates = tool_gates_ref(with->side.gates);
    tool_gate_side_finish(&tools->side);
    tool_gate_side_init_take(&tools->side, gates, tools->engine->loop);
}

void tools_enter(struct tools *tools, const char *name, struct tool_ticket *ticket) {
    tool_gate_enter(&tools->side, name, ticket);
}

void tools_leave(struct tools *tools, struct tool_ticket *ticket) { tool_gate_leave(&tools->side, ticket); }
