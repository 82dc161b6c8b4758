/*
 * plan.h - the form of a schema that answers only whether a value is valid; private to adl/schema.
 *
 * The checks of a node (internal.h) can report errors, show their places to a visitor and note what they evaluated.
 * Most validations need none of that and succeed. For these, each node also has a list of *steps* for each kind, so
 * that a value runs only what concerns it. A list of one step is that step's function and operand in the node itself:
 *
 *     node ── by_kind[kind] ──> run, step ──> step_pass | step_fail | a single step | step_list: step, step, …
 *
 * Steps combine what belongs together (minimum and maximum; properties, additionalProperties and required), refer to
 * nodes behind chains of $ref, and leave out branches of anyOf and oneOf that cannot match the kind. Names are found by
 * the position that is expected next, then by hash; values of an enum by hash, by a bit, or by bisection. A step runs
 * without memory, except for that of patterns and of uniqueItems. A check that has no step is called
 * (step_check).
 *
 * The steps and the checks have the same verdict. A validation that collects errors runs the steps first and the checks
 * only if these fail. A schema's steps take memory in proportion to the schema; they belong to it and never change.
 */
#ifndef TENON_ADL_SCHEMA_PLAN_H
#define TENON_ADL_SCHEMA_PLAN_H

#include "adl/schema/internal.h"
#include "adl/value/view.h"

struct names {
    struct name *at;
    uint32_t *slots; /* indices in `at`, plus 1; NULL if the names are few */
    uint32_t count, mask, longest;
};

struct name {
    const struct string *text; /* borrowed from the document */
    const struct node *node;   /* NULL if every value is allowed */
    bool known;                /* false for a name that is only required */
};

/* Numbers without a fraction and the others, both ascending. */
struct numbers {
    uint64_t first;     /* ints[0] */
    uint64_t bit_count; /* integers from `first` on that have a bit; 0 if they are too far apart */
    uint64_t *bits;
    int64_t *ints;
    double *doubles;
    uint32_t int_count, double_count;
};

struct range {
    int64_t least, most; /* of integers, inclusive */
    double low, high;    /* of doubles, inclusive */
};

struct extent {
    uint64_t least, most;
};

struct item_nodes {
    struct extent count;
    const struct node *const *prefix;
    size_t prefix_count;
    const struct node *rest; /* NULL if every further item is allowed */
};

struct object_plan {
    struct names names;
    uint64_t required;       /* bits of the first 64 names */
    uint32_t required_count; /* of all */
    bool every;              /* every member has to be looked at, because of the following two */
    bool closed;             /* no further member is allowed */
    const struct node *additional;
    const struct pattern *const *patterns;
    const struct node *const *patterned; /* NULL for a pattern whose values are all allowed */
    size_t pattern_count;
};

struct step {
    step_fn run;
    uint32_t count;
    union {
        const struct node *node;
        const struct node *const *nodes;
        const struct string *text;
        const struct names *names;
        const struct numbers *numbers;
        const tn_value *values;
        const struct range *range;
        const struct extent *extent;
        const struct pattern *pattern;
        const struct item_nodes *items;
        const struct object_plan *object;
        const struct check *check;
    } as;
};

#define STEP_FUNCTION(name) bool name(struct run *run, const struct node *node, const struct step *step, tn_value value)

/* Of a list: what a node runs for a kind instead of a single step. */
STEP_FUNCTION(step_pass);  /* there are no steps */
STEP_FUNCTION(step_fail);  /* no value of this kind is valid */
STEP_FUNCTION(step_list);  /* several steps, up to one whose `run` is NULL */
STEP_FUNCTION(step_scope); /* the same, in a schema with a dynamic scope */
/* Of any value. */
STEP_FUNCTION(step_node);   /* node: a reference, or a branch of allOf */
STEP_FUNCTION(step_any_of); /* nodes, count */
STEP_FUNCTION(step_one_of); /* nodes, count */
STEP_FUNCTION(step_not);    /* node */
STEP_FUNCTION(step_if);     /* nodes: condition, then, otherwise; the last two may be NULL */
STEP_FUNCTION(step_values); /* values, count: enum and const of what is neither a number nor a string */
STEP_FUNCTION(step_check);  /* check: one that has no step */
/* Of integers and of doubles. */
STEP_FUNCTION(step_int_range);      /* range */
STEP_FUNCTION(step_int_numbers);    /* numbers: enum and const */
STEP_FUNCTION(step_double_whole);   /* nothing: the type is integer */
STEP_FUNCTION(step_double_range);   /* range */
STEP_FUNCTION(step_double_numbers); /* numbers */
/* Of strings. */
STEP_FUNCTION(step_text);    /* text: const */
STEP_FUNCTION(step_texts);   /* names: enum */
STEP_FUNCTION(step_length);  /* extent, in code points */
STEP_FUNCTION(step_pattern); /* pattern */
/* Of arrays and objects. */
STEP_FUNCTION(step_count);    /* extent: items or members; that of items is part of step_items */
STEP_FUNCTION(step_items);    /* items */
STEP_FUNCTION(step_unique);   /* check, for many items */
STEP_FUNCTION(step_object);   /* object */
STEP_FUNCTION(step_required); /* names */
STEP_FUNCTION(step_tracked);  /* the checks of the node, because some depend on what others evaluated */

/* Makes the steps of all nodes, after all of them are compiled. */
void schema_plan(struct schema *schema);
void schema_plan_free(struct schema *schema);

/* True if the value is valid. A limit ends the run, as in evaluate(). The run collects no errors and has no visitor. */
bool plan_holds(struct run *run, const struct node *node, tn_value value);

#endif
