/*
 * layered_route.c - y of the layers, and the points of the lines.
 *
 * The lines of a box start at *ports*: those down at its bottom, in the order of where they lead, and straight below
 * each other where that is possible. Within a layer, all lines are vertical at the x of their cell, which keeps them
 * away from the boxes. Between two layers they curve.
 */
#include "adl/draw/layered_internal.h"
#include "adl/value/memory.h"
#include <stdlib.h>

#define ROUTE_GAP         440 /* between two layers of boxes */
#define ROUTE_LABEL_GAP   240 /* between a layer of labels and its neighbours */
#define ROUTE_GAP_MAX     900 /* if lines go far to the side */
#define ROUTE_SLOPE       6   /* the gap is at least this part of the widest step to the side */
#define ROUTE_PORT_GAP    120 /* between two ports */
#define ROUTE_PORT_MARGIN 120 /* from the corner of a box to a port */
#define ROUTE_SIDE_GAP    160 /* between two ports at a side */
#define ROUTE_LANE_GAP    120 /* between two lanes of the margin, and around the drawing's lines */
#define ROUTE_LANE_BEND   100 /* from a layer to the bend of a line to the margin */

struct route {
    struct layered_grid *grid;
    int64_t *top, *bottom;  /* [rank] */
    int64_t *from_x, *to_x; /* [line]: the ports of lines down */
    int64_t *from_y, *to_y; /* [line]: the ports of lines at a side */
    int64_t *lane;          /* [box]: x of the lane of the lines in the margin to it; 0 without one */
};

/* ---- Layers ---- */

static bool route_is_box(const struct layered_grid *grid, uint32_t cell) {
    return grid->cells[cell].line == LAYERED_NONE;
}

static int64_t route_gap(const struct layered_grid *grid, uint32_t rank, int64_t step) {
    bool labels = grid->label_rank[rank] || grid->label_rank[rank - 1];
    int64_t gap = labels ? ROUTE_LABEL_GAP : ROUTE_GAP, most = labels ? ROUTE_GAP_MAX / 2 : ROUTE_GAP_MAX;
    if (step / ROUTE_SLOPE > gap) gap = step / ROUTE_SLOPE;
    return gap < most ? gap : most;
}

/* The widest step to the side of a link from the layer above to this one. */
static int64_t route_widest_step(const struct layered_grid *grid, uint32_t rank) {
    int64_t widest = 0;
    for (uint32_t i = grid->layer[rank]; i < grid->layer[rank + 1]; i++) {
        uint32_t cell = grid->order[i];
        for (uint32_t k = grid->up.first[cell]; k < grid->up.first[cell + 1]; k++) {
            int64_t step = grid->cells[grid->links[grid->up.link[k]].upper].x - grid->cells[cell].x;
            if (step < 0) step = -step;
            if (step > widest) widest = step;
        }
    }
    return widest;
}

static void route_set_bands(struct route *route) {
    struct layered_grid *grid = route->grid;
    struct layered *layered = grid->layered;
    int64_t y = 0;
    route->top = mem_array(NULL, grid->rank_count, sizeof *route->top);
    route->bottom = mem_array(NULL, grid->rank_count, sizeof *route->bottom);
    for (uint32_t r = 0; r < grid->rank_count; r++) {
        int64_t height = 0;
        for (uint32_t i = grid->layer[r]; i < grid->layer[r + 1]; i++)
            if (grid->cells[grid->order[i]].height > height) height = grid->cells[grid->order[i]].height;
        if (r > 0) y += route_gap(grid, r, route_widest_step(grid, r));
        route->top[r] = y;
        route->bottom[r] = y + (height + 1) / 2 * 2;
        y = route->bottom[r];
    }
    for (uint32_t b = 0; b < layered->box_count; b++) {
        struct layered_box *box = &layered->boxes[b];
        box->x = grid->cells[b].x;
        box->y = (route->top[box->rank] + route->bottom[box->rank]) / 2;
        if (box->x + box->width / 2 > layered->width) layered->width = box->x + box->width / 2;
    }
    layered->height = y;
}

/* ---- Ports at the top and the bottom ---- */

/* A line at one side of a box, and where its port would best be. */
struct route_port {
    int64_t wish;
    uint32_t line;
    uint32_t place; /* of the cell to which it leads */
};

static int route_compare_ports(const void *a, const void *b) {
    const struct route_port *x = a, *y = b;
    if (x->wish != y->wish) return x->wish < y->wish ? -1 : 1;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static int64_t route_clamp(int64_t x, int64_t least, int64_t most) { return x < least ? least : x > most ? most : x; }

/* How far from its centre a box may have ports. */
static int64_t route_reach(const struct layered_box *box) {
    int64_t reach = box->width / 2 - ROUTE_PORT_MARGIN;
    return reach > 0 ? reach : 0;
}

/* The x at which a line leaves its box if it were the only one: straight towards `other`, or at the centre. */
static int64_t route_wish(const struct layered_grid *grid, uint32_t box, uint32_t other) {
    const struct layered_box *own = &grid->layered->boxes[box];
    int64_t x = grid->cells[other].x, reach = route_reach(own);
    if (route_is_box(grid, other)) { /* both ends must choose the same x: the middle, as far as both allow */
        int64_t theirs = route_reach(&grid->layered->boxes[other]);
        int64_t least = own->x - reach > x - theirs ? own->x - reach : x - theirs;
        int64_t most = own->x + reach < x + theirs ? own->x + reach : x + theirs;
        if (least <= most) return route_clamp((own->x + x) / 2, least, most);
    }
    return x;
}

/*
 * Sets the position of each port. Ports of lines that can be straight keep the position that makes them straight,
 * unless another port is too near. Ports of lines to the left and right are outside of them, near the centre.
 */
static void route_place_ports(const struct layered_box *box, struct route_port *ports, uint32_t count,
                              int64_t *places) {
    int64_t reach = route_reach(box), gap = ROUTE_PORT_GAP;
    if (count > 1 && gap * (count - 1) > 2 * reach) gap = 2 * reach / (count - 1);
    int64_t side = gap * (count - 1) < reach ? gap * (count - 1) : reach, last = INT64_MIN / 2;
    uint32_t left = 0, right = count;
    qsort(ports, count, sizeof *ports, route_compare_ports);
    while (left < count && ports[left].wish < box->x - reach) left++;
    while (right > left && ports[right - 1].wish > box->x + reach) right--;
    for (uint32_t i = left; i < right; i++, last += gap) {
        last = ports[i].wish - box->x > last ? ports[i].wish - box->x : last;
        places[ports[i].line] = last;
    }
    int64_t next = left < right ? places[ports[left].line] - gap : reach;
    for (uint32_t i = left; i-- > 0; next -= gap) places[ports[i].line] = next = next < -side ? next : -side;
    for (uint32_t i = right; i < count; i++, last += gap) places[ports[i].line] = last = last > side ? last : side;
    for (uint32_t i = 0; i < count; i++) { /* inside the box */
        int64_t least = -reach + gap * i, most = reach - gap * (count - 1 - i);
        places[ports[i].line] = box->x + route_clamp(places[ports[i].line], least, most);
    }
}

static void route_ports_of(struct route *route, uint32_t box, bool bottom, struct route_port *ports) {
    const struct layered_grid *grid = route->grid;
    const struct layered_links *links = bottom ? &grid->down : &grid->up;
    uint32_t count = 0;
    for (uint32_t i = links->first[box]; i < links->first[box + 1]; i++) {
        uint32_t other = layered_other(grid, links->link[i], box);
        ports[count++] = (struct route_port){route_wish(grid, box, other), grid->links[links->link[i]].line,
                                             grid->cells[other].place};
    }
    if (count) route_place_ports(&grid->layered->boxes[box], ports, count, bottom ? route->from_x : route->to_x);
}

/* True if the box has one line at this side, which can be at x. */
static bool route_is_free(const struct layered_grid *grid, const struct layered_links *links, uint32_t box, int64_t x) {
    const struct layered_box *own = &grid->layered->boxes[box];
    return links->first[box + 1] - links->first[box] == 1 && llabs(x - own->x) <= route_reach(own);
}

/* A line between two boxes is straight if the one end can be where the other had to be. */
static void route_straighten(struct route *route) {
    const struct layered_grid *grid = route->grid;
    for (uint32_t i = 0; i < grid->layered->line_count; i++) {
        const struct layered_line *line = &grid->layered->lines[i];
        if (line->way != LAYERED_DOWN || line->joined || grid->chain[i] < grid->chain[i + 1]) continue;
        if (route_is_free(grid, &grid->down, line->from, route->to_x[i]))
            route->from_x[i] = route->to_x[i];
        else if (route_is_free(grid, &grid->up, line->to, route->from_x[i]))
            route->to_x[i] = route->from_x[i];
    }
}

static void route_set_ports(struct route *route) {
    const struct layered_grid *grid = route->grid;
    struct route_port *ports = mem_array(NULL, grid->link_count + 1u, sizeof *ports);
    for (uint32_t b = 0; b < grid->layered->box_count; b++) {
        route_ports_of(route, b, true, ports);
        route_ports_of(route, b, false, ports);
    }
    route_straighten(route);
    mem_free(ports);
}

/* ---- Ports at the sides ---- */

/* Sets y of the next port of a side, from the top. */
static void route_next_port(const struct layered_box *box, uint32_t *next, uint32_t count, int64_t *y) {
    int64_t gap = ROUTE_SIDE_GAP, space = box->height - 160;
    if (count > 1 && gap * (count - 1) > space) gap = space > 0 ? space / (count - 1) : 0;
    *y = box->y - gap * (count - 1) / 2 + gap * (*next)++;
}

/*
 * The bends beside a box at one side, the farthest first: `cells`. From the top: lines that arrive from below, loops,
 * then lines that leave upwards, the nearest first. So they do not cross.
 */
static void route_side(struct route *route, uint32_t box, const uint32_t *cells, uint32_t count) {
    const struct layered_grid *grid = route->grid;
    const struct layered_box *own = &grid->layered->boxes[box];
    uint32_t next = 0, ports = count;
    for (uint32_t i = 0; i < count; i++)
        if (grid->layered->lines[grid->cells[cells[i]].line].way == LAYERED_LOOP) ports++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t line = grid->cells[cells[i]].line;
        if (grid->layered->lines[line].way == LAYERED_LOOP || grid->layered->lines[line].to == box)
            route_next_port(own, &next, ports, &route->to_y[line]);
    }
    for (uint32_t i = count; i-- > 0;) {
        uint32_t line = grid->cells[cells[i]].line;
        if (grid->layered->lines[line].from == box) route_next_port(own, &next, ports, &route->from_y[line]);
    }
}

static void route_set_sides(struct route *route) {
    const struct layered_grid *grid = route->grid;
    uint32_t *cells = mem_array(NULL, grid->cell_count + 1u, sizeof *cells);
    for (uint32_t r = 0; r < grid->rank_count; r++) {
        for (uint32_t i = grid->layer[r]; i < grid->layer[r + 1]; i++) {
            uint32_t box = grid->order[i], count = 0;
            if (!route_is_box(grid, box)) continue;
            uint32_t first = i, end = i + 1;
            while (first > grid->layer[r] && grid->cells[grid->order[first - 1]].owner == box) first--;
            while (end < grid->layer[r + 1] && grid->cells[grid->order[end]].owner == box) end++;
            for (uint32_t k = first; k < i; k++) cells[count++] = grid->order[k];
            if (count) route_side(route, box, cells, count);
            count = 0;
            for (uint32_t k = end; k-- > i + 1;) cells[count++] = grid->order[k];
            if (count) route_side(route, box, cells, count);
        }
    }
    mem_free(cells);
}

/* ---- Points ---- */

/* Adds a point to the line whose first one is `first`. A straight part has no points between its ends. */
static void route_add(struct route *route, uint32_t first, int64_t x, int64_t y) {
    struct layered *layered = route->grid->layered;
    struct layered_point *points = layered->points + first;
    uint32_t count = layered->point_count - first;
    if (x > layered->width) layered->width = x;
    if (count > 0 && points[count - 1].x == x && points[count - 1].y == y) return;
    bool straight = count > 1 && ((points[count - 2].x == x && points[count - 1].x == x) ||
                                  (points[count - 2].y == y && points[count - 1].y == y));
    if (straight)
        count--;
    else
        layered->point_count++;
    points[count] = (struct layered_point){x, y};
}

/* Adds the place where the line joins another one, in the layer below its last cell. */
static void route_add_junction(struct route *route, uint32_t line, uint32_t first, uint32_t last) {
    const struct layered_grid *grid = route->grid;
    for (uint32_t i = grid->down.first[last]; i < grid->down.first[last + 1]; i++) {
        const struct layered_link *link = &grid->links[grid->down.link[i]];
        if (link->line != line) continue;
        route_add(route, first, grid->cells[link->lower].x, route->top[grid->cells[link->lower].rank]);
    }
}

static void route_down(struct route *route, uint32_t index, uint32_t first) {
    const struct layered_grid *grid = route->grid;
    const struct layered_line *line = &grid->layered->lines[index];
    const struct layered_box *from = &grid->layered->boxes[line->from], *to = &grid->layered->boxes[line->to];
    route_add(route, first, route->from_x[index], from->y + from->height / 2);
    route_add(route, first, route->from_x[index], route->bottom[from->rank]);
    for (uint32_t c = grid->chain[index]; c < grid->chain[index + 1]; c++) {
        route_add(route, first, grid->cells[c].x, route->top[grid->cells[c].rank]);
        route_add(route, first, grid->cells[c].x, route->bottom[grid->cells[c].rank]);
    }
    if (line->joined) {
        uint32_t last = grid->chain[index + 1] > grid->chain[index] ? grid->chain[index + 1] - 1 : line->from;
        route_add_junction(route, index, first, last);
        return;
    }
    route_add(route, first, route->to_x[index], route->top[to->rank]);
    route_add(route, first, route->to_x[index], to->y - to->height / 2);
}

/* Adds the port at the side of a box that faces the cell. */
static void route_add_side(struct route *route, uint32_t first, uint32_t box, uint32_t cell, int64_t y) {
    const struct layered_box *own = &route->grid->layered->boxes[box];
    bool right = route->grid->cells[cell].x > own->x;
    route_add(route, first, right ? own->x + own->width / 2 : own->x - own->width / 2, y);
}

static void route_up(struct route *route, uint32_t index, uint32_t first) {
    const struct layered_grid *grid = route->grid;
    const struct layered_line *line = &grid->layered->lines[index];
    uint32_t top = grid->chain[index], bottom = grid->chain[index + 1] - 1;
    route_add_side(route, first, line->from, bottom, route->from_y[index]);
    route_add(route, first, grid->cells[bottom].x, route->from_y[index]);
    for (uint32_t c = bottom + 1; c-- > top;) {
        if (c != bottom) route_add(route, first, grid->cells[c].x, route->bottom[grid->cells[c].rank]);
        if (c != top) route_add(route, first, grid->cells[c].x, route->top[grid->cells[c].rank]);
    }
    route_add(route, first, grid->cells[top].x, route->to_y[index]);
    route_add_side(route, first, line->to, top, route->to_y[index]);
}

static int64_t route_lane(struct route *route, uint32_t box) {
    struct layered *layered = route->grid->layered;
    if (!route->lane[box]) route->lane[box] = layered->width + 2 * ROUTE_LANE_GAP;
    return route->lane[box];
}

static void route_margin(struct route *route, uint32_t index, uint32_t first) {
    const struct layered *layered = route->grid->layered;
    const struct layered_line *line = &layered->lines[index];
    const struct layered_box *from = &layered->boxes[line->from], *to = &layered->boxes[line->to];
    int64_t lane = route_lane(route, line->to), from_x = from->x + route_reach(from), to_x = to->x + route_reach(to);
    route_add(route, first, from_x, from->y + from->height / 2);
    route_add(route, first, from_x, route->bottom[from->rank] + ROUTE_LANE_BEND);
    route_add(route, first, lane, route->bottom[from->rank] + ROUTE_LANE_BEND);
    route_add(route, first, lane, route->top[to->rank] - ROUTE_LANE_BEND);
    route_add(route, first, to_x, route->top[to->rank] - ROUTE_LANE_BEND);
    route_add(route, first, to_x, to->y - to->height / 2);
}

static void route_loop(struct route *route, uint32_t index, uint32_t first) {
    uint32_t box = route->grid->layered->lines[index].from, cell = route->grid->chain[index];
    int64_t x = route->grid->cells[cell].x;
    route_add_side(route, first, box, cell, route->from_y[index]);
    route_add(route, first, x, route->from_y[index]);
    route_add(route, first, x, route->to_y[index]);
    route_add_side(route, first, box, cell, route->to_y[index]);
}

static void route_line(struct route *route, uint32_t index) {
    struct layered *layered = route->grid->layered;
    struct layered_line *line = &layered->lines[index];
    line->first_point = layered->point_count;
    switch (line->way) {
    case LAYERED_DOWN: route_down(route, index, line->first_point); break;
    case LAYERED_UP: route_up(route, index, line->first_point); break;
    case LAYERED_LOOP: route_loop(route, index, line->first_point); break;
    default: route_margin(route, index, line->first_point);
    }
    line->point_count = layered->point_count - line->first_point;
}

/* Labels are at their cells; that of a loop is beside it. */
static void route_labels(const struct route *route) {
    const struct layered_grid *grid = route->grid;
    struct layered *layered = grid->layered;
    for (uint32_t c = layered->box_count; c < grid->cell_count; c++) {
        const struct layered_cell *cell = &grid->cells[c];
        struct layered_line *line = &layered->lines[cell->line];
        if (!cell->labelled) continue;
        line->label_x = cell->x;
        if (line->way == LAYERED_LOOP)
            line->label_x += (cell->right ? 1 : -1) * (LAYERED_LOOP_GAP + line->label_width / 2);
        line->label_y = (route->top[cell->rank] + route->bottom[cell->rank]) / 2;
        int64_t right = line->label_x + line->label_width / 2;
        if (right > layered->width) layered->width = right;
    }
}

/* Lines in the margin may be above or below all layers. */
static void route_fit_height(struct layered *layered) {
    int64_t least = 0, most = layered->height;
    for (uint32_t i = 0; i < layered->point_count; i++) {
        if (layered->points[i].y < least) least = layered->points[i].y;
        if (layered->points[i].y > most) most = layered->points[i].y;
    }
    layered->height = most - least;
    if (least == 0) return;
    for (uint32_t i = 0; i < layered->point_count; i++) layered->points[i].y -= least;
    for (uint32_t i = 0; i < layered->box_count; i++) layered->boxes[i].y -= least;
    for (uint32_t i = 0; i < layered->line_count; i++) layered->lines[i].label_y -= least;
}

void layered_route(struct layered_grid *grid) {
    struct layered *layered = grid->layered;
    size_t lines = layered->line_count + 1u;
    struct route route = {.grid = grid,
                          .from_x = mem_zalloc(lines * sizeof *route.from_x),
                          .to_x = mem_zalloc(lines * sizeof *route.to_x),
                          .from_y = mem_zalloc(lines * sizeof *route.from_y),
                          .to_y = mem_zalloc(lines * sizeof *route.to_y),
                          .lane = mem_zalloc((layered->box_count + 1u) * sizeof *route.lane)};
    /* At most two for each bend, and six more for each line. */
    layered->points = mem_array(NULL, 2 * (size_t)grid->cell_count + 6 * lines, sizeof *layered->points);
    layered->width = layered->height = 0;
    layered->point_count = 0;
    route_set_bands(&route);
    route_set_ports(&route);
    route_set_sides(&route);
    route_labels(&route);
    for (uint32_t i = 0; i < layered->line_count; i++)
        if (layered->lines[i].way < LAYERED_MARGIN) route_line(&route, i);
    for (uint32_t i = 0; i < layered->line_count; i++) /* beside all others */
        if (layered->lines[i].way >= LAYERED_MARGIN) route_line(&route, i);
    route_fit_height(layered);
    layered->points = mem_array(layered->points, layered->point_count + 1u, sizeof *layered->points);
    mem_free(route.top);
    mem_free(route.bottom);
    mem_free(route.from_x);
    mem_free(route.to_x);
    mem_free(route.from_y);
    mem_free(route.to_y);
    mem_free(route.lane);
}
