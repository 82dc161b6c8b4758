/*
 * check_writes.c - finds two writers of one channel in one super-step, as far as the document shows it.
 *
 * Nodes certainly run together if they are targets of static edges of one source and the strategy runs all of them, or
 * tasks of a map edge. A node writes the channels that its config names by x-tenon `channel-write`.
 */
#include "adl/document/reader.h"
#include "adl/value/memory.h"
#include <string.h>

struct stamp {
    uint32_t source; /* source + 1 of the last fan-out that writes the channel */
    uint32_t node;
    struct span span;
};

struct writers {
    struct reader *reader;
    struct stamp *stamps; /* one per channel */
};

static bool takes_one(const struct document_channel *channel) {
    if (channel->type_unread) return false;
    return channel->type == CHANNEL_LAST_VALUE || (channel->type == CHANNEL_EPHEMERAL && !channel->implicit);
}

static void writes_check_node(struct writers *writers, uint32_t source, int32_t target) {
    struct reader *reader = writers->reader;
    const struct document *document = reader->document;
    if (target < 0 || document->nodes[target].defer) return;
    const struct node_note *note = &reader->notes[target];
    for (uint32_t i = 0; i < note->write_count; i++) {
        const struct node_write *write = &reader->writes[note->first_write + i];
        struct stamp *stamp = &writers->stamps[write->channel];
        if (!takes_one(&document->channels[write->channel])) continue;
        if (stamp->source == source + 1 && stamp->node != (uint32_t)target) {
            const char *name = value_chars(document->channels[write->channel].name, NULL);
            struct diagnostic *it =
                report(reader, ADL_W103, write->span, "nodes `%s` and `%s` run in the same step, and both write `%s`",
                       value_chars(document->nodes[stamp->node].id, NULL),
                       value_chars(document->nodes[target].id, NULL), name);
            diagnostic_relate(it, reader->source, stamp->span, "the other write");
            diagnostic_suggest(it, "give `%s` a reducer, or run the nodes one after the other", name);
        }
        *stamp = (struct stamp){source + 1, (uint32_t)target, write->span};
    }
}

static void look_at_map(struct writers *writers, const struct document_edge *edge) {
    struct reader *reader = writers->reader;
    const struct document *document = reader->document;
    for (uint32_t t = 0; t < edge->to_count; t++) {
        if (edge->to[t] < 0) continue;
        const struct node_note *note = &reader->notes[edge->to[t]];
        for (uint32_t i = 0; i < note->write_count; i++) {
            const struct node_write *write = &reader->writes[note->first_write + i];
            const struct document_channel *channel = &document->channels[write->channel];
            if (!takes_one(channel)) continue;
            const char *name = value_chars(channel->name, NULL);
            struct diagnostic *it =
                report(reader, ADL_W103, write->span,
                       "node `%s` runs once for each item of a map edge, and every task writes `%s`",
                       value_chars(document->nodes[edge->to[t]].id, NULL), name);
            diagnostic_relate(it, reader->source, edge->span, "the map edge");
            diagnostic_suggest(it, "make `%s` an `append` channel, or give it a reducer", name);
        }
    }
}

/* Groups the static edges by source. */
static uint32_t *edges_by_source(const struct document *document, uint32_t **first) {
    uint32_t sources = document->node_count + 1;
    *first = mem_zalloc((sources + 2u) * sizeof **first);
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        if (edge->kind == EDGE_STATIC && edge->from_count == 1 && edge->from[0] >= DOCUMENT_START)
            (*first)[edge->from[0] + 3]++;
    }
    for (uint32_t i = 0; i < sources; i++) (*first)[i + 2] += (*first)[i + 1];
    uint32_t *edges = mem_array(NULL, (*first)[sources + 1] + 1u, sizeof *edges);
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        if (edge->kind == EDGE_STATIC && edge->from_count == 1 && edge->from[0] >= DOCUMENT_START)
            edges[(*first)[edge->from[0] + 2]++] = i;
    }
    return edges;
}

static void look_at_fan_outs(struct writers *writers) {
    const struct document *document = writers->reader->document;
    uint8_t *conditional = mem_zalloc(document->node_count + 1u);
    uint32_t *first, *edges = edges_by_source(document, &first);
    for (uint32_t i = 0; i < document->edge_count; i++)
        if (document->edges[i].kind == EDGE_CONDITIONAL && document->edges[i].from_count == 1 &&
            document->edges[i].from[0] >= DOCUMENT_START)
            conditional[document->edges[i].from[0] + 1] = 1;
    for (uint32_t source = 0; source <= document->node_count; source++) {
        if (conditional[source]) continue;
        for (uint32_t i = first[source]; i < first[source + 1]; i++) {
            const struct document_edge *edge = &document->edges[edges[i]];
            for (uint32_t t = 0; t < edge->to_count; t++) writes_check_node(writers, source, edge->to[t]);
        }
    }
    mem_free(conditional);
    mem_free(first);
    mem_free(edges);
}

void check_writes(struct reader *reader) {
    const struct document *document = reader->document;
    if (reader->write_count == 0) return;
    struct writers writers = {reader, mem_zalloc((document->channel_count + 1u) * sizeof(struct stamp))};
    if (document->strategy == STRATEGY_PARALLEL) look_at_fan_outs(&writers);
    for (uint32_t i = 0; i < document->edge_count; i++)
        if (document->edges[i].kind == EDGE_MAP) look_at_map(&writers, &document->edges[i]);
    mem_free(writers.stamps);
}
