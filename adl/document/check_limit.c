/*
 * check_limit.c - reports a document whose every run needs more super-steps than its recursion limit allows.
 *
 * The beginning of a run does not depend on data: it is followed step by step, along static edges and joins, exactly as
 * a run does it. Where a branch depends on data (conditions, lists, failures, nodes that choose their successor), the
 * shortest way from there to the end is added, its *need*: of several conditions the shortest way, an empty list, a
 * join that does not fire, but of several static edges the longest, because all are taken.
 *
 * Nothing is reported that a run could avoid. A resumed run has the whole limit again, so following ends where a run
 * can be interrupted, and no need is added in a document with such a node. A loop that a condition can leave is left at
 * once. A loop that nothing can leave has no need, and is reported by check_graph.c.
 *
 * The need is computed in time that is linear in nodes and edges; following visits at most LIMIT_WORK_MAX nodes.
 */
#include "adl/document/reader.h"
#include "adl/value/memory.h"
#include <string.h>

#define UNKNOWN        UINT32_MAX
#define LIMIT_WORK_MAX 2000000u

/* Lists of numbers, one after another. */
struct limit_lists {
    uint32_t *first; /* [index] .. [index + 1] in items */
    uint32_t *items;
};

/*
 * A vertex is a node, or START after them. A group is what one target can complete: a static edge has that of its
 * source, with the vertex as its number; then come one for each other edge, and one for `on_error` of each node.
 */
struct limit {
    const struct reader *reader;
    const struct document *document;
    uint32_t nodes, start;    /* the number of nodes; the vertex of START, which follows them */
    bool interrupts;          /* a node may interrupt the run */
    bool *interrupting;       /* [vertex] */
    bool *branching;          /* [vertex]: what follows depends on data */
    bool *conditional;        /* [vertex]: it has a conditional edge, which excludes its static edges */
    bool *open;               /* [edge]: it waits for the first of its targets with a known need */
    uint32_t *waits;          /* [vertex]: the number of successors whose need is not known yet */
    uint32_t *need;           /* [vertex]: the super-steps from the node on, with it; UNKNOWN */
    uint32_t *arrived;        /* [edge]: of a join, the number of its sources that have run */
    uint32_t *seen;           /* [vertex]: the number of the last step for which it was planned */
    bool *ran;                /* [vertex] */
    struct limit_lists into;  /* [vertex]: the groups of which it is a target */
    struct limit_lists edges; /* [vertex]: the edges that leave it */
};

static uint32_t limit_vertex(const struct limit *limit, int32_t end) {
    return end == DOCUMENT_START ? limit->start : (uint32_t)end;
}

static bool edge_is_join(const struct document_edge *edge) { return edge->kind == EDGE_STATIC && edge->from_count > 1; }

/* ---- Lists ---- */

/* Sums the counts at [index + 1], so that they become the beginnings, from which limit_lists_add moves them on. */
static void limit_lists_begin(struct limit_lists *lists, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) lists->first[i + 1] += lists->first[i];
    lists->items = mem_array(NULL, lists->first[count] + 1u, sizeof *lists->items);
}

static void limit_lists_add(struct limit_lists *lists, uint32_t index, uint32_t item) {
    lists->items[lists->first[index]++] = item;
}

static void limit_lists_end(struct limit_lists *lists, uint32_t count) {
    memmove(lists->first + 1, lists->first, count * sizeof *lists->first);
    lists->first[0] = 0;
}

/* ---- Nodes ---- */

/* A node with such effects can need an approval. */
static bool effects_may_ask(tn_value effects) {
    if (!effects || !value_is(effects, TN_ARRAY)) return true;
    for (size_t i = 0; i < value_count(effects); i++)
        if (value_text_is(value_at(effects, i), "destructive")) return true;
    return false;
}

/* True if a run can be interrupted at the node, or does not continue after it for certain. */
static bool node_may_interrupt(const struct limit *limit, uint32_t index) {
    static const char *const asking[] = {"ask", "delegate", "subgraph", "agent", "tool", "tools", "fail"};
    const struct document_node *node = &limit->document->nodes[index];
    const struct node_note *note = &limit->reader->notes[index];
    if (!node->component || node->interrupt_before || node->interrupt_after || note->tool || note->model_chooses)
        return true;
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++)
        if (value_text_is(node->type, asking[i])) return true;
    return effects_may_ask(node->component->effects);
}

static void limit_see_nodes(struct limit *limit) {
    const struct document *document = limit->document;
    for (uint32_t i = 0; i < limit->nodes; i++) {
        limit->interrupting[i] = node_may_interrupt(limit, i);
        limit->branching[i] = limit->reader->notes[i].on_error || may_lead_anywhere(document->nodes[i].component);
        limit->interrupts |= limit->interrupting[i];
    }
    for (uint32_t i = 0; i < document->link_count; i++) limit->branching[document->links[i].from] = true;
    for (uint32_t e = 0; e < document->edge_count; e++) {
        const struct document_edge *edge = &document->edges[e];
        for (uint32_t f = 0; edge->kind != EDGE_STATIC && f < edge->from_count; f++) {
            limit->branching[limit_vertex(limit, edge->from[f])] = true;
            if (edge->kind == EDGE_CONDITIONAL) limit->conditional[limit_vertex(limit, edge->from[f])] = true;
        }
    }
}

/* ---- Edges ---- */

typedef void (*limit_arc_fn)(struct limit *limit, uint32_t group, uint32_t to);

/* Visits the targets that are nodes, except those of joins. */
static void limit_each_arc(struct limit *limit, limit_arc_fn arc) {
    const struct document *document = limit->document;
    for (uint32_t e = 0; e < document->edge_count; e++) {
        const struct document_edge *edge = &document->edges[e];
        uint32_t group = limit->start + 1 + e;
        if (edge->kind == EDGE_MAP && edge->empty >= 0) arc(limit, group, (uint32_t)edge->empty);
        if (edge->kind == EDGE_STATIC) {
            uint32_t from = limit_vertex(limit, edge->from[0]);
            for (uint32_t t = 0; !edge_is_join(edge) && !limit->conditional[from] && t < edge->to_count; t++)
                if (edge->to[t] >= 0) arc(limit, from, (uint32_t)edge->to[t]);
            continue;
        }
        for (uint32_t t = 0; t < edge->to_count; t++)
            if (edge->to[t] >= 0) arc(limit, group, (uint32_t)edge->to[t]);
        for (uint32_t c = 0; c < edge->condition_count; c++)
            if (edge->conditions[c].to >= 0) arc(limit, group, (uint32_t)edge->conditions[c].to);
    }
    for (uint32_t i = 0; i < limit->nodes; i++)
        if (document->nodes[i].on_error >= 0)
            arc(limit, limit->start + 1 + document->edge_count + i, (uint32_t)document->nodes[i].on_error);
}

static void limit_count_arc(struct limit *limit, uint32_t group, uint32_t to) {
    if (group <= limit->start) limit->waits[group]++;
    limit->into.first[to + 1]++;
}

static void limit_add_arc(struct limit *limit, uint32_t group, uint32_t to) {
    limit_lists_add(&limit->into, to, group);
}

/* True if the edge can lead to END, or nowhere: then it needs no super-step. */
static bool edge_can_end(const struct document_edge *edge) {
    bool ends = true; /* no condition holds */
    if (edge->kind == EDGE_MAP) {
        for (uint32_t t = 0; t < edge->to_count; t++)
            if (edge->to[t] < 0) return true;
        return edge->empty < 0; /* also without `empty` */
    }
    for (uint32_t c = 0; c < edge->condition_count; c++) {
        if (edge->conditions[c].to < 0) return true;
        ends &= !value_text_is(edge->conditions[c].text, "default");
    }
    return ends;
}

static void limit_see_edges(struct limit *limit) {
    const struct document *document = limit->document;
    limit_each_arc(limit, limit_count_arc);
    limit_lists_begin(&limit->into, limit->nodes);
    limit_each_arc(limit, limit_add_arc);
    limit_lists_end(&limit->into, limit->nodes);
    for (uint32_t e = 0; e < document->edge_count; e++) {
        const struct document_edge *edge = &document->edges[e];
        limit->open[e] = edge->kind != EDGE_STATIC && !edge_can_end(edge);
        for (uint32_t f = 0; f < edge->from_count; f++) {
            limit->waits[limit_vertex(limit, edge->from[f])] += limit->open[e];
            limit->edges.first[limit_vertex(limit, edge->from[f]) + 1]++;
        }
    }
    limit_lists_begin(&limit->edges, limit->nodes + 1);
    for (uint32_t e = 0; e < document->edge_count; e++)
        for (uint32_t f = 0; f < document->edges[e].from_count; f++)
            limit_lists_add(&limit->edges, limit_vertex(limit, document->edges[e].from[f]), e);
    limit_lists_end(&limit->edges, limit->nodes + 1);
}

static void limit_init(struct limit *limit, const struct reader *reader) {
    const struct document *document = reader->document;
    uint32_t nodes = document->node_count;
    *limit = (struct limit){.reader = reader, .document = document, .nodes = nodes, .start = nodes};
    limit->interrupting = mem_zalloc(nodes + 1u);
    limit->branching = mem_zalloc(nodes + 1u);
    limit->conditional = mem_zalloc(nodes + 1u);
    limit->open = mem_zalloc(document->edge_count + 1u);
    limit->waits = mem_zalloc((nodes + 1u) * sizeof(uint32_t));
    limit->need = mem_array(NULL, nodes + 1u, sizeof(uint32_t));
    limit->arrived = mem_zalloc((document->edge_count + 1u) * sizeof(uint32_t));
    limit->seen = mem_zalloc((nodes + 1u) * sizeof(uint32_t));
    limit->ran = mem_zalloc(nodes + 1u);
    limit->into.first = mem_zalloc((nodes + 1u) * sizeof(uint32_t));
    limit->edges.first = mem_zalloc((nodes + 2u) * sizeof(uint32_t));
    for (uint32_t i = 0; i <= nodes; i++) limit->need[i] = UNKNOWN;
    limit_see_nodes(limit);
    limit_see_edges(limit);
}

static void limit_finish(struct limit *limit) {
    mem_free(limit->interrupting);
    mem_free(limit->branching);
    mem_free(limit->conditional);
    mem_free(limit->open);
    mem_free(limit->waits);
    mem_free(limit->need);
    mem_free(limit->arrived);
    mem_free(limit->seen);
    mem_free(limit->ran);
    mem_free(limit->into.first);
    mem_free(limit->into.items);
    mem_free(limit->edges.first);
    mem_free(limit->edges.items);
}

/* ---- The need ---- */

static uint32_t limit_settle(struct limit *limit, uint32_t vertex, uint32_t need, uint32_t *queue, uint32_t tail) {
    if (limit->need[vertex] != UNKNOWN) return tail;
    limit->need[vertex] = need;
    queue[tail] = vertex;
    return tail + 1;
}

/* One successor of the vertex needs `need` super-steps; they become known in ascending order, so the last one counts.
 */
static uint32_t limit_settle_one(struct limit *limit, uint32_t vertex, uint32_t need, uint32_t *queue, uint32_t tail) {
    return --limit->waits[vertex] ? tail : limit_settle(limit, vertex, need + 1, queue, tail);
}

/* From the end backwards: a queue, in the order of the need. */
static void limit_compute_need(struct limit *limit) {
    const struct document *document = limit->document;
    uint32_t *queue = mem_array(NULL, limit->nodes + 1u, sizeof *queue), head = 0, tail = 0;
    for (uint32_t i = 0; i <= limit->start; i++) {
        bool ends = limit->waits[i] == 0;
        if (i < limit->start)
            ends |= (limit->reader->notes[i].on_error && document->nodes[i].on_error < 0) ||
                    may_lead_anywhere(document->nodes[i].component);
        if (ends) tail = limit_settle(limit, i, 1, queue, tail);
    }
    for (uint32_t i = 0; i < document->link_count; i++)
        tail = limit_settle(limit, document->links[i].from, 1, queue, tail);
    while (head < tail) {
        uint32_t at = queue[head++], need = limit->need[at];
        for (uint32_t i = limit->into.first[at]; at < limit->start && i < limit->into.first[at + 1]; i++) {
            uint32_t group = limit->into.items[i], edge = group - limit->start - 1;
            if (group <= limit->start) {
                tail = limit_settle_one(limit, group, need, queue, tail);
            } else if (edge >= document->edge_count) {
                tail = limit_settle(limit, edge - document->edge_count, need + 1, queue, tail);
            } else if (limit->open[edge]) {
                limit->open[edge] = false;
                for (uint32_t f = 0; f < document->edges[edge].from_count; f++)
                    tail =
                        limit_settle_one(limit, limit_vertex(limit, document->edges[edge].from[f]), need, queue, tail);
            }
        }
    }
    mem_free(queue);
}

/* ---- Following ---- */

/* The nodes of the next step. */
struct limit_step {
    uint32_t *nodes, count, number;
    bool over; /* the run can be interrupted in it, so it is not counted */
};

static void limit_plan(struct limit *limit, struct limit_step *next, int32_t to) {
    if (to < 0 || limit->seen[to] == next->number) return;
    limit->seen[to] = next->number;
    next->over |= limit->interrupting[to];
    next->nodes[next->count++] = (uint32_t)to;
}

/* Plans what follows a vertex. */
static void limit_follow(struct limit *limit, struct limit_step *next, uint32_t at, bool joins) {
    for (uint32_t i = limit->edges.first[at]; i < limit->edges.first[at + 1]; i++) {
        const struct document_edge *edge = &limit->document->edges[limit->edges.items[i]];
        uint32_t *arrived = &limit->arrived[limit->edges.items[i]];
        if (edge_is_join(edge) && (!joins || ++*arrived < edge->from_count)) continue;
        *arrived = 0;
        for (uint32_t t = 0; t < edge->to_count; t++) limit_plan(limit, next, edge->to[t]);
    }
}

/*
 * A number of super-steps that every run needs at least. Joins are followed only as long as it is certain which of
 * their sources have run: each at most once, and no branch was left out. A run without an endless loop has at most as
 * many steps as nodes.
 */
static uint32_t limit_least_steps(struct limit *limit) {
    struct limit_step now = {.nodes = mem_array(NULL, limit->nodes + 1u, sizeof(uint32_t)), .count = 1, .number = 1};
    struct limit_step next = {.nodes = mem_array(NULL, limit->nodes + 1u, sizeof(uint32_t)), .number = 2};
    uint32_t least = 0, work = 0;
    bool joins = true;
    now.nodes[0] = limit->start;
    for (uint32_t step = 0; now.count && !now.over && step <= limit->nodes && work < LIMIT_WORK_MAX; step++) {
        least = step > least ? step : least;
        work += now.count;
        for (uint32_t i = 0; i < now.count; i++) {
            uint32_t at = now.nodes[i], need = limit->interrupts ? UNKNOWN : limit->need[at];
            joins = joins && !limit->ran[at] && !limit->branching[at];
            limit->ran[at] = true;
            if (!limit->branching[at])
                limit_follow(limit, &next, at, joins);
            else if (need != UNKNOWN && step + need - 1 > least)
                least = step + need - 1;
        }
        uint32_t *nodes = now.nodes;
        now = next;
        next = (struct limit_step){.nodes = nodes, .number = now.number + 1};
    }
    mem_free(now.nodes);
    mem_free(next.nodes);
    return least;
}

void check_limit(struct reader *reader, const struct tree_item *edges) {
    const struct document *document = reader->document;
    /* A run without loops has at most as many steps as nodes. Another strategy does not take all static edges. */
    if (document->node_count <= document->recursion_limit || document->strategy != STRATEGY_PARALLEL) return;
    if (diagnostics_errors(reader->found)) return; /* ends of edges may be unknown */
    struct limit limit;
    limit_init(&limit, reader);
    limit_compute_need(&limit);
    /* Without a need there is a loop that nothing can leave, which is reported. */
    uint32_t least = limit.need[limit.start] == UNKNOWN ? 0 : limit_least_steps(&limit);
    limit_finish(&limit);
    if (least <= document->recursion_limit) return;
    bool given = reader->limit_span.end > reader->limit_span.start;
    struct diagnostic *it =
        report(reader, ADL_W116, given ? reader->limit_span : edges->key_span,
               "every run needs more super-steps than the recursion limit allows, at least %u instead of %u", least,
               document->recursion_limit);
    diagnostic_suggest(it, "write `recursion_limit: %u` in `agent`, or more, or pass a larger limit to each run",
                       least);
}
