/*
 * template_internal.h - a compiled template: the steps that template.c renders and template_compile.c creates.
 *
 * The expressions of blocks are holes too, so code that checks holes checks them too. Variables of loops are appended
 * to the scope: slot n is the variable `base` + n. Slots are used again by the next loop.
 */
#ifndef TENON_ADL_TEMPLATE_INTERNAL_H
#define TENON_ADL_TEMPLATE_INTERNAL_H

#include "adl/template/template.h"
#include <stdatomic.h>

enum step_kind {
    STEP_TEXT, /* literal text from a to b */
    STEP_HOLE, /* the value of hole a */
    STEP_IF,   /* to b unless hole a is true */
    STEP_JUMP, /* to b */
    STEP_FOR,  /* begins a loop over hole a; to b if there is no item */
    STEP_NEXT  /* the next item of the innermost loop: to b + 1, where b is its STEP_FOR; the next step without one */
};

struct template_step {
    uint8_t kind;
    uint8_t slot, slots; /* STEP_FOR: the first variable, and whether there are one or two */
    uint32_t a, b;
};

struct template {
    atomic_uint references;
    struct buffer literal;
    struct template_hole *holes;
    struct template_step *steps;
    uint32_t hole_count, hole_capacity, step_count, step_capacity;
    uint32_t base; /* number of variables of the scope */
    bool loops;
};

/* The span of a hole's expression as a span of the template. */
struct span template_span(struct span span, uint32_t offset);
/* The length of a text that a message quotes: at most 160 bytes, cut between characters. */
int template_shown_length(const char *text);

#endif
