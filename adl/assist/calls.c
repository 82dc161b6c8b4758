/*
 * calls.c - connections of nodes: gathered for each node in an array, then listed.
 */
#include "adl/assist/calls.h"
#include "adl/document/document.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include <string.h>

/* The connection to one node. */
struct connection {
    bool any, edge;
    struct buffer channels;
    const char *last_channel; /* the last one of `channels` */
    struct span *ranges;
    size_t range_count;
};

struct connections {
    const struct assist_names *names;
    const struct document *document;
    struct connection *nodes; /* [node] */
    bool incoming;
};

static void connection_add(struct connections *all, int32_t node, struct span span) {
    if (node < 0) return;
    struct connection *connection = &all->nodes[node];
    if (!connection->any) buffer_init(&connection->channels, SIZE_MAX);
    connection->any = true;
    for (size_t i = 0; i < connection->range_count; i++)
        if (connection->ranges[i].start == span.start) return;
    if (connection->range_count == ASSIST_RANGES_MAX) return;
    MEM_EXTEND(connection->ranges, connection->range_count);
    connection->ranges[connection->range_count++] = span;
}

static void connect_edge(struct connections *all, int32_t node, struct span span) {
    if (node < 0) return;
    connection_add(all, node, span);
    all->nodes[node].edge = true;
}

/* ---- By edges ---- */

static bool has_end(const int32_t *ends, uint32_t count, int32_t node) {
    for (uint32_t i = 0; i < count; i++)
        if (ends[i] == node) return true;
    return false;
}

static bool leads_to(const struct document_edge *edge, int32_t node) {
    bool found = has_end(edge->to, edge->to_count, node) || edge->empty == node;
    for (uint32_t i = 0; i < edge->condition_count && !found; i++) found = edge->conditions[i].to == node;
    return found;
}

static void connect_targets(struct connections *all, const struct document_edge *edge) {
    for (uint32_t i = 0; i < edge->to_count; i++) connect_edge(all, edge->to[i], edge->span);
    for (uint32_t i = 0; i < edge->condition_count; i++)
        connect_edge(all, edge->conditions[i].to, edge->conditions[i].span);
    connect_edge(all, edge->empty, edge->span);
}

static void connect_by_edges(struct connections *all, int32_t node) {
    const struct document *document = all->document;
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        if (!all->incoming && has_end(edge->from, edge->from_count, node)) connect_targets(all, edge);
        if (!all->incoming || !leads_to(edge, node)) continue;
        for (uint32_t k = 0; k < edge->from_count; k++) connect_edge(all, edge->from[k], edge->span);
    }
    for (uint32_t i = 0; i < document->link_count; i++) {
        const struct document_link *link = &document->links[i];
        struct span span = document->nodes[link->from].config_span;
        if (all->incoming && link->to == node) connect_edge(all, (int32_t)link->from, span);
        if (!all->incoming && link->from == (uint32_t)node) connect_edge(all, link->to, span);
    }
    for (uint32_t i = 0; i < document->node_count; i++) {
        const struct document_node *from = &document->nodes[i];
        if (all->incoming && from->on_error == node) connect_edge(all, (int32_t)i, from->id_span);
        if (!all->incoming && i == (uint32_t)node) connect_edge(all, from->on_error, from->id_span);
    }
}

/* ---- By channels ---- */

/* All names of one channel, which share their text, are noted one after the other. */
static void note_channel_name(struct connection *connection, const char *name) {
    if (connection->last_channel == name) return;
    connection->last_channel = name;
    buffer_format(&connection->channels, "%s%s", connection->channels.length ? ", " : "", name);
}

static struct span range_of(const struct connections *all, const struct assist_name *name) {
    bool here = name->file == 0 && name->form < USE_DEFAULT;
    return here ? name->span : all->document->nodes[name->node].id_span;
}

/*
 * Connects all nodes that write the channel, or read it if the direction is outgoing. `other` is the place at the node
 * of the item, which is the first of the two if the direction is outgoing; NULL if the item is the channel.
 */
static void connect_by_channel(struct connections *all, const struct assist_name *channel,
                               const struct assist_name *other) {
    size_t count;
    uint32_t access = all->incoming ? USE_WRITES : USE_READS;
    const uint32_t *with = assist_names_with(all->names, channel->text, channel->length, &count);
    for (size_t i = 0; i < count; i++) {
        const struct assist_name *name = &all->names->items[with[i]];
        if (name->kind != USE_CHANNEL || !(name->access & access)) continue;
        if (name->node >= all->document->node_count) continue;
        connection_add(all, (int32_t)name->node, range_of(all, all->incoming || !other ? name : other));
        note_channel_name(&all->nodes[name->node], channel->text);
    }
}

static void connect_by_channels(struct connections *all, uint32_t node) {
    const struct assist_names *names = all->names;
    uint32_t access = all->incoming ? USE_READS : USE_WRITES;
    tn_value seen = value_object();
    for (size_t i = 0; i < names->count; i++) {
        const struct assist_name *name = &names->items[i];
        if (name->node != node || name->kind != USE_CHANNEL || !(name->access & access)) continue;
        if (value_get(seen, name->text)) continue;
        seen = value_set_take(seen, name->text, value_bool(true));
        connect_by_channel(all, name, name);
    }
    value_unref(seen);
}

/* ---- The answer ---- */

static void set_item(struct assist_call_item *item, const struct assist_names *names,
                     const struct assist_name *definition) {
    const struct document *document = names->assist->document;
    *item = (struct assist_call_item){
        .kind = definition->kind, .name = definition->text, .span = definition->span, .name_span = definition->span};
    if (definition->kind == USE_NODE && definition->node < document->node_count)
        item->span = document->nodes[definition->node].span;
    int32_t channel =
        definition->kind == USE_CHANNEL ? document_find_channel(document, definition->text, definition->length) : -1;
    if (channel >= 0) item->span = document->channels[channel].span;
    if (item->span.start > item->name_span.start || item->span.end < item->name_span.end) item->span = item->name_span;
}

bool assist_calls_prepare(const struct assist_names *names, uint32_t offset, struct assist_call_item *item) {
    const struct assist_name *name = assist_names_at(names, offset);
    if (!name || (name->kind != USE_NODE && name->kind != USE_CHANNEL)) return false;
    const struct assist_name *definition = assist_names_definition(names, name->kind, name->text, name->length);
    if (!definition) return false;
    set_item(item, names, definition);
    return true;
}

static void list_connection(struct assist_calls *calls, const struct assist_names *names, uint32_t node,
                            struct connection *connection) {
    const struct document *document = names->assist->document;
    size_t length;
    const char *id = value_chars(document->nodes[node].id, &length);
    const struct assist_name *definition = assist_names_definition(names, USE_NODE, id, length);
    if (!connection->any || !definition || calls->count == ASSIST_CALLS_MAX) return;
    MEM_EXTEND(calls->items, calls->count);
    struct assist_call *call = &calls->items[calls->count++];
    *call = (struct assist_call){.edge = connection->edge,
                                 .channels = mem_text(buffer_cstr(&connection->channels)),
                                 .ranges = connection->ranges,
                                 .range_count = connection->range_count};
    connection->ranges = NULL;
    set_item(&call->item, names, definition);
}

struct assist_calls *assist_calls(const struct assist_names *names, const struct assist_call_item *item,
                                  enum assist_calls_direction direction) {
    const struct document *document = names->assist->document;
    struct assist_calls *calls = mem_zalloc(sizeof *calls);
    struct connections all = {names, document, NULL, direction == ASSIST_CALLS_INCOMING};
    all.nodes = mem_zalloc((document->node_count + 1u) * sizeof *all.nodes);
    size_t length = strlen(item->name);
    const struct assist_name *definition = assist_names_definition(names, item->kind, item->name, length);
    int32_t node = item->kind == USE_NODE ? document_find_node(document, item->name, length) : -1;
    if (definition && item->kind == USE_CHANNEL) connect_by_channel(&all, definition, NULL);
    if (node >= 0) connect_by_edges(&all, node);
    if (node >= 0) connect_by_channels(&all, (uint32_t)node);
    for (uint32_t i = 0; i < document->node_count; i++) {
        list_connection(calls, names, i, &all.nodes[i]);
        if (all.nodes[i].any) buffer_finish(&all.nodes[i].channels);
        mem_free(all.nodes[i].ranges);
    }
    mem_free(all.nodes);
    return calls;
}

void assist_calls_free(struct assist_calls *calls) {
    if (!calls) return;
    for (size_t i = 0; i < calls->count; i++) {
        mem_free(calls->items[i].channels);
        mem_free(calls->items[i].ranges);
    }
    mem_free(calls->items);
    mem_free(calls);
}
