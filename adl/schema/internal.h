/*
 * internal.h - the compiled form of a schema and the state of a validation; private to adl/schema.
 *
 * A schema consists of nodes, one for each subschema of each document. A node is a mask of allowed kinds and a list of
 * checks, grouped by the kind of instance they apply to. Checks report errors and visit places; a validation that needs
 * only the verdict runs the steps of plan.h, which are made of them. A check is
 * a keyword (or a family of keywords that depend on each other, such as properties and additionalProperties) with its
 * function and precomputed operands. Nodes refer to each other by pointer; the schema owns all of them, and nothing
 * changes after schema_compile.
 */
#ifndef TENON_ADL_SCHEMA_INTERNAL_H
#define TENON_ADL_SCHEMA_INTERNAL_H

#include "adl/schema/decimal.h"
#include "adl/schema/format.h"
#include "adl/schema/pattern.h"
#include "adl/schema/pattern_quick.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/nearest.h"
#include <stdatomic.h>

/* ---- What a schema is ---------------------------------------------------------------------------------------- */

/* Vocabularies, and deviations of older drafts: they select the keywords that are active in a resource. */
#define DIALECT_CORE        1u
#define DIALECT_APPLICATOR  2u
#define DIALECT_UNEVALUATED 4u
#define DIALECT_VALIDATION  8u
#define DIALECT_FORMAT      16u /* format is an assertion */
#define DIALECT_LEGACY      32u /* draft 2019-09 and older: items may be a list, no prefixItems */
#define DIALECT_STANDARD    (DIALECT_CORE | DIALECT_APPLICATOR | DIALECT_UNEVALUATED | DIALECT_VALIDATION)

#define KINDS_ALL                                                                                                      \
    (1u << TN_NULL | 1u << TN_BOOL | 1u << TN_INT | 1u << TN_DOUBLE | 1u << TN_STRING | 1u << TN_BYTES |               \
     1u << TN_ARRAY | 1u << TN_OBJECT)

/* The kind of instance that a check applies to. LAST contains the checks that depend on what the others evaluated. */
enum group { GROUP_NUMBER, GROUP_STRING, GROUP_ARRAY, GROUP_OBJECT, GROUP_ANY, GROUP_LAST, GROUP_COUNT };

struct run;
struct node;
struct check;
struct place;
struct marks;
struct step;
struct plan_part;

/*
 * Returns true if the instance passes. Returns false only after fail() or exhausted(). If `marks` is not NULL, the
 * evaluated members or items are recorded there.
 */
typedef bool (*check_fn)(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                         const struct place *place, struct marks *marks);

/* Returns true if the instance passes; reports nothing (plan.h). */
typedef bool (*step_fn)(struct run *run, const struct node *node, const struct step *step, tn_value value);

struct nodes {
    struct node **at;
    size_t count;
};

/* properties, patternProperties, additionalProperties */
struct members {
    tn_value index; /* NULL without `properties` */
    struct nodes named;
    struct pattern **patterns; /* one per entry of `patterned` */
    struct nodes patterned;
    struct node *additional; /* NULL if absent */
};

/* dependentRequired, dependentSchemas, dependencies: each name has either names or a node. */
struct dependent {
    tn_value name, required; /* borrowed from the document; `required` is NULL if `node` is set */
    struct node *node;
};

struct check {
    check_fn run;
    const char *keyword;
    tn_value value; /* the keyword's value; borrowed from the document */
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
            struct node *node; /* the target without the dynamic scope */
            const char *name;  /* the anchor's name, borrowed; NULL if the reference is not dynamic */
        } dynamic;
    } as;
};

struct document {
    char *uri;     /* "" for a main document without an address */
    tn_value root; /* owned */
};

struct anchor {
    const char *name; /* borrowed */
    struct node *node;
};

/* A schema with its own URI: a document's root, or a subschema with $id. */
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
    uint32_t accepts; /* mask of the kinds that can be valid: `kinds`, fractions of `integral`, const and enum */
    struct {
        step_fn run;
        const struct step *step;
    } by_kind[TN_OBJECT + 1];       /* see plan.h */
    uint8_t start[GROUP_COUNT + 1]; /* checks[start[g]] … checks[start[g + 1] - 1] are those of group g */
    struct check *checks;
    struct resource *resource;
    tn_value value; /* borrowed from the document */
    char *pointer;  /* JSON pointer in the document */
};

struct spare {
    _Atomic(void *) scratch; /* a pattern's memory between validations; NULL during use */
};

struct schema {
    atomic_uint references;
    struct node *root;
    struct node **nodes;
    struct resource **resources;
    struct document *documents; /* [0] is the main document */
    size_t node_count, node_room, resource_count, document_count;
    struct spare *spare;
    struct plan_part *parts; /* the memory of all steps */
    uint32_t work;
    bool assert_format;
    bool dynamic; /* has references that depend on the dynamic scope */
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
    size_t pointer_bytes; /* bytes of the pointers of all nodes */
    size_t entries;       /* values of enum and names of required, of all nodes */
    struct quick_budget quick;
};

/* How a keyword holds subschemas. */
enum shape { SHAPE_NONE, SHAPE_ONE, SHAPE_LIST, SHAPE_MAP, SHAPE_ONE_OR_LIST, SHAPE_MAP_OR_NAMES };

struct keyword {
    const char *name;
    uint32_t dialect; /* the keyword is active in any of these */
    uint32_t not_in;  /* the keyword is inactive in any of these */
    enum shape shape;
    enum group group;
    bool (*compile)(struct compiler *compiler, struct node *node, const struct keyword *keyword, tn_value value);
};

const struct keyword *keyword_find(tn_value name, uint32_t dialect); /* NULL if it is an annotation */
/* Creates the checks of a node. */
bool keywords_compile(struct compiler *compiler, struct node *node);

/* Counts entries of tables; returns false, with the error set, if the schema has too many of them. */
bool compile_count_entries(struct compiler *compiler, const struct node *node, size_t count);
/* Sets the error; `keyword` and `key` may be NULL and extend the node's pointer. Returns false. */
bool compile_fail(struct compiler *compiler, const struct node *node, const char *keyword, tn_value key,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));
/*
 * Returns the subschema at node/keyword or node/keyword/key; key is NULL, a string, or an integer. It exists because
 * scanning created it.
 */
struct node *compile_child(struct compiler *compiler, const struct node *node, const char *keyword, tn_value key);
/*
 * Returns the target of a reference in `node`, or NULL after compile_fail. `anchor` is set to the plain-name fragment,
 * or "".
 */
struct node *compile_reference(struct compiler *compiler, const struct node *node, const char *keyword, tn_value value,
                               bool *to_dynamic_anchor);

/* The built-in document at an URI: a new reference, or NULL. */
tn_value metaschema_document(const char *uri);

/* ---- Validating ----------------------------------------------------------------------------------------------- */

/* A location in the instance, stored on the stack of the function that descended to it; the root is NULL. */
struct place {
    const struct place *parent;
    tn_value key; /* NULL for an item */
    size_t index;
    bool on_key;
};

#define MARKS_INLINE 4 /* words for 256 members or items without an allocation */

/* The evaluated members or items, as bits by position. */
struct marks {
    bool all;
    size_t words;
    uint64_t *bits; /* `room`, or the heap */
    uint64_t room[MARKS_INLINE];
};

/* The resources entered on the way to this node, for $dynamicRef. */
struct scope {
    const struct scope *parent;
    const struct resource *resource;
};

struct visitor {
    void (*visit)(struct visitor *visitor, const struct node *node, tn_value instance, const struct place *place);
    bool (*enters)(struct visitor *visitor, const struct place *place); /* NULL to visit every place */
    bool every_closest; /* if no branch matches, visits all of the closest ones instead of the first */
};

struct run {
    const struct schema *schema;
    struct schema_errors *errors; /* NULL if errors are not collected */
    struct schema_errors *report; /* final list: `errors`, except while a branch is tried */
    struct visitor *visitor;      /* NULL unless walking */
    const struct scope *scope;
    uint64_t work;     /* work units that are left */
    uint32_t nesting;  /* levels that are left */
    uint32_t defaults; /* defaults that may still be filled in */
    int32_t status;    /* TN_LIMIT after a limit was reached; everything then ends */
    void *scratch;
};

/* True if nothing but the verdict is needed: then plan.h applies. */
static inline bool run_is_plain(const struct run *run) { return !run->errors && !run->report && !run->visitor; }
/* True if no further error can be reported. */
static inline bool run_is_full(const struct run *run) { return run->report && run->report->more; }
/* True if validation continues after a failure. A long value may have as many as it has members. */
static inline bool run_thorough(const struct run *run) { return (run->errors && !run_is_full(run)) || run->visitor; }

void run_init(struct run *run, const struct schema *schema);
void run_finish(struct run *run);

/* Returns true if `instance` passes `node`. */
bool evaluate(struct run *run, const struct node *node, tn_value instance, const struct place *place,
              struct marks *marks);
/* Ends the run because the schema applies too many subschemas within each other. Returns false. */
bool endless(struct run *run, const struct place *place);
/* Returns 1 if the pattern matches the text, 0 if not, or -1 after ending the run. */
int run_match(struct run *run, const struct pattern *pattern, tn_value text, const struct place *place);
/* Like evaluate, for another part of the instance; a visitor may skip it. */
bool descend(struct run *run, const struct node *node, tn_value instance, const struct place *place);
/* Like evaluate, but reports and visits nothing. */
bool holds(struct run *run, const struct node *node, tn_value instance, const struct place *place, struct marks *marks);
/* Uses work units; returns false and ends the run if none are left. */
bool spend(struct run *run, const struct place *place, uint64_t amount);
/* Runs the checks of a node that is `unevaluated` over an array or object that it allows. */
bool run_tracked(struct run *run, const struct node *node, tn_value instance);
size_t count_code_points(const char *text, size_t length);
bool exhausted(struct run *run, const struct place *place, const char *what);

static inline void marks_set(struct marks *marks, size_t index) { marks->bits[index / 64] |= 1ull << (index % 64); }
static inline bool marks_has(const struct marks *marks, size_t index) {
    return marks->all || (marks->bits[index / 64] >> (index % 64) & 1);
}

#define CHECK_FUNCTION(name)                                                                                           \
    bool name(struct run *run, const struct node *node, const struct check *check, tn_value instance,                  \
              const struct place *place, struct marks *marks)
/* Called if no branch of anyOf or oneOf matches: reports (or visits) the closest one. Returns false. */
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

/* The parts of an error besides its message. */
struct finding {
    const struct node *node;
    const char *keyword;
    const struct place *place;
    tn_value found, expected; /* borrowed */
    const char *suggestion;
    size_t suggestion_length;
    const char *pointer; /* used instead of `place` if that no longer exists */
};

/* Both return false. Nothing is formatted if errors are not needed. */
bool fail(struct run *run, const struct node *node, const struct check *check, tn_value found,
          const struct place *place, const char *format, ...) __attribute__((format(printf, 6, 7)));
bool fail_finding(struct run *run, const struct finding *finding, const char *message);
bool fail_kind(struct run *run, const struct node *node, tn_value instance, const struct place *place);
/* Reports a member that the schema does not describe: `place` is the member's. */
bool fail_unknown(struct run *run, const struct node *node, const struct check *check, const struct place *place);

void errors_init(struct schema_errors *errors, size_t limit);
/* Moves the errors while there is room; `from` is empty afterwards. */
void errors_move(struct schema_errors *errors, struct schema_errors *from);
char *place_pointer(const struct place *place); /* free it with mem_free */
/* Describes a value for a sentence: `the string "abc"`, `the number 3`, `an array of 2 items`, `null`. */
void describe(struct buffer *out, tn_value value);
void describe_short(struct buffer *out, tn_value value);  /* as JSON, cut */
void describe_types(struct buffer *out, tn_value type);   /* `a number or null`, from the keyword's value */
void describe_values(struct buffer *out, tn_value array); /* `"a", "b" or 3`, cut */
void pointer_append(struct buffer *out, tn_value key);    /* "/" and the key, escaped; key a string or an integer */

#endif
