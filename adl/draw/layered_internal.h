/*
 * layered_internal.h - the grid of a layered layout; private to adl/draw/layered*.c.
 *
 * Every layer is a row of *cells*: boxes, and one cell for each layer that a line passes. A line that leads up has a
 * cell in the layers of both its boxes, too; these stand directly beside their box, their *owner*, so that the line can
 * reach its side. A *link* joins two cells of adjacent layers. The steps, in their order:
 *
 *     layered_rank(&grid);   // layered_rank.c: the layer of each box, the direction of each line
 *     layered_build(&grid);  // layered.c: cells and links
 *     layered_order(&grid);  // layered_order.c: the order within the layers, few crossings
 *     layered_align(&grid);  // layered_align.c: x of every cell
 *     layered_relax(&grid);  // layered_relax.c: boxes in the middle of their neighbours
 *     layered_route(&grid);  // layered_route.c: y, and the points of the lines
 */
#ifndef TENON_ADL_LAYERED_INTERNAL_H
#define TENON_ADL_LAYERED_INTERNAL_H

#include "adl/draw/layered.h"
#include <stddef.h>

#define LAYERED_NONE UINT32_MAX

/* Distances, in tenths of a pixel. */
#define LAYERED_BOX_GAP   360 /* between two boxes */
#define LAYERED_LINE_GAP  160 /* between lines, and between a line and a box */
#define LAYERED_SIDE_GAP  180 /* between a box and a line at its side */
#define LAYERED_LABEL_GAP 100 /* between a label and its neighbours */
#define LAYERED_LOOP_GAP  60  /* between the line of a loop and its label, which is at its right */

struct layered_cell {
    uint32_t rank;
    uint32_t place;      /* in its layer, from the left */
    uint32_t line;       /* whose bend it is; LAYERED_NONE for a box */
    uint32_t owner;      /* the box beside which it stands; LAYERED_NONE for most */
    bool labelled;       /* has the label of its line */
    int64_t left, right; /* what it needs on both sides of x */
    int64_t height;
    int64_t x;
};

struct layered_link {
    uint32_t upper, lower; /* cells */
    uint32_t line;
};

/* The links of each cell, one after another. */
struct layered_links {
    uint32_t *first; /* [cell], and one more */
    uint32_t *link;
};

struct layered_grid {
    struct layered *layered;
    uint32_t rank_count;
    struct layered_cell *cells; /* the boxes, then the bends, line after line from top to bottom */
    uint32_t cell_count;
    uint32_t *chain; /* [line]: its first bend; [line + 1]: the end */
    uint32_t *trunk; /* [box]: the line that the merged lines down to it join; LAYERED_NONE without merged lines */
    struct layered_link *links;
    uint32_t link_count;
    struct layered_links up, down; /* from a cell to the layer above, and to that below */
    uint32_t *layer;               /* [rank]: the first index in `order`; [rank_count]: the end */
    uint32_t *order;               /* cells */
    bool *label_rank;              /* [rank]: a layer of labels, between two of boxes */
};

void layered_rank(struct layered_grid *grid);
void layered_order(struct layered_grid *grid);
void layered_lanes(struct layered_grid *grid); /* a part of layered_order */
void layered_align(struct layered_grid *grid);
void layered_relax(struct layered_grid *grid);
void layered_route(struct layered_grid *grid);

/* The distance that two neighbours in a layer need between their x. */
int64_t layered_distance(const struct layered_grid *grid, uint32_t left, uint32_t right);
/* The cell at the other end of a link. */
static inline uint32_t layered_other(const struct layered_grid *grid, uint32_t link, uint32_t cell) {
    return grid->links[link].upper == cell ? grid->links[link].lower : grid->links[link].upper;
}

#endif
