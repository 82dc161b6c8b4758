/*
 * extract.c - whether some nodes can become a separate document: where they are entered and left, and what they
 * use.
 */
#include "adl/assist/extract_internal.h"
#include "adl/assist/walk.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/reducers.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include <string.h>

static const char *node_name(const struct extraction *extraction, int32_t node) {
    if (node == DOCUMENT_END) return "END";
    if (node < 0) return "START";
    return value_chars(extraction->document->nodes[node].id, NULL);
}

static bool is_inside(const struct extraction *extraction, int32_t node) {
    return node >= 0 && extraction->inside[node];
}

/* ---- Entries ---- */

static void note_entry(struct extraction *extraction, int32_t node) {
    if (extraction->entry == DOCUMENT_NOWHERE) extraction->entry = node;
    if (extraction->entry != node)
        assist_edits_refuse(extraction->edits, "the selected nodes are entered at two of them: `%s` and `%s`",
                            node_name(extraction, extraction->entry), node_name(extraction, node));
}

/* ---- Edges ---- */

struct edge_ends {
    uint32_t from_inside, to_inside, to_outside;
    int32_t outside;      /* a target outside … */
    bool several_outside; /* … and whether there are others */
};

static void count_target(const struct extraction *extraction, struct edge_ends *ends, int32_t to) {
    if (to == DOCUMENT_NOWHERE) return;
    if (is_inside(extraction, to)) {
        ends->to_inside++;
        return;
    }
    if (ends->to_outside++ && ends->outside != to) ends->several_outside = true;
    ends->outside = to;
}

static struct edge_ends ends_of(const struct extraction *extraction, const struct document_edge *edge) {
    struct edge_ends ends = {.outside = DOCUMENT_NOWHERE};
    for (uint32_t i = 0; i < edge->from_count; i++) ends.from_inside += is_inside(extraction, edge->from[i]);
    for (uint32_t i = 0; i < edge->to_count; i++) count_target(extraction, &ends, edge->to[i]);
    for (uint32_t i = 0; i < edge->condition_count; i++) count_target(extraction, &ends, edge->conditions[i].to);
    count_target(extraction, &ends, edge->empty);
    return ends;
}

static void note_entries(struct extraction *extraction, const struct document_edge *edge) {
    for (uint32_t i = 0; i < edge->to_count; i++)
        if (is_inside(extraction, edge->to[i])) note_entry(extraction, edge->to[i]);
    for (uint32_t i = 0; i < edge->condition_count; i++)
        if (is_inside(extraction, edge->conditions[i].to)) note_entry(extraction, edge->conditions[i].to);
    if (is_inside(extraction, edge->empty)) note_entry(extraction, edge->empty);
}

static void note_leaving(struct extraction *extraction, uint32_t index, const struct edge_ends *ends) {
    const struct document_edge *edge = &extraction->document->edges[index];
    bool first = extraction->leaving++ == 0;
    extraction->roles[index] = EXTRACT_LEAVES;
    if (first) extraction->first_leaving = index;
    if (edge->kind == EDGE_STATIC && ends->to_inside)
        assist_edits_refuse(extraction->edits, "an edge from `%s` leads to nodes inside and outside of the selection",
                            node_name(extraction, edge->from[0]));
    extraction->whole_exit = first && !ends->to_inside;
    if (first) extraction->exit = ends->several_outside ? DOCUMENT_NOWHERE : ends->outside;
    if (extraction->whole_exit) return;
    if (ends->several_outside || extraction->exit != ends->outside)
        assist_edits_refuse(extraction->edits, "the selected nodes are left to several nodes, such as `%s`",
                            node_name(extraction, ends->outside));
}

static void classify_edge(struct extraction *extraction, uint32_t index) {
    const struct document_edge *edge = &extraction->document->edges[index];
    const struct edge_ends ends = ends_of(extraction, edge);
    if (ends.from_inside && ends.from_inside < edge->from_count) {
        assist_edits_refuse(extraction->edits, "an edge joins nodes inside and outside of the selection");
    } else if (!ends.from_inside && ends.to_inside) {
        extraction->roles[index] = EXTRACT_ENTERS;
        note_entries(extraction, edge);
        if (edge->kind == EDGE_MAP) assist_edits_refuse(extraction->edits, "a map edge leads into the selection");
    } else if (ends.from_inside && !ends.to_outside) {
        extraction->roles[index] = EXTRACT_INSIDE;
    } else if (ends.from_inside) {
        if (edge->kind == EDGE_MAP) assist_edits_refuse(extraction->edits, "a map edge leads out of the selection");
        note_leaving(extraction, index, &ends);
    }
}

static void check_goto(struct extraction *extraction, uint32_t from, int32_t to, const char *what) {
    bool inside = extraction->inside[from];
    if (to == DOCUMENT_NOWHERE || inside == is_inside(extraction, to)) return;
    if (!inside)
        note_entry(extraction, to);
    else
        assist_edits_refuse(extraction->edits, "%s of `%s` leads to `%s`, which is not selected", what,
                            node_name(extraction, (int32_t)from), node_name(extraction, to));
}

static void refuse_commands(struct extraction *extraction) {
    const struct document *document = extraction->document;
    for (uint32_t i = 0; i < document->node_count; i++)
        if (may_lead_anywhere(document->nodes[i].component))
            assist_edits_refuse(extraction->edits, "`%s` may continue at any node", node_name(extraction, (int32_t)i));
}

static void classify_edges(struct extraction *extraction) {
    const struct document *document = extraction->document;
    refuse_commands(extraction);
    for (uint32_t i = 0; i < document->edge_count; i++) classify_edge(extraction, i);
    for (uint32_t i = 0; i < document->node_count; i++)
        check_goto(extraction, i, document->nodes[i].on_error, "`on_error`");
    for (uint32_t i = 0; i < document->link_count; i++)
        check_goto(extraction, document->links[i].from, document->links[i].to, "the config");
    if (extraction->entry == DOCUMENT_NOWHERE)
        assist_edits_refuse(extraction->edits, "nothing leads to the selected nodes");
}

/* ---- What the nodes use ---- */

/* The edge whose text contains the name; UINT32_MAX if it is in none. `next` moves with the names. */
static uint32_t edge_of_name(const struct extraction *extraction, const struct assist_name *name, uint32_t *next) {
    const struct document *document = extraction->document;
    while (*next < document->edge_count && document->edges[*next].span.end < name->span.end) ++*next;
    bool in = *next < document->edge_count && document->edges[*next].span.start <= name->span.start;
    return in ? *next : UINT32_MAX;
}

/* True if the edge's text moves, with its expressions. */
static bool edge_moves(const struct extraction *extraction, uint32_t edge) {
    if (edge == UINT32_MAX) return false;
    bool part = extraction->roles[edge] == EXTRACT_LEAVES && !extraction->whole_exit;
    return extraction->roles[edge] == EXTRACT_INSIDE || part;
}

static void refuse_item(struct extraction *extraction, const struct assist_name *name) {
    const struct document *document = extraction->document;
    int32_t field = document_find_field(document, name->text, name->length);
    for (uint32_t i = 0; i < document->edge_count; i++)
        if (document->edges[i].as_field == (uint32_t)field && extraction->roles[i] != EXTRACT_INSIDE)
            assist_edits_refuse(extraction->edits, "the selected nodes use `%s`, the item of a map edge outside",
                                name->text);
}

static void note_channel(struct extraction *extraction, const struct assist_name *name) {
    int32_t channel = document_find_channel(extraction->document, name->text, name->length);
    if (channel < 0) return;
    if (extraction->document->channels[channel].implicit)
        assist_edits_refuse(extraction->edits, "the selected nodes use the channel `error`");
    extraction->uses[channel] |= name->access | EXTRACT_USED;
}

/* `input` is the input of the run, which is another one in the new document. */
static void refuse_input(struct extraction *extraction, const struct source *source, struct span span) {
    if (assist_has_word(source, span, "input", strlen("input"), false))
        assist_edits_refuse(extraction->edits, "the selected nodes use `input`, the input of the run");
}

static void refuse_input_in_file(struct extraction *extraction, const struct assist_name *name) {
    for (size_t i = 1; name->path && i < extraction->names->source_count; i++) {
        const struct source *source = extraction->names->sources[i];
        if (strcmp(source_name(source), name->path) == 0)
            refuse_input(extraction, source, (struct span){0, (uint32_t)source_length(source)});
    }
}

static void note_use(struct extraction *extraction, const struct assist_name *name) {
    switch (name->kind) {
    case USE_CHANNEL: note_channel(extraction, name); break;
    case USE_ITEM: refuse_item(extraction, name); break;
    case USE_FILE: refuse_input_in_file(extraction, name); break;
    case USE_EXPRESSION:
    case USE_TEMPLATE: refuse_input(extraction, extraction->source, name->span); break;
    case USE_WHOLE_STATE:
        assist_edits_refuse(extraction->edits, "an expression of the selected nodes uses the whole state");
        break;
    default: break;
    }
}

static void note_uses(struct extraction *extraction) {
    const struct assist_names *names = extraction->names;
    uint32_t next = 0;
    int last_rank = -1;
    for (size_t i = 0; i < names->count; i++) {
        const struct assist_name *name = &names->items[i];
        int rank = i < names->own_count ? 0 : i < names->text_count ? 1 : 2;
        if (rank != last_rank) next = 0; /* each part of the list starts again */
        last_rank = rank;
        bool in_node = name->node < extraction->document->node_count && extraction->inside[name->node];
        bool in_edge = name->node == UINT32_MAX && name->file == 0 &&
                       edge_moves(extraction, edge_of_name(extraction, name, &next));
        if (in_node || in_edge) note_use(extraction, name);
    }
}

struct extract_channel extract_channel(const struct extraction *extraction, uint32_t index) {
    const struct document_channel *channel = &extraction->document->channels[index];
    bool read = (extraction->uses[index] & USE_READS) != 0, write = (extraction->uses[index] & USE_WRITES) != 0;
    bool single = channel->type == CHANNEL_LAST_VALUE || channel->type == CHANNEL_EPHEMERAL;
    if (!(extraction->uses[index] & EXTRACT_USED)) return (struct extract_channel){EXTRACT_PORT_NONE, false, false};
    if (single) return (struct extract_channel){EXTRACT_PORT_COPY, true, write};
    if (!write) return (struct extract_channel){EXTRACT_PORT_VALUE, true, false};
    switch (channel->reducer) {
    case REDUCER_UNION:
    case REDUCER_MESSAGES:
    case REDUCER_MERGE: return (struct extract_channel){EXTRACT_PORT_EMPTY, read, true};
    case REDUCER_NONE: /* append */
    case REDUCER_SUM:
        if (!read) return (struct extract_channel){EXTRACT_PORT_EMPTY, false, true};
        return (struct extract_channel){EXTRACT_PORT_REFUSED, false, false};
    default: return (struct extract_channel){EXTRACT_PORT_REFUSED, false, false};
    }
}

static void check_channels(struct extraction *extraction) {
    for (uint32_t i = 0; i < extraction->document->channel_count; i++)
        if (extract_channel(extraction, i).port == EXTRACT_PORT_REFUSED)
            assist_edits_refuse(extraction->edits,
                                "the selected nodes write the channel `%s`, whose reducer would merge a value twice",
                                value_chars(extraction->document->channels[i].name, NULL));
}

/* ---- The selection ---- */

static bool select_nodes(struct extraction *extraction, struct span selection) {
    uint32_t count = extraction->document->node_count;
    bool any = false;
    for (uint32_t i = 0; i < count && i < extraction->nodes->count; i++) {
        struct span span = extraction->nodes->items[i].node->span;
        extraction->inside[i] = span.start < selection.end && span.end > selection.start;
        if (extraction->inside[i] && !any) extraction->first = i;
        any |= extraction->inside[i];
    }
    return any;
}

/* Aliases would repeat a part of the text in two documents. */
static bool in_order(const struct tree_node *list) {
    for (uint32_t i = 1; list && i < list->count; i++)
        if (list->items[i].node->span.start < list->items[i - 1].node->span.end) return false;
    return true;
}

static void extract_checked(struct extraction *extraction) {
    const struct assist *assist = extraction->names->assist;
    if (diagnostics_errors(assist->found)) {
        assist_edits_refuse(extraction->edits, "the document has mistakes: correct them first");
        return;
    }
    if (!in_order(extraction->nodes) || !in_order(extraction->edges) || !in_order(extraction->channels)) {
        assist_edits_refuse(extraction->edits, "the document repeats nodes, edges or channels by aliases");
        return;
    }
    classify_edges(extraction);
    note_uses(extraction);
    check_channels(extraction);
    if (!extraction->edits->refusal) extract_write(extraction);
}

struct assist_edits *action_draft_extract(const struct assist_names *names, struct span selection) {
    const struct tree_node *root = tree_root(names->assist->tree);
    const struct document *document = names->assist->document;
    struct extraction extraction = {.names = names,
                                    .document = document,
                                    .source = names->sources[0],
                                    .nodes = tree_get(root, "nodes"),
                                    .edges = tree_get(root, "edges"),
                                    .channels = tree_get(root, "channels"),
                                    .entry = DOCUMENT_NOWHERE,
                                    .exit = DOCUMENT_NOWHERE,
                                    .edits = assist_edits_new()};
    if (!extraction.nodes || !extraction.edges || extraction.nodes->kind != TN_ARRAY)
        return assist_edits_refuse(extraction.edits, "the document has no nodes or no edges");
    extraction.inside = mem_zalloc((document->node_count + 1u) * sizeof *extraction.inside);
    extraction.roles = mem_zalloc((document->edge_count + 1u) * sizeof *extraction.roles);
    extraction.uses = mem_zalloc((document->channel_count + 1u) * sizeof *extraction.uses);
    if (select_nodes(&extraction, selection))
        extract_checked(&extraction);
    else
        assist_edits_refuse(extraction.edits, "no node is selected");
    mem_free(extraction.inside);
    mem_free(extraction.roles);
    mem_free(extraction.uses);
    return extraction.edits;
}

struct assist_edits *assist_extract(const struct assist_names *names, struct span selection) {
    return action_verify(names, action_draft_extract(names, selection));
}
