/* macro.h - has(), all(), exists(), exists_one(), filter() and map(): expanded during parsing. */
#ifndef TENON_ADL_EXPR_MACRO_H
#define TENON_ADL_EXPR_MACRO_H

#include "adl/expr/compile.h"

/* Call it after the `(`. Returns false if `name` is not such a macro; true if it was compiled, including its `)`. */
bool macro_has(struct compiler *compiler, const struct token *name, uint32_t *kinds);
bool macro_loop(struct compiler *compiler, const struct token *name, uint32_t on, uint32_t *kinds);

/* In parse.c. */
void expect(struct compiler *compiler, enum lex_kind kind, const char *what);
void check_kinds(struct compiler *compiler, struct span span, uint32_t found, uint32_t wanted, const char *what);

#endif
