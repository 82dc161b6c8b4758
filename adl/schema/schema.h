/*
 * schema.h - JSON Schema 2020-12 over values: compile once, then validate, fill defaults, ask what applies where.
 *
 * A compiled schema is immutable and reference-counted: any number of threads may use one at once. Everything an
 * outsider writes (schema, instance, patterns) costs bounded work; what goes beyond a bound is TN_LIMIT, never a crash.
 *
 *     struct schema *schema;
 *     if (schema_compile(document, NULL, &schema, &error) != TN_OK) return report(&error);
 *     struct schema_errors errors = SCHEMA_ERRORS_INIT;
 *     if (schema_validate(schema, instance, &errors) != TN_OK)
 *         for (size_t i = 0; i < errors.count; i++) print(errors.items[i].pointer, errors.items[i].message);
 *     schema_errors_finish(&errors); schema_unref(schema);
 *
 * Dialect: 2020-12 with all its vocabularies; `format` is an annotation unless asked for. Documents that declare draft
 * 2019-09 or older are read with `items` as a list and `additionalItems`. Additions: the type name "bytes" for values
 * of that kind. Patterns are ECMA-262, Unicode mode, run by PCRE2. An integer is a number without a fraction: 1.0 is
 * one. The 2020-12 metaschemas are built in; other documents come through `resolve`: nothing here does any I/O.
 */
#ifndef TENON_ADL_SCHEMA_H
#define TENON_ADL_SCHEMA_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bounds. What a schema may be: */
#define SCHEMA_NODES_MAX     50000u      /* subschemas, over all documents */
#define SCHEMA_DEPTH_MAX     256u        /* nesting of subschemas in a document */
#define SCHEMA_DOCUMENTS_MAX 64u         /* documents reached by reference */
#define SCHEMA_POINTERS_MAX  (16u << 20) /* bytes of all subschemas' JSON Pointers together */
#define SCHEMA_PATTERN_MAX   4096u       /* bytes of one regular expression */
/* What validating may cost: */
#define SCHEMA_WORK_MAX           20000000u  /* subschema applications and comparisons of one call, by default */
#define SCHEMA_NESTING_MAX        1024u      /* subschemas in progress within each other: at most 512 KiB of stack */
#define SCHEMA_SUBJECT_MAX        (1u << 20) /* bytes of a string matched against a pattern */
#define SCHEMA_MATCH_MAX          200000u    /* backtracking steps of a pattern at one position */
#define SCHEMA_DEFAULTS_MAX       10000u     /* defaults filled in by one call; the rest stays absent */
#define SCHEMA_DEFAULTS_DEPTH_MAX 128u       /* levels, references included, into which they are filled */
/* What is reported: */
#define SCHEMA_ERRORS_MAX  64u   /* errors, by default */
#define SCHEMA_MESSAGE_MAX 1024u /* bytes of a message */

struct schema;

struct schema_options {
    /*
     * The document at an absolute URI without fragment: a new reference, or NULL where there is none. Called only while
     * compiling. May be NULL.
     */
    tn_value (*resolve)(void *self, const char *uri);
    void *self;
    const char *uri;    /* where the document came from: base of relative references; may be NULL */
    bool assert_format; /* `format` fails validation, for the formats that schema_format_known lists */
    uint32_t nodes;     /* 0: SCHEMA_NODES_MAX */
    uint32_t work;      /* 0: SCHEMA_WORK_MAX, for every later use of the schema */
};

/*
 * Compiles `document` (an object or a boolean), which is retained as far as needed. `options` may be NULL. *out carries
 * one reference. TN_INVALID: code SCHEMA, the message names the JSON Pointer in the schema. TN_LIMIT: code LIMIT.
 * [any thread]
 */
int32_t schema_compile(tn_value document, const struct schema_options *options, struct schema **out,
                       struct error *error);
struct schema *schema_ref(struct schema *schema);      /* returns its argument; [any thread] */
void schema_unref(struct schema *schema);              /* NULL is allowed; [any thread] */
tn_value schema_document(const struct schema *schema); /* borrowed: what it was compiled from */

/* One thing that is wrong. Everything in it belongs to the struct schema_errors it is in. */
struct schema_error {
    char *pointer;        /* JSON Pointer into the instance; "" is the root */
    bool on_key;          /* about the key that `pointer` ends with (unknown, badly named), not its value */
    const char *keyword;  /* "type", "required", …; "false" for a schema that allows nothing; "" for a bound */
    char *schema_pointer; /* JSON Pointer of the keyword in the document compiled; of another: "uri#/pointer" */
    char *message;        /* found, expected; says nothing of where: that is `pointer` */
    char *suggestion;     /* nearest known name or value where one is near, else NULL; the message has it too */
    tn_value found;       /* the value (or key) that is wrong */
    tn_value expected;    /* the keyword's value; of a missing property, its name */
};

struct schema_errors {
    struct schema_error *items;
    size_t count;
    size_t limit; /* 0: SCHEMA_ERRORS_MAX; set before validating */
    bool more;    /* there were more than the limit */
};

#define SCHEMA_ERRORS_INIT                                                                                             \
    { NULL, 0, 0, false }

void schema_errors_finish(struct schema_errors *errors); /* empties it; may be used again */

/*
 * TN_OK, TN_INVALID, or TN_LIMIT where a bound was reached (the last error then says which). `errors` may be NULL: the
 * verdict alone, which stops at the first failure and does not allocate, except for `pattern` (once per schema),
 * `uniqueItems` over more than 16 items and `unevaluated…` over more than 256 members or items. Otherwise everything
 * wrong is appended; of anyOf and oneOf the branch that came closest. [any thread]
 */
int32_t schema_validate(const struct schema *schema, tn_value instance, struct schema_errors *errors);

/*
 * The instance with `default`s of absent properties filled in, at every depth, through $ref, allOf, the branches of
 * anyOf, oneOf and if that hold; a new reference (the same value where nothing was absent). Needs no valid instance.
 */
tn_value schema_with_defaults(const struct schema *schema, tn_value instance);

/*
 * Called with an instance location and an annotation's value there. `where` is the instance value; `on_key`: it is the
 * key (a string) of the member that `pointer` names, annotated through propertyNames. All borrowed for the call.
 */
typedef void (*schema_annotation_fn)(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation);
/*
 * Every annotation `keyword` (any key of a subschema, e.g. "x-tenon") that applies to a part of the instance, outside
 * in. In an instance that is wrong somewhere the rest is still walked, and of anyOf and oneOf the closest branch.
 */
void schema_each_annotation(const struct schema *schema, tn_value instance, const char *keyword,
                            schema_annotation_fn callback, void *self);

/*
 * Every subschema that applies at the instance location `pointer`, which may name a member that is not there yet:
 * for completion and documentation. Where no branch of an anyOf or oneOf holds, all of the closest ones. `pointer` must
 * be a JSON Pointer; a location that nothing describes gives no call.
 */
typedef void (*schema_at_fn)(void *self, tn_value subschema);
void schema_at(const struct schema *schema, tn_value instance, const char *pointer, schema_at_fn callback, void *self);

/* Mask, 1 << TN_NULL … 1 << TN_OBJECT, of the kinds that an instance can have; integer alone gives 1 << TN_INT. */
int schema_kinds(const struct schema *schema);

/* Whether a name of `format` is one that assert_format checks. */
bool schema_format_known(const char *name);

#endif
