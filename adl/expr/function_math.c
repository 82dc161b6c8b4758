/*
 * function_math.c - the extension library `math` of CEL.
 *
 * An int or uint has no fraction, so rounding returns it unchanged. Bits of an int are those of its two's complement.
 */
#include "adl/expr/function.h"
#include <math.h>

/* ---- The greatest and the least ---- */

static bool is_number_cell(const struct cell *cell) {
    return cell->kind == TN_INT || cell->kind == TN_DOUBLE || cell->kind == EXPR_UINT;
}

/* The item whose order to all others is `wanted` (1 or -1); of equal ones, the first. */
static struct cell extreme(struct machine *machine, const struct cell *arguments, uint32_t count, int wanted) {
    bool list = count == 1 && arguments->kind == TN_ARRAY;
    size_t items = list ? cell_count(arguments) : count;
    struct cell found = {0};
    if (items == 0) return fault_cell(machine, FAULT_EMPTY, NULL);
    if (!charge_items(machine, items)) return stopped(machine);
    for (size_t i = 0; i < items; i++) {
        struct cell item = list ? cell_item(arguments, i) : arguments[i];
        int order = wanted;
        if (!is_number_cell(&item)) return fault_cell(machine, FAULT_NOT_NUMBER, &item);
        if (i > 0) (void)cell_compare(&item, &found, &order);
        if (order == wanted) found = item;
    }
    return found;
}

HANDLER(math_greatest) { return extreme(machine, arguments, count, 1); }
HANDLER(math_least) { return extreme(machine, arguments, count, -1); }

/* ---- Rounding and signs ---- */

#define ROUNDING(name, function)                                                                                       \
    HANDLER(math_##name) {                                                                                             \
        return arguments->kind == TN_DOUBLE ? cell_double(function(arguments->as.real)) : *arguments;                  \
    }

ROUNDING(ceil, ceil)
ROUNDING(floor, floor)
ROUNDING(round, round)
ROUNDING(trunc, trunc)

HANDLER(math_abs) {
    if (arguments->kind == TN_DOUBLE) return cell_double(fabs(arguments->as.real));
    if (arguments->kind == EXPR_UINT) return *arguments;
    if (arguments->as.integer == INT64_MIN) return fault_cell(machine, FAULT_OVERFLOW, NULL);
    return cell_int(arguments->as.integer < 0 ? -arguments->as.integer : arguments->as.integer);
}

HANDLER(math_sign) {
    if (arguments->kind == EXPR_UINT) return cell_uint(arguments->as.natural > 0);
    if (arguments->kind == TN_INT) return cell_int((arguments->as.integer > 0) - (arguments->as.integer < 0));
    double number = arguments->as.real;
    return isnan(number) ? *arguments : cell_double((number > 0) - (number < 0));
}

static double real_of(const struct cell *cell) {
    if (cell->kind == TN_DOUBLE) return cell->as.real;
    return cell->kind == TN_INT ? (double)cell->as.integer : (double)cell->as.natural;
}

HANDLER(math_sqrt) { return cell_double(sqrt(real_of(arguments))); }
HANDLER(math_is_nan) { return cell_bool(isnan(real_of(arguments))); }
HANDLER(math_is_inf) { return cell_bool(isinf(real_of(arguments))); }
HANDLER(math_is_finite) { return cell_bool(isfinite(real_of(arguments))); }

/* ---- Bits ---- */

static struct cell bits_cell(const struct cell *like, uint64_t bits) {
    return like->kind == TN_INT ? cell_int((int64_t)bits) : cell_uint(bits);
}

static uint64_t bits_of(const struct cell *cell) {
    return cell->kind == TN_INT ? (uint64_t)cell->as.integer : cell->as.natural;
}

#define BITS(name, operator)                                                                                           \
    HANDLER(math_##name) {                                                                                             \
        if (arguments[0].kind != arguments[1].kind) return no_overload(machine);                                       \
        return bits_cell(arguments, bits_of(&arguments[0]) operator bits_of(&arguments[1]));                           \
    }

BITS(bit_and, &)
BITS(bit_or, |)
BITS(bit_xor, ^)

HANDLER(math_bit_not) { return bits_cell(arguments, ~bits_of(arguments)); }

HANDLER(math_shift_left) {
    int64_t by = arguments[1].as.integer;
    if (by < 0) return out_of_range(machine, &arguments[1]);
    return bits_cell(arguments, by > 63 ? 0 : bits_of(arguments) << by);
}

HANDLER(math_shift_right) {
    int64_t by = arguments[1].as.integer;
    if (by < 0) return out_of_range(machine, &arguments[1]);
    return bits_cell(arguments, by > 63 ? 0 : bits_of(arguments) >> by);
}
