/*
 * fault.h - what can go wrong while evaluating: one row each.
 *
 * While an expression runs an error is a cell like any other (|| and && may not need it); its message is made at the
 * end, of the row's text. In braces: {text} what the instruction's span covers, {kind} the culprit's kind, {value} the
 * culprit, {other} the second operand's kind, {takes} what the called function takes, {limit} the bound passed.
 */
#ifndef TENON_ADL_EXPR_FAULT_H
#define TENON_ADL_EXPR_FAULT_H

#include "adl/value/error.h"

struct machine;
struct cell;

/* FAULT(name, class, text). PLAIN; MISSING: something is not there; LIMIT: nothing can absorb it. */
#define FAULTS(FAULT)                                                                                                  \
    FAULT(NONE, PLAIN, "")                                                                                             \
    FAULT(NO_VARIABLE, MISSING, "`{text}` has no value")                                                               \
    FAULT(NO_FIELD, MISSING, "`{text}` has no value; has() asks first")                                                \
    FAULT(NO_NAME, MISSING, "there is no variable `{text}`{nearest}")                                                  \
    FAULT(NO_KEY, MISSING, "there is no key {value}{nearest}; has() asks first")                                       \
    FAULT(NO_ITEM, PLAIN, "there is no item {value} in the list")                                                      \
    FAULT(OPERANDS, PLAIN, "`{text}` does not go with {kind} on the left and {other} on the right{convert}")           \
    FAULT(OPERAND, PLAIN, "`{text}` does not go with {kind}")                                                          \
    FAULT(NOT_BOOL, PLAIN, "`{text}` takes bool, found {kind}")                                                        \
    FAULT(CONDITION, PLAIN, "`{text}` is a condition and must give bool; it gave {kind}")                              \
    FAULT(NOT_MAP, PLAIN, "`{text}` is asked for as a field, which only a map has; found {kind}")                      \
    FAULT(NOT_INDEXED, PLAIN, "only a list or map has items; found {kind}")                                            \
    FAULT(NOT_INDEX, PLAIN, "the index of a list is a whole number, found {kind} {value}")                             \
    FAULT(NOT_KEY, PLAIN, "a key is bool, int, uint or string, found {kind} {value}")                                  \
    FAULT(SAME_KEY, PLAIN, "the key {value} is there twice")                                                           \
    FAULT(NOT_LOOPED, PLAIN, "{text}() goes through a list or map, found {kind}")                                      \
    FAULT(ARGUMENT, PLAIN, "{text}() takes {takes}, found {kind}")                                                     \
    FAULT(CONVERSION, PLAIN, "{text}() cannot take {value}")                                                           \
    FAULT(OVERFLOW, PLAIN, "the result of `{text}` does not fit")                                                      \
    FAULT(ZERO, PLAIN, "`{text}` by zero")                                                                             \
    FAULT(TIME_RANGE, PLAIN, "`{text}` leaves the years 1 to 9999, or 292 years of a duration")                        \
    FAULT(ZONE, PLAIN, "there is no time zone {value}; offsets are written \"+02:00\"")                                \
    FAULT(PATTERN, PLAIN, "{value} is not a regular expression")                                                       \
    FAULT(NO_FUNCTION, PLAIN, "there is no function `{text}`, or not with these arguments")                            \
    FAULT(OPERATIONS, LIMIT, "the expression takes more than {limit} operations")                                      \
    FAULT(STRING_LENGTH, LIMIT, "`{text}` makes a string longer than {limit} bytes")                                   \
    FAULT(LIST_LENGTH, LIMIT, "`{text}` makes a list longer than {limit} items")                                       \
    FAULT(NESTING, LIMIT, "`{text}` nests lists or maps deeper than {limit}")                                          \
    FAULT(MEMORY, LIMIT, "the expression builds more than {limit} bytes")                                              \
    FAULT(MATCHING, LIMIT, "`{text}` takes too many steps; a simpler pattern is needed")

enum fault {
#define FAULT_ENUM(name, class, text) FAULT_##name,
    FAULTS(FAULT_ENUM)
#undef FAULT_ENUM
};

enum fault_class { FAULT_CLASS_PLAIN, FAULT_CLASS_MISSING, FAULT_CLASS_LIMIT };

enum fault_class fault_class(enum fault fault);
/* Fills `error` with what the cell, an error, stands for; returns the status. */
int32_t fault_report(const struct machine *machine, const struct cell *cell, struct error *error);

#endif
