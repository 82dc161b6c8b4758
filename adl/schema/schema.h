/*
 * schema.h - JSON Schema 2020-12 over values: compile once, then validate, fill in defaults, and query annotations.
 *
 * A compiled schema is immutable and reference-counted; any number of threads may use it at once. Everything that comes
 * from outside (schema, instance, patterns) costs bounded work; exceeding a limit returns TN_LIMIT and never crashes.
 *
 *     struct schema *schema;
 *     if (schema_compile(document, NULL, &schema, &error) != TN_OK) return report(&error);
 *     struct schema_errors errors = SCHEMA_ERRORS_INIT;
 *     if (schema_validate(schema, instance, &errors) != TN_OK)
 *         for (size_t i = 0; i < errors.count; i++) print(errors.items[i].pointer, errors.items[i].message);
 *     schema_errors_finish(&errors); schema_unref(schema);
 *
 * Dialect: 2020-12 with all its vocabularies; `format` is an annotation by default. Documents that declare draft
 * 2019-09 or older are read with `items` as a list and `additionalItems`. Addition: the type name "bytes" for values of
 * that kind. Patterns are ECMA-262 in Unicode mode, run as tables or by PCRE2. An integer is a number without a
 * fraction, so 1.0 is an integer. The 2020-12 metaschemas are built in; other documents come from `resolve`: this
 * module does no I/O.
 */
#ifndef TENON_ADL_SCHEMA_H
#define TENON_ADL_SCHEMA_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of a schema: */
#define SCHEMA_NODES_MAX     50000u      /* subschemas, over all documents */
#define SCHEMA_DEPTH_MAX     256u        /* nesting of subschemas in a document */
#define SCHEMA_DOCUMENTS_MAX 64u         /* documents reached by reference */
#define SCHEMA_POINTERS_MAX  (16u << 20) /* bytes of all subschemas' JSON Pointers together */
#define SCHEMA_PATTERN_MAX   4096u       /* bytes of one regular expression */
#define SCHEMA_ENTRIES_MAX   4000000u    /* values of enum and names of required, over all subschemas */
/* Limits of a validation: */
#define SCHEMA_WORK_MAX           20000000u  /* subschema applications and comparisons of one call, by default */
#define SCHEMA_NESTING_MAX        1024u      /* nested subschemas in progress: at most 512 KiB of stack */
#define SCHEMA_SUBJECT_MAX        (1u << 20) /* bytes of a string matched against a pattern */
#define SCHEMA_MATCH_MAX          200000u    /* backtracking steps of a pattern at one position, see pattern_quick.h */
#define SCHEMA_DEFAULTS_MAX       10000u     /* defaults filled in by one call; further ones stay absent */
#define SCHEMA_DEFAULTS_DEPTH_MAX 128u       /* levels, including references, that are filled */
/* Limits of the report: */
#define SCHEMA_ERRORS_MAX  64u   /* errors, by default */
#define SCHEMA_MESSAGE_MAX 1024u /* bytes of a message */

struct schema;

struct schema_options {
    /*
     * Returns the document at an absolute URI without fragment: a new reference, or NULL if it does not exist. Called
     * only during compilation. May be NULL.
     */
    tn_value (*resolve)(void *self, const char *uri);
    void *self;
    const char *uri;    /* the document's address: base of relative references; may be NULL */
    bool assert_format; /* `format` fails validation, for the formats that schema_format_known lists */
    uint32_t nodes;     /* 0 means SCHEMA_NODES_MAX */
    uint32_t work;      /* 0 means SCHEMA_WORK_MAX, for every later use of the schema */
};

/*
 * Compiles `document` (an object or a boolean) and keeps references to it. `options` may be NULL. *out carries one
 * reference. Returns TN_INVALID with code SCHEMA (the message names the JSON Pointer in the schema) or TN_LIMIT with
 * code LIMIT. Any thread.
 */
int32_t schema_compile(tn_value document, const struct schema_options *options, struct schema **out,
                       struct error *error);
struct schema *schema_ref(struct schema *schema);      /* returns its argument; any thread */
void schema_unref(struct schema *schema);              /* NULL is allowed; any thread */
tn_value schema_document(const struct schema *schema); /* borrowed: the source of the schema */

/* One error. The struct schema_errors that contains it owns everything in it. */
struct schema_error {
    char *pointer; /* JSON Pointer into the instance; "" is the root */
    bool on_key;   /* the error refers to the key at the end of `pointer` (unknown, badly named), not to its value */
    const char *keyword;  /* "type", "required", …; "false" for a schema that allows nothing; "" for a limit */
    char *schema_pointer; /* JSON Pointer of the keyword in the compiled document; in another document "uri#/pointer" */
    char *message;        /* found and expected; the place is only in `pointer` */
    char *suggestion;     /* nearest known name or value, or NULL; the message contains it too */
    tn_value found;       /* the wrong value (or key) */
    tn_value expected;    /* the keyword's value; for a missing property, its name */
    bool kinds;           /* an anyOf or oneOf whose branches expect other kinds; `expected` is the array of types */
};

struct schema_errors {
    struct schema_error *items;
    size_t count;
    size_t limit; /* 0 means SCHEMA_ERRORS_MAX; set it before validating */
    bool more;    /* there were more errors than the limit */
};

#define SCHEMA_ERRORS_INIT                                                                                             \
    { NULL, 0, 0, false }

void schema_errors_finish(struct schema_errors *errors); /* empties the list; it may be used again */

/*
 * Returns TN_OK, TN_INVALID, or TN_LIMIT if a limit was reached (the last error names it). If `errors` is NULL,
 * validation stops at the first failure and does not allocate, except for `pattern` (once per schema), `uniqueItems`
 * over more than 256 items and `unevaluated…` over more than 256 members or items. Otherwise all errors are appended;
 * for anyOf and oneOf those of the closest branch. A valid instance costs the same with errors as without; an invalid
 * one is validated once more, to find them, with the same limit of work for the second time. Any thread.
 */
int32_t schema_validate(const struct schema *schema, tn_value instance, struct schema_errors *errors);

/*
 * Returns the instance with the `default`s of absent properties filled in at every depth, through $ref, allOf, and the
 * branches of anyOf, oneOf and if that match. The result is a new reference (the same value if nothing was absent). The
 * instance need not be valid.
 */
tn_value schema_with_defaults(const struct schema *schema, tn_value instance);

/*
 * Called with an instance location and the annotation's value. `where` is the instance value; if `on_key`, it is the
 * key (a string) of the member that `pointer` names, annotated through propertyNames. All arguments are borrowed for
 * the call.
 */
typedef void (*schema_annotation_fn)(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation);
/*
 * Visits every annotation `keyword` (any key of a subschema, e.g. "x-tenon") that applies to a part of the instance,
 * outside in. If the instance is invalid, the rest is still walked, and for anyOf and oneOf the closest branch.
 */
void schema_each_annotation(const struct schema *schema, tn_value instance, const char *keyword,
                            schema_annotation_fn callback, void *self);
/* The same with the subschema that has the annotation, for what is beside it. */
typedef void (*schema_annotated_fn)(void *self, const char *pointer, bool on_key, tn_value where, tn_value subschema);
void schema_each_annotated(const struct schema *schema, tn_value instance, const char *keyword,
                           schema_annotated_fn callback, void *self);
/* The same, but if no branch of an anyOf or oneOf matches, all of the closest ones apply, as for schema_at. */
void schema_each_possible(const struct schema *schema, tn_value instance, const char *keyword,
                          schema_annotated_fn callback, void *self);

/*
 * Visits every subschema that applies at the instance location `pointer`, which may name a missing member: for
 * completion and documentation. If no branch of an anyOf or oneOf matches, all of the closest ones apply. `pointer`
 * must be a JSON Pointer; locations that the schema does not describe cause no call. One call takes time linear in the
 * instance: for all parts of an instance, use schema_each_possible once.
 */
typedef void (*schema_at_fn)(void *self, tn_value subschema);
void schema_at(const struct schema *schema, tn_value instance, const char *pointer, schema_at_fn callback, void *self);

/*
 * Returns a mask (1 << TN_NULL … 1 << TN_OBJECT) of the kinds that a valid instance can have; "integer" is 1 << TN_INT.
 */
int schema_kinds(const struct schema *schema);

/* True if assert_format checks this name of `format`. */
bool schema_format_known(const char *name);

#endif
