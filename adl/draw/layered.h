/*
 * layered.h - places boxes and the lines between them: a layered layout, from top to bottom.
 *
 * Lines lead downwards where they can. A line that closes a loop leaves and enters its boxes at the side and runs
 * upwards beside the layers. A line never crosses a box, and its label never covers one. The module knows no documents,
 * only sizes. The result depends only on the input: there is no chance and no floating point in it.
 *
 *     struct layered_box boxes[] = {{.width = 800, .height = 400}, {.width = 900, .height = 400}};
 *     struct layered_line lines[] = {{.from = 0, .to = 1}};
 *     struct layered layered = {.boxes = boxes, .box_count = 2, .lines = lines, .line_count = 1};
 *     layered_place(&layered);
 *     ... boxes[1].x, layered.points[lines[0].first_point].y, layered.width ...
 *     layered_finish(&layered);
 *
 * Lengths are tenths of a pixel. The cost is about linear in boxes and lines: what would take longer is done with fewer
 * passes (LAYERED_WORK_MAX), and lines that would need too many bends run in a margin at the right.
 */
#ifndef TENON_ADL_LAYERED_H
#define TENON_ADL_LAYERED_H

#include <stdbool.h>
#include <stdint.h>

#define LAYERED_BENDS_MAX 200000u  /* of all lines; those beyond it run in the margin, without their labels */
#define LAYERED_SPAN_MAX  300u     /* layers that a line may cross; a longer one runs in the margin, too */
#define LAYERED_WORK_MAX  4000000u /* cells and links that are visited to reduce crossings */

/* Its members are results, except for those that are given. */
struct layered_box {
    int64_t width, height; /* given */
    int64_t x, y;          /* the centre */
    uint32_t rank;         /* its layer, from the top */
};

enum layered_way {
    LAYERED_DOWN,   /* from the bottom of one box to the top of a lower one */
    LAYERED_UP,     /* from the side of one box to the side of a higher one */
    LAYERED_LOOP,   /* from the side of a box to the same side */
    LAYERED_MARGIN, /* down, in the margin at the right */
    LAYERED_MARGIN_UP
};

struct layered_line {
    uint32_t from, to;                 /* given: boxes */
    bool minor;                        /* given: boxes stand along other lines */
    bool merged;                       /* given: merged lines down to the same box are joined */
    int64_t label_width, label_height; /* given; 0 without a label */
    enum layered_way way;
    bool joined;              /* it ends where it joins another line to the same box */
    bool labelled;            /* the label has a place */
    int64_t label_x, label_y; /* its centre */
    uint32_t first_point;     /* in layered.points */
    uint32_t point_count;     /* at least 2 */
};

/*
 * Between two points of a line that have the same x or the same y, it is straight; otherwise it is a curve that is
 * vertical at both ends. Every curve is in the gap between two layers.
 */
struct layered_point {
    int64_t x, y;
};

struct layered {
    struct layered_box *boxes;  /* borrowed; box 0 is the first one of the drawing (START) */
    uint32_t box_count;         /* at least 1 */
    uint32_t end;               /* given: END, which is placed last if no line leads from it; 0 without END */
    struct layered_line *lines; /* borrowed */
    uint32_t line_count;
    struct layered_point *points; /* owned */
    uint32_t point_count;
    int64_t width, height; /* of everything; the top left corner is 0, 0 */
};

/* Sets all results. The caller fills in what is given, and leaves the other members zero. */
void layered_place(struct layered *layered);
void layered_finish(struct layered *layered); /* frees the points */

#endif
