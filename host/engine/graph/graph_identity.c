/*
 * graph_identity.c - describes a graph as a value, and compares two descriptions.
 */
#include "host/engine/graph/graph_identity.h"
#include "adl/value/json.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"
#include <stdlib.h>

static tn_value target_name(const struct graph *graph, int32_t target) {
    if (target == DOCUMENT_NOWHERE) return value_null();
    if (target < 0) return value_text(target == DOCUMENT_END ? "END" : "START");
    return value_ref(graph->document->nodes[target].id);
}

static tn_value target_names(const struct graph *graph, const int32_t *list, uint32_t count) {
    tn_value names = value_array_reserve(count);
    for (uint32_t i = 0; i < count; i++) names = value_push_take(names, target_name(graph, list[i]));
    return names;
}

static tn_value graph_describe_node(const struct graph *graph, uint32_t index) {
    const struct document_node *node = &graph->document->nodes[index];
    tn_value config = document_node_config(graph->document, index, &graph->engine->catalog, NULL);
    tn_value described = value_set_take(value_object_reserve(12), "type", value_ref(node->type));
    described = value_set_take(described, "config", config ? config : value_ref(node->config));
    if (node->component)
        described = value_set_take(described, "version", value_int(strtol(node->component->plugin_version, NULL, 10)));
    described = value_set_take(described, "attempts", value_int(node->retry.max_attempts));
    described = value_set_take(described, "interrupt_before", value_bool(node->interrupt_before));
    described = value_set_take(described, "interrupt_after", value_bool(node->interrupt_after));
    described = value_set_take(described, "defer", value_bool(node->defer));
    described = value_set_take(described, "on_error", target_name(graph, node->on_error));
    /* Without the member, the description is the one of older versions. */
    return node->error_codes ? value_set_take(described, "error_codes", value_ref(node->error_codes)) : described;
}

static tn_value graph_describe_channel(const struct document_channel *channel) {
    tn_value described = value_set_take(value_object_reserve(5), "type", value_int(channel->type));
    described = value_set_take(described, "reducer", value_int(channel->reducer));
    if (channel->reducer_component)
        described = value_set_take(described, "component", value_text(channel->reducer_component->id));
    described = value_set_take(described, "initial", value_ref(channel->initial));
    return channel->schema_value ? value_set_take(described, "schema", value_ref(channel->schema_value)) : described;
}

static tn_value graph_describe_edge(const struct graph *graph, const struct document_edge *edge) {
    tn_value described = value_set_take(value_object_reserve(6), "kind", value_int(edge->kind));
    described = value_set_take(described, "from", target_names(graph, edge->from, edge->from_count));
    described = value_set_take(described, "to", target_names(graph, edge->to, edge->to_count));
    tn_value conditions = value_array();
    for (uint32_t i = 0; i < edge->condition_count; i++) {
        const struct document_condition *condition = &edge->conditions[i];
        conditions = value_push_take(conditions, condition->text ? value_ref(condition->text) : value_null());
        conditions = value_push_take(conditions, target_name(graph, condition->to));
    }
    if (value_count(conditions)) described = value_set_take(described, "conditions", conditions);
    if (edge->over_text) described = value_set_take(described, "over", value_ref(edge->over_text));
    if (edge->kind == EDGE_MAP) described = value_set_take(described, "empty", target_name(graph, edge->empty));
    return described;
}

static tn_value graph_describe_document(const struct graph *graph, const struct graph *built);

/* Adds the nested graphs of a node: the document that its config names, and those that its component created. */
static tn_value describe_inside_take(tn_value node, const struct graph *seen, const struct graph *built,
                                     uint32_t index) {
    struct document *named = document_subgraph(seen->document, index);
    const struct graph *opened = NULL;
    struct graph *inside;
    tn_value made = value_array();
    for (uint32_t i = 0; built && (inside = graph_inside(built, index, i)) != NULL; i++) {
        if (inside->value)
            made = value_push_take(made, graph_describe_document(inside, inside));
        else if (!opened)
            opened = inside;
    }
    if (named) {
        struct graph within = *seen;
        within.document = named;
        node = value_set_take(node, "graph", graph_describe_document(&within, opened));
    }
    if (value_count(made)) return value_set_take(node, "graphs", made);
    value_unref(made);
    return node;
}

/* `built` is the graph built from the document, or NULL. */
static tn_value graph_describe_document(const struct graph *graph, const struct graph *built) {
    const struct document *document = graph->document;
    tn_value nodes = value_object_reserve(document->node_count), channels = value_object(), edges = value_array();
    for (uint32_t i = 0; i < document->node_count; i++) {
        tn_value node = describe_inside_take(graph_describe_node(graph, i), graph, built, i);
        nodes = value_set_key_take(nodes, value_ref(document->nodes[i].id), node);
    }
    for (uint32_t i = 0; i < document->channel_count; i++)
        channels = value_set_key_take(channels, value_ref(document->channels[i].name),
                                      graph_describe_channel(&document->channels[i]));
    for (uint32_t i = 0; i < document->edge_count; i++)
        edges = value_push_take(edges, graph_describe_edge(graph, &document->edges[i]));
    tn_value all = value_set_take(value_object_reserve(5), "nodes", nodes);
    all = value_set_take(all, "channels", channels);
    all = value_set_take(all, "edges", edges);
    return value_set_take(all, "strategy", value_int(document->strategy));
}

tn_value graph_description(struct graph *graph) { return graph_describe_document(graph, graph); }

const char *graph_identity(struct graph *graph) {
    if (graph->identity[0]) return graph->identity;
    tn_value description = graph_description(graph);
    json_hash(description, JSON_COMPACT, graph->identity);
    value_unref(description);
    return graph->identity;
}

/* ---- Differences ---- */

static tn_value add_difference(tn_value lines, const char *what, tn_value name, const char *happened) {
    return value_push_take(lines, value_format("%s `%s` %s", what, value_chars(name, NULL), happened));
}

/* One line for each member that differs. */
static tn_value add_changed_members(tn_value lines, const char *what, tn_value name, tn_value before, tn_value after) {
    for (size_t i = 0; i < value_count(after); i++) {
        tn_value key = value_key_at(after, i), old = value_get_key(before, key), now = value_value_at(after, i);
        if (old && value_equal(old, now)) continue;
        lines = value_push_take(
            lines, value_format("%s `%s`: `%s` has changed", what, value_chars(name, NULL), value_chars(key, NULL)));
    }
    return lines;
}

static tn_value add_differences(tn_value lines, const char *what, tn_value before, tn_value after) {
    for (size_t i = 0; i < value_count(before); i++) {
        tn_value name = value_key_at(before, i), now = value_get_key(after, name);
        if (!now)
            lines = add_difference(lines, what, name, "is gone");
        else if (!value_equal(value_value_at(before, i), now))
            lines = add_changed_members(lines, what, name, value_value_at(before, i), now);
    }
    for (size_t i = 0; i < value_count(after); i++)
        if (!value_get_key(before, value_key_at(after, i)))
            lines = add_difference(lines, what, value_key_at(after, i), "is new");
    return lines;
}

tn_value graph_differences(tn_value before, tn_value after) {
    tn_value lines = value_array();
    lines = add_differences(lines, "node", value_get(before, "nodes"), value_get(after, "nodes"));
    lines = add_differences(lines, "channel", value_get(before, "channels"), value_get(after, "channels"));
    tn_value edges = value_get(before, "edges"), now = value_get(after, "edges");
    if (edges && now && !value_equal(edges, now)) lines = value_push_take(lines, value_text("the edges have changed"));
    if (!value_count(lines) && !value_equal(before, after))
        lines = value_push_take(lines, value_text("the order or the strategy has changed"));
    return lines;
}
