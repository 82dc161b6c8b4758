/*
 * tool.c - the tool kernel: definitions, instances that are kept, and uses that wait for each other.
 *
 * Searching is search.c's. A gate exists while somebody is in it or waits before it.
 */
#include "host/tool/tool.h"
#include "adl/document/catalog.h"
#include "adl/value/memory.h"
#include "host/call/call.h"
#include "host/call/instance.h"
#include "host/engine/binding.h"
#include "host/host.h"
#include "host/plugin/registry.h"
#include "host/tool/audit.h"
#include "host/tool/policy.h"
#include <string.h>

struct kept {
    struct component *component;
    struct callable *instance;
};

struct tool_gate {
    struct tool_gate *next;
    char *name;
    uint32_t inside;
    bool settling;
    struct tool_place *first, **last;
};

struct tools {
    struct host *host;
    struct kept *kept;
    size_t kept_count;
    uint64_t generation; /* of the registry, when `kept` was last looked over */
    struct tool_gate *gates;
    struct audit audit;
};

struct tools *tools_of(struct host *host) {
    if (!host->tools) {
        host->tools = mem_zalloc(sizeof *host->tools);
        host->tools->host = host;
        host->tools->audit = (struct audit)AUDIT_INIT;
    }
    return host->tools;
}

void tools_free(struct tools *tools) {
    if (!tools) return;
    for (size_t i = 0; i < tools->kept_count; i++) callable_unref(tools->kept[i].instance);
    mem_free(tools->kept);
    audit_finish(&tools->audit);
    mem_free(tools);
}

struct audit *tools_audit(struct tools *tools) {
    return &tools->audit;
}

/* ---- Instances ---- */

void tools_sweep(struct tools *tools, bool (*gone)(void *user, const struct component *component), void *user) {
    if (!tools) return;
    size_t left = 0;
    for (size_t i = 0; i < tools->kept_count; i++) {
        struct kept kept = tools->kept[i];
        if (kept.component->removed || (gone && gone(user, kept.component)))
            callable_unref(kept.instance);
        else
            tools->kept[left++] = kept;
    }
    tools->kept_count = left;
}

int32_t tools_instance(struct tools *tools, struct component *component, struct callable **out, struct error *error) {
    const struct instance_scope scope = binding_scope_of_host(tools->host, "a tool that is called");
    if (tools->generation != registry_generation(tools->host->registry)) {
        tools_sweep(tools, NULL, NULL);
        tools->generation = registry_generation(tools->host->registry);
    }
    for (size_t i = 0; i < tools->kept_count; i++) {
        if (tools->kept[i].component != component) continue;
        *out = tools->kept[i].instance;
        return TN_OK;
    }
    struct callable *instance = NULL;
    int32_t status = instance_new(component, value_object(), &scope, &instance, error);
    if (status != TN_OK) return status;
    size_t count = tools->kept_count;
    if ((count & (count - 1)) == 0) tools->kept = mem_array(tools->kept, count ? count * 2 : 1, sizeof *tools->kept);
    tools->kept[tools->kept_count++] = (struct kept){component, instance};
    *out = instance;
    return TN_OK;
}

/* ---- Definitions ---- */

const char *tool_description(const struct component_info *info) {
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

/* ---- So many at once ---- */

static struct tool_gate *gate_of(struct tools *tools, const char *name) {
    struct tool_gate *gate = tools->gates;
    while (gate && strcmp(gate->name, name) != 0) gate = gate->next;
    if (gate) return gate;
    gate = mem_zalloc(sizeof *gate);
    gate->name = mem_text(name);
    gate->last = &gate->first;
    gate->next = tools->gates;
    tools->gates = gate;
    return gate;
}

/*
 * Those who come first go in first, also where a later one may have more company. Whoever goes in may leave at once:
 * then the loop that let it in goes on, and the gate is gone when nobody is left.
 */
static void settle(struct tools *tools, struct tool_gate *gate) {
    struct tool_place *place;
    if (gate->settling) return;
    gate->settling = true;
    while ((place = gate->first) != NULL && gate->inside < place->limit) {
        gate->first = place->next;
        if (!gate->first) gate->last = &gate->first;
        gate->inside++;
        place->inside = true;
        place->enter(place);
    }
    gate->settling = false;
    if (gate->inside || gate->first) return;
    struct tool_gate **at = &tools->gates;
    while (*at != gate) at = &(*at)->next;
    *at = gate->next;
    mem_free(gate->name);
    mem_free(gate);
}

void tools_enter(struct tools *tools, const char *name, struct tool_place *place) {
    struct tool_gate *gate = place->gate = gate_of(tools, name);
    place->next = NULL;
    place->inside = false;
    *gate->last = place;
    gate->last = &place->next;
    settle(tools, gate);
}

static void remove_waiting(struct tool_gate *gate, struct tool_place *place) {
    for (struct tool_place **at = &gate->first; *at; at = &(*at)->next) {
        if (*at != place) continue;
        *at = place->next;
        if (gate->last == &place->next) gate->last = at;
        return;
    }
}

void tools_leave(struct tools *tools, struct tool_place *place) {
    struct tool_gate *gate = place->gate;
    if (!gate) return;
    place->gate = NULL;
    if (place->inside)
        gate->inside--;
    else
        remove_waiting(gate, place);
    place->inside = false;
    settle(tools, gate);
}
