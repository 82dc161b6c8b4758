/*
 * expr.h - expressions of CEL (Common Expression Language): compiled once, evaluated over values where they lie.
 *
 * An expression is total and without side effects: it ends, within bounds, in a value or an error with a position.
 * Names are resolved when it is compiled: a variable is an index into the scope, and where a variable's fields are the
 * host's (`state`, whose fields are channels), `state.score` is one "load field 3": no object is built for `state`.
 * Comparisons, logic and field access allocate nothing. A compiled expression is immutable and shared between threads.
 *
 *     static const struct expr_variable variables[] = {{.name = "state", .fields = &channels}, {.name = "input"}};
 *     const struct expr_scope scope = {.variables = variables, .variable_count = 2};
 *     struct expr *expr;
 *     if (expr_compile("state.score > 80", 16, &scope, NULL, &expr, &error) != TN_OK) return report(&error);
 *     expr_eval_bool(expr, &(struct expr_env){.self = run, .field = run_field}, &truth, &error);
 *     expr_unref(expr);
 *
 * The language: CEL as google/cel-spec has it, without protobuf messages; additionally `default` is true, int and
 * double mix in arithmetic, and `.len()` is `.size()`. A JSON number without fraction or exponent is an int. uint,
 * timestamp, duration and type exist while evaluating; a result that is not JSON becomes it: uint an int, timestamp
 * RFC 3339, duration "3.5s", type its name, keys of maps strings. matches() takes PCRE2's syntax, of which RE2's is
 * all but a part. Named time zones are the host's to know (expr_env.zone, zone.h).
 */
#ifndef TENON_ADL_EXPR_H
#define TENON_ADL_EXPR_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct expr;

/* ---- Bounds: beyond one, compiling or evaluating gives TN_LIMIT (code LIMIT). 0 is the default. ---- */

#define EXPR_TEXT_MAX       65536u /* bytes of an expression's text; fixed */
#define EXPR_DEPTH_CEILING  200u   /* what `depth` is cut to */
#define EXPR_OPERATIONS     10000u /* the defaults … */
#define EXPR_DEPTH          32u
#define EXPR_STRING_LENGTH  65536u
#define EXPR_LIST_LENGTH    10000u
#define EXPR_MEMORY         8388608u /* 8 MiB */
#define EXPR_PATTERN_LENGTH 4096u    /* bytes of a pattern of matches(); fixed */
#define EXPR_MATCH_STEPS    100000u  /* PCRE2's match limit; its depth limit is 1,000, its heap 1 MiB; fixed */

struct expr_limits {
    uint32_t operations; /* per evaluation; one is charged for each operation and turn of a loop, and 1 more for each */
                         /* 64 items or 4 KiB that it goes through */
    uint32_t depth;      /* of brackets within brackets; chains such as a && b && c do not nest */
    uint32_t string_length; /* bytes of a string or bytes that is built */
    uint32_t list_length;   /* items of a list or map that is built */
    uint32_t memory;        /* bytes that one evaluation may build in all */
};

/* ---- What names mean ---- */

/* Sets of kinds: EXPR_KIND(TN_INT) | EXPR_KIND(TN_DOUBLE). */
#define EXPR_KIND(kind) (1u << (kind))
#define EXPR_UINT       9 /* kinds there are only while evaluating */
#define EXPR_TIMESTAMP  10
#define EXPR_DURATION   11
#define EXPR_TYPE       12
#define EXPR_ANY        0x1ffeu /* TN_NULL … EXPR_TYPE */
#define EXPR_JSON       0x1feu  /* TN_NULL … TN_OBJECT */
#define EXPR_NUMBER     (EXPR_KIND(TN_INT) | EXPR_KIND(TN_DOUBLE) | EXPR_KIND(EXPR_UINT))
/* "int", "string", "list", "map", "timestamp" … as CEL names them, except "null". */
const char *expr_kind_name(int kind);
/* "int, double or string"; cut to size. "any kind" for EXPR_ANY. Returns `out`. */
const char *expr_kinds_text(uint32_t kinds, char *out, size_t size);

/* The fields of a variable whose object is never built. Called while compiling only. */
struct expr_fields {
    void *self;
    int32_t (*index)(void *self, const char *name, size_t length); /* >= 0, or -1 where there is no such field */
    const char *(*name)(void *self, uint32_t index); /* NULL past the last; for "did you mean"; may be NULL */
    uint32_t (*kinds)(void *self, uint32_t index);   /* what its value may be; 0 or EXPR_ANY: not known; may be NULL */
};

struct expr_variable {
    const char *name;                 /* may be qualified ("a.b"): the longest that fits is taken */
    const struct expr_fields *fields; /* NULL: an ordinary variable */
    uint32_t kinds;                   /* what it may be; 0: not known */
    bool bare;                        /* its fields may be written without it: `topic` for `state.topic` */
};

/* What a mistake is about; decides the diagnostic's code and fix. */
enum expr_mistake {
    EXPR_MISTAKE_SYNTAX,
    EXPR_MISTAKE_NAME,     /* an unknown variable or field */
    EXPR_MISTAKE_FUNCTION, /* an unknown function, or wrongly called */
    EXPR_MISTAKE_KIND,     /* operands that no value of their kinds can suit */
    EXPR_MISTAKE_LIMIT,
};

struct expr_problem {
    enum expr_mistake mistake;
    struct span span;    /* within the expression's text */
    const char *message; /* this and `nearest` live until the callback returns */
    const char *nearest; /* what `span` may be replaced with, or NULL */
};

struct expr_scope {
    const struct expr_variable *variables;
    size_t variable_count;
    /* Names that are no variable are looked up by expr_env.name when evaluated, rather than being mistakes. */
    bool open;
    /* CEL without its checker: unknown names (as with open), unknown functions and unfit kinds fail where evaluated. */
    bool unchecked;
    /* Called for every mistake, in the order of the text; may be NULL. Stays within expr_compile. */
    void (*problem)(void *self, const struct expr_problem *problem);
    void *self;
};

/*
 * Compiles. `text` and `scope` (NULL: no variables) are needed during the call only; `limits` NULL: the defaults. The
 * caller owns one reference to *out. TN_INVALID (code EXPRESSION_ERROR), or TN_LIMIT (LIMIT), with the first mistake
 * and its span in `error`; syntax ends at the first mistake, names, functions and kinds are all reported to `problem`.
 */
int32_t expr_compile(const char *text, size_t length, const struct expr_scope *scope, const struct expr_limits *limits,
                     struct expr **out, struct error *error);
struct expr *expr_ref(const struct expr *expr); /* NULL gives NULL. [any] */
void expr_unref(const struct expr *expr);       /* NULL is allowed. [any] */

/* ---- Evaluating ---- */

/* What an evaluation took; for tests, and for whoever tunes limits. */
struct expr_cost {
    uint64_t operations;
    uint64_t allocations; /* heap blocks asked for while evaluating; not the result's own, nor PCRE2's */
    uint64_t memory;      /* bytes built */
};

/* Where values come from. Any function may be NULL: then nothing is there. Results are borrowed until expr_eval
 * returns; NULL is "missing", an error of the expression unless has() asks. */
struct expr_env {
    void *self;
    tn_value (*variable)(void *self, uint32_t variable);              /* index into scope.variables; whole */
    tn_value (*field)(void *self, uint32_t variable, uint32_t field); /* index as expr_fields.index gave it */
    tn_value (*name)(void *self, const char *name, size_t length);    /* open scopes */
    const char *(*name_at)(void *self,
                           uint32_t index); /* what names there are, for "did you mean"; NULL past the last */
    /* Seconds east of UTC that the IANA zone `name` has at `utc` (seconds since 1970). False: no such zone. */
    bool (*zone)(void *self, const char *name, size_t length, int64_t utc, int32_t *offset);
    struct expr_cost *cost; /* set on return, success or not; may be NULL */
};

/*
 * Evaluates; *out is a new reference to a JSON value or bytes. Failure leaves it, and gives TN_FAILED with code
 * EXPRESSION_ERROR and the position of what failed, or TN_LIMIT with code LIMIT. `env` NULL: nothing is there.
 * Any thread, the same expression in several at once.
 */
int32_t expr_eval(const struct expr *expr, const struct expr_env *env, tn_value *out, struct error *error);
/* A condition: a result that is no bool is EXPRESSION_ERROR, naming the kind found. Never allocates for the result. */
int32_t expr_eval_bool(const struct expr *expr, const struct expr_env *env, bool *out, struct error *error);
/* As expr_eval; *missing says whether it failed because a name, field or key is not there. */
int32_t expr_eval_missing(const struct expr *expr, const struct expr_env *env, tn_value *out, bool *missing,
                          struct error *error);

/* ---- What is known of a compiled expression ---- */

/* What the result may be. A condition needs EXPR_KIND(TN_BOOL) in it. */
uint32_t expr_kinds(const struct expr *expr);
/* The expression's text, NUL-terminated, as long as the expression lives. */
const char *expr_text(const struct expr *expr);

#define EXPR_WHOLE UINT32_MAX /* the variable itself is used: `state == {}`, `state[key]`, `"a" in state` */
#define EXPR_FREE  UINT32_MAX /* as a variable: a name looked up by expr_env.name */
struct expr_use {
    uint32_t variable; /* or EXPR_FREE */
    uint32_t field;    /* or EXPR_WHOLE; always that for variables without expr_fields */
    struct span span;  /* of the field's name, quotes included; of the variable's where whole or free: for rename */
    bool guarded;      /* only asked for by has() */
};
/* Every mention of a variable, in the order of the text. */
size_t expr_use_count(const struct expr *expr);
const struct expr_use *expr_use_at(const struct expr *expr, size_t index); /* as long as the expression lives */

/* ---- For editors and references ---- */

enum expr_token_kind {
    EXPR_TOKEN_VARIABLE,
    EXPR_TOKEN_PROPERTY, /* after a dot */
    EXPR_TOKEN_FUNCTION,
    EXPR_TOKEN_MACRO,
    EXPR_TOKEN_KEYWORD, /* true, false, null, in, default */
    EXPR_TOKEN_NUMBER,
    EXPR_TOKEN_STRING,
    EXPR_TOKEN_OPERATOR,
    EXPR_TOKEN_PUNCTUATION,
    EXPR_TOKEN_COMMENT,
    EXPR_TOKEN_INVALID, /* not CEL: the last one there is */
};
/* Calls `token` for every token of `text`, valid or not as a whole; it returns false to stop. */
void expr_each_token(const char *text, size_t length, bool (*token)(void *self, enum expr_token_kind kind, struct span),
                     void *self);

/* One row of the table of functions and macros, from which the reference and completion are made. */
struct expr_function {
    const char *name;
    bool receiver;             /* x.name(…); otherwise name(…). size has a row for each */
    bool macro;                /* its arguments are expanded, not evaluated: all, exists, has … */
    uint32_t minimum, maximum; /* arguments, the receiver not counted */
    uint32_t on;               /* kinds of the receiver, or of the first argument */
    uint32_t with;             /* kinds of the (further) argument; 0 where there is none */
    uint32_t gives;            /* kinds of the result */
    const char *signature, *documentation;
};
size_t expr_function_count(void);
const struct expr_function *expr_function_at(size_t index);

/* One row of the table of operators (operators.def), those that bind most tightly first. */
struct expr_operator {
    const char *form;            /* "x + y" */
    const char *example, *gives; /* "1 + 2" gives "3" */
    const char *documentation;
    int binding;   /* of operators between two operands: 3 multiplies, 2 adds, 1 compares; else 0 */
    int operation; /* what an overload belongs to */
};
size_t expr_operator_count(void);
const struct expr_operator *expr_operator_at(size_t index);
/* The kinds that go together, where a table says which: false past the last. */
bool expr_operator_overload(const struct expr_operator *of, size_t index, uint32_t *left, uint32_t *right,
                            uint32_t *gives);

#endif
