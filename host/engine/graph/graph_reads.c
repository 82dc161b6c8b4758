/*
 * graph_reads.c - collects the channels that nodes, edges and the result use.
 */
#include "host/engine/graph/graph_reads.h"
#include "adl/document/document.h"
#include "adl/expr/expr.h"
#include "adl/value/memory.h"
#include "host/engine/graph/graph.h"

struct graph_reads {
    bool *read; /* [channel] */
    uint32_t count;
    bool all;
};

static void add_read(struct graph_reads *reads, uint32_t channel) {
    if (channel < reads->count) reads->read[channel] = true;
}

static void add_expression(struct graph_reads *reads, const struct expr *expression) {
    for (size_t i = 0; expression && i < expr_use_count(expression); i++) {
        const struct expr_use *use = expr_use_at(expression, i);
        if (use->variable != DOCUMENT_VARIABLE_STATE) continue;
        if (use->field == EXPR_WHOLE)
            reads->all = true;
        else
            add_read(reads, use->field);
    }
}

static void add_edges(struct graph_reads *reads, const struct document *document) {
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        add_expression(reads, edge->over);
        for (uint32_t k = 0; k < edge->condition_count; k++) add_expression(reads, edge->conditions[k].expression);
    }
}

/* Without `output`, the result is the whole state. */
static void add_result(struct graph_reads *reads, const struct document *document) {
    tn_value properties = document->output_value ? value_get(document->output_value, "properties") : NULL;
    if (!properties) reads->all = true;
    for (size_t i = 0; i < value_count(properties); i++) {
        size_t length;
        const char *name = value_chars(value_key_at(properties, i), &length);
        int32_t channel = document_find_channel(document, name, length);
        if (channel >= 0) add_read(reads, (uint32_t)channel);
    }
}

static bool channel_only_grows(const struct document_channel *channel) {
    return !channel->implicit && (channel->type == CHANNEL_APPEND ||
                                  (channel->type == CHANNEL_REDUCE && channel->reducer == REDUCER_MESSAGES));
}

tn_value graph_unread_channels(struct graph *graph) {
    const struct document *document = graph->document;
    if (graph->unread) return graph->unread;
    struct graph_reads reads = {mem_zalloc(document->channel_count + 1), document->channel_count, graph->whole};
    for (uint32_t i = 0; i < document->node_count; i++)
        for (uint32_t k = 0; k < graph->nodes[i].read_count; k++) add_read(&reads, graph->nodes[i].reads[k]);
    add_edges(&reads, document);
    add_result(&reads, document);
    graph->unread = value_object();
    for (uint32_t i = 0; i < document->channel_count && !reads.all; i++)
        if (!reads.read[i] && channel_only_grows(&document->channels[i]) && !document->channels[i].schema)
            graph->unread = value_set_key_take(graph->unread, value_ref(document->channels[i].name), value_bool(true));
    mem_free(reads.read);
    return graph->unread;
}
