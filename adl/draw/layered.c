/*
 * layered.c - a layered layout: its cells and links, and the order of its steps.
 */
#include "adl/draw/layered_internal.h"
#include "adl/value/memory.h"
#include <string.h>

int64_t layered_distance(const struct layered_grid *grid, uint32_t left, uint32_t right) {
    const struct layered_cell *l = &grid->cells[left], *r = &grid->cells[right];
    int64_t gap = LAYERED_LINE_GAP;
    if (l->owner == right || r->owner == left)
        gap = LAYERED_SIDE_GAP;
    else if (l->line == LAYERED_NONE && r->line == LAYERED_NONE)
        gap = LAYERED_BOX_GAP;
    else if (l->labelled || r->labelled)
        gap = LAYERED_LABEL_GAP;
    return l->right + gap + r->left; /* all even, for the mean in layered_align.c */
}

/* Half of a length, as an even number. */
static int64_t layered_half(int64_t length) { return (length + 3) / 4 * 2; }

/* ---- Cells ---- */

/* The layers in which a line has bends: `count` from `first` on. */
struct bends {
    uint32_t first, count;
};

/* The cell at which a joined line reaches its trunk: in the layer below its label. */
static uint32_t layered_junction(const struct layered_grid *grid, const struct layered_line *line) {
    const struct layered *layered = grid->layered;
    uint32_t trunk = grid->trunk[line->to], rank = layered->boxes[line->from].rank + (line->label_width ? 2 : 1);
    return grid->chain[trunk] + rank - layered->boxes[layered->lines[trunk].from].rank - 1;
}

static struct bends layered_bends(const struct layered *layered, const struct layered_line *line) {
    uint32_t from = layered->boxes[line->from].rank, to = layered->boxes[line->to].rank;
    if (line->joined) return (struct bends){from + 1, line->label_width ? 1 : 0};
    switch (line->way) {
    case LAYERED_DOWN: return (struct bends){from + 1, to - from - 1};
    case LAYERED_UP: return (struct bends){to, from - to + 1};
    case LAYERED_LOOP: return (struct bends){from, 1};
    default: return (struct bends){from, 0};
    }
}

/* Lines that need too many bends leave the grid. Adds the bends of the others to `count`. */
static void layered_count_line(struct layered *layered, struct layered_line *line, uint32_t *count) {
    uint32_t bends = layered_bends(layered, line).count;
    if (bends > LAYERED_SPAN_MAX || *count + bends > LAYERED_BENDS_MAX)
        line->way = line->way == LAYERED_DOWN ? LAYERED_MARGIN : LAYERED_MARGIN_UP;
    else
        *count += bends;
}

/* The trunk of the merged lines to a box is the longest of them that is not in the margin. */
static void layered_choose_trunks(struct layered_grid *grid, uint32_t *count) {
    struct layered *layered = grid->layered;
    grid->trunk = mem_array(NULL, layered->box_count, sizeof *grid->trunk);
    for (uint32_t b = 0; b < layered->box_count; b++) grid->trunk[b] = LAYERED_NONE;
    for (uint32_t i = 0; i < layered->line_count; i++) {
        struct layered_line *line = &layered->lines[i];
        uint32_t *trunk = &grid->trunk[line->to];
        uint32_t rank = layered->boxes[line->from].rank;
        if (!line->merged || line->way != LAYERED_DOWN) continue;
        if (layered_bends(layered, line).count > LAYERED_SPAN_MAX) continue;
        if (*trunk == LAYERED_NONE || rank < layered->boxes[layered->lines[*trunk].from].rank) *trunk = i;
    }
    for (uint32_t b = 0; b < layered->box_count; b++) {
        if (grid->trunk[b] == LAYERED_NONE) continue;
        layered_count_line(layered, &layered->lines[grid->trunk[b]], count);
        if (layered->lines[grid->trunk[b]].way != LAYERED_DOWN) grid->trunk[b] = LAYERED_NONE;
    }
}

/* True if the line reaches the trunk before it reaches the box. */
static bool layered_can_join(const struct layered_grid *grid, const struct layered_line *line) {
    const struct layered *layered = grid->layered;
    if (!line->merged || line->way != LAYERED_DOWN || grid->trunk[line->to] == LAYERED_NONE) return false;
    const struct layered_line *trunk = &layered->lines[grid->trunk[line->to]];
    uint32_t rank = layered->boxes[line->from].rank;
    return layered->boxes[trunk->from].rank <= rank &&
           rank + (line->label_width ? 2 : 1) < layered->boxes[line->to].rank;
}

/* Decides which lines are in the grid, and which are joined. Sets `chain`. */
static void layered_count_bends(struct layered_grid *grid) {
    struct layered *layered = grid->layered;
    uint32_t count = 0;
    layered_choose_trunks(grid, &count);
    for (uint32_t i = 0; i < layered->line_count; i++) {
        struct layered_line *line = &layered->lines[i];
        if (grid->trunk[line->to] == i) continue; /* counted */
        line->joined = layered_can_join(grid, line);
        layered_count_line(layered, line, &count);
        if (line->way >= LAYERED_MARGIN) line->joined = false;
    }
    grid->chain = mem_array(NULL, layered->line_count + 1u, sizeof *grid->chain);
    grid->chain[0] = layered->box_count;
    for (uint32_t i = 0; i < layered->line_count; i++)
        grid->chain[i + 1] = grid->chain[i] + layered_bends(layered, &layered->lines[i]).count;
    grid->cell_count = grid->chain[layered->line_count];
}

static void layered_add_label(struct layered_cell *cell, struct layered_line *line) {
    cell->labelled = line->labelled = true;
    if (line->way == LAYERED_LOOP) {
        cell->right = LAYERED_LOOP_GAP + 2 * layered_half(line->label_width);
    } else {
        cell->left = cell->right = layered_half(line->label_width);
    }
    cell->height = line->label_height;
}

static void layered_add_bends(struct layered_grid *grid, uint32_t index) {
    struct layered *layered = grid->layered;
    struct layered_line *line = &layered->lines[index];
    struct bends bends = layered_bends(layered, line);
    for (uint32_t i = 0; i < bends.count; i++) {
        struct layered_cell *cell = &grid->cells[grid->chain[index] + i];
        *cell = (struct layered_cell){.rank = bends.first + i, .line = index, .owner = LAYERED_NONE};
        if (line->way != LAYERED_DOWN && cell->rank == layered->boxes[line->from].rank) cell->owner = line->from;
        if (line->way == LAYERED_UP && i == 0) cell->owner = line->to;
    }
    if (!line->label_width || bends.count == 0) return;
    uint32_t nearest = line->way == LAYERED_UP ? bends.count - 2 : 0; /* the label is near the line's beginning */
    layered_add_label(&grid->cells[grid->chain[index] + nearest], line);
}

static void layered_add_cells(struct layered_grid *grid) {
    const struct layered *layered = grid->layered;
    layered_count_bends(grid);
    grid->cells = mem_array(NULL, grid->cell_count, sizeof *grid->cells);
    for (uint32_t b = 0; b < layered->box_count; b++) {
        int64_t half = layered_half(layered->boxes[b].width);
        grid->cells[b] = (struct layered_cell){.rank = layered->boxes[b].rank,
                                               .line = LAYERED_NONE,
                                               .owner = LAYERED_NONE,
                                               .left = half,
                                               .right = half,
                                               .height = layered->boxes[b].height};
    }
    for (uint32_t i = 0; i < layered->line_count; i++) layered_add_bends(grid, i);
}

/* ---- Links ---- */

static void layered_link(struct layered_grid *grid, uint32_t upper, uint32_t lower, uint32_t line) {
    grid->links[grid->link_count++] = (struct layered_link){upper, lower, line};
}

static void layered_link_line(struct layered_grid *grid, uint32_t index) {
    const struct layered_line *line = &grid->layered->lines[index];
    uint32_t first = grid->chain[index], end = grid->chain[index + 1];
    for (uint32_t cell = first; cell + 1 < end; cell++) layered_link(grid, cell, cell + 1, index);
    if (line->way != LAYERED_DOWN) return;
    uint32_t to = line->joined ? layered_junction(grid, line) : line->to;
    layered_link(grid, line->from, first < end ? first : to, index);
    if (first < end) layered_link(grid, end - 1, to, index);
}

static void layered_group_links(const struct layered_grid *grid, struct layered_links *links, bool down) {
    links->first = mem_zalloc((grid->cell_count + 2u) * sizeof *links->first);
    links->link = mem_array(NULL, grid->link_count + 1u, sizeof *links->link);
    for (uint32_t i = 0; i < grid->link_count; i++)
        links->first[(down ? grid->links[i].upper : grid->links[i].lower) + 2]++;
    for (uint32_t c = 1; c < grid->cell_count + 2; c++) links->first[c] += links->first[c - 1];
    for (uint32_t i = 0; i < grid->link_count; i++)
        links->link[links->first[(down ? grid->links[i].upper : grid->links[i].lower) + 1]++] = i;
}

static void layered_add_links(struct layered_grid *grid) {
    const struct layered *layered = grid->layered;
    grid->links = mem_array(NULL, grid->cell_count + layered->line_count + 1u, sizeof *grid->links);
    for (uint32_t i = 0; i < layered->line_count; i++) layered_link_line(grid, i);
    layered_group_links(grid, &grid->down, true);
    layered_group_links(grid, &grid->up, false);
}

/* The layers; their cells have no order yet. */
static void layered_add_layers(struct layered_grid *grid) {
    grid->layer = mem_zalloc((grid->rank_count + 2u) * sizeof *grid->layer);
    grid->order = mem_array(NULL, grid->cell_count, sizeof *grid->order);
    for (uint32_t c = 0; c < grid->cell_count; c++) grid->layer[grid->cells[c].rank + 1]++;
    for (uint32_t r = 1; r <= grid->rank_count; r++) grid->layer[r] += grid->layer[r - 1];
}

void layered_place(struct layered *layered) {
    struct layered_grid grid = {.layered = layered};
    layered_rank(&grid);
    layered_add_cells(&grid);
    layered_add_links(&grid);
    layered_add_layers(&grid);
    layered_order(&grid);
    layered_align(&grid);
    layered_relax(&grid);
    layered_route(&grid);
    mem_free(grid.cells);
    mem_free(grid.chain);
    mem_free(grid.trunk);
    mem_free(grid.links);
    mem_free(grid.up.first);
    mem_free(grid.up.link);
    mem_free(grid.down.first);
    mem_free(grid.down.link);
    mem_free(grid.layer);
    mem_free(grid.order);
    mem_free(grid.label_rank);
}

void layered_finish(struct layered *layered) {
    mem_free(layered->points);
    layered->points = NULL;
    layered->point_count = 0;
}
