/*
 * layered_order.c - the order of the cells in each layer, so that few links cross.
 *
 * The first order is that of a search in depth. Sweeps then go down and up: each layer is sorted by the mean place of
 * the neighbours in the layer before it. The best order is kept; at last, lines that lead up may change sides
 * (layered_lanes.c), and neighbours change places, where that removes crossings. Bends that have an owner are moved
 * beside it after each sort, to the side where their line continues.
 */
#include "adl/draw/layered_internal.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>

#define ORDER_SWEEPS_MAX   24u
#define ORDER_PATIENCE     5u /* sweeps without an improvement */
#define ORDER_EXCHANGES    8u /* passes that exchange neighbours */
#define ORDER_KEY_FRACTION 256

#define SIDE_LEFT  1u
#define SIDE_RIGHT 2u

/* A cell with its sort key. */
struct order_item {
    uint32_t cell, group;   /* the owner, or itself */
    int64_t group_key, key; /* of the owner; its own */
    uint32_t group_place, place;
    int side; /* -1: left of its owner, 0: the owner, 1: right */
};

struct ordering {
    struct layered_grid *grid;
    struct order_item *items; /* of one layer */
    int64_t *key;             /* [cell] */
    unsigned char *sides;     /* [cell]: the sides of a box at which lines lead up, a set of SIDE_* */
    uint32_t *best;           /* a copy of `order` */
    uint32_t *tree;           /* for counting crossings */
    uint32_t *ends;
};

static void order_set_places(struct layered_grid *grid, uint32_t rank) {
    for (uint32_t i = grid->layer[rank]; i < grid->layer[rank + 1]; i++)
        grid->cells[grid->order[i]].place = i - grid->layer[rank];
}

/* ---- The first order ---- */

static void order_append(struct layered_grid *grid, uint32_t *filled, bool *placed, uint32_t cell) {
    uint32_t rank = grid->cells[cell].rank;
    placed[cell] = true;
    grid->cells[cell].place = filled[rank];
    grid->order[grid->layer[rank] + filled[rank]++] = cell;
}

static void order_first(struct layered_grid *grid) {
    uint32_t *filled = mem_zalloc((grid->rank_count + 1u) * sizeof *filled), depth = 0;
    uint32_t *stack = mem_array(NULL, (size_t)grid->link_count + 1u, sizeof *stack);
    bool *placed = mem_zalloc(grid->cell_count + 1u);
    for (uint32_t c = 0; c < grid->cell_count; c++) {
        if (placed[c]) continue;
        stack[depth++] = c;
        while (depth) {
            uint32_t cell = stack[--depth];
            if (placed[cell]) continue;
            order_append(grid, filled, placed, cell);
            for (uint32_t i = grid->down.first[cell + 1]; i-- > grid->down.first[cell];) {
                uint32_t lower = grid->links[grid->down.link[i]].lower;
                if (!placed[lower]) stack[depth++] = lower;
            }
        }
    }
    mem_free(filled);
    mem_free(stack);
    mem_free(placed);
}

/* ---- Sorting a layer ---- */

static int order_compare(const void *a, const void *b) {
    const struct order_item *x = a, *y = b;
    if (x->group_key != y->group_key) return x->group_key < y->group_key ? -1 : 1;
    if (x->group_place != y->group_place) return x->group_place < y->group_place ? -1 : 1;
    if (x->side != y->side) return x->side < y->side ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static uint32_t order_count(const struct layered_links *links, uint32_t cell) {
    return links ? links->first[cell + 1] - links->first[cell] : 0;
}

/* The mean place of the neighbours in one direction; without neighbours, its own. */
static int64_t order_key(const struct layered_grid *grid, const struct layered_links *links, uint32_t cell) {
    uint32_t count = order_count(links, cell);
    if (!count) return (int64_t)grid->cells[cell].place * ORDER_KEY_FRACTION;
    int64_t sum = 0;
    for (uint32_t i = links->first[cell]; i < links->first[cell + 1]; i++)
        sum += grid->cells[layered_other(grid, links->link[i], cell)].place;
    return sum * ORDER_KEY_FRACTION / count;
}

static bool order_is_loop(const struct layered_grid *grid, uint32_t cell) {
    uint32_t line = grid->cells[cell].line;
    return line != LAYERED_NONE && grid->layered->lines[line].way == LAYERED_LOOP;
}

static void order_fill(const struct ordering *ordering, const struct layered_links *links, uint32_t cell,
                       struct order_item *item) {
    const struct layered_grid *grid = ordering->grid;
    const struct layered_cell *own = &grid->cells[cell];
    uint32_t group = own->owner == LAYERED_NONE ? cell : own->owner;
    *item = (struct order_item){cell,       group, ordering->key[group], ordering->key[cell], grid->cells[group].place,
                                own->place, 0};
    if (own->owner == LAYERED_NONE || order_is_loop(grid, cell)) return;
    item->side = (order_count(links, cell) ? item->key < item->group_key : own->place < item->group_place) ? -1 : 1;
    ordering->sides[group] |= item->side < 0 ? SIDE_LEFT : SIDE_RIGHT;
}

/* A loop is at the right of its box, or at the left if only the right has other lines; beyond these if both have. */
static void order_place_loop(const struct ordering *ordering, struct order_item *item) {
    if (!order_is_loop(ordering->grid, item->cell)) return;
    bool right = ordering->sides[item->group] & SIDE_RIGHT, left = ordering->sides[item->group] & SIDE_LEFT;
    item->side = right && !left ? -1 : 1;
    item->key = right ? INT64_MAX : INT64_MIN;
}

/* Without `links`, it only moves bends beside their owners. */
static void order_sort(const struct ordering *ordering, uint32_t rank, const struct layered_links *links) {
    struct layered_grid *grid = ordering->grid;
    uint32_t *cells = grid->order + grid->layer[rank], count = grid->layer[rank + 1] - grid->layer[rank];
    for (uint32_t i = 0; i < count; i++) ordering->key[cells[i]] = order_key(grid, links, cells[i]);
    for (uint32_t i = 0; i < count; i++) order_fill(ordering, links, cells[i], &ordering->items[i]);
    for (uint32_t i = 0; i < count; i++) order_place_loop(ordering, &ordering->items[i]);
    for (uint32_t i = 0; i < count; i++) ordering->sides[cells[i]] = 0;
    qsort(ordering->items, count, sizeof *ordering->items, order_compare);
    for (uint32_t i = 0; i < count; i++) cells[i] = ordering->items[i].cell;
    order_set_places(grid, rank);
}

/* ---- Crossings ---- */

static int order_compare_places(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The places of the neighbours, sorted, in `ends`. Returns how many. */
static uint32_t order_ends(const struct layered_grid *grid, const struct layered_links *links, uint32_t cell,
                           uint32_t *ends) {
    uint32_t count = 0;
    for (uint32_t i = links->first[cell]; i < links->first[cell + 1]; i++)
        ends[count++] = grid->cells[layered_other(grid, links->link[i], cell)].place;
    if (count > 1) qsort(ends, count, sizeof *ends, order_compare_places);
    return count;
}

/* Crossings between two layers: for each link, the earlier ones that end further right (a Fenwick tree). */
static uint64_t order_crossings_below(const struct ordering *ordering, uint32_t rank) {
    const struct layered_grid *grid = ordering->grid;
    uint32_t width = grid->layer[rank + 2] - grid->layer[rank + 1], seen = 0;
    uint64_t crossings = 0;
    memset(ordering->tree, 0, (width + 1u) * sizeof *ordering->tree);
    for (uint32_t i = grid->layer[rank]; i < grid->layer[rank + 1]; i++) {
        uint32_t count = order_ends(grid, &grid->down, grid->order[i], ordering->ends);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t before = 0;
            for (uint32_t at = ordering->ends[k] + 1; at > 0; at -= at & -at) before += ordering->tree[at];
            crossings += seen + k - before;
            for (uint32_t at = ordering->ends[k] + 1; at <= width; at += at & -at) ordering->tree[at]++;
        }
        seen += count;
    }
    return crossings;
}

static uint64_t order_crossings(const struct ordering *ordering) {
    uint64_t crossings = 0;
    for (uint32_t r = 0; r + 1 < ordering->grid->rank_count; r++) crossings += order_crossings_below(ordering, r);
    return crossings;
}

/* ---- Exchanging neighbours ---- */

/* Crossings of the links of two neighbours: as they are now, minus after an exchange. */
static int64_t order_gain_towards(const struct ordering *ordering, const struct layered_links *links, uint32_t left,
                                  uint32_t right) {
    uint32_t *a = ordering->ends, a_count = order_ends(ordering->grid, links, left, a);
    uint32_t *b = a + a_count, b_count = order_ends(ordering->grid, links, right, b);
    int64_t gain = 0;
    for (uint32_t i = 0, less = 0, equal = 0; i < a_count; i++) {
        while (less < b_count && b[less] < a[i]) less++;
        if (equal < less) equal = less;
        while (equal < b_count && b[equal] == a[i]) equal++;
        gain += (int64_t)less - (int64_t)(b_count - equal);
    }
    return gain;
}

/* Boxes that own bends, and these bends, stay where they are. */
static bool order_is_free(const struct layered_grid *grid, const bool *owns, uint32_t cell) {
    return grid->cells[cell].owner == LAYERED_NONE && !owns[cell];
}

static bool order_exchange_layer(const struct ordering *ordering, const bool *owns, uint32_t rank) {
    struct layered_grid *grid = ordering->grid;
    bool changed = false;
    for (uint32_t i = grid->layer[rank]; i + 1 < grid->layer[rank + 1]; i++) {
        uint32_t left = grid->order[i], right = grid->order[i + 1];
        if (!order_is_free(grid, owns, left) || !order_is_free(grid, owns, right)) continue;
        if (order_gain_towards(ordering, &grid->up, left, right) +
                order_gain_towards(ordering, &grid->down, left, right) <=
            0)
            continue;
        grid->order[i] = right;
        grid->order[i + 1] = left;
        grid->cells[right].place--;
        grid->cells[left].place++;
        changed = true;
    }
    return changed;
}

static void order_exchange(const struct ordering *ordering, uint32_t passes) {
    struct layered_grid *grid = ordering->grid;
    bool *owns = mem_zalloc(grid->cell_count + 1u), changed = true;
    for (uint32_t c = 0; c < grid->cell_count; c++)
        if (grid->cells[c].owner != LAYERED_NONE) owns[grid->cells[c].owner] = true;
    for (uint32_t pass = 0; pass < passes && changed; pass++) {
        changed = false;
        for (uint32_t r = 0; r < grid->rank_count; r++) changed = order_exchange_layer(ordering, owns, r) || changed;
    }
    mem_free(owns);
}

/* ---- Sweeps ---- */

static void order_sweep(const struct ordering *ordering, bool down) {
    struct layered_grid *grid = ordering->grid;
    for (uint32_t i = 0; i < grid->rank_count; i++)
        order_sort(ordering, down ? i : grid->rank_count - 1 - i, down ? &grid->up : &grid->down);
}

static void order_improve(const struct ordering *ordering, uint32_t sweeps) {
    struct layered_grid *grid = ordering->grid;
    size_t size = grid->cell_count * sizeof *grid->order;
    uint64_t best = order_crossings(ordering);
    memcpy(ordering->best, grid->order, size);
    for (uint32_t sweep = 0, since = 0; sweep < sweeps && best > 0 && since < ORDER_PATIENCE; sweep++, since++) {
        order_sweep(ordering, sweep % 2 == 0);
        uint64_t crossings = order_crossings(ordering);
        if (crossings >= best) continue;
        best = crossings;
        since = 0;
        memcpy(ordering->best, grid->order, size);
    }
    memcpy(grid->order, ordering->best, size);
    for (uint32_t r = 0; r < grid->rank_count; r++) order_set_places(grid, r);
}

/* The label of a loop at the left is at the left of it. */
static void order_turn_loops(struct layered_grid *grid) {
    for (uint32_t c = grid->layered->box_count; c < grid->cell_count; c++) {
        struct layered_cell *cell = &grid->cells[c];
        if (!order_is_loop(grid, c) || cell->place > grid->cells[cell->owner].place) continue;
        cell->left = cell->right;
        cell->right = 0;
    }
}

void layered_order(struct layered_grid *grid) {
    uint32_t work = grid->cell_count + grid->link_count + 1;
    uint32_t sweeps = LAYERED_WORK_MAX / work, exchanges = sweeps / 4;
    size_t cells = grid->cell_count + 1u;
    struct ordering ordering = {.grid = grid,
                                .items = mem_array(NULL, cells, sizeof *ordering.items),
                                .key = mem_array(NULL, cells, sizeof *ordering.key),
                                .sides = mem_zalloc(cells),
                                .best = mem_array(NULL, cells, sizeof *ordering.best),
                                .tree = mem_array(NULL, cells, sizeof *ordering.tree),
                                .ends = mem_array(NULL, 2u * (size_t)grid->link_count + 1u, sizeof *ordering.ends)};
    order_first(grid);
    for (uint32_t r = 0; r < grid->rank_count; r++) order_sort(&ordering, r, NULL);
    order_improve(&ordering, sweeps < ORDER_SWEEPS_MAX ? sweeps : ORDER_SWEEPS_MAX);
    layered_lanes(grid);
    for (uint32_t r = 0; r < grid->rank_count; r++) order_sort(&ordering, r, NULL);
    order_exchange(&ordering, exchanges < ORDER_EXCHANGES ? exchanges : ORDER_EXCHANGES);
    order_turn_loops(grid);
    mem_free(ordering.items);
    mem_free(ordering.key);
    mem_free(ordering.sides);
    mem_free(ordering.best);
    mem_free(ordering.tree);
    mem_free(ordering.ends);
}
