/* machine.h - one evaluation in progress: the state that instructions and functions share. */
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
    int64_t left;                 /* remaining operations; below zero ends the evaluation */
    const struct instruction *at; /* the current instruction */
    enum fault stopped;           /* the exceeded limit, if any */
    const struct instruction *stopped_at;
    struct regex_scratch *scratch;
    struct held *held; /* values that functions have made; released at the end */
    struct arena arena;
};

/* Returns an error about `culprit` (may be NULL) at the current instruction. */
struct cell fault_cell(const struct machine *machine, enum fault fault, const struct cell *culprit);
/* Charges for walking `items`. Returns false if the limit is exceeded; the machine is then stopped. */
bool charge_items(struct machine *machine, size_t items);
bool charge_bytes(struct machine *machine, size_t bytes);
/* The result of an operation that was skipped because the limit was exceeded. */
struct cell stopped(const struct machine *machine);
/*
 * Stops the evaluation because a limit was exceeded. It ends before the next instruction; the returned cell is not
 * used.
 */
struct cell machine_stop(struct machine *machine, enum fault limit);
/* Builds a string or bytes; returns an error cell beyond a limit. */
struct cell build_text(struct machine *machine, int kind, const char *chars, size_t length);
struct cell build_joined(struct machine *machine, const struct cell *left, const struct cell *right);
/* A list or map is built in place: while its kind is not CELL_ERROR, nothing else refers to it. */
struct cell build_list(struct machine *machine, size_t capacity);
void build_list_add(struct machine *machine, struct cell *list, const struct cell *item);
struct cell build_map(struct machine *machine, size_t capacity);
void build_map_add(struct machine *machine, struct cell *map, const struct cell *key, const struct cell *value);
/* A cell for a value that a function has made, which it takes; about `bytes` count as built. NULL is not allowed. */
struct cell build_held_take(struct machine *machine, tn_value value, size_t bytes);
struct cell build_lists(struct machine *machine, const struct cell *left, const struct cell *right);
struct cell search_pattern(struct machine *machine, const struct regex *regex, const struct cell *text);

/* In operators.c. The operands must not be errors. */
struct cell operate(struct machine *machine, enum expr_operation operation, const struct cell *left,
                    const struct cell *right);
struct cell negate(struct machine *machine, const struct cell *operand);
struct cell contained(struct machine *machine, const struct cell *item, const struct cell *in);
struct cell indexed(struct machine *machine, const struct cell *in, const struct cell *key);
/* Reads a whole number of any kind; CEL's test suite indexes lists by 0.0. */
bool cell_to_index(const struct cell *key, int64_t *out);
/* In function_list.c: the list in the order of its keys, a list of the same length. */
struct cell sorted_by(struct machine *machine, const struct cell *list, const struct cell *keys);

#endif
