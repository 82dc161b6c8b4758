/*
 * macro.h - has(), all(), exists(), exists_one(), filter() and map(): expanded while they are read.
 */
#ifndef TENON_ADL_EXPR_MACRO_H
#define TENON_ADL_EXPR_MACRO_H

#include "adl/expr/compile.h"

/* Behind the `(`. False where `name` is no such macro; true where it was read, its `)` included. */
bool macro_has(struct compiler *compiler, const struct token *name, uint32_t *kinds);
bool macro_loop(struct compiler *compiler, const struct token *name, uint32_t on, uint32_t *kinds);

/* Of parse.c. */
bool accept_kind(struct compiler *compiler, enum lex_kind kind);
void expect(struct compiler *compiler, enum lex_kind kind, const char *what);
bool nest(struct compiler *compiler);
void check_kinds(struct compiler *compiler, struct span span, uint32_t found, uint32_t wanted, const char *what);

#endif
