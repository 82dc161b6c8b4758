/*
 * layered_rank.c - the layer of each box.
 *
 * A search in depth from the first box finds the lines that lead back to where the search came from: they lead up. A
 * box that the first one does not reach is usually chosen while a graph runs; it is below the box to which it returns.
 * The other lines have no cycle: a box is one layer of boxes below the lowest of its predecessors, and then moves down
 * if that makes its lines shorter. If there are labels, there is a layer for them between two layers of boxes.
 */
#include "adl/draw/layered_internal.h"
#include "adl/value/memory.h"

#define RANK_PASSES 6

/* The lines between different boxes, by the box at one end. */
struct rank_lines {
    uint32_t *first; /* [box], and one more */
    uint32_t *line;
};

struct ranking {
    struct layered *layered;
    struct rank_lines out, in;
    uint32_t *tree;   /* [box]: the search that reached it, from 1; 0 before */
    bool *on_path;    /* [box]: the search is below it */
    uint32_t *sorted; /* boxes, those at the upper end of a line first */
    uint32_t step;    /* layers between two of boxes: 2 with labels */
};

static bool rank_is_up(const struct layered_line *line) { return line->way == LAYERED_UP; }
static uint32_t rank_upper(const struct layered_line *line) { return rank_is_up(line) ? line->to : line->from; }
static uint32_t rank_lower(const struct layered_line *line) { return rank_is_up(line) ? line->from : line->to; }

/* `upper` selects the end by which the lines are grouped. */
static void rank_group(const struct layered *layered, struct rank_lines *lines, bool upper) {
    uint32_t boxes = layered->box_count;
    lines->first = mem_zalloc((boxes + 2u) * sizeof *lines->first);
    lines->line = mem_array(NULL, layered->line_count + 1u, sizeof *lines->line);
    for (uint32_t i = 0; i < layered->line_count; i++) {
        const struct layered_line *line = &layered->lines[i];
        if (line->from != line->to) lines->first[(upper ? rank_upper(line) : rank_lower(line)) + 2]++;
    }
    for (uint32_t b = 1; b < boxes + 2; b++) lines->first[b] += lines->first[b - 1];
    for (uint32_t i = 0; i < layered->line_count; i++) {
        const struct layered_line *line = &layered->lines[i];
        if (line->from != line->to) lines->line[lines->first[(upper ? rank_upper(line) : rank_lower(line)) + 1]++] = i;
    }
}

static void rank_ungroup(struct rank_lines *lines) {
    mem_free(lines->first);
    mem_free(lines->line);
    *lines = (struct rank_lines){0};
}

/* If lines led on from it, lines to it from boxes that are not reached could close a cycle. */
static bool rank_is_end(const struct ranking *ranking, uint32_t box) {
    return box > 0 && box == ranking->layered->end && ranking->out.first[box] == ranking->out.first[box + 1];
}

/* One step of the search: looks at the next line of a box. Returns the box to visit, or LAYERED_NONE. */
static uint32_t rank_visit(struct ranking *ranking, uint32_t next, uint32_t tree) {
    struct layered_line *line = &ranking->layered->lines[ranking->out.line[next]];
    uint32_t to = line->to;
    if (ranking->on_path[to] || (tree > 1 && ranking->tree[to] == 1 && !rank_is_end(ranking, to))) {
        line->way = LAYERED_UP;
    } else if (!ranking->tree[to]) {
        return to;
    }
    return LAYERED_NONE;
}

static void rank_search(struct ranking *ranking, uint32_t root, uint32_t tree, uint32_t *path, uint32_t *next) {
    uint32_t depth = 0;
    path[depth++] = root;
    ranking->tree[root] = tree;
    ranking->on_path[root] = true;
    next[root] = ranking->out.first[root];
    while (depth) {
        uint32_t box = path[depth - 1];
        if (next[box] == ranking->out.first[box + 1]) {
            ranking->on_path[box] = false;
            depth--;
            continue;
        }
        uint32_t to = rank_visit(ranking, next[box]++, tree);
        if (to == LAYERED_NONE) continue;
        ranking->tree[to] = tree;
        ranking->on_path[to] = true;
        next[to] = ranking->out.first[to];
        path[depth++] = to;
    }
}

/* Decides which lines lead up. */
static void rank_break_cycles(struct ranking *ranking) {
    uint32_t boxes = ranking->layered->box_count, tree = 0;
    uint32_t *path = mem_array(NULL, boxes, sizeof *path), *next = mem_array(NULL, boxes, sizeof *next);
    ranking->tree = mem_zalloc(boxes * sizeof *ranking->tree);
    ranking->on_path = mem_zalloc(boxes * sizeof *ranking->on_path);
    rank_group(ranking->layered, &ranking->out, true);
    for (uint32_t b = 0; b < boxes; b++)
        if (!ranking->tree[b]) rank_search(ranking, b, ++tree, path, next);
    rank_ungroup(&ranking->out);
    mem_free(path);
    mem_free(next);
    mem_free(ranking->tree);
    mem_free(ranking->on_path);
}

/* The lowest layer that all predecessors allow. The first box is alone in its layer. */
static uint32_t rank_earliest(const struct ranking *ranking, uint32_t box) {
    uint32_t rank = box > 0 ? ranking->step : 0;
    for (uint32_t i = ranking->in.first[box]; i < ranking->in.first[box + 1]; i++) {
        uint32_t upper = rank_upper(&ranking->layered->lines[ranking->in.line[i]]);
        if (ranking->layered->boxes[upper].rank + ranking->step > rank)
            rank = ranking->layered->boxes[upper].rank + ranking->step;
    }
    return rank;
}

/* The highest layer that all successors allow; there must be one. */
static uint32_t rank_latest(const struct ranking *ranking, uint32_t box) {
    uint32_t rank = UINT32_MAX;
    for (uint32_t i = ranking->out.first[box]; i < ranking->out.first[box + 1]; i++) {
        uint32_t lower = rank_lower(&ranking->layered->lines[ranking->out.line[i]]);
        if (ranking->layered->boxes[lower].rank - ranking->step < rank)
            rank = ranking->layered->boxes[lower].rank - ranking->step;
    }
    return rank;
}

/* Sorts the boxes along the lines, and assigns the earliest layer to each. */
static void rank_earliest_of_all(struct ranking *ranking) {
    uint32_t boxes = ranking->layered->box_count, count = 0;
    uint32_t *waits = mem_array(NULL, boxes, sizeof *waits);
    ranking->sorted = mem_array(NULL, boxes, sizeof *ranking->sorted);
    for (uint32_t b = 0; b < boxes; b++) {
        waits[b] = ranking->in.first[b + 1] - ranking->in.first[b];
        if (!waits[b]) ranking->sorted[count++] = b;
    }
    for (uint32_t next = 0; next < count; next++) {
        uint32_t box = ranking->sorted[next];
        ranking->layered->boxes[box].rank = rank_earliest(ranking, box);
        for (uint32_t i = ranking->out.first[box]; i < ranking->out.first[box + 1]; i++) {
            uint32_t lower = rank_lower(&ranking->layered->lines[ranking->out.line[i]]);
            if (--waits[lower] == 0) ranking->sorted[count++] = lower;
        }
    }
    mem_free(waits);
}

/* A box with more lines below than above moves down, one with more lines above moves up. */
static bool rank_move(struct ranking *ranking, uint32_t box) {
    uint32_t above = ranking->in.first[box + 1] - ranking->in.first[box];
    uint32_t below = ranking->out.first[box + 1] - ranking->out.first[box];
    uint32_t rank = ranking->layered->boxes[box].rank;
    if (box == 0 || above == below) return false;
    uint32_t better = below > above ? rank_latest(ranking, box) : rank_earliest(ranking, box);
    ranking->layered->boxes[box].rank = better;
    return better != rank;
}

static void rank_shorten(struct ranking *ranking) {
    uint32_t boxes = ranking->layered->box_count;
    bool moved = true;
    for (int pass = 0; pass < RANK_PASSES && moved; pass++) {
        moved = false;
        for (uint32_t i = boxes; i-- > 0;) moved = rank_move(ranking, ranking->sorted[i]) || moved;
        for (uint32_t i = 0; i < boxes; i++) moved = rank_move(ranking, ranking->sorted[i]) || moved;
    }
}

/* The layers of labels are numbered only if one of their labels is there: those above the lower end of each line. */
static void rank_remove_empty(struct ranking *ranking, struct layered_grid *grid) {
    struct layered *layered = ranking->layered;
    uint32_t last = 0, count = 0;
    for (uint32_t b = 0; b < layered->box_count; b++)
        if (layered->boxes[b].rank > last) last = layered->boxes[b].rank;
    bool *used = mem_zalloc(last + 2u);
    uint32_t *number = mem_array(NULL, last + 2u, sizeof *number);
    for (uint32_t i = 0; i < layered->line_count; i++) {
        const struct layered_line *line = &layered->lines[i];
        if (!line->label_width || line->way == LAYERED_LOOP) continue;
        uint32_t rank = layered->boxes[line->from].rank;
        used[rank_is_up(line) ? rank - 1 : rank + 1] = true;
    }
    grid->label_rank = mem_zalloc(last + 2u);
    for (uint32_t r = 0; r <= last; r++) {
        number[r] = count;
        bool labels = ranking->step == 2 && r % 2 == 1;
        if (labels && !used[r]) continue;
        grid->label_rank[count++] = labels;
    }
    for (uint32_t b = 0; b < layered->box_count; b++) layered->boxes[b].rank = number[layered->boxes[b].rank];
    grid->rank_count = count;
    mem_free(used);
    mem_free(number);
}

void layered_rank(struct layered_grid *grid) {
    struct layered *layered = grid->layered;
    struct ranking ranking = {.layered = layered, .step = 1};
    for (uint32_t i = 0; i < layered->line_count; i++) {
        struct layered_line *line = &layered->lines[i];
        line->way = line->from == line->to ? LAYERED_LOOP : LAYERED_DOWN;
        if (line->label_width) ranking.step = 2;
    }
    rank_break_cycles(&ranking);
    rank_group(layered, &ranking.out, true);
    rank_group(layered, &ranking.in, false);
    rank_earliest_of_all(&ranking);
    rank_shorten(&ranking);
    rank_remove_empty(&ranking, grid);
    rank_ungroup(&ranking.out);
    rank_ungroup(&ranking.in);
    mem_free(ranking.sorted);
}
