/*
 * binding.c - creates the callable for a kind and a name, inside a graph and outside.
 */
#include "host/engine/graph/binding.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graphs_internal.h"
#include "host/engine/graph/node_gate.h"
#include "host/engine/model/model.h"
#include "host/engine/tool/tool_use.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

/* A component that is called gets an input and reads no channels. */
static struct callable *component_callee(struct engine *engine, struct authority *caller, const char *kind,
                                         const char *id, tn_value config, struct error *error) {
    struct instance_scope scope = binding_scope_of_host(engine, "a component that is called");
    scope.authority = caller;
    struct component *component;
    struct callable *callable = NULL;
    if (registry_resolve(engine->registry, kind, id, &component, error) != TN_OK) return NULL;
    int32_t status = instance_new_called(component, config, &scope, &callable, error);
    if (status == TN_OK && strcmp(kind, "node") == 0) status = node_gate_wrap(engine, &callable, error);
    if (status == TN_OK) return callable;
    callable_unref(callable);
    return NULL;
}

/* ---- Models ---- */

tn_value binding_role_around(const struct authority *authority, const char *role) {
    for (const struct authority *frame = authority; frame; frame = frame->outer) {
        if (frame->kind != AUTHORITY_DOCUMENT || authority_is_made(frame)) continue;
        return frame->models ? value_get(frame->models, role) : NULL;
    }
    return NULL;
}

/*
 * A document that a component made or passed as a text does not bind roles itself, because a binding can send data and
 * credentials anywhere.
 */
tn_value binding_of_role(const struct engine *engine, const struct authority *authority, const char *name) {
    const char *role = authority_role(authority, name);
    tn_value binding = config_model(engine->config, role);
    if (binding) return binding;
    binding = binding_role_around(authority, role);
    if (!binding || !value_is(binding, TN_STRING) || strchr(value_chars(binding, NULL), ':')) return binding;
    /* `basic: default`: the document binds the role to another one, which is not bound to a role itself. */
    const char *other = value_chars(binding, NULL);
    tn_value inner = binding_role_around(authority, other);
    if (!inner) return binding; /* a provider without a model */
    tn_value configured = config_model(engine->config, authority_role(authority, other));
    return configured ? configured : inner;
}

static struct callable *model_callee(struct graph *graph, const struct authority *caller, const char *name,
                                     tn_value config, struct error *error) {
    tn_value binding = binding_of_role(graph->engine, graph->authority, name);
    struct callable *callable = NULL;
    if (!binding && authority_is_made(graph->authority) && !authority_is_named(caller, "model", name)) {
        error_set(error, TN_INVALID, "PERMISSION_DENIED",
                  "the document `%s` was made, or selected at run time, by a component, and may use only roles that "
                  "tenon.yaml or a document around it binds; bind the role `%s` there",
                  graph->authority->name, name);
        return NULL;
    }
    tn_value named = binding ? NULL : value_text(name);
    model_new(graph->engine, name, binding ? binding : named, config, &callable, error);
    value_unref(named);
    return callable;
}

/* ---- Tools ---- */

static struct callable *tool_callee(struct engine *engine, struct authority *caller, const char *name, tn_value config,
                                    struct error *error) {
    struct callable *callable = NULL;
    bool chosen = authority_chooses_tool(caller, name);
    tool_bind(engine, caller, name, config, chosen, &callable, error);
    return callable;
}

struct callable *binding_callee(struct graph *graph, struct authority *caller, const char *kind, const char *name,
                                tn_value config, struct error *error) {
    if (strcmp(kind, "graph") == 0) {
        const struct source *source = graph->document->source;
        const struct graph_origin origin = {.depth = graph->depth + 1,
                                            .diagnostics = graph->diagnostics,
                                            .check = graph->checks,
                                            .outer = authority_around_document(caller, name)};
        struct graph *inner = NULL;
        if (config)
            graph_open_value(graph, caller, config, name, &inner, error);
        else
            graph_open(graph->engine, source, name, &origin, &inner, error);
        return inner ? &inner->callable : NULL;
    }
    if (strcmp(kind, "model") == 0) return model_callee(graph, caller, name, config, error);
    if (strcmp(kind, "tool") == 0) return tool_callee(graph->engine, caller, name, config, error);
    return component_callee(graph->engine, caller, kind, name, config, error);
}

/* ---- Outside of graphs ---- */

static struct callable *callee_of_host(struct engine *engine, struct authority *caller, const char *kind,
                                       const char *name, tn_value config, struct error *error) {
    struct callable *callable = NULL;
    if (strcmp(kind, "model") == 0) {
        tn_value role = config_model(engine->config, authority_role(caller, name));
        tn_value binding = role ? value_ref(role) : value_text(name);
        model_new(engine, name, binding, config, &callable, error);
        value_unref(binding);
    } else if (strcmp(kind, "tool") == 0) {
        callable = tool_callee(engine, caller, name, config, error);
    } else if (strcmp(kind, "graph") != 0) {
        callable = component_callee(engine, caller, kind, name, config, error);
    } else if (config) {
        error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                  "a document that a component creates must be called inside another document");
    } else {
        struct graph *graph = NULL;
        const struct graph *building = engine->graphs->building;
        const struct graph_origin origin = {.depth = 1,
                                            .diagnostics = building ? building->diagnostics : NULL,
                                            .check = building && building->checks,
                                            .outer = authority_around_document(caller, name)};
        graph_open_for_plugin(engine, name, &origin, &graph, error);
        if (graph) callable = &graph->callable;
    }
    return callable;
}

/* Creating a component may create others, and these may create the first one again. */
static struct callable *bounded_callee(void *self, struct authority *caller, const char *kind, const char *name,
                                       tn_value config, struct error *error) {
    struct engine *engine = self;
    struct callable *callable = NULL;
    if (engine->graphs->callee_depth >= BINDING_DEPTH_MAX) {
        error_set(error, TN_LIMIT, "LIMIT",
                  "the %s `%s` uses others, and these use others, more than %u deep; does it use itself?", kind, name,
                  BINDING_DEPTH_MAX);
        return NULL;
    }
    engine->graphs->callee_depth++;
    callable = callee_of_host(engine, caller, kind, name, config, error);
    engine->graphs->callee_depth--;
    return callable;
}

/* What a node calls belongs to the node that is being built. */
static void callee_run_used(void *self) {
    struct graph *building = ((struct engine *)self)->graphs->building;
    if (building) building->callees_cacheable = false;
}

struct instance_scope binding_scope_of_host(struct engine *engine, const char *where) {
    return (struct instance_scope){
        .self = engine, .callee = bounded_callee, .run_used = callee_run_used, .where = where};
}
