/*
 * builder.c - builds a graph by function calls. The calls make a document as a value, which is then read, checked and
 * built like a document from a file, so both ways have the same rules.
 *
 * Each node that calls a runnable gets its own node type, registered with a generated id.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/embed/embed_internal.h"
#include "host/embed/embed_node.h"
#include <string.h>

struct tenon_builder {
    tenon *host;
    tn_value name, channels, nodes, edges;
};

tenon_builder *tenon_builder_new(tenon *host, const char *name) {
    if (!embed_enter(host)) return NULL;
    tn_value text = value_string(name ? name : "graph", strlen(name ? name : "graph"));
    if (!text) {
        error_set(&host->error, TN_INVALID, "INVALID_INPUT", "the graph's name is not UTF-8");
        return NULL;
    }
    tenon_builder *builder = mem_zalloc(sizeof *builder);
    *builder = (tenon_builder){host, text, value_array(), value_array(), value_array()};
    embed_object_add(host);
    return builder;
}

void tenon_builder_free(tenon_builder *builder) {
    if (!builder || !embed_check_thread(builder->host)) return;
    tenon *handle = builder->host;
    value_unref(builder->name);
    value_unref(builder->channels);
    value_unref(builder->nodes);
    value_unref(builder->edges);
    mem_free(builder);
    embed_object_remove(handle);
}

/* Returns the caller's text as a value, or NULL with the error set. */
static tn_value builder_text(tenon_builder *builder, const char *what, const char *text) {
    tn_value value = text ? value_string(text, strlen(text)) : NULL;
    if (!value) error_set(&builder->host->error, TN_INVALID, "INVALID_INPUT", "%s is NULL or not UTF-8", what);
    return value;
}

int32_t tenon_add_channel(tenon_builder *builder, const char *name, const char *type, tn_value initial) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    tn_value id = builder_text(builder, "a channel's name", name),
             kind = builder_text(builder, "a channel's type", type);
    if (!id || !kind) {
        value_unref(id);
        value_unref(kind);
        return TN_INVALID;
    }
    tn_value channel = value_set_take(value_object_reserve(4), "name", id);
    if (strncmp(type, "reduce:", 7) == 0) {
        channel = value_set_take(channel, "type", value_text("reduce"));
        channel = value_set_take(channel, "reducer", value_string(type + 7, strlen(type + 7)));
        value_unref(kind);
    } else {
        channel = value_set_take(channel, "type", kind);
    }
    if (initial) channel = value_set_take(channel, "default", value_ref(initial));
    builder->channels = value_push_take(builder->channels, channel);
    return TN_OK;
}

static int32_t builder_add_node(tenon_builder *builder, const char *id, const char *type, tn_value config) {
    tn_value name = builder_text(builder, "a node's id", id), kind = builder_text(builder, "a node's type", type);
    if (!name || !kind) {
        value_unref(name);
        value_unref(kind);
        return TN_INVALID;
    }
    tn_value node = value_set_take(value_object_reserve(3), "id", name);
    node = value_set_take(node, "type", kind);
    if (config) node = value_set_take(node, "config", value_ref(config));
    builder->nodes = value_push_take(builder->nodes, node);
    return TN_OK;
}

int32_t tenon_add_node(tenon_builder *builder, const char *id, const char *type, tn_value config) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    return builder_add_node(builder, id, type, config);
}

int32_t tenon_add_node_runnable(tenon_builder *builder, const char *id, tenon_runnable *runnable) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    tenon *host = builder->host;
    if (!embed_check_runnable(host, runnable)) return TN_INVALID;
    char type[48];
    int32_t status = embed_node_register(host, runnable->callable, type, sizeof type, &host->error);
    return status == TN_OK ? builder_add_node(builder, id, type, NULL) : status;
}

static int32_t builder_add_edge_take(tenon_builder *builder, tn_value edge) {
    builder->edges = value_push_take(builder->edges, edge);
    return TN_OK;
}

int32_t tenon_add_edge(tenon_builder *builder, const char *from, const char *to) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    tn_value source = builder_text(builder, "an edge's source", from),
             target = builder_text(builder, "an edge's target", to);
    if (!source || !target) {
        value_unref(source);
        value_unref(target);
        return TN_INVALID;
    }
    return builder_add_edge_take(builder,
                                 value_set_take(value_set_take(value_object_reserve(2), "from", source), "to", target));
}

int32_t tenon_add_conditional_edges(tenon_builder *builder, const char *from, const char *const *expressions,
                                    const char *const *targets, uint32_t count) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    if (count && (!expressions || !targets))
        return error_set(&builder->host->error, TN_INVALID, "INVALID_INPUT",
                         "the list of conditions, or of their targets, is NULL");
    tn_value source = builder_text(builder, "an edge's source", from), conditions = value_array();
    for (uint32_t i = 0; i < count; i++) {
        tn_value expression = builder_text(builder, "a condition", expressions[i]);
        tn_value target = builder_text(builder, "a condition's target", targets[i]);
        if (!expression || !target || !source) {
            value_unref(expression);
            value_unref(target);
            value_unref(source);
            value_unref(conditions);
            return TN_INVALID;
        }
        tn_value condition = value_set_take(value_object_reserve(2), "expression", expression);
        conditions = value_push_take(conditions, value_set_take(condition, "to", target));
    }
    if (!source) {
        value_unref(conditions);
        return TN_INVALID;
    }
    tn_value edge = value_set_take(value_object_reserve(3), "from", source);
    edge = value_set_take(edge, "type", value_text("conditional"));
    return builder_add_edge_take(builder, value_set_take(edge, "conditions", conditions));
}

int32_t tenon_set_entry_point(tenon_builder *builder, const char *node) {
    return tenon_add_edge(builder, TENON_START, node);
}

int32_t tenon_set_finish_point(tenon_builder *builder, const char *node) {
    return tenon_add_edge(builder, node, TENON_END);
}

/* Nodes that call runnables read all channels, because their input is the whole state. */
static tn_value builder_nodes(const tenon_builder *builder) {
    tn_value names = value_array();
    for (size_t i = 0, n = value_count(builder->channels); i < n; i++)
        names = value_push_take(names, value_ref(value_get(value_at(builder->channels, i), "name")));
    tn_value nodes = value_array();
    for (size_t i = 0, n = value_count(builder->nodes); i < n; i++) {
        tn_value node = value_ref(value_at(builder->nodes, i));
        const char *type = value_chars(value_get(node, "type"), NULL);
        if (strncmp(type, EMBED_NODE_PREFIX, strlen(EMBED_NODE_PREFIX)) == 0)
            node =
                value_set_take(node, "config", value_set_take(value_object_reserve(1), "channels", value_ref(names)));
        nodes = value_push_take(nodes, node);
    }
    value_unref(names);
    return nodes;
}

tenon_runnable *tenon_compile(tenon_builder *builder) {
    if (!embed_enter_of(builder)) return NULL;
    tn_value document = value_set_take(value_object_reserve(5), "version", value_text("1.0"));
    tn_value agent = value_set_take(value_object_reserve(1), "name", value_ref(builder->name));
    document = value_set_take(document, "agent", agent);
    document = value_set_take(document, "channels", value_ref(builder->channels));
    document = value_set_take(document, "nodes", builder_nodes(builder));
    document = value_set_take(document, "edges", value_ref(builder->edges));
    char *text = json_text(document, JSON_INDENTED);
    tn_value name = value_format("%s.json", value_chars(builder->name, NULL));
    tenon_runnable *runnable = embed_graph(builder->host, value_chars(name, NULL), text, strlen(text));
    value_unref(name);
    value_unref(document);
    mem_free(text);
    return runnable;
}
