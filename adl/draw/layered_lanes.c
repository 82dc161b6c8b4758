/*
 * layered_lanes.c - the best places for the bends of lines that lead up.
 *
 * Sweeps (layered_order.c) rarely move a whole line from one side of its boxes to the other. This does: for one line
 * after the other, with all other cells where they are, it finds the places in each layer with which the line crosses
 * the fewest links, from its upper end to its lower one. A line moves only if that is an improvement.
 */
#include "adl/draw/layered_internal.h"
#include "adl/value/memory.h"
#include <string.h>

#define LANE_PASSES   2
#define LANE_CROSSING 1024 /* the cost of a crossing; a step to the side costs 1 */
#define LANE_NEVER    (INT64_MAX / 4)

/*
 * While a line is moved, its cells are the last ones of their layers. A *gap* of a layer is the number of other cells
 * at the left of it.
 */
struct lanes {
    struct layered_grid *grid;
    uint32_t *old;          /* [layer of the line]: the gap before */
    uint32_t *back;         /* [layer in the grid, gap]: the gap in the layer above */
    int64_t *upper, *lower; /* [gap]: the cost of the line down to that gap */
    int64_t *both;          /* [gap]: links whose ends are left of a gap above, and of this gap */
    int64_t *left;          /* [gap]: links whose lower end is left of the gap */
    int64_t old_cost;
    uint32_t *links; /* [layer in the grid]: to the next one */
};

static uint32_t lane_others(const struct layered_grid *grid, uint32_t rank) {
    return grid->layer[rank + 1] - grid->layer[rank] - 1;
}

static uint32_t lane_group(const struct layered_grid *grid, uint32_t rank, uint32_t place) {
    uint32_t cell = grid->order[grid->layer[rank] + place];
    return grid->cells[cell].owner == LAYERED_NONE ? cell : grid->cells[cell].owner;
}

/* A gap is not between a box and the bends that it owns; that of a bend with an owner is beside these. */
static bool lane_allows(const struct layered_grid *grid, uint32_t cell, uint32_t gap) {
    uint32_t rank = grid->cells[cell].rank, owner = grid->cells[cell].owner;
    uint32_t left = gap > 0 ? lane_group(grid, rank, gap - 1) : LAYERED_NONE;
    uint32_t right = gap < lane_others(grid, rank) ? lane_group(grid, rank, gap) : LAYERED_NONE;
    if (left == right && left != LAYERED_NONE) return false;
    return owner == LAYERED_NONE || left == owner || right == owner;
}

static void lane_move(struct layered_grid *grid, uint32_t cell, uint32_t place) {
    uint32_t rank = grid->cells[cell].rank, from = grid->cells[cell].place;
    uint32_t *cells = grid->order + grid->layer[rank];
    if (place > from)
        memmove(cells + from, cells + from + 1, (place - from) * sizeof *cells);
    else
        memmove(cells + place + 1, cells + place, (from - place) * sizeof *cells);
    cells[place] = cell;
    for (uint32_t i = grid->layer[rank]; i < grid->layer[rank + 1]; i++)
        grid->cells[grid->order[i]].place = i - grid->layer[rank];
}

/* Adds the links down from the cell at this place of the layer to `counts`. Returns how many they are. */
static uint32_t lane_add_links(const struct lanes *lanes, uint32_t rank, uint32_t place, int64_t *counts,
                               uint32_t gaps) {
    const struct layered_grid *grid = lanes->grid;
    uint32_t cell = grid->order[grid->layer[rank] + place];
    uint32_t first = grid->down.first[cell], end = grid->down.first[cell + 1];
    for (uint32_t i = first; i < end; i++) {
        uint32_t lower = grid->cells[grid->links[grid->down.link[i]].lower].place;
        for (uint32_t gap = lower + 1; gap <= gaps; gap++) counts[gap]++;
    }
    return end - first;
}

static uint32_t lane_apart(uint32_t a, uint32_t b) { return a < b ? b - a : a - b; }

/* Continues the line from the layer of `cell` to the next one: sets `lower` and `back`. */
static void lane_step(struct lanes *lanes, uint32_t cell, uint32_t step) {
    const struct layered_grid *grid = lanes->grid;
    uint32_t rank = grid->cells[cell].rank, above = lane_others(grid, rank), below = lane_others(grid, rank + 1);
    uint32_t *back = lanes->back + grid->layer[rank + 1];
    int64_t seen = 0, old = LANE_NEVER;
    memset(lanes->both, 0, (below + 1u) * sizeof *lanes->both);
    memset(lanes->left, 0, (below + 1u) * sizeof *lanes->left);
    for (uint32_t place = 0; place < above; place++) (void)lane_add_links(lanes, rank, place, lanes->left, below);
    for (uint32_t gap = 0; gap <= below; gap++) lanes->lower[gap] = LANE_NEVER;
    for (uint32_t from = 0; from <= above; from++) {
        for (uint32_t to = 0; to <= below && lanes->upper[from] < LANE_NEVER; to++) {
            int64_t crossings = seen + lanes->left[to] - 2 * lanes->both[to];
            int64_t cost = crossings * LANE_CROSSING + lane_apart(from, to);
            if (from == lanes->old[step] && to == lanes->old[step + 1]) old = cost;
            if (lanes->upper[from] + cost >= lanes->lower[to] || !lane_allows(grid, cell + 1, to)) continue;
            lanes->lower[to] = lanes->upper[from] + cost;
            back[to] = from;
        }
        if (from < above) seen += lane_add_links(lanes, rank, from, lanes->both, below);
    }
    bool known = old < LANE_NEVER && lanes->old_cost < LANE_NEVER;
    lanes->old_cost = known ? lanes->old_cost + old : LANE_NEVER;
    int64_t *done = lanes->upper;
    lanes->upper = lanes->lower;
    lanes->lower = done;
}

/* The work for a line: for each gap, those of the layer above and twice the links. */
static uint64_t lane_work(const struct lanes *lanes, uint32_t line) {
    const struct layered_grid *grid = lanes->grid;
    uint64_t work = 0;
    for (uint32_t cell = grid->chain[line]; cell + 1 < grid->chain[line + 1]; cell++) {
        uint32_t rank = grid->cells[cell].rank;
        uint64_t steps = lane_others(grid, rank) + 1u + 2 * (uint64_t)lanes->links[rank];
        work += steps * (lane_others(grid, rank + 1) + 1u);
    }
    return work;
}

/* Returns true if the line has moved. */
static bool lane_improve(struct lanes *lanes, uint32_t line) {
    struct layered_grid *grid = lanes->grid;
    uint32_t first = grid->chain[line], last = grid->chain[line + 1] - 1;
    for (uint32_t cell = first; cell <= last; cell++) {
        lanes->old[cell - first] = grid->cells[cell].place;
        lane_move(grid, cell, lane_others(grid, grid->cells[cell].rank));
    }
    for (uint32_t gap = 0; gap <= lane_others(grid, grid->cells[first].rank); gap++)
        lanes->upper[gap] = lane_allows(grid, first, gap) ? 0 : LANE_NEVER;
    lanes->old_cost = 0;
    for (uint32_t cell = first; cell < last; cell++) lane_step(lanes, cell, cell - first);
    uint32_t best = 0;
    for (uint32_t gap = 1; gap <= lane_others(grid, grid->cells[last].rank); gap++)
        if (lanes->upper[gap] <= lanes->upper[best]) best = gap;
    bool better = lanes->upper[best] / LANE_CROSSING < lanes->old_cost / LANE_CROSSING;
    for (uint32_t cell = last + 1; cell-- > first;) {
        uint32_t next = cell > first ? lanes->back[grid->layer[grid->cells[cell].rank] + best] : 0;
        lane_move(grid, cell, better ? best : lanes->old[cell - first]);
        best = next;
    }
    return better;
}

void layered_lanes(struct layered_grid *grid) {
    size_t cells = grid->cell_count + 1u;
    uint64_t work = 0;
    struct lanes lanes = {.grid = grid,
                          .links = mem_zalloc((grid->rank_count + 1u) * sizeof *lanes.links),
                          .old = mem_array(NULL, grid->rank_count + 1u, sizeof *lanes.old),
                          .back = mem_zalloc(cells * sizeof *lanes.back),
                          .upper = mem_array(NULL, cells, sizeof *lanes.upper),
                          .lower = mem_array(NULL, cells, sizeof *lanes.lower),
                          .both = mem_array(NULL, cells, sizeof *lanes.both),
                          .left = mem_array(NULL, cells, sizeof *lanes.left)};
    bool moved = true;
    for (uint32_t i = 0; i < grid->link_count; i++) lanes.links[grid->cells[grid->links[i].upper].rank]++;
    for (int pass = 0; pass < LANE_PASSES && moved; pass++) {
        moved = false;
        for (uint32_t line = 0; line < grid->layered->line_count; line++) {
            if (grid->layered->lines[line].way != LAYERED_UP) continue;
            work += lane_work(&lanes, line);
            if (work <= LAYERED_WORK_MAX) moved = lane_improve(&lanes, line) || moved;
        }
    }
    mem_free(lanes.links);
    mem_free(lanes.old);
    mem_free(lanes.back);
    mem_free(lanes.upper);
    mem_free(lanes.lower);
    mem_free(lanes.both);
    mem_free(lanes.left);
}
