/*
 * program.h - a compiled expression: instructions for a stack machine, and the constants they use.
 *
 * The compiler (compile.c) creates it, the machine (machine.c) runs it, and nothing changes it in between. The height
 * of the stack is known at every instruction, so variables of macros are slots, and `stack` is the maximum height.
 * Every instruction has the span of text that its errors refer to.
 */
#ifndef TENON_ADL_EXPR_PROGRAM_H
#define TENON_ADL_EXPR_PROGRAM_H

#include "adl/expr/cell.h"
#include "adl/expr/expr.h"
#include "adl/expr/pattern.h"
#include <stdatomic.h>

/* OPERATION(name, effect on the stack). `a` and `b` are the operands of the instruction. */
#define EXPR_OPERATIONS_TABLE(OPERATION)                                                                               \
    OPERATION(CONSTANT, "-- constants[b]")                                                                             \
    OPERATION(VARIABLE, "-- variable b")                                                                               \
    OPERATION(FIELD, "-- field b of variable a")                                                                       \
    OPERATION(HAS_FIELD, "-- whether there is field b of variable a")                                                  \
    OPERATION(NAME, "-- the variable called constants[b]")                                                             \
    OPERATION(SLOT, "-- what is in slot b of the stack")                                                               \
    OPERATION(LOOP_KEY, "-- the index or key of the loop whose item is in slot b")                                     \
    OPERATION(LOOP_VALUE, "-- the value of the loop whose item is in slot b")                                          \
    OPERATION(SELECT, "map -- its value at constants[b]")                                                              \
    OPERATION(HAS, "map -- whether it has constants[b]")                                                               \
    OPERATION(INDEX, "list-or-map key -- its value")                                                                   \
    OPERATION(EQ, "x y -- x == y")                                                                                     \
    OPERATION(NE, "x y -- x != y")                                                                                     \
    OPERATION(LT, "x y -- x < y")                                                                                      \
    OPERATION(LE, "x y -- x <= y")                                                                                     \
    OPERATION(GT, "x y -- x > y")                                                                                      \
    OPERATION(GE, "x y -- x >= y")                                                                                     \
    OPERATION(IN, "x list-or-map -- whether x is in it")                                                               \
    OPERATION(ADD, "x y -- x + y")                                                                                     \
    OPERATION(SUB, "x y -- x - y")                                                                                     \
    OPERATION(MUL, "x y -- x * y")                                                                                     \
    OPERATION(DIV, "x y -- x / y")                                                                                     \
    OPERATION(MOD, "x y -- x % y")                                                                                     \
    OPERATION(NEG, "x -- -x")                                                                                          \
    OPERATION(NOT, "x -- !x")                                                                                          \
    OPERATION(SKIP_FALSE, "x -- x; goes to b where x is false")                                                        \
    OPERATION(SKIP_TRUE, "x -- x; goes to b where x is true")                                                          \
    OPERATION(AND, "x y -- x && y")                                                                                    \
    OPERATION(OR, "x y -- x || y")                                                                                     \
    OPERATION(BRANCH, "x -- ; true: over the next, false: to b; otherwise x stays, as an error, and the next runs")    \
    OPERATION(JUMP, "-- ; goes to b")                                                                                  \
    OPERATION(LIST, "-- a new list with room for b")                                                                   \
    OPERATION(LIST_ADD, "list x -- list")                                                                              \
    OPERATION(MAP, "-- a new map with room for b")                                                                     \
    OPERATION(MAP_ADD, "map key x -- map")                                                                             \
    OPERATION(LOOP, "list-or-map -- it 0 result item; a is the macro; to b where it cannot be gone through")           \
    OPERATION(NEXT, "it n result item -- it n+1 result item'; to b when all are done")                                 \
    OPERATION(TURN, "… x -- …; takes the turn's x into the result as macro a does; to b unless that settles it")       \
    OPERATION(KEEP, "… x -- …; filter and map: true: over the next, false: to b; otherwise the next runs")             \
    OPERATION(DONE, "it n result item -- result")                                                                      \
    OPERATION(SORT, "list keys -- the list in the order of its keys")                                                  \
    OPERATION(CALL, "arguments -- result of function b, given a of them")                                              \
    OPERATION(MATCH, "x -- whether patterns[b] is found in it")                                                        \
    OPERATION(UNKNOWN, "arguments -- an error: no such function; a of them")                                           \
    OPERATION(RETURN, "result --")

enum expr_operation {
#define OPERATION_ENUM(name, effect) OP_##name,
    EXPR_OPERATIONS_TABLE(OPERATION_ENUM)
#undef OPERATION_ENUM
};

enum loop_macro {
    LOOP_ALL,
    LOOP_EXISTS,
    LOOP_EXISTS_ONE,
    LOOP_MAP,
    LOOP_FILTER,
    LOOP_TRANSFORM_MAP,
    LOOP_TRANSFORM_ENTRY
};

struct instruction {
    uint16_t operation;
    uint16_t a;
    uint32_t b;
};

struct expr {
    atomic_uint references;
    struct instruction *code;
    struct span *spans; /* one per instruction */
    uint32_t code_count, stack;
    struct cell *constants; /* strings, bytes, lists and maps own their value */
    uint32_t constant_count;
    struct regex **patterns;
    uint32_t pattern_count;
    struct expr_use *uses;
    uint32_t use_count;
    uint32_t kinds;
    bool needs_value, uses_now;
    struct expr_limits limits; /* all are set */
    char *text;
    uint32_t text_length;
};

#endif
