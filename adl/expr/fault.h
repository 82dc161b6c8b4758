/*
 * fault.h - the errors of an evaluation, one row each.
 *
 * During evaluation an error is a cell like any other (|| and && may discard it). Its message is created at the end
 * from the row's text. Placeholders: {text} the text of the instruction's span, {kind} the culprit's kind, {value} the
 * culprit, {other} the second operand's kind, {takes} the kinds that the called function accepts, {limit} the exceeded
 * limit, {json} the mistake of a text that was read as JSON.
 */
#ifndef TENON_ADL_EXPR_FAULT_H
#define TENON_ADL_EXPR_FAULT_H

#include "adl/value/error.h"

struct machine;
struct cell;

/* FAULT(name, class, text). MISSING: something does not exist; LIMIT: no operator can discard it; PLAIN: all others. */
#define FAULTS(FAULT)                                                                                                  \
    FAULT(NONE, PLAIN, "")                                                                                             \
    FAULT(NO_VARIABLE, MISSING, "`{text}` has no value")                                                               \
    FAULT(NO_FIELD, MISSING, "`{text}` has no value; test it with has() first")                                        \
    FAULT(NO_NAME, MISSING, "unknown variable `{text}`{nearest}")                                                      \
    FAULT(NO_KEY, MISSING, "unknown key {value}{nearest}; test it with has() first")                                   \
    FAULT(NO_ITEM, PLAIN, "the list has no item {value}")                                                              \
    FAULT(OPERANDS, PLAIN, "`{text}` does not accept {kind} on the left and {other} on the right{convert}")            \
    FAULT(OPERAND, PLAIN, "`{text}` does not accept {kind}")                                                           \
    FAULT(NOT_BOOL, PLAIN, "`{text}` takes bool, found {kind}")                                                        \
    FAULT(CONDITION, PLAIN, "`{text}` is a condition and must return bool; it returned {kind}")                        \
    FAULT(NOT_MAP, PLAIN, "`{text}` is a field, which only a map has; found {kind}")                                   \
    FAULT(NOT_INDEXED, PLAIN, "only a list or map has items; found {kind}")                                            \
    FAULT(NOT_INDEX, PLAIN, "the index of a list must be a whole number, found {kind} {value}")                        \
    FAULT(NOT_KEY, PLAIN, "a key must be bool, int, uint or string, found {kind} {value}")                             \
    FAULT(SAME_KEY, PLAIN, "the key {value} occurs twice")                                                             \
    FAULT(NOT_LOOPED, PLAIN, "{text}() needs a list or map, found {kind}")                                             \
    FAULT(ARGUMENT, PLAIN, "{text}() takes {takes}, found {kind}")                                                     \
    FAULT(RANGE, PLAIN, "{text}(): {value} is out of range")                                                           \
    FAULT(EMPTY, MISSING, "{text}(): the list is empty; test its size() first")                                        \
    FAULT(ORDER, PLAIN, "{text}() needs items of one kind that has an order, found {kind}")                            \
    FAULT(NOT_STRING, PLAIN, "{text}() needs a list of strings, found {kind}; convert it with .map(x, string(x))")     \
    FAULT(NOT_NUMBER, PLAIN, "{text}() needs numbers, found {kind}")                                                   \
    FAULT(NOT_ENTRY, PLAIN, "`{text}` must return a map such as {key: value}; it returned {kind}")                     \
    FAULT(NOT_JSON, PLAIN, "{text}(): {json}")                                                                         \
    FAULT(NOT_UTF8, PLAIN, "{text}(): the bytes are not UTF-8; base64.encode() writes any bytes as text")              \
    FAULT(GROUPS, PLAIN, "{text}() takes a pattern with at most one group, found {value}; use regex.groups()")         \
    FAULT(PATH, PLAIN, "{text}(): a path has 1 to 32 keys")                                                            \
    FAULT(WHOLE_CLAUSE, PLAIN, "{text}(): a clause for whole numbers takes int or uint, found {kind} {value}")         \
    FAULT(WHOLE_DOUBLE, PLAIN,                                                                                         \
          "{text}(): a clause for whole numbers takes int or uint, found double {value}; write %f or int(…)")          \
    FAULT(NUMBER_CLAUSE, PLAIN, "{text}(): a clause for numbers takes int, uint or double, found {kind} {value}")      \
    FAULT(CONVERSION, PLAIN, "{text}() cannot take {value}")                                                           \
    FAULT(OVERFLOW, PLAIN, "the result of `{text}` does not fit")                                                      \
    FAULT(ZERO, PLAIN, "`{text}`: division by zero")                                                                   \
    FAULT(TIME_RANGE, PLAIN, "`{text}` exceeds the years 1 to 9999, or 292 years for a duration")                      \
    FAULT(ZONE, PLAIN, "unknown time zone {value}; write offsets as \"+02:00\"")                                       \
    FAULT(PATTERN, PLAIN, "{value} is not a regular expression")                                                       \
    FAULT(NO_TIME, MISSING, "{text}() has no value here")                                                              \
    FAULT(NO_FUNCTION, PLAIN, "no function `{text}` accepts these arguments")                                          \
    FAULT(OPERATIONS, LIMIT, "the expression needs more than {limit} operations")                                      \
    FAULT(STRING_LENGTH, LIMIT, "`{text}` builds a string longer than {limit} bytes")                                  \
    FAULT(LIST_LENGTH, LIMIT, "`{text}` builds a list longer than {limit} items")                                      \
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
/* Fills `error` from an error cell and returns its status. */
int32_t fault_report(const struct machine *machine, const struct cell *cell, struct error *error);

#endif
