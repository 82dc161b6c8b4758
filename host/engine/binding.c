/*
 * binding.c - what a node may call, found by kind and name.
 */
#include "host/engine/binding.h"
#include "adl/text/source.h"
#include "adl/value/memory.h"
#include "host/call/instance.h"
#include "host/config/config.h"
#include "host/engine/graph.h"
#include "host/host.h"
#include "host/model/model.h"
#include "host/plugin/registry.h"
#include "host/tool/use.h"
#include <string.h>

/* A component that is called reads no channels: it gets an input. */
static struct callable *component_callee(struct host *host, const char *kind, const char *id, tn_value config,
                                         struct error *error) {
    const struct instance_scope scope = binding_scope_of_host(host, "a component that is called");
    struct component *component;
    struct callable *callable = NULL;
    if (registry_resolve(host->registry, kind, id, &component, error) != TN_OK) return NULL;
    instance_new_called(component, config, &scope, &callable, error);
    return callable;
}

/* ---- Models ---- */

/* A role's binding: the configuration's, else the document's; NULL where neither names it. */
static tn_value role_binding(struct graph *graph, const char *role) {
    tn_value configured = config_model(graph->host->config, role);
    if (configured) return configured;
    const struct document_model *model = document_find_model(graph->document, role);
    return model ? model->binding : NULL;
}

static struct callable *model_callee(struct graph *graph, const char *name, tn_value config, struct error *error) {
    tn_value binding = role_binding(graph, name);
    tn_value named = binding ? NULL : value_text(name);
    if (!binding) binding = named;
    struct callable *callable = NULL;
    model_new(graph->host, name, binding, config, &callable, error);
    value_unref(named);
    return callable;
}

/* ---- Tools ---- */

static struct callable *tool_callee(struct graph *graph, const char *name, tn_value config, struct error *error) {
    tn_value entries = tool_entries(graph->document);
    struct callable *callable = NULL;
    if (tool_entries_have(entries, name))
        tool_bind(graph->host, entries, name, config, false, &callable, error);
    else
        error_set(error, TN_NOT_FOUND, "TOOL_NOT_FOUND",
                  "the tool `%s` is not on the document's list `tools`; add it there to allow it", name);
    value_unref(entries);
    return callable;
}

struct callable *binding_callee(struct graph *graph, const char *kind, const char *name, tn_value config,
                                struct error *error) {
    if (strcmp(kind, "graph") == 0) {
        const struct source *source = graph->document->source;
        struct graph *inner = NULL;
        if (config)
            graph_open_value(graph, config, name, &inner, error);
        else
            graph_open(graph->host, source ? source_name(source) : NULL, name, graph->depth + 1, &inner, error);
        return inner ? &inner->callable : NULL;
    }
    if (strcmp(kind, "model") == 0) return model_callee(graph, name, config, error);
    if (strcmp(kind, "tool") == 0) return tool_callee(graph, name, config, error);
    return component_callee(graph->host, kind, name, config, error);
}

/* ---- Without a graph ---- */

static struct callable *callee_of_host(struct host *host, const char *kind, const char *name, tn_value config,
                                       struct error *error) {
    struct callable *callable = NULL;
    if (strcmp(kind, "model") == 0) {
        tn_value role = config_model(host->config, name), binding = role ? value_ref(role) : value_text(name);
        model_new(host, name, binding, config, &callable, error);
        value_unref(binding);
    } else if (strcmp(kind, "tool") == 0) {
        tool_bind(host, NULL, name, config, false, &callable, error);
    } else if (strcmp(kind, "graph") != 0) {
        callable = component_callee(host, kind, name, config, error);
    } else if (config) {
        error_set(error, TN_UNSUPPORTED, "UNSUPPORTED", "a document that a component makes needs one around it");
    } else {
        struct graph *graph = NULL;
        graph_open(host, NULL, name, 1, &graph, error);
        if (graph) callable = &graph->callable;
    }
    return callable;
}

/* Making one may make others, which may make it again. */
static struct callable *bounded_callee(void *self, const char *kind, const char *name, tn_value config,
                                       struct error *error) {
    struct host *host = self;
    struct callable *callable = NULL;
    if (host->callee_depth >= BINDING_DEPTH_MAX) {
        error_set(error, TN_LIMIT, "LIMIT",
                  "the %s `%s` is made of others, and they of others, more than %u deep: does it "
                  "contain itself?",
                  kind, name, BINDING_DEPTH_MAX);
        return NULL;
    }
    host->callee_depth++;
    callable = callee_of_host(host, kind, name, config, error);
    host->callee_depth--;
    return callable;
}

struct instance_scope binding_scope_of_host(struct host *host, const char *where) {
    return (struct instance_scope){.self = host, .callee = bounded_callee, .where = where};
}
