/* function.h - the handlers of functions.def, which the files function*.c share. */
#ifndef TENON_ADL_EXPR_FUNCTION_H
#define TENON_ADL_EXPR_FUNCTION_H

#include "adl/expr/kinds.h"
#include "adl/expr/machine.h"
#include "adl/value/buffer.h"

#define MACRO(name, receiver, minimum, maximum, on, result, signature, documentation)
#define FUNCTION(name, handler, receiver, minimum, maximum, on, with, result, signature, documentation)                \
    struct cell function_##handler(struct machine *machine, const struct cell *arguments, uint32_t count);
#include "adl/expr/functions.def"
#undef MACRO
#undef FUNCTION

/* All handlers have one type so that the table can store them; some do not need all parameters. */
#define HANDLER(name)                                                                                                  \
    struct cell function_##name(struct machine *machine __attribute__((unused)),                                       \
                                const struct cell *arguments __attribute__((unused)),                                  \
                                uint32_t count __attribute__((unused)))

/* The function cannot convert this argument. */
static inline struct cell cannot(const struct machine *machine, const struct cell *argument) {
    return fault_cell(machine, FAULT_CONVERSION, argument);
}

/* Arguments after the second one are not in the table, so their handlers check them. */
static inline struct cell no_overload(const struct machine *machine) {
    return fault_cell(machine, FAULT_NO_FUNCTION, NULL);
}

static inline struct cell out_of_range(const struct machine *machine, const struct cell *argument) {
    return fault_cell(machine, FAULT_RANGE, argument);
}

/*
 * The text that a function builds: on the heap, within the limit of strings, and then copied to the arena. Finish it
 * with text_cell, which returns an error beyond the limit.
 */
static inline void text_begin(const struct machine *machine, struct buffer *text) {
    buffer_init(text, machine->expr->limits.string_length);
}

struct cell text_cell(struct machine *machine, struct buffer *text);

#endif
