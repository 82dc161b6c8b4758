/*
 * machine.h - one evaluation under way: what the instructions and the functions they call share.
 */
#ifndef TENON_ADL_EXPR_MACHINE_H
#define TENON_ADL_EXPR_MACHINE_H

#include "adl/expr/cell.h"
#include "adl/expr/fault.h"
#include "adl/expr/program.h"

#define ITEMS_AN_OPERATION 64u
#define BYTES_AN_OPERATION 4096u

struct machine {
    const struct expr *expr;
    const struct expr_env *env;
    int64_t left;                 /* operations; below zero ends the evaluation */
    const struct instruction *at; /* the one being run */
    enum fault stopped;           /* the bound that was passed, if one was */
    const struct instruction *stopped_at;
    struct regex_scratch *scratch;
    struct arena arena;
};

/* An error about `culprit` (may be NULL), at the instruction being run. */
struct cell fault_cell(const struct machine *machine, enum fault fault, const struct cell *culprit);
/* A bound was passed: the evaluation ends before the next instruction, whatever becomes of the cell returned. */
struct cell machine_stop(struct machine *machine, enum fault limit);
/* Charges for going through so many items or bytes. False, and the machine is stopped, where that is too much. */
bool charge_items(struct machine *machine, size_t items);
bool charge_bytes(struct machine *machine, size_t bytes);
/* What an operation gives that was not done for lack of operations. */
struct cell stopped(const struct machine *machine);
/* Strings and bytes that are built; an error cell beyond a limit. */
struct cell build_text(struct machine *machine, int kind, const char *chars, size_t length);
struct cell build_joined(struct machine *machine, const struct cell *left, const struct cell *right);
struct cell build_lists(struct machine *machine, const struct cell *left, const struct cell *right);
struct cell search_pattern(struct machine *machine, const struct regex *regex, const struct cell *text);

/* operators.c: operands that are no errors. */
struct cell operate(struct machine *machine, enum expr_operation operation, const struct cell *left,
                    const struct cell *right);
struct cell negate(struct machine *machine, const struct cell *operand);
struct cell contained(struct machine *machine, const struct cell *item, const struct cell *in);
struct cell indexed(struct machine *machine, const struct cell *in, const struct cell *key);

#endif
