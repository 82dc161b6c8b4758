/*
 * picture.h - a document as boxes and lines with their texts and places; private to adl/draw.
 *
 * A picture is what draw_svg.c writes. It has a box for START, for every node, for END if something leads there, and
 * one for every edge that joins several nodes: a bar, at which their lines meet. Documents inside nodes are pictures in
 * their boxes. Lengths are tenths of a pixel, places those of adl/draw/layered.h.
 *
 *     struct picture *picture = picture_new(document, &inside);
 *     for (uint32_t i = 0; i < picture->layered.box_count; i++) ... picture->boxes[i], picture->layered.boxes[i] ...
 *     picture_free(picture);
 */
#ifndef TENON_ADL_PICTURE_H
#define TENON_ADL_PICTURE_H

#include "adl/draw/draw_internal.h"
#include "adl/draw/layered.h"

#define PICTURE_NAME_SIZE  13 /* of fonts, in pixels */
#define PICTURE_TYPE_SIZE  11
#define PICTURE_LABEL_SIZE 11
#define PICTURE_LABEL_LINE 140 /* the height of a line of a label */
#define PICTURE_HEADER     440 /* the height of a node's texts */
#define PICTURE_STACK      80  /* the space of the sheets behind a node that runs for each item */

enum picture_kind { PICTURE_START, PICTURE_END, PICTURE_NODE, PICTURE_JOIN };

struct picture_box {
    enum picture_kind kind;
    uint32_t node;           /* PICTURE_NODE */
    char *name, *type;       /* as they are shown, safe; NULL for a join */
    bool stacked;            /* a map edge leads to it */
    struct picture **inside; /* the documents inside the node */
    uint32_t inside_count;
};

struct picture_line {
    struct draw_arrow arrow; /* that of a join's bar has one real end; its other end is DOCUMENT_NOWHERE */
    char *label;             /* as it is shown, safe, with '\n' between lines; NULL without a label */
};

struct picture {
    const struct document *document; /* borrowed */
    struct picture_box *boxes;       /* parallel to layered.boxes */
    struct picture_line *lines;      /* parallel to layered.lines */
    struct layered layered;
    uint32_t line_capacity, box_capacity;
    uint32_t last_edge; /* while it is filled: the edge of the last bar */
    int32_t last_from;  /* and the last node that leads to it */
};

/* The caller has checked the number of arrows. Pictures are inside each other as deep as `inside` has documents. */
struct picture *picture_new(const struct document *document, const struct draw_inside *inside);
void picture_free(struct picture *picture); /* NULL is allowed */
/* Where the pictures inside a box begin, from its top left corner: the first one. The next ones are at its right. */
#define PICTURE_INSIDE_LEFT 140
#define PICTURE_INSIDE_TOP  PICTURE_HEADER
#define PICTURE_INSIDE_GAP  160
#define PICTURE_FRAME       140 /* around what is inside */

#endif
