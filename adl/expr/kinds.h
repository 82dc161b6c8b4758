/*
 * kinds.h - what operators and functions take and give: the tables that expressions are checked by, and called through.
 */
#ifndef TENON_ADL_EXPR_KINDS_H
#define TENON_ADL_EXPR_KINDS_H

#include "adl/expr/expr.h"
#include "adl/expr/program.h"

/* What `operation`, OP_EQ to OP_MOD, may give for operands of these kinds: 0 where no two of them go together. */
uint32_t kinds_of_binary(enum expr_operation operation, uint32_t left, uint32_t right);
/* The index of the row of that name, or -1. With `arguments` SIZE_MAX any number of arguments fits. */
int32_t function_find(const char *name, size_t length, bool receiver, size_t arguments);

struct machine;
/* arguments[0] is the receiver, where the function has one. */
typedef struct cell (*function_run)(struct machine *machine, const struct cell *arguments, uint32_t count);
function_run function_handler(uint32_t index);

#endif
