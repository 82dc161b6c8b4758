/*
 * function.c - the functions of CEL itself, which functions.def lists with those of the other files function_*.c.
 *
 * Each handler is called only with kinds that its row allows and never with errors. It returns a cell, which may be an
 * error.
 */
#include "adl/expr/function.h"
#include "adl/expr/time.h"
#include "adl/value/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_TEXT 400 /* bytes of a string that double() reads */

struct cell text_cell(struct machine *machine, struct buffer *text) {
    struct cell cell = text->overflow ? machine_stop(machine, FAULT_STRING_LENGTH)
                       : charge_bytes(machine, text->length)
                           ? build_text(machine, TN_STRING, buffer_cstr(text), text->length)
                           : stopped(machine);
    buffer_finish(text);
    return cell;
}

/* ---- Strings ---- */

HANDLER(size) {
    size_t length, characters = 0;
    if (arguments->kind == TN_ARRAY || arguments->kind == TN_OBJECT) return cell_int((int64_t)cell_count(arguments));
    const char *chars = cell_chars(arguments, &length);
    if (arguments->kind == TN_BYTES) return cell_int((int64_t)length);
    if (!charge_bytes(machine, length)) return stopped(machine);
    for (size_t i = 0; i < length; i++) characters += ((unsigned char)chars[i] & 0xc0) != 0x80;
    return cell_int((int64_t)characters);
}

HANDLER(contains) {
    size_t length, part_length;
    const char *chars = cell_chars(&arguments[0], &length), *part = cell_chars(&arguments[1], &part_length);
    if (part_length == 0) return cell_bool(true);
    if (!charge_bytes(machine, length)) return stopped(machine);
    return cell_bool(memmem(chars, length, part, part_length) != NULL);
}

HANDLER(starts_with) {
    size_t length, part_length;
    const char *chars = cell_chars(&arguments[0], &length), *part = cell_chars(&arguments[1], &part_length);
    return cell_bool(part_length <= length && memcmp(chars, part, part_length) == 0);
}

HANDLER(ends_with) {
    size_t length, part_length;
    const char *chars = cell_chars(&arguments[0], &length), *part = cell_chars(&arguments[1], &part_length);
    return cell_bool(part_length <= length && memcmp(chars + length - part_length, part, part_length) == 0);
}

/*
 * matches() with a pattern that is only known during evaluation; constant patterns are compiled with the expression
 * (OP_MATCH).
 */
HANDLER(matches) {
    char message[REGEX_MESSAGE];
    size_t length;
    const char *pattern = cell_chars(&arguments[1], &length);
    if (!charge_items(machine, REGEX_PATTERN_ITEMS)) return stopped(machine);
    struct regex *regex = regex_new(pattern, length, message);
    if (!regex) return fault_cell(machine, FAULT_PATTERN, &arguments[1]);
    struct cell found = search_pattern(machine, regex, &arguments[0]);
    regex_free(regex);
    return found;
}

/* ---- Conversions ---- */

/* Reads the whole `text`: decimal digits with an optional minus. */
static bool read_integer(const char *text, size_t length, bool *negative, uint64_t *out) {
    size_t at = length > 0 && (*text == '-' || *text == '+');
    uint64_t number = 0;
    *negative = at && *text == '-';
    if (at == length) return false;
    for (; at < length; at++) {
        if (text[at] < '0' || text[at] > '9') return false;
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[at] - '0'), &number))
            return false;
    }
    *out = number;
    return true;
}

static struct cell int_of_text(struct machine *machine, const struct cell *argument) {
    size_t length;
    const char *text = cell_chars(argument, &length);
    bool negative;
    uint64_t number;
    if (!read_integer(text, length, &negative, &number)) return cannot(machine, argument);
    if (number > (uint64_t)INT64_MAX + negative) return cannot(machine, argument);
    return cell_int(negative ? (int64_t)(0 - number) : (int64_t)number);
}

HANDLER(int) {
    switch (arguments->kind) {
    case TN_DOUBLE:
        /* CEL excludes both limits, which doubles cannot distinguish from their neighbours. */
        if (!(arguments->as.real > -0x1p63 && arguments->as.real < 0x1p63)) return cannot(machine, arguments);
        return cell_int((int64_t)arguments->as.real);
    case EXPR_UINT:
        if (arguments->as.natural > INT64_MAX) return cannot(machine, arguments);
        return cell_int((int64_t)arguments->as.natural);
    case TN_STRING: return int_of_text(machine, arguments);
    default: return cell_int(arguments->as.integer); /* an int, or a timestamp's seconds */
    }
}

HANDLER(uint) {
    bool negative;
    uint64_t number;
    size_t length;
    switch (arguments->kind) {
    case TN_INT:
        if (arguments->as.integer < 0) return cannot(machine, arguments);
        return cell_uint((uint64_t)arguments->as.integer);
    case TN_DOUBLE:
        if (!(arguments->as.real >= 0 && arguments->as.real < 0x1p64)) return cannot(machine, arguments);
        return cell_uint((uint64_t)arguments->as.real);
    case EXPR_UINT: return *arguments;
    default: {
        const char *text = cell_chars(arguments, &length);
        if (!read_integer(text, length, &negative, &number) || negative) return cannot(machine, arguments);
        return cell_uint(number);
    }
    }
}

/* Digits with an optional point and exponent; strtod would also accept white space, hexadecimal digits and names. */
static bool string_is_decimal(const char *text) {
    size_t at = *text == '-' || *text == '+', whole = strspn(text + at, "0123456789"), fraction = 0;
    at += whole;
    if (text[at] == '.') {
        fraction = strspn(text + at + 1, "0123456789");
        at += 1 + fraction;
    }
    if (whole + fraction == 0) return false;
    if (text[at] == 'e' || text[at] == 'E') {
        at++;
        at += text[at] == '-' || text[at] == '+';
        size_t digits = strspn(text + at, "0123456789");
        if (digits == 0) return false;
        at += digits;
    }
    return text[at] == 0;
}

static struct cell double_of_text(struct machine *machine, const struct cell *argument) {
    static const struct {
        const char *text;
        double number;
    } named[] = {{"NaN", (double)NAN},
                 {"Infinity", (double)INFINITY},
                 {"+Infinity", (double)INFINITY},
                 {"-Infinity", (double)-INFINITY}};
    size_t length;
    const char *chars = cell_chars(argument, &length);
    char text[NUMBER_TEXT + 1];
    if (length > NUMBER_TEXT || memchr(chars, 0, length)) return cannot(machine, argument);
    memcpy(text, chars, length);
    text[length] = 0;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(text, named[i].text) == 0) return cell_double(named[i].number);
    return string_is_decimal(text) ? cell_double(strtod(text, NULL)) : cannot(machine, argument);
}

HANDLER(double) {
    switch (arguments->kind) {
    case TN_INT: return cell_double((double)arguments->as.integer);
    case EXPR_UINT: return cell_double((double)arguments->as.natural);
    case TN_DOUBLE: return *arguments;
    default: return double_of_text(machine, arguments);
    }
}

HANDLER(string) {
    char text[CELL_TEXT];
    size_t length;
    if (arguments->kind == TN_STRING) return *arguments;
    if (arguments->kind == TN_BYTES) {
        const char *bytes = cell_chars(arguments, &length);
        if (!charge_bytes(machine, length)) return stopped(machine);
        if (!utf8_valid(bytes, length)) return fault_cell(machine, FAULT_NOT_UTF8, arguments);
        return build_text(machine, TN_STRING, bytes, length);
    }
    length = cell_scalar_text(arguments, text);
    return build_text(machine, TN_STRING, text, length);
}

HANDLER(bytes) {
    size_t length;
    if (arguments->kind == TN_BYTES) return *arguments;
    const char *chars = cell_chars(arguments, &length);
    return charge_bytes(machine, length) ? build_text(machine, TN_BYTES, chars, length) : stopped(machine);
}

HANDLER(bool) {
    static const char *const words[] = {"false", "true", "False", "True", "FALSE", "TRUE", "f", "t", "0", "1"};
    size_t length;
    if (arguments->kind == TN_BOOL) return *arguments;
    const char *text = cell_chars(arguments, &length);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0) return cell_bool(i % 2);
    return cannot(machine, arguments);
}

HANDLER(dyn) { return *arguments; }

HANDLER(type) { return (struct cell){.kind = EXPR_TYPE, .as.integer = arguments->kind}; }

/* ---- Times ---- */

HANDLER(now) {
    const struct expr_env *env = machine->env;
    int64_t now = env->now ? env->now(env->self) : 0; /* milliseconds */
    if (!env->now) return fault_cell(machine, FAULT_NO_TIME, NULL);
    int64_t seconds = now / 1000 - (now % 1000 < 0);
    return (struct cell){
        .kind = EXPR_TIMESTAMP, .length = (uint32_t)((now - seconds * 1000) * 1000000), .as.integer = seconds};
}

HANDLER(timestamp) {
    size_t length;
    int64_t seconds = arguments->as.integer;
    uint32_t nanoseconds = 0;
    if (arguments->kind == EXPR_TIMESTAMP) return *arguments;
    if (arguments->kind == TN_INT) {
        if (seconds < TIMESTAMP_FIRST || seconds > TIMESTAMP_LAST) return cannot(machine, arguments);
    } else {
        const char *text = cell_chars(arguments, &length);
        if (!timestamp_parse(text, length, &seconds, &nanoseconds)) return cannot(machine, arguments);
    }
    return (struct cell){.kind = EXPR_TIMESTAMP, .length = nanoseconds, .as.integer = seconds};
}

HANDLER(duration) {
    size_t length;
    int64_t nanoseconds;
    if (arguments->kind == EXPR_DURATION) return *arguments;
    const char *text = cell_chars(arguments, &length);
    if (!duration_parse(text, length, &nanoseconds)) return cannot(machine, arguments);
    return (struct cell){.kind = EXPR_DURATION, .as.integer = nanoseconds};
}

/*
 * The calendar of a timestamp in UTC, or in the zone of the second argument. Returns false if the zone does not exist.
 */
static bool calendar_in(struct machine *machine, const struct cell *arguments, uint32_t count, struct calendar *out) {
    int64_t seconds = arguments[0].as.integer;
    int32_t offset = 0;
    if (count > 1) {
        size_t length;
        const char *zone = cell_chars(&arguments[1], &length);
        const struct expr_env *env = machine->env;
        if (!offset_parse(zone, length, &offset) &&
            !(env->zone && env->zone(env->self, zone, length, seconds, &offset)))
            return false;
    }
    calendar_of(seconds + offset, out);
    return true;
}

#define CALENDAR(name, expression)                                                                                     \
    HANDLER(name) {                                                                                                    \
        struct calendar calendar;                                                                                      \
        if (!calendar_in(machine, arguments, count, &calendar)) return fault_cell(machine, FAULT_ZONE, &arguments[1]); \
        return cell_int(expression);                                                                                   \
    }

CALENDAR(year, calendar.year)
CALENDAR(month, calendar.month - 1)
CALENDAR(date, calendar.day)
CALENDAR(day_of_month, calendar.day - 1)
CALENDAR(day_of_week, calendar.weekday)
CALENDAR(day_of_year, calendar.day_of_year)

/* The same names on durations count whole units; a duration has no zone. */
#define CLOCK(name, expression, unit)                                                                                  \
    static CALENDAR(clock_##name, expression) HANDLER(name) {                                                          \
        if (arguments->kind == EXPR_TIMESTAMP) return function_clock_##name(machine, arguments, count);                \
        if (count > 1) return fault_cell(machine, FAULT_NO_FUNCTION, NULL);                                            \
        return cell_int(arguments->as.integer / SECOND_NANOSECONDS / (unit));                                          \
    }

CLOCK(hours, calendar.hour, 3600)
CLOCK(minutes, calendar.minute, 60)
CLOCK(seconds, calendar.second, 1)

HANDLER(milliseconds) {
    struct calendar calendar;
    if (arguments->kind == EXPR_DURATION) {
        if (count > 1) return fault_cell(machine, FAULT_NO_FUNCTION, NULL);
        return cell_int(arguments->as.integer % SECOND_NANOSECONDS / 1000000);
    }
    if (!calendar_in(machine, arguments, count, &calendar)) return fault_cell(machine, FAULT_ZONE, &arguments[1]);
    return cell_int(arguments->length / 1000000);
}

static const function_run handlers[] = {
#define MACRO(name, receiver, minimum, maximum, on, result, signature, documentation) NULL,
#define FUNCTION(name, handler, receiver, minimum, maximum, on, with, result, signature, documentation)                \
    function_##handler,
#include "adl/expr/functions.def"
#undef MACRO
#undef FUNCTION
};

function_run function_handler(uint32_t index) { return handlers[index]; }
