/*
 * compile.h - the state shared by the parts of the compiler: the expression that is built, and the position in its
 * text.
 *
 * The compiler builds no syntax tree: the grammar (parse.c) emits instructions while it reads, in execution order. A
 * syntax error ends reading (`failed`). Any other mistake is reported, gets the kind "any kind", and reading continues.
 */
#ifndef TENON_ADL_EXPR_COMPILE_H
#define TENON_ADL_EXPR_COMPILE_H

#include "adl/expr/kinds.h"
#include "adl/expr/lex.h"
#include "adl/expr/program.h"

#define NOWHERE UINT32_MAX /* no jump yet */

/* The variable of a macro. */
struct local {
    uint32_t from, to;        /* position of its name in the text */
    uint32_t slot;            /* of the loop's item */
    enum expr_operation read; /* SLOT; LOOP_KEY and LOOP_VALUE for the two variables of a loop */
};

struct compiler {
    struct lexer lexer; /* positioned after `token` */
    struct token token; /* the next one */
    uint32_t last_end;  /* end of the token before `token` */
    const struct expr_scope *scope;
    struct expr *expr;
    uint32_t code_capacity, constant_capacity, pattern_capacity, use_capacity;
    uint32_t depth, height; /* open brackets; cells on the stack */
    struct local *locals;
    uint32_t local_count, local_capacity;
    bool failed;
    uint32_t mistakes;
    int32_t status; /* status of the first mistake; also the following fields */
    struct error *error;
    /* The newest selection (x.y): its instruction, and where its operand starts. Used by has(). */
    uint32_t selection, selection_from;
};

struct span span_of(const struct token *token);
/* Reports a mistake; `nearest` may be NULL. */
void compile_mistake(struct compiler *compiler, enum expr_mistake mistake, struct span span, const char *nearest,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Reports a mistake and ends reading. */
void expr_mistaken(struct compiler *compiler, enum expr_mistake mistake, struct span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for a token, in whose place `expected` was expected. */
void expr_unexpected(struct compiler *compiler, const struct token *token, const char *expected);
/* The same for a word that is an operator elsewhere: suggests `meant`. */
void expr_mistaken_word(struct compiler *compiler, const struct token *token, const char *meant);

/* Emits an instruction; `effect` is the change of the stack height. Returns the instruction's index. */
uint32_t emit(struct compiler *compiler, enum expr_operation operation, uint32_t a, uint32_t b, struct span span,
              int32_t effect);
/* Consumes the constant's value, if it owns one. */
void emit_constant(struct compiler *compiler, struct cell constant, struct span span);
uint32_t constant_text(struct compiler *compiler, const char *text, size_t length);
/* Returns the constant if the instruction at `index` is the only one emitted since and is a constant; else NULL. */
const struct cell *sole_constant(const struct compiler *compiler, uint32_t index);
/* Sets the target of every jump chained from `chain` through their operands. */
void patch_jumps(struct compiler *compiler, uint32_t chain, uint32_t target);
void use_add(struct compiler *compiler, uint32_t variable, uint32_t field, struct span span);

/* ---- Names (names.c) ---- */

/* Emits the instructions for the name at the token and moves past everything that belongs to it. Returns the kinds. */
uint32_t compile_name(struct compiler *compiler);
void unknown_function(struct compiler *compiler, const struct token *name, bool receiver);

/* ---- Words of other languages (words.c) ---- */

/* The operator, or the literal, that the word means elsewhere: `and`, `None`. NULL if it has no such meaning. */
const char *word_meant_operator(const char *text, size_t length);
const char *word_meant_literal(const char *text, size_t length);
bool word_is_not(const char *text, size_t length);
/* True if the current token is `not`, and an operand follows. */
bool word_not_precedes_operand(const struct compiler *compiler);

/* ---- Grammar (parse.c) ---- */

void advance(struct compiler *compiler);
uint32_t parse_expression(struct compiler *compiler);

#endif
