/*
 * internal.h - what a schema compiles to, and what validating carries along; for the files of adl/schema only.
 *
 * A schema is its nodes, one for each subschema of each document. A node is a mask of the kinds it allows and a row of
 * checks, grouped by the kind of instance they concern, so that validating is: test the mask, run two short rows. A
 * check is a keyword (or a family of keywords that need each other, such as properties and additionalProperties) with
 * its function and precomputed operands. Nodes refer to each other by pointer; all belong to the schema, and nothing
 * changes once schema_compile has returned.
 */
#ifndef TENON_ADL_SCHEMA_INTERNAL_H
#define TENON_ADL_SCHEMA_INTERNAL_H

#include "adl/schema/decimal.h"
#include "adl/schema/format.h"
#include "adl/schema/pattern.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/nearest.h"
#include <stdatomic.h>

/* ---- What a schema is ---------------------------------------------------------------------------------------- */

/* Vocabularies, and deviations of older drafts: which keywords a resource gives a meaning to. */
#define DIALECT_CORE        1u
#define DIALECT_APPLICATOR  2u
#define DIALECT_UNEVALUATED 4u
#define DIALECT_VALIDATION  8u
#define DIALECT_FORMAT      16u /* format is an assertion */
#define DIALECT_LEGACY      32u /* draft 2019-09 and older: items may be a list, no prefixItems */
#define DIALECT_STANDARD    (DIALECT_CORE | DIALECT_APPLICATOR | DIALECT_UNEVALUATED | DIALECT_VALIDATION)

/* What an instance must be for a check to concern it; LAST come those that need what the others evaluated. */
enum group { GROUP_NUMBER, GROUP_STRING, GROUP_ARRAY, GROUP_OBJECT, GROUP_ANY, GROUP_LAST, GROUP_COUNT };

struct run;
struct node;
struct check;
struct place;
struct marks;

/*
 * True where the instance passes. False only after fail() or exhausted(). `marks`, where not NULL, is told which
 * members or items were evaluated.
 */
typedef bool (*check_fn)(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                         const struct place *place, struct marks *marks);

struct nodes {
    struct node **at;
    size_t count;
};

/* properties, patternProperties, additionalProperties */
struct members {
    tn_value index; /* name → position in named; NULL without properties */
    struct nodes named;
    struct pattern **patterns; /* as many as patterned */
    struct nodes patterned;
    struct node *additional; /* NULL: not given */
};

/* dependentRequired, dependentSchemas, dependencies: each name with either names or a node */
struct dependent {
    tn_value name, required; /* borrowed from the document; required NULL where node is not */
    struct node *node;
};

struct check {
    check_fn run;
    const char *keyword;
    tn_value value; /* of the keyword; borrowed from the document */
    uint8_t group, order;
    union {
        struct node *node;
        struct nodes nodes;
        uint64_t count;
        struct decimal decimal;
        struct pattern *pattern;
        format_fn format;
        struct members *members;
        struct {
            tn_value strings, others; /* enum: a set as an object, an array; owned */
        } values;
        struct {
            struct nodes prefix;
            struct node *rest;
        } items;
        struct {
            struct node *node;
            uint64_t least, most;
        } contains;
        struct {
            struct node *condition, *then, *otherwise;
        } branch;
        struct {
            struct dependent *at;
            size_t count;
        } dependents;
        struct {
            struct node *node; /* what the reference says without the dynamic scope */
            const char *name;  /* of the anchor, borrowed; NULL where it is not dynamic after all */
        } dynamic;
    } as;
};

struct document {
    char *uri;     /* "" for the main one without an address */
    tn_value root; /* owned */
};

struct anchor {
    const char *name; /* borrowed */
    struct node *node;
};

/* A schema with an URI of its own: a document's root, or a subschema with $id. */
struct resource {
    char *uri;
    size_t document; /* index in schema.documents */
    struct node *root;
    uint32_t dialect;
    struct anchor *dynamic; /* its $dynamicAnchors */
    size_t dynamic_count;
};

struct node {
    uint32_t kinds;   /* mask of allowed kinds; 0 for the schema `false` */
    bool integral;    /* a double must have no fraction */
    bool unevaluated; /* has a check in GROUP_LAST */
    uint8_t check_count;
    uint8_t start[GROUP_COUNT + 1]; /* checks[start[g]] … checks[start[g + 1] - 1] are those of group g */
    struct check *checks;
    struct resource *resource;
    tn_value value; /* borrowed from the document */
    char *pointer;  /* in the document */
};

struct spare {
    _Atomic(void *) scratch; /* a pattern's memory between validations; NULL while in use */
};

struct schema {
    atomic_uint references;
    struct node *root;
    struct node **nodes;
    struct resource **resources;
    struct document *documents; /* [0] is what was compiled */
    size_t node_count, node_room, resource_count, document_count;
    struct spare *spare;
    uint32_t work;
    bool assert_format;
};

/* ---- Compiling ------------------------------------------------------------------------------------------------ */

struct compiler {
    struct schema *schema;
    const struct schema_options *options;
    struct error *error;
    int32_t status;
    tn_value locations;   /* "document#pointer" → index in schema.nodes */
    tn_value anchors;     /* "uri#name" → index in schema.nodes */
    tn_value by_uri;      /* uri → index in schema.resources */
    size_t pointer_bytes; /* of all nodes */
};

/* How a keyword holds subschemas. */
enum shape { SHAPE_NONE, SHAPE_ONE, SHAPE_LIST, SHAPE_MAP, SHAPE_ONE_OR_LIST, SHAPE_MAP_OR_NAMES };

struct keyword {
    const char *name;
    uint32_t dialect; /* any of these gives it a meaning */
    uint32_t not_in;  /* any of these takes it away */
    enum shape shape;
    enum group group;
    bool (*compile)(struct compiler *compiler, struct node *node, const struct keyword *keyword, tn_value value);
};

const struct keyword *keyword_find(tn_value name, uint32_t dialect); /* NULL: an annotation */
/* Fills in the checks of a node. */
bool keywords_compile(struct compiler *compiler, struct node *node);

/* Sets the error; `keyword` and `key` may be NULL and extend the node's pointer. Returns false. */
bool compile_fail(struct compiler *compiler, const struct node *node, const char *keyword, tn_value key,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The subschema at node/keyword or node/keyword/key; key NULL, a string, or an integer. It exists: scanning made it. */
struct node *compile_child(struct compiler *compiler, const struct node *node, const char *keyword, tn_value key);
/* The node a reference in `node` means; NULL after compile_fail. `anchor` gets the plain-name fragment, or "". */
struct node *compile_reference(struct compiler *compiler, const struct node *node, const char *keyword, tn_value value,
                               bool *to_dynamic_anchor);

/* The built-in document at an URI: a new reference, or NULL. */
tn_value metaschema_document(const char *uri);

/* ---- Validating ----------------------------------------------------------------------------------------------- */

/* A location in the instance, on the stack of who descended to it; the root is NULL. */
struct place {
    const struct place *parent;
    tn_value key; /* NULL: an item */
    size_t index;
    bool on_key;
};

#define MARKS_INLINE 4 /* words: 256 members or items without allocation */

/* Which members or items have been evaluated: bits by position. */
struct marks {
    bool all;
    size_t words;
    uint64_t *bits; /* `room`, or the heap */
    uint64_t room[MARKS_INLINE];
};

/* The resources entered on the way here, for $dynamicRef. */
struct scope {
    const struct scope *parent;
    const struct resource *resource;
};

struct visitor {
    void (*visit)(struct visitor *visitor, const struct node *node, tn_value instance, const struct place *place);
    bool (*enters)(struct visitor *visitor, const struct place *place); /* NULL: every place */
    bool every_closest; /* where no branch holds, all of the closest ones and not the first */
};

struct run {
    const struct schema *schema;
    struct schema_errors *errors; /* NULL: the verdict alone, unless there is a visitor */
    struct schema_errors *report; /* where they end up: errors, except while a branch is tried out */
    struct visitor *visitor;      /* NULL unless walking */
    const struct scope *scope;
    uint64_t work;     /* left */
    uint32_t nesting;  /* left */
    uint32_t defaults; /* left to fill in */
    int32_t status;    /* TN_LIMIT once exhausted: everything then ends */
    void *scratch;
};

/* Whether to go on after a failure. */
static inline bool run_thorough(const struct run *run) { return run->errors || run->visitor; }

void run_init(struct run *run, const struct schema *schema);
void run_finish(struct run *run);

/* Whether `instance` passes `node`. */
bool evaluate(struct run *run, const struct node *node, tn_value instance, const struct place *place,
              struct marks *marks);
/* The same for another part of the instance; a visitor may skip it. */
bool descend(struct run *run, const struct node *node, tn_value instance, const struct place *place);
/* The same, verdict alone: reports and visits nothing. */
bool holds(struct run *run, const struct node *node, tn_value instance, const struct place *place, struct marks *marks);
/* Uses up work; false, with the run ended, where none is left. */
bool spend(struct run *run, const struct place *place, uint64_t amount);
bool exhausted(struct run *run, const struct place *place, const char *what);

void marks_init(struct marks *marks, tn_value instance);
void marks_finish(struct marks *marks);
static inline void marks_set(struct marks *marks, size_t index) { marks->bits[index / 64] |= 1ull << (index % 64); }
static inline bool marks_has(const struct marks *marks, size_t index) {
    return marks->all || (marks->bits[index / 64] >> (index % 64) & 1);
}
void marks_merge(struct marks *into, const struct marks *from);

#define CHECK_FUNCTION(name)                                                                                           \
    bool name(struct run *run, const struct node *node, const struct check *check, tn_value instance,                  \
              const struct place *place, struct marks *marks)
/* No branch of anyOf or oneOf holds: reports (or visits) the one that came closest. Returns false. */
CHECK_FUNCTION(fail_closest);

CHECK_FUNCTION(check_minimum);
CHECK_FUNCTION(check_maximum);
CHECK_FUNCTION(check_exclusive_minimum);
CHECK_FUNCTION(check_exclusive_maximum);
CHECK_FUNCTION(check_multiple_of);
CHECK_FUNCTION(check_min_length);
CHECK_FUNCTION(check_max_length);
CHECK_FUNCTION(check_pattern);
CHECK_FUNCTION(check_format);
CHECK_FUNCTION(check_enum);
CHECK_FUNCTION(check_const);
CHECK_FUNCTION(check_items);
CHECK_FUNCTION(check_contains);
CHECK_FUNCTION(check_min_items);
CHECK_FUNCTION(check_max_items);
CHECK_FUNCTION(check_unique);
CHECK_FUNCTION(check_unevaluated_items);
CHECK_FUNCTION(check_members);
CHECK_FUNCTION(check_names);
CHECK_FUNCTION(check_required);
CHECK_FUNCTION(check_dependents);
CHECK_FUNCTION(check_min_properties);
CHECK_FUNCTION(check_max_properties);
CHECK_FUNCTION(check_unevaluated_properties);
CHECK_FUNCTION(check_ref);
CHECK_FUNCTION(check_dynamic_ref);
CHECK_FUNCTION(check_all_of);
CHECK_FUNCTION(check_any_of);
CHECK_FUNCTION(check_one_of);
CHECK_FUNCTION(check_not);
CHECK_FUNCTION(check_if);

/* ---- Reporting ------------------------------------------------------------------------------------------------ */

/* What an error says besides its message. */
struct finding {
    const struct node *node;
    const char *keyword;
    const struct place *place;
    tn_value found, expected; /* borrowed */
    const char *suggestion;
    size_t suggestion_length;
    const char *pointer; /* instead of place, where that is gone */
};

/* Both return false. Nothing is formatted where errors are not wanted. */
bool fail(struct run *run, const struct node *node, const struct check *check, tn_value found,
          const struct place *place, const char *format, ...) __attribute__((format(printf, 6, 7)));
bool fail_finding(struct run *run, const struct finding *finding, const char *message);
bool fail_kind(struct run *run, const struct node *node, tn_value instance, const struct place *place);
/* A member that nothing describes: `place` is the member's. */
bool fail_unknown(struct run *run, const struct node *node, const struct check *check, const struct place *place);

void errors_init(struct schema_errors *errors, size_t limit);
/* Moves them over, as far as there is room; `from` is empty after. */
void errors_move(struct schema_errors *errors, struct schema_errors *from);
char *place_pointer(const struct place *place); /* mem_free it */
/* A value as a sentence has it: `the string "abc"`, `the number 3`, `an array of 2 items`, `null`. */
void describe(struct buffer *out, tn_value value);
void describe_short(struct buffer *out, tn_value value);  /* as JSON, cut */
void describe_types(struct buffer *out, tn_value type);   /* `a number or null`, of the keyword's value */
void describe_values(struct buffer *out, tn_value array); /* `"a", "b" or 3`, cut */
void pointer_append(struct buffer *out, tn_value key);    /* "/" and the key, escaped; key a string or an integer */

#endif
