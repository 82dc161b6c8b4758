/*
 * cache_identity.c - describes callables as values, and hashes these.
 *
 * A description is NULL if it is not known. It names inner graphs by the hash of their description, which is computed
 * once for each graph, because many nodes can run the same document.
 */
#include "host/engine/graph/cache_identity.h"
#include "adl/value/json.h"
#include "host/base/config/config.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graph_identity.h"
#include "host/engine/model/model.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"

static tn_value describe_callable(struct engine *engine, struct callable *callable);

static void description_hash_take(tn_value description, char out[TN_SHA256_TEXT]) {
    json_hash(description, JSON_SORTED, out);
    value_unref(description);
}

/* Adds the description of a callable to the list, or releases the list and returns NULL. */
static tn_value describe_into_take(tn_value list, struct engine *engine, struct callable *callable) {
    tn_value described = describe_callable(engine, callable);
    if (described) return value_push_take(list, described);
    value_unref(list);
    return NULL;
}

static tn_value describe_graph(struct graph *graph) {
    const struct document *document = graph->document;
    if (!graph->code[0]) {
        tn_value parts = value_push_take(value_array(), value_text(graph_identity(graph)));
        parts = value_push_take(parts, document->input_value ? value_ref(document->input_value) : value_null());
        parts = value_push_take(parts, document->output_value ? value_ref(document->output_value) : value_null());
        for (uint32_t i = 0; parts && i < document->node_count; i++)
            parts = describe_into_take(parts, graph->engine, graph->nodes[i].callable);
        for (uint32_t i = 0; parts && graph->reducers && i < document->channel_count; i++)
            if (graph->reducers[i]) parts = describe_into_take(parts, graph->engine, graph->reducers[i]);
        if (!parts) return NULL;
        description_hash_take(parts, graph->code);
    }
    return value_text(graph->code);
}

static tn_value describe_model(struct engine *engine, struct callable *model) {
    struct callable *provider;
    tn_value list = value_array();
    for (uint32_t i = 0; list && (provider = model_provider(model, i)) != NULL; i++)
        list = describe_into_take(list, engine, provider);
    return list;
}

static tn_value describe_instance(struct engine *engine, struct callable *instance, const struct component *component) {
    const char *file = plugin_file_hash(component->plugin);
    tn_value section = config_plugin_section(engine->config, plugin_id(component->plugin));
    tn_value calls = file ? value_array() : NULL;
    struct callable *callee;
    for (uint32_t i = 0; calls && (callee = instance_callee(instance, i)) != NULL; i++)
        calls = describe_into_take(calls, engine, callee);
    if (!calls) return NULL;
    /* The manifest is that of components which the plugin has added at run time, too. */
    tn_value described = value_set_take(value_object_reserve(5), "component", value_ref(component->info->manifest));
    described = value_set_take(described, "file", value_text(file));
    if (section) described = value_set_take(described, "section", value_ref(section));
    described = value_set_take(described, "config", value_ref(instance_config(instance)));
    return value_set_take(described, "calls", calls);
}

/* A wrapper can refuse the call or ask for an approval, so a result from before a rule of the operator is another one.
 */
static tn_value describe_wrapper(struct engine *engine, struct callable *wrapper) {
    tn_value kind = value_text(wrapper->ops->saving == CALLABLE_SAVED ? "guarded" : "checked");
    return describe_into_take(value_push_take(value_array(), kind), engine, wrapper->ops->wrapped(wrapper));
}

/* The names of the fields that the node reads, in the order of the values in a cache's key. */
static tn_value describe_reads(const struct graph *graph, uint32_t node) {
    const struct document *document = graph->document;
    tn_value names = value_array();
    for (uint32_t i = 0; i < graph->nodes[node].read_count; i++) {
        uint32_t field = graph->nodes[node].reads[i];
        names = value_push_take(names, value_ref(field < document->channel_count
                                                     ? document->channels[field].name
                                                     : document->locals[field - document->channel_count]));
    }
    return names;
}

static tn_value describe_callable(struct engine *engine, struct callable *callable) {
    struct graph *graph = graph_of_callable(callable);
    if (graph) return describe_graph(graph);
    if (model_provider(callable, 0)) return describe_model(engine, callable);
    if (callable->ops->wrapped) return describe_wrapper(engine, callable);
    return instance_config(callable) ? describe_instance(engine, callable, instance_component(callable)) : NULL;
}

bool cache_identity(const struct graph *graph, uint32_t node, char out[TN_SHA256_TEXT]) {
    tn_value described = describe_callable(graph->engine, graph->nodes[node].callable);
    if (!described) return false;
    described = value_push_take(value_push_take(value_array_reserve(3), value_text(TENON_VERSION)), described);
    described = value_push_take(described, describe_reads(graph, node));
    description_hash_take(described, out);
    return true;
}
