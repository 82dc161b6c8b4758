/*
 * hash.c - builds a document's identity as a value and hashes its canonical JSON: keys sorted, lists in order.
 *
 * Configs are hashed as written, without defaults: a default of a new minor version of a component does not change the
 * graph.
 */
#include "adl/document/hash.h"
#include "adl/document/config.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <tenon/util/sha256.h>

static tn_value end_name(const struct document *document, int32_t end) {
    static const char *const names[] = {"__start__", "__end__", "?"};
    return end >= 0 ? value_ref(document->nodes[end].id) : value_text(names[-1 - end]);
}

static tn_value end_list(const struct document *document, const int32_t *ends, uint32_t count) {
    tn_value list = value_array_reserve(count);
    for (uint32_t i = 0; i < count; i++) list = value_push_take(list, end_name(document, ends[i]));
    return list;
}

/* "acme.sentiment 1": a new minor version is the same component. */
static tn_value component_name(const struct component_info *component) {
    if (!component) return value_text("?");
    return value_format("%s %ld", component->id,
                        component->plugin_version ? strtol(component->plugin_version, NULL, 10) : 0);
}

static tn_value channel_identity(const struct document_channel *channel) {
    tn_value value = value_object_reserve(6);
    value = value_set_take(value, "name", value_ref(channel->name));
    value = value_set_take(value, "type", value_int(channel->type));
    value = value_set_take(value, "reducer", value_int(channel->reducer));
    value = value_set_take(value, "initial", value_ref(channel->initial));
    if (channel->reducer_component)
        value = value_set_take(value, "component", component_name(channel->reducer_component));
    if (channel->schema_value) value = value_set_take(value, "schema", value_ref(channel->schema_value));
    return value;
}

static tn_value retry_identity(const struct document_retry *retry) {
    tn_value value = value_object_reserve(4);
    value = value_set_take(value, "attempts", value_int(retry->max_attempts));
    value = value_set_take(value, "initial", value_int(retry->initial_ms));
    value = value_set_take(value, "max", value_int(retry->max_ms));
    return value_set_take(value, "factor", value_double(retry->factor));
}

/* Inner documents are shared; each is hashed once. */
struct known {
    const struct catalog *catalog;
    struct error *error;
    struct known_document {
        const struct document *document;
        tn_value hash;
    } * documents;
    size_t count;
};

static tn_value identity_of(struct known *known, const struct document *document);

static tn_value hash_of(struct known *known, const struct document *document) {
    for (size_t i = 0; i < known->count; i++)
        if (known->documents[i].document == document) return value_ref(known->documents[i].hash);
    tn_value identity = identity_of(known, document);
    if (!identity) return NULL;
    struct buffer text;
    struct tn_sha256 state;
    char hash[TN_SHA256_TEXT];
    buffer_init(&text, SIZE_MAX);
    json_write(&text, identity, JSON_SORTED);
    tn_sha256_init(&state);
    tn_sha256_update(&state, buffer_cstr(&text), text.length);
    tn_sha256_finish_text(&state, hash);
    buffer_finish(&text);
    value_unref(identity);
    MEM_EXTEND(known->documents, known->count);
    known->documents[known->count] = (struct known_document){document, value_text(hash)};
    return value_ref(known->documents[known->count++].hash);
}

static tn_value node_identity(struct known *known, const struct document *document, uint32_t index) {
    const struct document_node *node = &document->nodes[index];
    tn_value config = document_written_config(document, index, known->catalog, known->error);
    if (!config) return NULL;
    tn_value value = value_object_reserve(12);
    value = value_set_take(value, "id", value_ref(node->id));
    value = value_set_take(value, "component", component_name(node->component));
    value = value_set_take(value, "config", config);
    if (node->retry.max_attempts > 1) value = value_set_take(value, "retry", retry_identity(&node->retry));
    value = value_set_take(value, "timeout", value_int(node->timeout_total_ms));
    value = value_set_take(value, "idle", value_int(node->timeout_idle_ms));
    value = value_set_take(value, "cache", value_int(node->cache_ttl_ms));
    value = value_set_take(value, "before", value_bool(node->interrupt_before));
    value = value_set_take(value, "after", value_bool(node->interrupt_after));
    value = value_set_take(value, "defer", value_bool(node->defer));
    value = value_set_take(value, "on_error", end_name(document, node->on_error));
    struct document *inner = document_subgraph(document, index);
    if (!inner) return value;
    tn_value hash = hash_of(known, inner);
    if (hash) return value_set_take(value, "document", hash);
    value_unref(value);
    return NULL;
}

static tn_value edge_identity(const struct document *document, const struct document_edge *edge) {
    tn_value value = value_object_reserve(7);
    value = value_set_take(value, "kind", value_int(edge->kind));
    value = value_set_take(value, "from", end_list(document, edge->from, edge->from_count));
    if (edge->to_count) value = value_set_take(value, "to", end_list(document, edge->to, edge->to_count));
    if (edge->condition_count) {
        tn_value conditions = value_array_reserve(edge->condition_count);
        for (uint32_t i = 0; i < edge->condition_count; i++) {
            tn_value condition = value_set_take(value_object(), "if", value_ref(edge->conditions[i].text));
            condition = value_set_take(condition, "to", end_name(document, edge->conditions[i].to));
            conditions = value_push_take(conditions, condition);
        }
        value = value_set_take(value, "conditions", conditions);
    }
    if (edge->kind != EDGE_MAP) return value;
    if (edge->over_text) value = value_set_take(value, "over", value_ref(edge->over_text));
    if (edge->as_field != UINT32_MAX)
        value = value_set_take(value, "as", value_ref(document->locals[edge->as_field - document->channel_count]));
    return value_set_take(value, "empty", end_name(document, edge->empty));
}

static tn_value identity_of(struct known *known, const struct document *document) {
    tn_value nodes = value_array_reserve(document->node_count);
    for (uint32_t i = 0; i < document->node_count; i++) {
        tn_value node = node_identity(known, document, i);
        if (!node) {
            value_unref(nodes);
            return NULL;
        }
        nodes = value_push_take(nodes, node);
    }
    tn_value channels = value_array_reserve(document->channel_count);
    for (uint32_t i = 0; i < document->channel_count; i++)
        channels = value_push_take(channels, channel_identity(&document->channels[i]));
    tn_value edges = value_array_reserve(document->edge_count);
    for (uint32_t i = 0; i < document->edge_count; i++)
        edges = value_push_take(edges, edge_identity(document, &document->edges[i]));
    tn_value value = value_object_reserve(8);
    value = value_set_take(value, "nodes", nodes);
    value = value_set_take(value, "channels", channels);
    value = value_set_take(value, "edges", edges);
    value = value_set_take(value, "recursion_limit", value_int(document->recursion_limit));
    value = value_set_take(value, "timeout", value_int(document->timeout_ms));
    value = value_set_take(value, "strategy", value_int(document->strategy));
    if (document->output_value) value = value_set_take(value, "output", value_ref(document->output_value));
    if (document->budget) value = value_set_take(value, "budget", value_ref(document->budget));
    return value;
}

static void known_finish(struct known *known) {
    for (size_t i = 0; i < known->count; i++) value_unref(known->documents[i].hash);
    mem_free(known->documents);
}

tn_value document_hash(const struct document *document, const struct catalog *catalog, struct error *error) {
    struct known known = {catalog, error, NULL, 0};
    tn_value hash = hash_of(&known, document);
    known_finish(&known);
    return hash;
}
