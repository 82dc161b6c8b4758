/*
 * eval.c - `tenon eval`: an expression by itself, on an input; or many, one a line.
 */
#include "adl/expr/expr.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/command/command.h"
#include <stdio.h>
#include <string.h>

/* Top-level names: `state` and `input` are the whole input, everything else a member of it. */
struct names {
    tn_value input;
    bool state; /* `state` and `input` name the input itself */
};

static tn_value lookup(void *self, const char *name, size_t length) {
    const struct names *names = self;
    tn_value found = names->input ? value_get_n(names->input, name, length) : NULL;
    bool whole = (length == 5 && (memcmp(name, "state", 5) == 0 || memcmp(name, "input", 5) == 0));
    return found || !names->state || !whole ? found : names->input;
}

/* A new reference; NULL with error. */
static tn_value evaluate(const char *text, size_t length, tn_value bindings, bool state, struct error *error) {
    const struct expr_scope scope = {.open = true};
    struct names names = {bindings, state};
    const struct expr_env env = {.self = &names, .name = lookup};
    struct expr *expr = NULL;
    tn_value value = NULL;
    if (expr_compile(text, length, &scope, NULL, &expr, error) == TN_OK) expr_eval(expr, &env, &value, error);
    expr_unref(expr);
    return value;
}

/* {"expr": …, "bindings": {…}} to {"value": …} or {"error": …}. */
static tn_value evaluate_line(const char *line, size_t length, bool *good) {
    struct error error = ERROR_INIT;
    tn_value request = NULL, value = NULL;
    if (json_read(line, length, NULL, &request, &error) == TN_OK) {
        tn_value text = value_get(request, "expr"), bindings = value_get(request, "bindings");
        size_t size;
        if (!text || !value_is(text, TN_STRING)) {
            error_set(&error, TN_INVALID, "INVALID_INPUT", "found no string `expr`, expected {\"expr\": …, \"bindings\": {…}}");
        } else {
            const char *chars = value_chars(text, &size);
            value = evaluate(chars, size, bindings, false, &error);
        }
    }
    tn_value answer = value ? value_set_take(value_object_reserve(1), "value", value)
                            : value_set_take(value_object_reserve(1), "error", error_to_value(&error));
    *good = value != NULL;
    value_unref(request);
    error_finish(&error);
    return answer;
}

static int evaluate_lines(const char *path) {
    char *text;
    size_t length;
    struct error error = ERROR_INIT;
    if (!command_read_file(path, &text, &length, &error)) {
        int code = command_fail_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return code;
    }
    for (const char *at = text, *end = text + length; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = stop ? (size_t)(stop - at) : (size_t)(end - at);
        if (strspn(at, " \t\r") < size) {
            bool good;
            tn_value answer = evaluate_line(at, size, &good);
            char *line = json_text(answer, JSON_COMPACT);
            puts(line);
            mem_free(line);
            value_unref(answer);
        }
        at += size + 1;
    }
    mem_free(text);
    return COMMAND_OK;
}

int command_eval(const struct arguments *arguments) {
    if (argument_given(arguments, "lines"))
        return evaluate_lines(operand_count(arguments) ? operand_at(arguments, 0) : "-");
    const char *text = operand_at(arguments, 0), *given = argument_text(arguments, "input");
    if (!text) return command_fail(COMMAND_USAGE, "expected an expression, as in tenon eval '1 + 2'");
    struct error error = ERROR_INIT;
    tn_value input = given ? command_json(given, "--input", &error) : value_object();
    int code = COMMAND_OK;
    if (!input) {
        code = command_fail_error(COMMAND_USAGE, &error);
    } else {
        tn_value value = evaluate(text, strlen(text), input, true, &error);
        if (value)
            command_print(value);
        else
            code = command_fail_error(COMMAND_RUN_FAILED, &error);
        value_unref(value);
    }
    value_unref(input);
    error_finish(&error);
    return code;
}
