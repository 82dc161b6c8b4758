/*
 * expr.h - CEL expressions (Common Expression Language): compiled once, evaluated over values in place.
 *
 * An expression terminates and has no side effects: within its limits it returns a value, or an error with a position.
 * Names are resolved at compile time: a variable is an index into the scope. If the host provides a variable's fields
 * (`state`, whose fields are channels), `state.score` is one "load field 3", and no object is built for `state`.
 * Comparisons, logic and field access allocate nothing. A compiled expression is immutable and shared between threads.
 *
 *     static const struct expr_variable variables[] = {{.name = "state", .fields = &channels}, {.name = "input"}};
 *     const struct expr_scope scope = {.variables = variables, .variable_count = 2};
 *     struct expr *expr;
 *     if (expr_compile("state.score > 80", 16, &scope, NULL, &expr, &error) != TN_OK) return report(&error);
 *     expr_eval_bool(expr, &(struct expr_env){.self = run, .field = run_field}, &truth, &error);
 *     expr_unref(expr);
 *
 * The language is CEL as defined by google/cel-spec, without protobuf messages and optional types, with the extension
 * libraries strings, lists, encoders, math, sets, regex and two-variable comprehensions of google/cel-go. In addition,
 * `default` is true, int and double mix in arithmetic, and `.len()` is `.size()`. A JSON number without fraction or
 * exponent is an int. uint, timestamp, duration and type exist only during evaluation; a result that is not JSON is
 * converted: uint to int, timestamp to RFC 3339, duration to "3.5s", type to its name, keys of maps to strings.
 * matches() uses PCRE2, which accepts almost all of RE2's syntax. The host resolves named time zones (expr_env.zone,
 * zone.h).
 */
#ifndef TENON_ADL_EXPR_H
#define TENON_ADL_EXPR_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct expr;

/* ---- Bounds: beyond one, compiling or evaluating returns TN_LIMIT (code LIMIT). 0 is the default. ---- */

#define EXPR_TEXT_MAX       65536u /* bytes of an expression's text; fixed */
#define EXPR_DEPTH_CEILING  200u   /* maximum of `depth` */
#define EXPR_OPERATIONS     10000u /* defaults from here on */
#define EXPR_DEPTH          32u
#define EXPR_STRING_LENGTH  65536u
#define EXPR_LIST_LENGTH    10000u
#define EXPR_MEMORY         8388608u /* 8 MiB */
#define EXPR_PATTERN_LENGTH 4096u    /* bytes of a pattern of matches(); fixed */
#define EXPR_PATTERN_GROUPS 32u      /* groups of a pattern of regex.…(), with the whole match; fixed */
#define EXPR_MATCH_STEPS    100000u  /* PCRE2's match limit; its depth limit is 1,000, its heap 1 MiB; fixed */

struct expr_limits {
    uint32_t operations;    /* per evaluation; every operation and every turn of a loop costs one, */
                            /* and every 64 items or 4 KiB that an operation walks cost one more */
    uint32_t depth;         /* nesting of brackets; chains such as a && b && c do not nest */
    uint32_t string_length; /* bytes of a built string or bytes */
    uint32_t list_length;   /* items of a built list or map */
    uint32_t memory;        /* bytes that one evaluation may build in total */
};

/* ---- What names mean ---- */

/* Sets of kinds: EXPR_KIND(TN_INT) | EXPR_KIND(TN_DOUBLE). */
#define EXPR_KIND(kind) (1u << (kind))
#define EXPR_UINT       9 /* kinds that exist only during evaluation */
#define EXPR_TIMESTAMP  10
#define EXPR_DURATION   11
#define EXPR_TYPE       12
#define EXPR_ANY        0x1ffeu /* TN_NULL … EXPR_TYPE */
#define EXPR_JSON       0x1feu  /* TN_NULL … TN_OBJECT */
#define EXPR_NUMBER     (EXPR_KIND(TN_INT) | EXPR_KIND(TN_DOUBLE) | EXPR_KIND(EXPR_UINT))
/* Returns CEL's name of a kind ("int", "string", "list", "map", "timestamp" …), but "null" for null. */
const char *expr_kind_name(int kind);
/* Writes "int, double or string", cut to size; "any kind" for EXPR_ANY. Returns `out`. */
const char *expr_kinds_text(uint32_t kinds, char *out, size_t size);

/* The fields of a variable whose object is never built. Called only during compilation. */
struct expr_fields {
    void *self;
    int32_t (*index)(void *self, const char *name, size_t length); /* >= 0, or -1 if the field does not exist */
    const char *(*name)(void *self,
                        uint32_t index); /* NULL past the last; for "did you mean"; the function may be NULL */
    uint32_t (*kinds)(
        void *self, uint32_t index); /* possible kinds of its value; 0 or EXPR_ANY: unknown; the function may be NULL */
    /* False if null means that no value was given (expr_needs_value); the function may be NULL: null is a value. */
    bool (*nullable)(void *self, uint32_t index);
};

struct expr_variable {
    const char *name;                 /* may be qualified ("a.b"): the longest that fits is taken */
    const struct expr_fields *fields; /* NULL for an ordinary variable */
    uint32_t kinds;                   /* mask of the kinds that it may have; 0 if not known */
    bool bare;                        /* its fields may be written without it: `topic` for `state.topic` */
    bool needed;                      /* null means that no value was given (expr_needs_value) */
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
    const char *nearest; /* a replacement for `span`, or NULL */
};

/*
 * The name of a field where an expression has it: `score` in `state.score`, `state.`score``, `state["score"]`. The name
 * is NULL if the whole variable is used: `"score" in state`.
 */
struct expr_field_name {
    uint32_t variable; /* index in the scope */
    const char *name;  /* within the text; not NUL-terminated */
    size_t length;
    struct span span;  /* the name without quotes … */
    struct span token; /* … and with them */
    bool bare;         /* written without the variable */
    bool indexed;      /* in brackets */
};

struct expr_scope {
    const struct expr_variable *variables;
    size_t variable_count;
    size_t inner_count; /* the last variables, which hide others of the same name; the last one takes precedence */
    /* Unknown names are resolved by expr_env.name during evaluation; they are not mistakes. */
    bool open;
    /*
     * CEL without its checker: unknown names (as with open), unknown functions and wrong kinds fail during evaluation.
     */
    bool unchecked;
    /* Called for every mistake, in text order, during expr_compile; may be NULL. */
    void (*problem)(void *self, const struct expr_problem *problem);
    /*
     * Called for every use of a variable that has fields, with the field's name, known or not, in text order, also if
     * the expression has mistakes after it; may be NULL.
     */
    void (*field)(void *self, const struct expr_field_name *field);
    void *self; /* of both */
};

/*
 * Compiles an expression. `text` and `scope` (NULL means no variables) are needed only during the call; `limits` NULL
 * selects the defaults. The caller owns one reference to *out. Returns TN_INVALID (code EXPRESSION_ERROR) or TN_LIMIT
 * (LIMIT) with the first mistake and its span in `error`. A syntax error ends compilation; all mistakes in names,
 * functions and kinds are reported to `problem`.
 */
int32_t expr_compile(const char *text, size_t length, const struct expr_scope *scope, const struct expr_limits *limits,
                     struct expr **out, struct error *error);
struct expr *expr_ref(const struct expr *expr); /* NULL returns NULL; any thread */
void expr_unref(const struct expr *expr);       /* NULL is allowed; any thread */

/* ---- Evaluating ---- */

/* The cost of an evaluation, for tests and for tuning limits. */
struct expr_cost {
    uint64_t operations;
    uint64_t allocations; /* heap blocks allocated during evaluation, except for the result and for PCRE2 */
    uint64_t memory;      /* bytes built */
};

/*
 * The source of values. A function that is NULL provides nothing. Results are borrowed until expr_eval
 * returns. A NULL result means "missing", which is an error of the expression unless it is inside has().
 */
struct expr_env {
    void *self;
    tn_value (*variable)(void *self, uint32_t variable); /* index into scope.variables; the whole variable */
    tn_value (*field)(void *self, uint32_t variable, uint32_t field); /* the index that expr_fields.index returned */
    tn_value (*name)(void *self, const char *name, size_t length);    /* open scopes */
    const char *(*name_at)(void *self, uint32_t index); /* known names, for "did you mean"; NULL past the last */
    /*
     * Returns the offset of the IANA zone `name` at `utc` (seconds since 1970) in seconds east of UTC; false if the
     * zone does not exist.
     */
    bool (*zone)(void *self, const char *name, size_t length, int64_t utc, int32_t *offset);
    int64_t (*now)(void *self); /* now(), in milliseconds since 1970; the same during an evaluation */
    struct expr_cost *cost;     /* set on success and on failure; may be NULL */
};

/*
 * Evaluates the expression; *out is a new reference to a JSON value or bytes. On failure *out is unchanged, and the
 * result is TN_FAILED with code EXPRESSION_ERROR and the position of the failure, or TN_LIMIT with code LIMIT. `env`
 * NULL provides no values. Any thread; several threads may evaluate the same expression at once.
 */
int32_t expr_eval(const struct expr *expr, const struct expr_env *env, tn_value *out, struct error *error);
/*
 * Evaluates a condition. A result that is not a bool is EXPRESSION_ERROR and the message names its kind. Never
 * allocates for the result.
 */
int32_t expr_eval_bool(const struct expr *expr, const struct expr_env *env, bool *out, struct error *error);
/* Like expr_eval; *missing is true if it failed because a name, field or key does not exist. */
int32_t expr_eval_missing(const struct expr *expr, const struct expr_env *env, tn_value *out, bool *missing,
                          struct error *error);

/* ---- What is known of a compiled expression ---- */

/* The possible kinds of the result. A condition needs EXPR_KIND(TN_BOOL) in it. */
uint32_t expr_kinds(const struct expr *expr);
/* True if the expression calls now(). */
bool expr_uses_now(const struct expr *expr);
/* True if the expression is only a variable or field for which null means that no value was given. */
bool expr_needs_value(const struct expr *expr);
/* The expression's text, NUL-terminated, valid while the expression lives. */
const char *expr_text(const struct expr *expr);

#define EXPR_WHOLE UINT32_MAX /* the whole variable is used: `state == {}`, `state[key]`, `"a" in state` */
#define EXPR_FREE  UINT32_MAX /* as a variable: a name resolved by expr_env.name */
struct expr_use {
    uint32_t variable; /* index of the variable, or EXPR_FREE */
    uint32_t field;    /* or EXPR_WHOLE, always for variables without expr_fields */
    struct span
        span;     /* span of the field's name with its quotes; of the variable's name if whole or free; for rename */
    bool guarded; /* used only inside has() */
};
/* The uses of variables, in text order. */
size_t expr_use_count(const struct expr *expr);
const struct expr_use *expr_use_at(const struct expr *expr, size_t index); /* valid while the expression lives */
/*
 * True if the expression uses the variable other than as `variable.field`. The variable has no expr_fields. Another way
 * to write the same, such as `variable["field"]`, counts as another use.
 */
bool expr_uses_beyond(const struct expr *expr, uint32_t variable, const char *field);

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
    EXPR_TOKEN_INVALID, /* not CEL; always the last token */
};
/*
 * Calls `token` for every token of `text`, also if the text is not a valid expression. `token` returns false to stop.
 */
void expr_each_token(const char *text, size_t length, bool (*token)(void *self, enum expr_token_kind kind, struct span),
                     void *self);

/* One row of the table of functions and macros, which is the source of the reference and of completion. */
struct expr_function {
    const char *name;
    bool receiver;             /* x.name(…); otherwise name(…). size has one row for each form */
    bool macro;                /* arguments are expanded, not evaluated: all, exists, has … */
    uint32_t minimum, maximum; /* number of arguments without the receiver */
    uint32_t on;               /* kinds of the receiver, or of the first argument */
    uint32_t with;             /* kinds of the further argument; 0 without one */
    uint32_t result;           /* kinds of the result */
    const char *signature, *documentation;
};
size_t expr_function_count(void);
const struct expr_function *expr_function_at(size_t index);

/* One row of the table of operators (operators.def), sorted from tightest to loosest binding. */
struct expr_operator {
    const char *form;             /* "x + y" */
    const char *example, *result; /* "1 + 2" and its result "3" */
    const char *documentation;
    int binding;   /* binary operators: 3 multiplies, 2 adds, 1 compares; else 0 */
    int operation; /* the key of its overloads */
};
size_t expr_operator_count(void);
const struct expr_operator *expr_operator_at(size_t index);
/* Returns a combination of operand kinds that the operator accepts; false past the last one. */
bool expr_operator_overload(const struct expr_operator *of, size_t index, uint32_t *left, uint32_t *right,
                            uint32_t *result);

#endif
