/*
 * lens.h - code lenses: how often nodes, channels and roles are named, and where the document can be run.
 *
 *     struct assist_lenses *lenses = assist_lenses(names, &workspace);
 *     for (size_t i = 0; i < lenses->count; i++) show(lenses->items[i].span, lenses->items[i].references);
 *     assist_lenses_free(lenses);
 */
#ifndef TENON_ADL_ASSIST_LENS_H
#define TENON_ADL_ASSIST_LENS_H

#include "adl/assist/symbol.h"

enum assist_lens_kind {
    ASSIST_LENS_RUN,        /* run, or debug, the document */
    ASSIST_LENS_REFERENCES, /* `references` places name what is defined at `span` */
};

struct assist_lens {
    enum assist_lens_kind kind;
    struct span span;    /* the name, or for ASSIST_LENS_RUN the key of the first section */
    uint32_t references; /* without the definitions */
    bool has_errors;     /* ASSIST_LENS_RUN: the document cannot be run as it is */
};

struct assist_lenses {
    struct assist_lens *items; /* by position */
    size_t count, capacity;
};

/* The references are those of the whole workspace. Never returns NULL. */
struct assist_lenses *assist_lenses(const struct assist_names *names, const struct assist_workspace *workspace);
void assist_lenses_free(struct assist_lenses *lenses); /* NULL is allowed */

#endif
