/*
 * command_eval.c - `tenon eval`: evaluates one expression on an input, or one expression per line.
 */
#include "adl/expr/expr.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/zone.h"
#include "host/program/command.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- One expression: its names are members of the input; `state` and `input` are the whole input ---- */

static tn_value lookup(void *self, const char *name, size_t length) {
    tn_value input = self, found = value_is(input, TN_OBJECT) ? value_get_n(input, name, length) : NULL;
    bool whole = length == 5 && (memcmp(name, "state", 5) == 0 || memcmp(name, "input", 5) == 0);
    return found || !whole ? found : input;
}

static int64_t wall_now(void *self) {
    (void)self;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns a new reference; on failure NULL, and sets `error`. */
static tn_value evaluate_on(const char *text, tn_value input, struct error *error) {
    const struct expr_scope scope = {.open = true};
    const struct expr_env env = {.self = (void *)(uintptr_t)input, .name = lookup, .zone = zone_find, .now = wall_now};
    struct expr *expr = NULL;
    tn_value value = NULL;
    if (expr_compile(text, strlen(text), &scope, NULL, &expr, error) == TN_OK) expr_eval(expr, &env, &value, error);
    expr_unref(expr);
    return value;
}

/* ---- Lines: every binding is a variable; type errors are reported during evaluation, as in CEL without its checker
 * ---- */

static tn_value binding(void *self, uint32_t variable) { return value_value_at((tn_value)self, variable); }

static tn_value evaluate_bound(tn_value text, tn_value bindings, struct error *error) {
    size_t length, count = bindings ? value_count(bindings) : 0;
    struct expr_variable *variables = mem_zalloc((count + 1) * sizeof *variables);
    for (size_t i = 0; i < count; i++) variables[i].name = value_chars(value_key_at(bindings, i), NULL);
    const struct expr_scope scope = {.variables = variables, .variable_count = count, .unchecked = true};
    const struct expr_env env = {
        .self = (void *)(uintptr_t)bindings, .variable = binding, .zone = zone_find, .now = wall_now};
    const char *chars = value_chars(text, &length);
    struct expr *expr = NULL;
    tn_value value = NULL;
    if (expr_compile(chars, length, &scope, NULL, &expr, error) == TN_OK) expr_eval(expr, &env, &value, error);
    expr_unref(expr);
    mem_free(variables);
    return value;
}

static tn_value evaluate_request(tn_value request, struct error *error) {
    bool object = value_is(request, TN_OBJECT);
    tn_value text = object ? value_get(request, "expr") : NULL;
    tn_value bindings = object ? value_get(request, "bindings") : NULL;
    const char *where = !object ? "" : !text || !value_is(text, TN_STRING) ? " as `expr`" : " as `bindings`";
    tn_value wrong = !object                                      ? request
                     : !text || !value_is(text, TN_STRING)        ? text
                     : bindings && !value_is(bindings, TN_OBJECT) ? bindings
                                                                  : NULL;
    if (object && text && !wrong) return evaluate_bound(text, bindings, error);
    error_set(error, TN_INVALID, "INVALID_INPUT", "found %s%s, expected {\"expr\": string, \"bindings\": object}",
              wrong ? value_kind_name(value_kind(wrong)) : "nothing", where);
    return NULL;
}

/* Evaluates {"expr": …, "bindings": {…}}; returns {"value": …} or {"error": …}. */
static tn_value evaluate_line(const char *path, size_t number, const char *line, size_t length) {
    struct error error = ERROR_INIT, inner = ERROR_INIT;
    tn_value request = NULL, value = NULL;
    if (json_read(line, length, NULL, &request, &inner) == TN_OK)
        value = evaluate_request(request, &error);
    else
        command_line_error(path, number, inner.message, &error);
    error_finish(&inner);
    tn_value answer = value ? value_set_take(value_object_reserve(1), "value", value)
                            : value_set_take(value_object_reserve(1), "error", error_to_value(&error));
    value_unref(request);
    error_finish(&error);
    return answer;
}

static int evaluate_lines(const struct arguments *arguments, const char *path) {
    char *text;
    size_t length;
    struct error error = ERROR_INIT;
    if (!command_read_named(arguments, path, &text, &length, &error)) {
        int code = command_report_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return code;
    }
    size_t number = 1;
    if (strcmp(path, "-") == 0) path = "<stdin>";
    for (const char *at = text, *end = text + length; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = stop ? (size_t)(stop - at) : (size_t)(end - at);
        if (strspn(at, " \t\r") < size) {
            tn_value answer = evaluate_line(path, number, at, size);
            command_put_json(stdout, answer, JSON_COMPACT);
            value_unref(answer);
        }
        at += size + 1;
    }
    mem_free(text);
    return COMMAND_OK;
}

/* Prints an error with its position in the expression. */
static int fail_at(const char *text, const struct error *error) {
    if (error->span.end == 0 && error->span.start == 0) return command_report_error(COMMAND_RUN_FAILED, error);
    struct source *source = source_new("", text, strlen(text));
    struct source_place place = source_locate(source, error->span.start);
    source_unref(source);
    return command_report(COMMAND_RUN_FAILED, "line %u, column %u: %s [%s]", place.line + 1, place.point + 1,
                          error->message, error->code);
}

int command_eval(const struct arguments *arguments) {
    static const char *const not_with_lines[] = {"input", "raw"};
    bool lines = argument_given(arguments, "lines");
    for (size_t i = 0; i < sizeof not_with_lines / sizeof *not_with_lines; i++)
        if (lines && argument_given(arguments, not_with_lines[i]))
            return command_report(
                COMMAND_USAGE,
                "--%s cannot be used with --lines: each line has its own bindings, and its answer is JSON",
                not_with_lines[i]);
    if (lines) return evaluate_lines(arguments, operand_count(arguments) ? operand_at(arguments, 0) : "-");
    const char *text = operand_at(arguments, 0), *given = argument_text(arguments, "input");
    if (!text) return command_report(COMMAND_USAGE, "expected an expression, as in tenon eval '1 + 2'");
    struct error error = ERROR_INIT;
    tn_value input = given ? command_json(arguments, given, "--input", &error) : value_object();
    int code = COMMAND_OK;
    if (!input) {
        code = command_report_error(COMMAND_USAGE, &error);
    } else {
        tn_value value = evaluate_on(text, input, &error);
        if (value && argument_given(arguments, "raw") && value_is(value, TN_STRING))
            command_put_line(value);
        else if (value)
            command_print(value);
        else
            code = fail_at(text, &error);
        value_unref(value);
    }
    value_unref(input);
    error_finish(&error);
    return code;
}
