/*
 * function_format.c - string.format(): clauses as in printf, for the items of a list.
 *
 * Numbers are written alike in every locale. A double is rounded to the nearest decimal, halves to even.
 */
#include "adl/expr/function.h"
#include "adl/value/json.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRECISION_MAX 100u
#define DOUBLE_TEXT   500u /* an integer part of 309 digits, and PRECISION_MAX more */

struct formatting {
    struct machine *machine;
    struct buffer *out;
    uint32_t precision; /* of the clause; UINT32_MAX if there is none */
};

/* ---- %s ---- */

static bool format_text(const struct formatting *it, const struct cell *cell, uint32_t depth);

/* A key and its entry, for sorting. */
struct named {
    char *text;
    size_t length;
    size_t entry;
};

static int compare_named(const void *a, const void *b) {
    const struct named *left = a, *right = b;
    size_t shared = left->length < right->length ? left->length : right->length;
    int order = memcmp(left->text, right->text, shared);
    if (order == 0) order = (left->length > right->length) - (left->length < right->length);
    return order;
}

/* Entries in the order of their keys' texts, as the order of a map has no meaning. */
static bool format_map(const struct formatting *it, const struct cell *map, uint32_t depth) {
    size_t count = cell_count(map);
    struct named *names = arena_take(&it->machine->arena, (count + 1) * sizeof *names);
    if (!names) {
        machine_stop(it->machine, FAULT_MEMORY);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct cell key = cell_key(map, i), text = key;
        char scalar[CELL_TEXT];
        if (key.kind != TN_STRING) text = build_text(it->machine, TN_STRING, scalar, cell_scalar_text(&key, scalar));
        if (text.kind == CELL_ERROR) return false;
        const char *chars = cell_chars(&text, &names[i].length);
        names[i].text = (char *)(uintptr_t)chars;
        names[i].entry = i;
    }
    qsort(names, count, sizeof *names, compare_named);
    buffer_char(it->out, '{');
    for (size_t i = 0; i < count; i++) {
        struct cell value = cell_entry_value(map, names[i].entry);
        buffer_text(it->out, i ? ", " : "");
        buffer_append(it->out, names[i].text, names[i].length);
        buffer_text(it->out, ": ");
        if (!format_text(it, &value, depth + 1)) return false;
    }
    buffer_char(it->out, '}');
    return true;
}

static bool format_text(const struct formatting *it, const struct cell *cell, uint32_t depth) {
    char text[CELL_TEXT];
    size_t length;
    if (depth > CELL_DEPTH || it->out->overflow) return false;
    if (cell->kind == TN_STRING || cell->kind == TN_BYTES) {
        const char *chars = cell_chars(cell, &length);
        if (cell->kind == TN_BYTES && !utf8_valid(chars, length)) return false;
        buffer_append(it->out, chars, length);
        return true;
    }
    if (cell->kind == TN_OBJECT) return charge_items(it->machine, cell_count(cell)) && format_map(it, cell, depth);
    if (cell->kind != TN_ARRAY) {
        length = cell_scalar_text(cell, text);
        buffer_append(it->out, text, length);
        return true;
    }
    if (!charge_items(it->machine, cell_count(cell))) return false;
    buffer_char(it->out, '[');
    for (size_t i = 0, count = cell_count(cell); i < count; i++) {
        struct cell item = cell_item(cell, i);
        buffer_text(it->out, i ? ", " : "");
        if (!format_text(it, &item, depth + 1)) return false;
    }
    buffer_char(it->out, ']');
    return true;
}

/* ---- Numbers ---- */

/* NaN and infinities have the same text in every clause. */
static bool format_special(const struct formatting *it, const struct cell *cell) {
    if (cell->kind != TN_DOUBLE || isfinite(cell->as.real)) return false;
    buffer_text(it->out, isnan(cell->as.real) ? "NaN" : cell->as.real < 0 ? "-Infinity" : "Infinity");
    return true;
}

static bool format_double(const struct formatting *it, const struct cell *cell, bool exponent) {
    char text[DOUBLE_TEXT];
    double number = cell->kind == TN_DOUBLE   ? cell->as.real
                    : cell->kind == TN_INT    ? (double)cell->as.integer
                    : cell->kind == EXPR_UINT ? (double)cell->as.natural
                                              : (double)NAN;
    int precision = it->precision == UINT32_MAX ? 6 : (int)it->precision;
    if (format_special(it, cell)) return true;
    if (isnan(number)) return false;
    int length = snprintf(text, sizeof text, exponent ? "%.*e" : "%.*f", precision, number);
    const char *point = localeconv()->decimal_point, *at = strstr(text, point);
    if (strcmp(point, ".") == 0 || !at) {
        buffer_append(it->out, text, (size_t)length);
        return true;
    }
    buffer_append(it->out, text, (size_t)(at - text));
    buffer_char(it->out, '.');
    buffer_text(it->out, at + strlen(point));
    return true;
}

static void write_digits(struct buffer *out, uint64_t number, bool negative, uint32_t base, bool upper) {
    char text[65];
    size_t at = sizeof text;
    do {
        text[--at] = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[number % base];
        number /= base;
    } while (number);
    if (negative) buffer_char(out, '-');
    buffer_append(out, text + at, sizeof text - at);
}

static bool format_integer(const struct formatting *it, const struct cell *cell, uint32_t base, bool upper) {
    if (base == 10 && format_special(it, cell)) return true;
    if (base == 2 && cell->kind == TN_BOOL) {
        buffer_char(it->out, cell->as.truth ? '1' : '0');
        return true;
    }
    bool negative = cell->kind == TN_INT && cell->as.integer < 0;
    if (cell->kind != TN_INT && cell->kind != EXPR_UINT) return false;
    write_digits(it->out, negative ? 0 - (uint64_t)cell->as.integer : cell->as.natural, negative, base, upper);
    return true;
}

static bool format_hex(const struct formatting *it, const struct cell *cell, bool upper) {
    size_t length;
    if (cell->kind != TN_STRING && cell->kind != TN_BYTES) return format_integer(it, cell, 16, upper);
    const char *chars = cell_chars(cell, &length);
    for (size_t i = 0; i < length && !it->out->overflow; i++)
        buffer_format(it->out, upper ? "%02X" : "%02x", (unsigned)(unsigned char)chars[i]);
    return true;
}

/* ---- Clauses ---- */

/* Writes an item for the letter of a clause. Returns false if they do not fit. */
static bool format_item(const struct formatting *it, char letter, const struct cell *item) {
    switch (letter) {
    case 's': return format_text(it, item, 0);
    case 'd': return format_integer(it, item, 10, false);
    case 'b': return format_integer(it, item, 2, false);
    case 'o': return format_integer(it, item, 8, false);
    case 'x':
    case 'X': return format_hex(it, item, letter == 'X');
    case 'f':
    case 'e': return format_double(it, item, letter == 'e');
    default: return false;
    }
}

/* Reads `.12`; returns false if the digits are wrong. Moves *at after them. */
static bool read_precision(const char *chars, size_t length, size_t *at, uint32_t *precision) {
    *precision = UINT32_MAX;
    if (*at >= length || chars[*at] != '.') return true;
    size_t first = ++*at;
    for (*precision = 0; *at < length && chars[*at] >= '0' && chars[*at] <= '9' && *precision <= PRECISION_MAX; ++*at)
        *precision = *precision * 10 + (uint32_t)(chars[*at] - '0');
    return *at > first && *precision <= PRECISION_MAX;
}

static enum fault clause_fault(char letter, const struct cell *item) {
    if (letter == 's') return item->kind == TN_BYTES ? FAULT_NOT_UTF8 : FAULT_CONVERSION;
    if (letter == 'f' || letter == 'e') return FAULT_NUMBER_CLAUSE;
    return item->kind == TN_DOUBLE ? FAULT_WHOLE_DOUBLE : FAULT_WHOLE_CLAUSE;
}

static struct cell format_failed(struct machine *machine, struct buffer *text, enum fault fault,
                                 const struct cell *culprit) {
    bool overflow = text->overflow;
    buffer_finish(text);
    if (machine->stopped != FAULT_NONE) return stopped(machine);
    return overflow ? machine_stop(machine, FAULT_STRING_LENGTH) : fault_cell(machine, fault, culprit);
}

HANDLER(format) {
    size_t length, next = 0;
    const char *chars = cell_chars(arguments, &length);
    struct buffer text;
    if (!charge_bytes(machine, length)) return stopped(machine);
    text_begin(machine, &text);
    for (size_t at = 0; at < length && !text.overflow;) {
        struct formatting it = {machine, &text, UINT32_MAX};
        if (chars[at] != '%' || (at + 1 < length && chars[at + 1] == '%')) {
            at += chars[at] == '%';
            buffer_char(&text, chars[at++]);
            continue;
        }
        at++;
        if (!read_precision(chars, length, &at, &it.precision) || at >= length)
            return format_failed(machine, &text, FAULT_CONVERSION, &arguments[0]);
        char letter = chars[at++];
        struct cell wanted = cell_int((int64_t)next);
        if (!strchr("sdboxXfe", letter) || !letter)
            return format_failed(machine, &text, FAULT_CONVERSION, &arguments[0]);
        if (next >= cell_count(&arguments[1])) {
            buffer_finish(&text);
            return fault_cell(machine, FAULT_NO_ITEM, &wanted);
        }
        struct cell item = cell_item(&arguments[1], next++);
        if (!format_item(&it, letter, &item)) return format_failed(machine, &text, clause_fault(letter, &item), &item);
        machine->left--; /* each clause is an operation */
    }
    return text_cell(machine, &text);
}
