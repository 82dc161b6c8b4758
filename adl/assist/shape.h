/*
 * shape.h - what several schemas that apply at one place say together: description, kinds, values, annotations.
 *
 *     struct shape shape;
 *     shape_init(&shape);
 *     meaning_each_schema(&meaning, true, shape_add, &shape);
 *     if (shape.description) show(shape.description);
 *     shape_finish(&shape);
 *
 * The texts are borrowed from the schemas, which a catalog or a document owns. Outer schemas come first and take
 * precedence.
 */
#ifndef TENON_ADL_ASSIST_SHAPE_H
#define TENON_ADL_ASSIST_SHAPE_H

#include "adl/value/buffer.h"
#include "adl/value/value.h"

#define SHAPE_VALUES_MAX      256u /* values of enum and const, and examples, that are kept */
#define SHAPE_ANNOTATIONS_MAX 8u

struct shape {
    const char *title, *description;                /* NULL if absent */
    tn_value fallback;                              /* `default`; borrowed; NULL if absent */
    tn_value values, examples;                      /* arrays */
    tn_value minimum, maximum;                      /* borrowed; NULL if absent */
    tn_value told;                                  /* `x-tenon-values`: {value: one line}; borrowed; NULL if absent */
    uint32_t kinds;                                 /* mask 1 << TN_…; 0 if every kind is allowed */
    bool deprecated, found;                         /* found: a schema was added */
    const char *annotations[SHAPE_ANNOTATIONS_MAX]; /* values of x-tenon */
    uint32_t annotation_count;
};

void shape_init(struct shape *shape);
void shape_add(void *shape, tn_value schema); /* has the form of a schema_at_fn */
void shape_finish(struct shape *shape);
/* True if x-tenon has this value. */
bool shape_has(const struct shape *shape, const char *annotation);
/* What `x-tenon-values` says about a text; NULL if nothing. */
const char *shape_told(const struct shape *shape, const char *text, size_t length);
/* Appends "string", "integer or null", `"a" | "b"`; "any" if nothing is known. */
void shape_write_type(const struct shape *shape, struct buffer *out);

#endif
