/*
 * batch_keys.c - compiles the text of --thread once, and makes the id of the thread of each line.
 */
#include "host/program/batch_keys.h"
#include "adl/expr/expr.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/zone.h"
#include "host/data/thread/thread_log.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES_MAX (4 * THREAD_ID_MAX) /* of an id that is being made; thread_check_id has the real limit */

/* A text, then the value of an expression; the last part has only a text. */
struct key_part {
    const char *text;
    size_t length;
    struct expr *expr; /* NULL: only the text */
};

struct key_pattern {
    const char *name; /* the text of --thread; borrowed */
    bool expressions; /* false: the id is the text, `/`, and the number of the line */
    struct key_part parts[BATCH_KEY_PARTS_MAX + 1];
    size_t count;
};

static void key_pattern_finish(struct key_pattern *pattern) {
    for (size_t i = 0; i < pattern->count; i++) expr_unref(pattern->parts[i].expr);
}

/*
 * Compiles the expression at `start`, which ends at the first `}}` at which it is valid, because an expression can
 * contain `}}` too. Sets *end to that place.
 */
static int32_t key_compile(const char *text, const char *start, const char **end, struct expr **expr,
                           struct error *error) {
    static const struct expr_variable variables[] = {{.name = "input"}};
    const struct expr_scope scope = {.variables = variables, .variable_count = 1};
    struct error first = ERROR_INIT;
    for (const char *close = strstr(start, "}}"); close; close = strstr(close + 1, "}}")) {
        struct error inner = ERROR_INIT;
        int32_t status = expr_compile(start, (size_t)(close - start), &scope, NULL, expr, &inner);
        *end = close;
        if (status == TN_OK) {
            error_finish(&first);
            return TN_OK;
        }
        if (!first.code) error_move(&first, &inner);
        error_finish(&inner);
    }
    if (first.code)
        error_set(error, TN_INVALID, first.code, "--thread: %s", first.message);
    else
        error_set(error, TN_INVALID, "INVALID_INPUT", "--thread: found `%s` without the `}}` at its end", text);
    error_finish(&first);
    return TN_INVALID;
}

/* Call key_pattern_finish also after a failure. */
static int32_t key_pattern_read(struct key_pattern *pattern, const char *text, struct error *error) {
    *pattern = (struct key_pattern){.name = text, .expressions = strstr(text, "${{") != NULL};
    if (!*text)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "--thread: expected 1 to %u bytes, the beginning of the threads' ids, or a key expression",
                         THREAD_ID_MAX);
    if (!pattern->expressions && strstr(text, "{{"))
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "--thread: found `%s`; an expression is written ${{ … }}, as in --thread '${{ input.id }}'",
                         text);
    for (const char *at = text; pattern->expressions;) {
        struct key_part *part = &pattern->parts[pattern->count++];
        const char *open = strstr(at, "${{"), *end = NULL;
        *part = (struct key_part){.text = at, .length = open ? (size_t)(open - at) : strlen(at)};
        if (!open) break;
        if (pattern->count > BATCH_KEY_PARTS_MAX)
            return error_set(error, TN_LIMIT, "INVALID_INPUT", "--thread: expected at most %u expressions",
                             BATCH_KEY_PARTS_MAX);
        int32_t status = key_compile(open, open + 3, &end, &part->expr, error);
        if (status != TN_OK) return status;
        at = end + 2;
    }
    return TN_OK;
}

static tn_value key_input(void *self, uint32_t variable) {
    (void)variable;
    return self;
}

/* Appends a value of an expression. A number with a fraction is refused, because it can be written in several ways. */
static int32_t key_add_value(struct buffer *out, tn_value value, struct error *error) {
    size_t length;
    int64_t number;
    if (value_is(value, TN_STRING)) {
        const char *chars = value_chars(value, &length);
        if (strlen(chars) != length)
            return error_set(error, TN_INVALID, "INVALID_INPUT", "the key contains a NUL character");
        buffer_append(out, chars, length);
        return TN_OK;
    }
    if (value_is(value, TN_INT) && value_as_int(value, &number)) {
        buffer_format(out, "%" PRId64, number);
        return TN_OK;
    }
    return error_set(error, TN_TYPE, "INVALID_INPUT", "the key is %s, expected text or a whole number",
                     value_kind_name(value_kind(value)));
}

static int32_t key_write(const struct key_pattern *pattern, tn_value input, size_t line, struct buffer *out,
                         struct error *error) {
    if (!pattern->expressions) {
        buffer_format(out, "%s/%zu", pattern->name, line);
        return TN_OK;
    }
    const struct expr_env env = {.self = (void *)(uintptr_t)input, .variable = key_input, .zone = zone_find};
    for (size_t i = 0; i < pattern->count; i++) {
        tn_value value = NULL;
        buffer_append(out, pattern->parts[i].text, pattern->parts[i].length);
        if (!pattern->parts[i].expr) continue;
        int32_t status = expr_eval(pattern->parts[i].expr, &env, &value, error);
        if (status == TN_OK) status = key_add_value(out, value, error);
        value_unref(value);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

/* The id of the thread of one input, a new reference; NULL with the error, which names the line. */
static tn_value key_make(const struct key_pattern *pattern, tn_value input, size_t line, const char *path,
                         struct error *error) {
    struct error inner = ERROR_INIT;
    struct buffer text;
    buffer_init(&text, KEY_BYTES_MAX);
    int32_t status = key_write(pattern, input, line, &text, &inner);
    if (status == TN_OK && text.overflow)
        status = error_set(&inner, TN_LIMIT, "INVALID_INPUT", "the thread id is too long, expected 1 to %u bytes",
                           THREAD_ID_MAX);
    if (status == TN_OK) status = thread_check_id(buffer_cstr(&text), &inner);
    tn_value id = status == TN_OK ? value_string(buffer_cstr(&text), strlen(buffer_cstr(&text))) : NULL;
    if (!id)
        error_set(error, TN_INVALID, inner.code ? inner.code : "INVALID_INPUT", "%s:%zu: --thread: %s", path, line,
                  inner.message ? inner.message : "the thread id is not UTF-8");
    buffer_finish(&text);
    error_finish(&inner);
    return id;
}

/* ---- Ids that occur twice ---- */

struct key_line {
    const char *id;
    size_t line;
};

static int key_line_compare(const void *a, const void *b) {
    const struct key_line *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Reports the first line whose id an earlier line has. */
static int32_t keys_check_unique(tn_value ids, const size_t *lines, const char *path, struct error *error) {
    size_t count = value_count(ids), twice = 0;
    struct key_line *sorted = mem_array(NULL, count + 1, sizeof *sorted);
    for (size_t i = 0; i < count; i++) sorted[i] = (struct key_line){value_chars(value_at(ids, i), NULL), lines[i]};
    qsort(sorted, count, sizeof *sorted, key_line_compare);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i].id, sorted[i - 1].id) == 0 && (!twice || sorted[i].line < sorted[twice].line)) twice = i;
    int32_t status = TN_OK;
    if (twice)
        status = error_set(error, TN_INVALID, "INVALID_INPUT",
                           "%s:%zu: --thread: the thread `%s` is also that of line %zu; each line needs its own", path,
                           sorted[twice].line, sorted[twice].id, sorted[twice - 1].line);
    mem_free(sorted);
    return status;
}

tn_value batch_keys(const char *text, tn_value inputs, const size_t *lines, const char *path, struct error *error) {
    struct key_pattern pattern;
    tn_value ids = value_array_reserve(value_count(inputs));
    int32_t status = key_pattern_read(&pattern, text, error);
    for (size_t i = 0; status == TN_OK && i < value_count(inputs); i++) {
        tn_value id = key_make(&pattern, value_at(inputs, i), lines[i], path, error);
        status = id ? TN_OK : TN_INVALID;
        if (id) ids = value_push_take(ids, id);
    }
    if (status == TN_OK) status = keys_check_unique(ids, lines, path, error);
    key_pattern_finish(&pattern);
    if (status == TN_OK) return ids;
    value_unref(ids);
    return NULL;
}
