/*
 * layered_relax.c - moves what is straight towards its neighbours.
 *
 * The alignment (layered_align.c) is a mean of four, so a box may stand beside the middle of its successors. Here,
 * cells that are linked and have the same x are a *column*. A column moves, as far as it has space, to the x at which
 * the links to other columns are shortest. Its own links stay straight.
 */
#include "adl/draw/layered_internal.h"
#include "adl/value/memory.h"
#include <stdlib.h>

#define RELAX_PASSES 6

struct relaxation {
    struct layered_grid *grid;
    bool *has_main;   /* [cell]: it is a box with lines that are not minor */
    bool *seen;       /* [cell]: its column has been looked at in this pass */
    uint32_t *column; /* cells */
    int64_t *offsets; /* where the members of the column would move */
    uint32_t members, neighbours;
};

static bool relax_is_box(const struct layered_grid *grid, uint32_t cell) {
    return grid->cells[cell].line == LAYERED_NONE;
}

/* Lines that join others, and minor lines of boxes that have others, do not count. */
static bool relax_counts(const struct relaxation *relaxation, const struct layered_link *link) {
    const struct layered_grid *grid = relaxation->grid;
    if (!relax_is_box(grid, link->lower) && grid->cells[link->lower].line != link->line) return false;
    if (!grid->layered->lines[link->line].minor) return true;
    return !relaxation->has_main[link->upper] && !relaxation->has_main[link->lower];
}

static int relax_compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The way to the nearest median of the offsets. */
static int64_t relax_median(int64_t *offsets, uint32_t count) {
    if (!count) return 0;
    qsort(offsets, count, sizeof *offsets, relax_compare);
    int64_t least = offsets[(count - 1) / 2], most = offsets[count / 2];
    return least > 0 ? least : most < 0 ? most : 0;
}

/*
 * Adds the neighbours of a member of the column in one direction: those with the same x to the column. If there are
 * others, adds one offset: the way to their median. So a box stays between two successors.
 */
static void relax_follow(struct relaxation *relaxation, const struct layered_links *links, uint32_t cell) {
    const struct layered_grid *grid = relaxation->grid;
    int64_t *offsets = relaxation->offsets + relaxation->neighbours;
    uint32_t count = 0;
    bool outside = false;
    for (uint32_t i = links->first[cell]; i < links->first[cell + 1]; i++) {
        uint32_t other = layered_other(grid, links->link[i], cell);
        if (!relax_counts(relaxation, &grid->links[links->link[i]])) continue;
        offsets[count++] = grid->cells[other].x - grid->cells[cell].x;
        outside = outside || offsets[count - 1] != 0;
        if (offsets[count - 1] != 0 || relaxation->seen[other]) continue;
        relaxation->seen[other] = true;
        relaxation->column[relaxation->members++] = other;
    }
    if (!outside) return;
    offsets[0] = relax_median(offsets, count);
    relaxation->neighbours++;
}

static void relax_collect(struct relaxation *relaxation, uint32_t cell) {
    relaxation->members = 1;
    relaxation->neighbours = 0;
    relaxation->column[0] = cell;
    relaxation->seen[cell] = true;
    for (uint32_t i = 0; i < relaxation->members; i++) {
        const struct layered_cell *member = &relaxation->grid->cells[relaxation->column[i]];
        relax_follow(relaxation, &relaxation->grid->up, relaxation->column[i]);
        relax_follow(relaxation, &relaxation->grid->down, relaxation->column[i]);
        if (member->owner == LAYERED_NONE) continue; /* otherwise the line stays near to its box */
        relaxation->offsets[relaxation->neighbours++] = relaxation->grid->cells[member->owner].x - member->x;
    }
}

/* How far a cell can move to the left (negative) or right before it is too near to the next cell of its layer. */
static int64_t relax_space(const struct layered_grid *grid, uint32_t cell, bool left) {
    const struct layered_cell *own = &grid->cells[cell];
    const uint32_t *layer = grid->order + grid->layer[own->rank];
    uint32_t last = grid->layer[own->rank + 1] - grid->layer[own->rank] - 1;
    if (left) {
        if (own->place == 0) return own->left - own->x;
        uint32_t other = layer[own->place - 1];
        return grid->cells[other].x + layered_distance(grid, other, cell) - own->x;
    }
    if (own->place == last) return INT64_MAX;
    uint32_t other = layer[own->place + 1];
    return grid->cells[other].x - layered_distance(grid, cell, other) - own->x;
}

static bool relax_column(struct relaxation *relaxation, uint32_t cell) {
    struct layered_grid *grid = relaxation->grid;
    relax_collect(relaxation, cell);
    int64_t wish = relax_median(relaxation->offsets, relaxation->neighbours);
    for (uint32_t i = 0; i < relaxation->members && wish != 0; i++) {
        int64_t space = relax_space(grid, relaxation->column[i], wish < 0);
        if (wish < 0)
            wish = space > 0 ? 0 : space > wish ? space : wish;
        else
            wish = space < 0 ? 0 : space < wish ? space : wish;
    }
    for (uint32_t i = 0; i < relaxation->members; i++) grid->cells[relaxation->column[i]].x += wish;
    return wish != 0;
}

static bool relax_pass(struct relaxation *relaxation, bool upwards) {
    const struct layered_grid *grid = relaxation->grid;
    bool moved = false;
    for (uint32_t c = 0; c < grid->cell_count; c++) relaxation->seen[c] = false;
    for (uint32_t i = 0; i < grid->cell_count; i++) {
        uint32_t cell = grid->order[upwards ? grid->cell_count - 1 - i : i];
        if (!relaxation->seen[cell]) moved = relax_column(relaxation, cell) || moved;
    }
    return moved;
}

void layered_relax(struct layered_grid *grid) {
    size_t cells = grid->cell_count + 1u;
    struct relaxation relaxation = {
        .grid = grid,
        .has_main = mem_zalloc(cells),
        .seen = mem_zalloc(cells),
        .column = mem_array(NULL, cells, sizeof *relaxation.column),
        .offsets = mem_array(NULL, 2u * (size_t)grid->link_count + cells, sizeof *relaxation.offsets)};
    for (uint32_t i = 0; i < grid->link_count; i++) {
        const struct layered_link *link = &grid->links[i];
        if (grid->layered->lines[link->line].minor) continue;
        if (relax_is_box(grid, link->upper)) relaxation.has_main[link->upper] = true;
        if (relax_is_box(grid, link->lower)) relaxation.has_main[link->lower] = true;
    }
    for (int pass = 0; pass < RELAX_PASSES; pass++)
        if (!relax_pass(&relaxation, pass % 2 == 1)) break;
    int64_t least = INT64_MAX;
    for (uint32_t c = 0; c < grid->cell_count; c++)
        if (grid->cells[c].x - grid->cells[c].left < least) least = grid->cells[c].x - grid->cells[c].left;
    for (uint32_t c = 0; c < grid->cell_count; c++) grid->cells[c].x -= least;
    mem_free(relaxation.has_main);
    mem_free(relaxation.seen);
    mem_free(relaxation.column);
    mem_free(relaxation.offsets);
}
