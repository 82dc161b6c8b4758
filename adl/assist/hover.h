/*
 * hover.h - what the thing at an offset of a text is.
 *
 *     struct assist_hover *hover = assist_hover(assist, offset);
 *     if (hover) show(hover->span, hover->markdown);
 *     assist_hover_free(hover);
 */
#ifndef TENON_ADL_ASSIST_HOVER_H
#define TENON_ADL_ASSIST_HOVER_H

#include "adl/assist/assist.h"

struct assist_hover {
    struct span span; /* what the text is about */
    char *markdown;   /* at most DESCRIBE_MAX bytes (describe.h) */
    char *text;       /* the same as plain text */
};

/* NULL when nothing is known about the place. The result is valid after the assist was freed. Any thread. */
struct assist_hover *assist_hover(const struct assist *assist, uint32_t offset);
void assist_hover_free(struct assist_hover *hover); /* NULL is allowed */

#endif
