/*
 * check_graph.c - checks the whole graph: its entry, unreachable nodes, endless loops, and edges without effect.
 *
 * Vertices are START, the nodes and END. For an unreachable part only its entry is reported, and for a loop without
 * exit only one node, because the others follow. If edges could not be read, or name an unknown node without a near
 * one, reachability is not reported: any node could be meant.
 */
#include "adl/document/reader.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include <string.h>

/*
 * Adjacent vertices. END is 0, START is 1, then come the nodes, then one vertex for each edge with many sources and
 * many targets.
 */
struct adjacency {
    uint32_t *first; /* [vertex] .. [vertex + 1] in targets */
    uint32_t *targets;
};

struct check {
    struct reader *reader;
    const struct document *document;
    uint32_t nodes, vertices; /* one past the last node; one past the last vertex */
    struct adjacency out, in;
    uint32_t *queue, *spare;
    uint8_t *marks; /* results of the walks; the bits below */
};

#define REACHED 1u  /* reachable from START */
#define ENDS    2u  /* reaches END */
#define COVERED 4u  /* follows from a reported problem */
#define LOOSE   8u  /* one of its edges has an unknown target (reported): it may lead anywhere */
#define LOOPING 16u /* part of the vertices after an endless loop */

#define MEANT 32u /* target of an edge with a mistyped source */

static uint32_t vertex(int32_t end) { return (uint32_t)(end + 2); }
#define END_VERTEX   ((uint32_t)(DOCUMENT_END + 2))
#define START_VERTEX ((uint32_t)(DOCUMENT_START + 2))
#define NODE_VERTEX  2u                                 /* the first node; check->nodes is one past the last */
#define NOWHERE      ((uint32_t)(DOCUMENT_NOWHERE + 2)) /* the vertex for an unknown end */

typedef void (*arc_fn)(struct check *check, uint32_t from, uint32_t to);

static bool condition_is_default(const struct document_condition *condition) {
    return value_text_is(condition->text, "default");
}

/* Visits the arcs from one vertex along an edge. */
static void arcs_from(struct check *check, arc_fn arc, uint32_t from, const struct document_edge *edge) {
    bool falls_through = edge->kind == EDGE_CONDITIONAL && edge->condition_count > 0;
    for (uint32_t t = 0; t < edge->to_count; t++) arc(check, from, vertex(edge->to[t]));
    for (uint32_t c = 0; c < edge->condition_count; c++) {
        arc(check, from, vertex(edge->conditions[c].to));
        falls_through &= !condition_is_default(&edge->conditions[c]);
    }
    if (edge->kind == EDGE_MAP && edge->empty != DOCUMENT_NOWHERE) arc(check, from, vertex(edge->empty));
    if (falls_through) arc(check, from, END_VERTEX);
    if (edge->to_count + edge->condition_count == 0) arc(check, from, NOWHERE); /* reported */
}

/* Many sources with many targets go through a vertex between them, because the pairs would be a large table. */
static bool needs_middle(const struct document_edge *edge) {
    return edge->from_count > 1 && edge->to_count + edge->condition_count > 1;
}

/* Visits every arc of the graph, including those with an unknown end. */
static void each_arc(struct check *check, arc_fn arc) {
    const struct document *document = check->document;
    uint32_t middle = check->nodes;
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        if (needs_middle(edge)) {
            for (uint32_t f = 0; f < edge->from_count; f++) arc(check, vertex(edge->from[f]), middle);
            arcs_from(check, arc, middle++, edge);
            continue;
        }
        for (uint32_t f = 0; f < edge->from_count; f++) arcs_from(check, arc, vertex(edge->from[f]), edge);
    }
    for (uint32_t i = 0; i < document->node_count; i++)
        if (check->reader->notes[i].on_error) arc(check, vertex((int32_t)i), vertex(document->nodes[i].on_error));
    for (uint32_t i = 0; i < document->link_count; i++)
        arc(check, vertex((int32_t)document->links[i].from), vertex(document->links[i].to));
}

static void count_arc(struct check *check, uint32_t from, uint32_t to) {
    if (from == NOWHERE || to == NOWHERE) {
        if (from != NOWHERE) check->marks[from] |= LOOSE;
        if (to != NOWHERE) check->marks[to] |= MEANT;
        return;
    }
    check->out.first[from + 1]++;
    check->in.first[to + 1]++;
}

static void fill_arc(struct check *check, uint32_t from, uint32_t to) {
    if (from == NOWHERE || to == NOWHERE) return;
    check->out.targets[check->out.first[from]++] = to;
    check->in.targets[check->in.first[to]++] = from;
}

static void adjacency_sum(struct adjacency *adjacency, uint32_t vertices) {
    for (uint32_t i = 0; i < vertices; i++) adjacency->first[i + 1] += adjacency->first[i];
    adjacency->targets = mem_array(NULL, adjacency->first[vertices] + 1u, sizeof *adjacency->targets);
}

/* Filling has moved each start to the next one; move them back. */
static void adjacency_rewind(struct adjacency *adjacency, uint32_t vertices) {
    memmove(adjacency->first + 1, adjacency->first, vertices * sizeof *adjacency->first);
    adjacency->first[0] = 0;
}

static void check_init(struct check *check, struct reader *reader) {
    uint32_t nodes = reader->document->node_count + NODE_VERTEX, vertices = nodes;
    for (uint32_t i = 0; i < reader->document->edge_count; i++) vertices += needs_middle(&reader->document->edges[i]);
    *check = (struct check){.reader = reader, .document = reader->document, .nodes = nodes, .vertices = vertices};
    check->out.first = mem_zalloc((vertices + 1u) * sizeof(uint32_t));
    check->in.first = mem_zalloc((vertices + 1u) * sizeof(uint32_t));
    check->marks = mem_zalloc(vertices);
    check->queue = mem_array(NULL, vertices, sizeof *check->queue);
    check->spare = mem_array(NULL, vertices, sizeof *check->spare);
    each_arc(check, count_arc);
    adjacency_sum(&check->out, vertices);
    adjacency_sum(&check->in, vertices);
    each_arc(check, fill_arc);
    adjacency_rewind(&check->out, vertices);
    adjacency_rewind(&check->in, vertices);
}

static void graph_check_finish(struct check *check) {
    mem_free(check->out.first);
    mem_free(check->out.targets);
    mem_free(check->in.first);
    mem_free(check->in.targets);
    mem_free(check->marks);
    mem_free(check->queue);
    mem_free(check->spare);
}

/* Sets `mark` on all vertices reachable from `root`, including it; returns their number. They are in the queue. */
static uint32_t walk(struct check *check, const struct adjacency *along, uint32_t root, uint8_t mark) {
    uint32_t head = 0, tail = 0;
    if (check->marks[root] & mark) return 0;
    check->marks[root] |= mark;
    check->queue[tail++] = root;
    while (head < tail) {
        uint32_t here = check->queue[head++];
        for (uint32_t i = along->first[here]; i < along->first[here + 1]; i++) {
            uint32_t next = along->targets[i];
            if (check->marks[next] & mark) continue;
            check->marks[next] |= mark;
            check->queue[tail++] = next;
        }
    }
    return tail;
}

static const struct document_node *vertex_node(const struct check *check, uint32_t at) {
    return &check->document->nodes[at - NODE_VERTEX];
}

/* ---- The entry ---- */

static bool has_entry(const struct document *document) {
    for (uint32_t i = 0; i < document->edge_count; i++)
        for (uint32_t f = 0; f < document->edges[i].from_count; f++)
            if (document->edges[i].from[f] == DOCUMENT_START) return true;
    return false;
}

static void report_no_entry(struct reader *reader, struct span span) {
    struct diagnostic *it = report(reader, ADL_E037, span, "no edge leads from START, so nothing would run");
    for (uint32_t i = 0; i < reader->document->node_count; i++) {
        if (reader->notes[i].nameless) continue;
        diagnostic_suggest(it, "for example `- {from: START, to: %s}`",
                           value_chars(reader->document->nodes[i].id, NULL));
        return;
    }
}

/* ---- Reaching ---- */

static void report_unreachable(struct check *check, uint32_t at) {
    const struct document_node *node = vertex_node(check, at);
    struct diagnostic *it = report(check->reader, ADL_E046, node->id_span, "no path leads from START to node `%s`",
                                   value_chars(node->id, NULL));
    diagnostic_suggest(it, "add an edge to it, or remove it");
    walk(check, &check->out, at, COVERED);
}

/*
 * A node type whose published output has `goto` or `send` may continue at any node. So may one that is not known: its
 * config can name nodes, and what only follows from an unknown type is not reported.
 */
bool may_lead_anywhere(const struct component_info *component) {
    if (!component) return true;
    tn_value properties = component->output ? value_get(schema_document(component->output), "properties") : NULL;
    return properties && (value_get(properties, "goto") || value_get(properties, "send"));
}

static bool any_leads_anywhere(const struct check *check) {
    for (uint32_t i = 0; i < check->document->node_count; i++)
        if ((check->marks[i + NODE_VERTEX] & REACHED) && may_lead_anywhere(check->document->nodes[i].component))
            return true;
    return false;
}

static void check_reached(struct check *check) {
    const struct reader *reader = check->reader;
    walk(check, &check->out, START_VERTEX, REACHED);
    if (any_leads_anywhere(check)) return;
    for (uint32_t i = 0; i < check->document->node_count; i++) {
        const struct node_note *note = &reader->notes[i];
        if (note->meant || note->duplicate || note->nameless) walk(check, &check->out, i + NODE_VERTEX, REACHED);
    }
    for (uint32_t at = NODE_VERTEX; at < check->vertices; at++)
        if (check->marks[at] & MEANT) walk(check, &check->out, at, REACHED);
    for (uint32_t at = NODE_VERTEX; at < check->nodes; at++) { /* entries of unreachable parts */
        if (check->marks[at] & REACHED) continue;
        bool begins = true;
        for (uint32_t i = check->in.first[at]; i < check->in.first[at + 1]; i++) begins &= check->in.targets[i] == at;
        if (begins) report_unreachable(check, at);
    }
    for (uint32_t at = NODE_VERTEX; at < check->nodes; at++) /* loops without an entry */
        if (!(check->marks[at] & (REACHED | COVERED))) report_unreachable(check, at);
}

/* ---- Ending ---- */

static void report_dead_ends(struct check *check) {
    for (uint32_t at = NODE_VERTEX; at < check->nodes; at++) {
        const struct node_note *note = &check->reader->notes[at - NODE_VERTEX];
        if ((check->marks[at] & (REACHED | ENDS)) != REACHED || note->duplicate || note->nameless) continue;
        if (check->out.first[at] != check->out.first[at + 1]) continue;
        const char *id = value_chars(vertex_node(check, at)->id, NULL);
        struct diagnostic *it = report(check->reader, ADL_W101, vertex_node(check, at)->id_span,
                                       "no edge leaves node `%s`: the run stops there", id);
        diagnostic_suggest(it, "write `- {from: %s, to: END}`, or add the edge that is missing", id);
    }
}

/*
 * Marks what the report of an endless loop covers: all vertices it leads to, and all that lead to those. Reports never
 * overlap, because a vertex that leads to a covered one is covered.
 */
static void report_loop(struct check *check, uint32_t at) {
    const char *id = value_chars(vertex_node(check, at)->id, NULL);
    struct diagnostic *it = report(check->reader, ADL_W101, vertex_node(check, at)->id_span,
                                   "no path leads from node `%s` to END: the run continues until its limit", id);
    diagnostic_suggest(it, "add an edge to END after the last step");
    uint32_t found = walk(check, &check->out, at, LOOPING);
    uint32_t *inside = check->queue;
    check->queue = check->spare;
    for (uint32_t i = 0; i < found; i++) walk(check, &check->in, inside[i], COVERED);
    check->spare = check->queue;
    check->queue = inside;
}

static void check_ends(struct check *check) {
    walk(check, &check->in, END_VERTEX, ENDS);
    for (uint32_t at = NODE_VERTEX; at < check->vertices; at++) {
        check->marks[at] &= (uint8_t)~COVERED;
        if (check->marks[at] & LOOSE) walk(check, &check->in, at, ENDS);
    }
    for (uint32_t at = NODE_VERTEX; at < check->nodes; at++)
        if (may_lead_anywhere(vertex_node(check, at)->component)) walk(check, &check->in, at, ENDS);
    report_dead_ends(check);
    for (uint32_t at = NODE_VERTEX; at < check->nodes; at++)
        if (check->out.first[at] == check->out.first[at + 1]) walk(check, &check->in, at, COVERED);
    for (uint32_t at = NODE_VERTEX; at < check->nodes; at++)
        if ((check->marks[at] & (REACHED | ENDS | COVERED)) == REACHED) report_loop(check, at);
}

void check_graph(struct reader *reader, const struct tree_item *edges) {
    struct check check;
    check_init(&check, reader);
    bool known = reader->edges_whole && !reader->edge_unknown;
    bool entry = has_entry(reader->document);
    if (!entry && known && !reader->start_meant && reader->document->node_count)
        report_no_entry(reader, edges->key_span);
    if (known && entry) {
        check_reached(&check);
        check_ends(&check);
    }
    graph_check_finish(&check);
}
