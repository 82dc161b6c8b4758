/*
 * kinds.c - the table of operator overloads, and lookup in the table of functions.
 *
 * One row contains the operand kinds and the result kind. Checking an operation joins the rows that match its operands.
 * The machine implements the same rules in code; the corpus has a case for every row.
 */
#include "adl/expr/kinds.h"
#include <string.h>

#define K(kind)   EXPR_KIND(TN_##kind)
#define UINT      EXPR_KIND(EXPR_UINT)
#define TIMESTAMP EXPR_KIND(EXPR_TIMESTAMP)
#define DURATION  EXPR_KIND(EXPR_DURATION)
#define MIXED     (K(INT) | K(DOUBLE))

static const struct {
    enum expr_operation operation;
    uint32_t left, right, result;
} overloads[] = {
    {OP_ADD, K(INT), K(INT), K(INT)},
    {OP_ADD, MIXED, K(DOUBLE), K(DOUBLE)},
    {OP_ADD, K(DOUBLE), MIXED, K(DOUBLE)},
    {OP_ADD, UINT, UINT, UINT},
    {OP_ADD, K(STRING), K(STRING), K(STRING)},
    {OP_ADD, K(BYTES), K(BYTES), K(BYTES)},
    {OP_ADD, K(ARRAY), K(ARRAY), K(ARRAY)},
    {OP_ADD, TIMESTAMP, DURATION, TIMESTAMP},
    {OP_ADD, DURATION, TIMESTAMP, TIMESTAMP},
    {OP_ADD, DURATION, DURATION, DURATION},
    {OP_SUB, K(INT), K(INT), K(INT)},
    {OP_SUB, MIXED, K(DOUBLE), K(DOUBLE)},
    {OP_SUB, K(DOUBLE), MIXED, K(DOUBLE)},
    {OP_SUB, UINT, UINT, UINT},
    {OP_SUB, TIMESTAMP, TIMESTAMP, DURATION},
    {OP_SUB, TIMESTAMP, DURATION, TIMESTAMP},
    {OP_SUB, DURATION, DURATION, DURATION},
    {OP_MUL, K(INT), K(INT), K(INT)},
    {OP_MUL, MIXED, K(DOUBLE), K(DOUBLE)},
    {OP_MUL, K(DOUBLE), MIXED, K(DOUBLE)},
    {OP_MUL, UINT, UINT, UINT},
    {OP_DIV, K(INT), K(INT), K(INT)},
    {OP_DIV, MIXED, K(DOUBLE), K(DOUBLE)},
    {OP_DIV, K(DOUBLE), MIXED, K(DOUBLE)},
    {OP_DIV, UINT, UINT, UINT},
    {OP_MOD, K(INT), K(INT), K(INT)},
    {OP_MOD, UINT, UINT, UINT},
    {OP_IN, EXPR_ANY, K(ARRAY) | K(OBJECT), K(BOOL)},
};

static bool is_order(enum expr_operation operation) { return operation >= OP_LT && operation <= OP_GE; }

uint32_t kinds_of_binary(enum expr_operation operation, uint32_t left, uint32_t right) {
    if (operation == OP_EQ || operation == OP_NE) return K(BOOL);
    if (is_order(operation)) {
        uint32_t alike = left & right & (K(BOOL) | K(STRING) | K(BYTES) | TIMESTAMP | DURATION);
        return alike || (left & EXPR_NUMBER && right & EXPR_NUMBER) ? K(BOOL) : 0;
    }
    uint32_t result = 0;
    for (size_t i = 0; i < sizeof overloads / sizeof *overloads; i++)
        if (overloads[i].operation == operation && left & overloads[i].left && right & overloads[i].right)
            result |= overloads[i].result;
    return result;
}

static const struct expr_operator operators[] = {
#define OPERATOR(form, example, result, documentation) {form, example, result, documentation, 0, OP_RETURN},
#define BINARY(token, binding, form, example, result, documentation)                                                   \
    {form, example, result, documentation, binding, OP_##token},
#include "adl/expr/operators.def"
#undef OPERATOR
#undef BINARY
};

size_t expr_operator_count(void) { return sizeof operators / sizeof *operators; }

const struct expr_operator *expr_operator_at(size_t index) { return &operators[index]; }

bool expr_operator_overload(const struct expr_operator *of, size_t index, uint32_t *left, uint32_t *right,
                            uint32_t *result) {
    for (size_t i = 0; i < sizeof overloads / sizeof *overloads; i++) {
        if ((int)overloads[i].operation != of->operation || index--) continue;
        *left = overloads[i].left;
        *right = overloads[i].right;
        *result = overloads[i].result;
        return true;
    }
    return false;
}

#define SIZED   (K(STRING) | K(BYTES) | K(ARRAY) | K(OBJECT))
#define TIMES   (TIMESTAMP | DURATION)
#define INTEGER (K(INT) | UINT)
#define SCALAR  (EXPR_NUMBER | K(BOOL) | K(STRING) | K(BYTES) | TIMES)

static const struct expr_function functions[] = {
#define MACRO(name, receiver, minimum, maximum, on, result, signature, documentation)                                  \
    {#name, receiver, true, minimum, maximum, on, 0, result, signature, documentation},
#define FUNCTION(name, handler, receiver, minimum, maximum, on, with, result, signature, documentation)                \
    {#name, receiver, false, minimum, maximum, on, with, result, signature, documentation},
#include "adl/expr/functions.def"
#undef MACRO
#undef FUNCTION
};

size_t expr_function_count(void) { return sizeof functions / sizeof *functions; }

const struct expr_function *expr_function_at(size_t index) { return &functions[index]; }

int32_t function_find(const char *name, size_t length, bool receiver, size_t arguments) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct expr_function *row = &functions[i];
        if (row->receiver != receiver || strlen(row->name) != length || memcmp(row->name, name, length) != 0) continue;
        if (arguments == SIZE_MAX || (arguments >= row->minimum && arguments <= row->maximum)) return (int32_t)i;
    }
    return -1;
}
