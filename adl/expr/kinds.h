/* kinds.h - the operand and result kinds of operators and functions: the tables for checking and calling. */
#ifndef TENON_ADL_EXPR_KINDS_H
#define TENON_ADL_EXPR_KINDS_H

#include "adl/expr/expr.h"
#include "adl/expr/program.h"

/* The possible result kinds of `operation`, OP_EQ to OP_MOD, for these operands; 0 if no combination is allowed. */
uint32_t kinds_of_binary(enum expr_operation operation, uint32_t left, uint32_t right);
/* Returns the index of the function's row, or -1. `arguments` SIZE_MAX matches any number of arguments. */
int32_t function_find(const char *name, size_t length, bool receiver, size_t arguments);

struct machine;
/* arguments[0] is the receiver, if the function has one. */
typedef struct cell (*function_run)(struct machine *machine, const struct cell *arguments, uint32_t count);
function_run function_handler(uint32_t index);

#endif
