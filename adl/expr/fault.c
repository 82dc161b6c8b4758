/* fault.c - the messages of errors that an evaluation returns. */
#include "adl/expr/fault.h"
#include "adl/expr/machine.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/nearest.h"
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX   60u   /* bytes of a value or of the text that a message quotes */
#define OFFERED_MAX 1000u /* keys that are candidates for "did you mean" */

static const struct {
    enum fault_class class;
    const char *text;
} faults[] = {
#define FAULT_ROW(name, class, text) {FAULT_CLASS_##class, text},
    FAULTS(FAULT_ROW)
#undef FAULT_ROW
};

enum fault_class fault_class(enum fault fault) { return faults[fault].class; }

/* At most SHOWN_MAX bytes, cut between characters. */
static void write_cut(struct buffer *out, const char *text, size_t length) {
    size_t shown = length;
    if (length > SHOWN_MAX)
        for (shown = SHOWN_MAX; shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80;) shown--;
    buffer_append(out, text, shown);
    if (shown < length) buffer_text(out, "…");
}

/* The text of a string cell in a fault. Built strings have lost their length and end with NUL. */
static const char *culprit_chars(const struct cell *cell, size_t *length) {
    if (!cell->built) return value_chars(cell->as.value, length);
    *length = strlen(cell->as.chars);
    return cell->as.chars;
}

static void write_quoted(struct buffer *out, const char *text, size_t length) {
    buffer_char(out, '"');
    write_cut(out, text, length);
    buffer_char(out, '"');
}

static void write_culprit(struct buffer *out, const struct cell *cell) {
    struct cell copy = *cell;
    char text[CELL_TEXT];
    size_t length;
    copy.kind = cell->culprit;
    copy.length = 0;
    if (copy.kind == TN_STRING) {
        const char *chars = culprit_chars(cell, &length);
        write_quoted(out, chars, length);
    } else if (copy.kind >= TN_BYTES && copy.kind <= TN_OBJECT) {
        buffer_text(out, expr_kind_name(copy.kind));
    } else {
        length = cell_scalar_text(&copy, text);
        buffer_append(out, text, length);
    }
}

/* The key of a selection is in the instruction; the culprit is the map that lacks it. */
static const struct cell *selected_key(const struct machine *machine, const struct cell *cell) {
    const struct instruction *instruction = &machine->expr->code[cell->length];
    return instruction->operation == OP_SELECT ? &machine->expr->constants[instruction->b] : NULL;
}

static void fault_write_value(const struct machine *machine, struct buffer *out, const struct cell *cell) {
    const struct cell *key = cell->reason == FAULT_NO_KEY ? selected_key(machine, cell) : NULL;
    if (!key) {
        write_culprit(out, cell);
        return;
    }
    size_t length;
    const char *chars = cell_chars(key, &length);
    write_quoted(out, chars, length);
}

static void write_meant(struct buffer *out, const struct nearest *near, char quote) {
    const char *meant = nearest_result(near);
    if (!meant) return;
    buffer_format(out, "; did you mean %c", quote);
    write_cut(out, meant, near->best_length);
    buffer_format(out, "%c?", quote);
}

static void write_nearest_key(const struct machine *machine, struct buffer *out, const struct cell *cell) {
    const struct cell *key = selected_key(machine, cell);
    if (!key || cell->built || cell->culprit != TN_OBJECT) return;
    struct nearest near;
    size_t length, count = value_count(cell->as.value);
    const char *chars = cell_chars(key, &length);
    nearest_init(&near, chars, length);
    for (size_t i = 0; i < count && i < OFFERED_MAX; i++) {
        const char *name = value_chars(value_key_at(cell->as.value, i), &length);
        nearest_add_candidate(&near, name, length);
    }
    write_meant(out, &near, '"');
}

static void write_nearest_name(const struct machine *machine, struct buffer *out, const struct cell *cell) {
    const struct instruction *instruction = &machine->expr->code[cell->length];
    const struct expr_env *env = machine->env;
    struct nearest near;
    size_t length;
    const char *chars = cell_chars(&machine->expr->constants[instruction->b], &length);
    nearest_init(&near, chars, length);
    for (uint32_t i = 0; env->name_at && i < OFFERED_MAX; i++) {
        const char *name = env->name_at(env->self, i);
        if (!name) break;
        nearest_add_candidate(&near, name, strlen(name));
    }
    write_meant(out, &near, '`');
}

static void write_nearest(const struct machine *machine, struct buffer *out, const struct cell *cell) {
    if (cell->reason == FAULT_NO_NAME)
        write_nearest_name(machine, out, cell);
    else
        write_nearest_key(machine, out, cell);
}

static void write_takes(const struct machine *machine, struct buffer *out, const struct cell *cell) {
    const struct instruction *instruction = &machine->expr->code[cell->length];
    const struct expr_function *row = expr_function_at(instruction->b);
    char text[160];
    uint32_t found = EXPR_KIND(cell->culprit);
    buffer_text(out, expr_kinds_text(row->on & found ? row->with : row->on, text, sizeof text));
}

/* Appends a hint for string + number, the most common mismatch. */
static void write_convert(const struct machine *machine, struct buffer *out, const struct cell *cell) {
    bool add = machine->expr->code[cell->length].operation == OP_ADD;
    bool left = cell->culprit == TN_STRING, right = cell->as.natural == TN_STRING;
    if (add && left != right) buffer_text(out, "; convert it with string(…)");
}

static void write_limit(const struct machine *machine, struct buffer *out, const struct cell *cell) {
    const struct expr_limits *limits = &machine->expr->limits;
    uint32_t limit = 0;
    switch (cell->reason) {
    case FAULT_OPERATIONS: limit = limits->operations; break;
    case FAULT_STRING_LENGTH: limit = limits->string_length; break;
    case FAULT_LIST_LENGTH: limit = limits->list_length; break;
    case FAULT_NESTING: limit = CELL_DEPTH; break;
    default: limit = limits->memory; break;
    }
    buffer_format(out, "%u", limit);
}

static void write_text(const struct machine *machine, struct buffer *out, const struct cell *cell) {
    struct span span = machine->expr->spans[cell->length];
    write_cut(out, machine->expr->text + span.start, span.end - span.start);
}

static void write_kind(const struct machine *machine, struct buffer *out, const struct cell *cell) {
    (void)machine;
    buffer_text(out, expr_kind_name(cell->culprit));
}

static void write_other(const struct machine *machine, struct buffer *out, const struct cell *cell) {
    (void)machine;
    buffer_text(out, expr_kind_name((int)cell->as.natural));
}

/* Reads the culprit again, because a cell has no room for the message. */
static void write_json(const struct machine *machine, struct buffer *out, const struct cell *cell) {
    (void)machine;
    size_t length;
    const char *chars = culprit_chars(cell, &length);
    struct error error = ERROR_INIT;
    tn_value value = NULL;
    bool wrong = json_read(chars, length, NULL, &value, &error) != TN_OK && error.message;
    buffer_text(out, wrong ? error.message : "the text is not JSON");
    value_unref(value);
    error_finish(&error);
}

static const struct {
    const char *name;
    void (*write)(const struct machine *machine, struct buffer *out, const struct cell *cell);
} parts[] = {{"{text}", write_text},         {"{kind}", write_kind},       {"{other}", write_other},
             {"{value}", fault_write_value}, {"{takes}", write_takes},     {"{limit}", write_limit},
             {"{nearest}", write_nearest},   {"{convert}", write_convert}, {"{json}", write_json}};

/* Writes the placeholder at `at`. Returns its length in the row's text, or 0 if it is not a placeholder. */
static size_t write_part(const struct machine *machine, struct buffer *out, const struct cell *cell, const char *at) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t length = strlen(parts[i].name);
        if (strncmp(at, parts[i].name, length) != 0) continue;
        parts[i].write(machine, out, cell);
        return length;
    }
    return 0;
}

int32_t fault_report(const struct machine *machine, const struct cell *cell, struct error *error) {
    bool limit = faults[cell->reason].class == FAULT_CLASS_LIMIT;
    int32_t status = limit ? TN_LIMIT : TN_FAILED;
    if (!error) return status;
    struct buffer message;
    buffer_init(&message, SIZE_MAX);
    for (const char *at = faults[cell->reason].text; *at;) {
        size_t length = *at == '{' ? write_part(machine, &message, cell, at) : 0;
        if (length == 0) buffer_char(&message, *at);
        at += length ? length : 1;
    }
    error_set(error, status, limit ? "LIMIT" : "EXPRESSION_ERROR", "%s", buffer_cstr(&message));
    error->span = machine->expr->spans[cell->length];
    buffer_finish(&message);
    return status;
}
