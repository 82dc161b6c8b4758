/*
 * check_edge.c - checks for edges without effect: conditions after one that always holds, static edges that a
 * conditional edge replaces, duplicate edges; and conditional edges without a default.
 */
#include "adl/document/reader.h"
#include "adl/value/memory.h"

static void check_condition_order(struct reader *reader, const struct document_edge *edge,
                                  const struct tree_node *node) {
    uint32_t always = UINT32_MAX;
    for (uint32_t i = 0; i < edge->condition_count; i++) {
        const struct document_condition *condition = &edge->conditions[i];
        bool holds = value_text_is(condition->text, "default") || value_text_is(condition->text, "true");
        if (always != UINT32_MAX) {
            struct diagnostic *it =
                report(reader, ADL_W104, condition->span, "this condition is never tried: one before it always holds");
            diagnostic_relate(it, reader->source, edge->conditions[always].span, "this one");
            diagnostic_suggest(it, "put `default` last");
        } else if (holds) {
            always = i;
        }
    }
    if (always != UINT32_MAX || edge->condition_count == 0) return;
    const struct tree_item *item = tree_find(node, "conditions");
    struct diagnostic *it = report(reader, ADL_W102, item ? item->key_span : edge->span,
                                   "none of the conditions is `default`: if none holds, the run goes to END");
    diagnostic_suggest(it, "add a default, for example `- {expression: default, to: END}`");
}

/* `conditional` is the source's conditional edge + 1. */
static void check_taken(struct reader *reader, const struct document_edge *edge, uint32_t conditional) {
    if (!conditional) return;
    struct diagnostic *it = report(reader, ADL_W105, edge->span,
                                   "this edge is never taken: a conditional edge from the "
                                   "same node replaces it");
    diagnostic_relate(it, reader->source, reader->document->edges[conditional - 1].span, "the conditional edge");
}

struct pair {
    int32_t from, to;
    uint32_t edge; /* edge + 1, or 0 if the slot is free */
};

/* A hash table with open addressing over pairs of ends. */
static uint32_t *pair_slot(struct pair *pairs, uint32_t mask, int32_t from, int32_t to) {
    uint64_t hash = ((uint64_t)(uint32_t)from << 32 | (uint32_t)to) * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(hash >> 32) & mask;
    while (pairs[at].edge && (pairs[at].from != from || pairs[at].to != to)) at = (at + 1) & mask;
    pairs[at].from = from;
    pairs[at].to = to;
    return &pairs[at].edge;
}

static void check_repeated(struct reader *reader) {
    const struct document *document = reader->document;
    uint64_t count = 0;
    for (uint32_t i = 0; i < document->edge_count; i++) count += document->edges[i].to_count;
    uint32_t size = 16;
    while (size < count * 2) size *= 2;
    struct pair *pairs = mem_zalloc(size * sizeof *pairs);
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        if (edge->kind != EDGE_STATIC || edge->from_count != 1 || edge->from[0] == DOCUMENT_NOWHERE) continue;
        for (uint32_t t = 0; t < edge->to_count; t++) {
            if (edge->to[t] == DOCUMENT_NOWHERE) continue;
            uint32_t *slot = pair_slot(pairs, size - 1, edge->from[0], edge->to[t]);
            if (*slot && *slot != i + 1) {
                struct diagnostic *it = report(reader, ADL_W109, edge->span, "the document has this edge already");
                diagnostic_relate(it, reader->source, document->edges[*slot - 1].span, "the first one");
            }
            if (!*slot) *slot = i + 1;
        }
    }
    mem_free(pairs);
}

void check_edges(struct reader *reader, const struct tree_item *item) {
    const struct document *document = reader->document;
    uint32_t *conditional = mem_zalloc((document->node_count + 1u) * sizeof *conditional); /* [from + 1]: edge + 1 */
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        if (edge->kind != EDGE_CONDITIONAL || edge->from_count != 1 || edge->from[0] < DOCUMENT_START) continue;
        if (!conditional[edge->from[0] + 1]) conditional[edge->from[0] + 1] = i + 1;
    }
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        if (edge->kind == EDGE_CONDITIONAL) check_condition_order(reader, edge, item->node->items[i].node);
        if (edge->kind == EDGE_STATIC && edge->from_count == 1 && edge->from[0] >= DOCUMENT_START)
            check_taken(reader, edge, conditional[edge->from[0] + 1]);
    }
    mem_free(conditional);
    check_repeated(reader);
}
