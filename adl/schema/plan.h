/*
 * plan.h - the form of a schema that answers only whether a value is valid; private to adl/schema.
 *
 * The checks of a node (internal.h) can report errors, show their places to a visitor and note what they evaluated.
 * Most validations need none of that and succeed. For these, each node also has lists of *steps*, one list for each
 * group of kinds, so that a value runs only what concerns its kind:
 *
 *     node ── kinds ──> is the kind allowed?
 *          └─ lists[number, string, array, object, other] ──> step, step, …, STEP_END     NULL: nothing to check
 *
 * Steps combine what belongs together (minimum and maximum; properties, additionalProperties and required), refer to
 * nodes behind chains of $ref, and leave out branches of anyOf and oneOf that cannot match the kind. Names are found by
 * the position that is expected next, then by hash; values of an enum by hash, by a bit, or by bisection. A step runs
 * without memory, except for that of patterns and of uniqueItems. A check without a step of its own is called
 * (STEP_CHECK).
 *
 * The steps and the checks have the same verdict. A validation that collects errors runs the steps first and the checks
 * only if these fail. A schema's steps take memory in proportion to the schema; they belong to it and never change.
 */
#ifndef TENON_ADL_SCHEMA_PLAN_H
#define TENON_ADL_SCHEMA_PLAN_H

#include "adl/schema/internal.h"
#include "adl/value/view.h"

enum step_op {
    STEP_END,      /* the value is valid */
    STEP_FAIL,     /* no value of this kind is valid */
    STEP_NODE,     /* node: a reference, or a branch of allOf */
    STEP_ANY_OF,   /* nodes, count */
    STEP_ONE_OF,   /* nodes, count */
    STEP_NOT,      /* node */
    STEP_IF,       /* nodes: condition, then, otherwise; the last two may be NULL */
    STEP_TEXT,     /* text: const of a string */
    STEP_TEXTS,    /* names: enum */
    STEP_NUMBERS,  /* numbers: enum and const */
    STEP_VALUES,   /* values, count: enum and const of anything else */
    STEP_RANGE,    /* range */
    STEP_LENGTH,   /* extent: code points of a string */
    STEP_PATTERN,  /* pattern */
    STEP_COUNT,    /* extent: items or members */
    STEP_ITEMS,    /* items */
    STEP_UNIQUE,   /* nothing */
    STEP_OBJECT,   /* object */
    STEP_REQUIRED, /* names */
    STEP_CHECK,    /* check */
    STEP_TRACKED,  /* the checks of the node, because some depend on what others evaluated */
};

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

/* Numbers without a fraction and the others, both ascending; `bits` has a bit for each integer above ints[0]. */
struct numbers {
    int64_t *ints;
    double *doubles;
    uint64_t *bits; /* NULL if the integers are too far apart */
    uint32_t int_count, double_count;
};

struct range {
    int64_t least, most; /* of integers, inclusive */
    double low, high;    /* of doubles */
    bool low_open, high_open;
};

struct extent {
    uint64_t least, most;
};

struct item_nodes {
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
    enum step_op op;
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

/* Makes the steps of all nodes, after all of them are compiled. */
void schema_plan(struct schema *schema);
void schema_plan_free(struct schema *schema);

/* True if the value is valid. A limit ends the run, as in evaluate(). The run collects no errors and has no visitor. */
bool plan_holds(struct run *run, const struct node *node, tn_value value);

#endif
