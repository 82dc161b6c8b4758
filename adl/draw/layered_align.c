/*
 * layered_align.c - x of every cell, by the method of Brandes and Köpf (2002).
 *
 * Each cell is aligned with the median of its neighbours above, if no line between two bends is in the way: aligned
 * cells form a block, which is vertical. The blocks are then moved as far to one side as their neighbours allow. This
 * is done four times: with the neighbours above and below, and from the left and the right. The result is the mean of
 * the two middle ones of these four, which keeps long lines straight and boxes in the middle of their successors.
 */
#include "adl/draw/layered_internal.h"
#include "adl/value/memory.h"

enum { ALIGNMENTS = 4 };

struct alignment {
    struct layered_grid *grid;
    bool *blocked;             /* [link]: it crosses a line between two bends */
    uint32_t *root;            /* [cell]: the first cell of its block */
    bool *main_up, *main_down; /* [cell]: it has a link in this direction that is not one of a minor line */
    uint32_t *candidates;      /* links of one cell */
    int64_t *x[ALIGNMENTS];
};

static bool align_is_bend(const struct layered_grid *grid, uint32_t cell) {
    return grid->cells[cell].line != LAYERED_NONE;
}

/* ---- Links that may not be aligned ---- */

/* The place of the bend above, if the cell continues a line; otherwise LAYERED_NONE. */
static uint32_t align_inner_place(const struct layered_grid *grid, uint32_t cell) {
    if (!align_is_bend(grid, cell)) return LAYERED_NONE;
    for (uint32_t i = grid->up.first[cell]; i < grid->up.first[cell + 1]; i++) {
        const struct layered_link *link = &grid->links[grid->up.link[i]];
        if (link->line != grid->cells[cell].line) continue;
        return align_is_bend(grid, link->upper) ? grid->cells[link->upper].place : LAYERED_NONE;
    }
    return LAYERED_NONE;
}

static void align_block_links(const struct alignment *alignment, uint32_t cell, uint32_t from, uint32_t to) {
    const struct layered_grid *grid = alignment->grid;
    if (align_inner_place(grid, cell) != LAYERED_NONE) return;
    for (uint32_t i = grid->up.first[cell]; i < grid->up.first[cell + 1]; i++) {
        uint32_t link = grid->up.link[i], place = grid->cells[grid->links[link].upper].place;
        if (place < from || place > to) alignment->blocked[link] = true;
    }
}

/* Cells between two lines that continue may only be aligned with cells between these lines. */
static void align_find_conflicts(const struct alignment *alignment) {
    const struct layered_grid *grid = alignment->grid;
    for (uint32_t r = 1; r < grid->rank_count; r++) {
        uint32_t from = 0, done = grid->layer[r];
        for (uint32_t i = grid->layer[r]; i < grid->layer[r + 1]; i++) {
            uint32_t place = align_inner_place(grid, grid->order[i]);
            bool last = i + 1 == grid->layer[r + 1];
            if (place == LAYERED_NONE && !last) continue;
            uint32_t to = place == LAYERED_NONE ? UINT32_MAX : place;
            for (; done <= i; done++) align_block_links(alignment, grid->order[done], from, to);
            from = place == LAYERED_NONE ? from : place;
        }
    }
}

/* ---- Blocks ---- */

/* The links of a cell by the place of the other end: sorted once, because the order no longer changes. */
static void align_sort_links(const struct layered_grid *grid, struct layered_links *links, bool down) {
    uint32_t *filled = mem_array(NULL, grid->cell_count + 1u, sizeof *filled);
    for (uint32_t c = 0; c < grid->cell_count; c++) filled[c] = links->first[c];
    const struct layered_links *other = down ? &grid->up : &grid->down;
    for (uint32_t i = 0; i < grid->cell_count; i++) { /* cells of a layer in order append themselves */
        uint32_t cell = grid->order[i];
        for (uint32_t k = other->first[cell]; k < other->first[cell + 1]; k++) {
            uint32_t link = other->link[k];
            links->link[filled[layered_other(grid, link, cell)]++] = link;
        }
    }
    mem_free(filled);
}

/* Tries to align the cell with a neighbour. `limit` is the first place that is still allowed, from the left or right.
 */
static bool align_with(const struct alignment *alignment, uint32_t cell, uint32_t link, bool from_right,
                       int64_t *limit) {
    const struct layered_grid *grid = alignment->grid;
    uint32_t other = layered_other(grid, link, cell);
    int64_t place = from_right ? -(int64_t)grid->cells[other].place : (int64_t)grid->cells[other].place;
    if (alignment->blocked[link] || place < *limit) return false;
    alignment->root[cell] = alignment->root[other];
    *limit = place + 1;
    return true;
}

/*
 * True if the ends of the link may be aligned. A line is not aligned with the one that it joins, and a minor line not
 * with a box that has others.
 */
static bool align_may(const struct alignment *alignment, const struct layered_link *link) {
    const struct layered_grid *grid = alignment->grid;
    if (align_is_bend(grid, link->lower) && grid->cells[link->lower].line != link->line) return false;
    if (!grid->layered->lines[link->line].minor) return true;
    if (!align_is_bend(grid, link->upper) && alignment->main_down[link->upper]) return false;
    return align_is_bend(grid, link->lower) || !alignment->main_up[link->lower];
}

static void align_cell(const struct alignment *alignment, const struct layered_links *links, uint32_t cell,
                       bool from_right, int64_t *limit) {
    uint32_t *candidates = alignment->candidates, count = 0;
    for (uint32_t i = links->first[cell]; i < links->first[cell + 1]; i++)
        if (align_may(alignment, &alignment->grid->links[links->link[i]])) candidates[count++] = links->link[i];
    if (!count) return;
    uint32_t low = (count - 1) / 2, high = count / 2;
    if (align_with(alignment, cell, candidates[from_right ? high : low], from_right, limit) || low == high) return;
    (void)align_with(alignment, cell, candidates[from_right ? low : high], from_right, limit);
}

static void align_make_blocks(const struct alignment *alignment, bool upwards, bool from_right) {
    const struct layered_grid *grid = alignment->grid;
    for (uint32_t c = 0; c < grid->cell_count; c++) alignment->root[c] = c;
    for (uint32_t i = 0; i < grid->rank_count; i++) {
        uint32_t rank = upwards ? grid->rank_count - 1 - i : i;
        uint32_t first = grid->layer[rank], count = grid->layer[rank + 1] - first;
        int64_t limit = INT64_MIN;
        for (uint32_t k = 0; k < count; k++)
            align_cell(alignment, upwards ? &grid->down : &grid->up,
                       grid->order[first + (from_right ? count - 1 - k : k)], from_right, &limit);
    }
}

/* ---- Placing the blocks ---- */

/* Neighbours in a layer, as arrows between the roots of their blocks; `sorted` is an order along them. */
struct block_graph {
    uint32_t *out_first, *out; /* cells: the left one of each pair, by the root of its block */
    uint32_t *in_first, *in;   /* cells: the right one of each pair, by the root of its block */
    uint32_t *sorted;
};

static uint32_t align_left_of(const struct layered_grid *grid, uint32_t cell) {
    return grid->order[grid->layer[grid->cells[cell].rank] + grid->cells[cell].place - 1];
}
static uint32_t align_right_of(const struct layered_grid *grid, uint32_t cell) {
    return grid->order[grid->layer[grid->cells[cell].rank] + grid->cells[cell].place + 1];
}
static bool align_is_first(const struct layered_grid *grid, uint32_t cell) { return grid->cells[cell].place == 0; }
static bool align_is_last(const struct layered_grid *grid, uint32_t cell) {
    uint32_t rank = grid->cells[cell].rank;
    return grid->layer[rank] + grid->cells[cell].place + 1 == grid->layer[rank + 1];
}

static void align_group(const struct alignment *alignment, bool out, uint32_t **first, uint32_t **cells) {
    const struct layered_grid *grid = alignment->grid;
    *first = mem_zalloc((grid->cell_count + 2u) * sizeof **first);
    *cells = mem_array(NULL, grid->cell_count + 1u, sizeof **cells);
    for (uint32_t c = 0; c < grid->cell_count; c++)
        if (!(out ? align_is_last(grid, c) : align_is_first(grid, c))) (*first)[alignment->root[c] + 2]++;
    for (uint32_t c = 1; c < grid->cell_count + 2; c++) (*first)[c] += (*first)[c - 1];
    for (uint32_t c = 0; c < grid->cell_count; c++)
        if (!(out ? align_is_last(grid, c) : align_is_first(grid, c))) (*cells)[(*first)[alignment->root[c] + 1]++] = c;
}

static void align_sort_blocks(const struct alignment *alignment, struct block_graph *blocks, uint32_t *count) {
    const struct layered_grid *grid = alignment->grid;
    uint32_t *waits = mem_zalloc((grid->cell_count + 1u) * sizeof *waits);
    blocks->sorted = mem_array(NULL, grid->cell_count + 1u, sizeof *blocks->sorted);
    for (uint32_t c = 0; c < grid->cell_count; c++) {
        waits[c] = blocks->in_first[c + 1] - blocks->in_first[c];
        if (alignment->root[c] == c && !waits[c]) blocks->sorted[(*count)++] = c;
    }
    for (uint32_t i = 0; i < *count; i++) {
        uint32_t block = blocks->sorted[i];
        for (uint32_t k = blocks->out_first[block]; k < blocks->out_first[block + 1]; k++) {
            uint32_t right = alignment->root[align_right_of(grid, blocks->out[k])];
            if (--waits[right] == 0) blocks->sorted[(*count)++] = right;
        }
    }
    mem_free(waits);
}

static int64_t align_leftmost(const struct alignment *alignment, const struct block_graph *blocks, uint32_t block,
                              const int64_t *x) {
    int64_t best = INT64_MIN / 2;
    for (uint32_t k = blocks->in_first[block]; k < blocks->in_first[block + 1]; k++) {
        uint32_t cell = blocks->in[k], left = align_left_of(alignment->grid, cell);
        int64_t least = x[alignment->root[left]] + layered_distance(alignment->grid, left, cell);
        if (least > best) best = least;
    }
    return best == INT64_MIN / 2 ? 0 : best;
}

static int64_t align_rightmost(const struct alignment *alignment, const struct block_graph *blocks, uint32_t block,
                               const int64_t *x) {
    int64_t best = INT64_MAX / 2;
    for (uint32_t k = blocks->out_first[block]; k < blocks->out_first[block + 1]; k++) {
        uint32_t cell = blocks->out[k], right = align_right_of(alignment->grid, cell);
        int64_t most = x[alignment->root[right]] - layered_distance(alignment->grid, cell, right);
        if (most < best) best = most;
    }
    return best == INT64_MAX / 2 ? x[block] : best;
}

/*
 * Moves the blocks to the left (or right), then those that have space back towards their neighbour on the other side,
 * so that a block without a neighbour on the one side does not stand alone.
 */
static void align_place_blocks(const struct alignment *alignment, bool from_right, int64_t *x) {
    const struct layered_grid *grid = alignment->grid;
    struct block_graph blocks = {0};
    uint32_t count = 0;
    align_group(alignment, true, &blocks.out_first, &blocks.out);
    align_group(alignment, false, &blocks.in_first, &blocks.in);
    align_sort_blocks(alignment, &blocks, &count);
    for (uint32_t c = 0; c < grid->cell_count; c++) x[c] = 0;
    if (from_right) {
        for (uint32_t i = count; i-- > 0;)
            x[blocks.sorted[i]] = align_rightmost(alignment, &blocks, blocks.sorted[i], x);
        for (uint32_t i = 0; i < count; i++)
            if (blocks.in_first[blocks.sorted[i]] < blocks.in_first[blocks.sorted[i] + 1])
                x[blocks.sorted[i]] = align_leftmost(alignment, &blocks, blocks.sorted[i], x);
    } else {
        for (uint32_t i = 0; i < count; i++)
            x[blocks.sorted[i]] = align_leftmost(alignment, &blocks, blocks.sorted[i], x);
        for (uint32_t i = count; i-- > 0;)
            x[blocks.sorted[i]] = align_rightmost(alignment, &blocks, blocks.sorted[i], x);
    }
    for (uint32_t c = 0; c < grid->cell_count; c++) x[c] = x[alignment->root[c]];
    mem_free(blocks.out_first);
    mem_free(blocks.out);
    mem_free(blocks.in_first);
    mem_free(blocks.in);
    mem_free(blocks.sorted);
}

/* ---- The mean: all lengths are even, so it is exact, and keeps the distances ---- */

struct extent {
    int64_t least, most;
};

static struct extent align_extent(const struct layered_grid *grid, const int64_t *x) {
    struct extent extent = {INT64_MAX, INT64_MIN};
    for (uint32_t c = 0; c < grid->cell_count; c++) {
        if (x[c] - grid->cells[c].left < extent.least) extent.least = x[c] - grid->cells[c].left;
        if (x[c] + grid->cells[c].right > extent.most) extent.most = x[c] + grid->cells[c].right;
    }
    return extent;
}

/* Moves all to the place of the narrowest: those from the left have the same left end, the others the same right one.
 */
static void align_shift(const struct alignment *alignment) {
    const struct layered_grid *grid = alignment->grid;
    struct extent extents[ALIGNMENTS], narrowest = {0, INT64_MAX};
    for (int i = 0; i < ALIGNMENTS; i++) {
        extents[i] = align_extent(grid, alignment->x[i]);
        if (extents[i].most - extents[i].least < narrowest.most - narrowest.least) narrowest = extents[i];
    }
    for (int i = 0; i < ALIGNMENTS; i++) {
        bool from_right = i % 2 == 1;
        int64_t shift = from_right ? narrowest.most - extents[i].most : narrowest.least - extents[i].least;
        for (uint32_t c = 0; c < grid->cell_count; c++) alignment->x[i][c] += shift;
    }
}

static int64_t align_mean(int64_t a, int64_t b, int64_t c, int64_t d) {
    int64_t least = a < b ? a : b, most = a < b ? b : a;
    if (c < least) least = c;
    if (d < least) least = d;
    if (c > most) most = c;
    if (d > most) most = d;
    return (a + b + c + d - least - most) / 2;
}

static void align_average(const struct alignment *alignment) {
    struct layered_grid *grid = alignment->grid;
    int64_t *const *x = alignment->x;
    int64_t least = INT64_MAX;
    align_shift(alignment);
    for (uint32_t c = 0; c < grid->cell_count; c++) grid->cells[c].x = align_mean(x[0][c], x[1][c], x[2][c], x[3][c]);
    for (uint32_t c = 0; c < grid->cell_count; c++)
        if (grid->cells[c].x - grid->cells[c].left < least) least = grid->cells[c].x - grid->cells[c].left;
    for (uint32_t c = 0; c < grid->cell_count; c++) grid->cells[c].x -= least;
}

void layered_align(struct layered_grid *grid) {
    size_t cells = grid->cell_count + 1u;
    struct alignment alignment = {.grid = grid,
                                  .blocked = mem_zalloc(grid->link_count + 1u),
                                  .root = mem_array(NULL, cells, sizeof *alignment.root),
                                  .main_up = mem_zalloc(cells),
                                  .main_down = mem_zalloc(cells),
                                  .candidates = mem_array(NULL, grid->link_count + 1u, sizeof *alignment.candidates)};
    for (uint32_t i = 0; i < grid->link_count; i++) {
        const struct layered_link *link = &grid->links[i];
        if (grid->layered->lines[link->line].minor) continue;
        alignment.main_down[link->upper] = true;
        alignment.main_up[link->lower] = true;
    }
    align_sort_links(grid, &grid->up, false);
    align_sort_links(grid, &grid->down, true);
    align_find_conflicts(&alignment);
    for (int i = 0; i < ALIGNMENTS; i++) {
        alignment.x[i] = mem_array(NULL, cells, sizeof *alignment.x[i]);
        align_make_blocks(&alignment, i / 2 == 1, i % 2 == 1);
        align_place_blocks(&alignment, i % 2 == 1, alignment.x[i]);
    }
    align_average(&alignment);
    for (int i = 0; i < ALIGNMENTS; i++) mem_free(alignment.x[i]);
    mem_free(alignment.blocked);
    mem_free(alignment.root);
    mem_free(alignment.main_up);
    mem_free(alignment.main_down);
    mem_free(alignment.candidates);
}
