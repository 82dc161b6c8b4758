/*
 * kernel.c - operations of the state kernel from a command line.
 */
#include "host/command/kernel.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/host.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int kernel_open(struct kernel *kernel, const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    *kernel = (struct kernel){.arguments = arguments, .host = command_host(arguments)};
    if (!kernel->host) return COMMAND_PLUGIN_PROBLEM;
    if (state_open(kernel->host, &kernel->state, &error) == TN_OK) return COMMAND_OK;
    int code = command_fail_error(COMMAND_PLUGIN_PROBLEM, &error);
    error_finish(&error);
    return code;
}

int kernel_close(struct kernel *kernel, int code) {
    host_free(kernel->host);
    return command_close(code);
}

/* What is wrong with what was typed, with the store, or with what there is. */
static int code_of(const struct error *error) {
    if (strcmp(error->code, "INVALID_INPUT") == 0 || strcmp(error->code, "INVALID") == 0) return COMMAND_USAGE;
    return strncmp(error->code, "STORE", 5) == 0 ? COMMAND_PLUGIN_PROBLEM : COMMAND_RUN_FAILED;
}

int kernel_ask_take(struct kernel *kernel, const char *operation, tn_value given, tn_value *out) {
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    if (state_call_wait(&kernel->state, operation, given, out, &error) != TN_OK)
        code = command_fail_error(code_of(&error), &error);
    error_finish(&error);
    return code;
}

/* ---- Options ---- */

void kernel_set_text(tn_value *given, const char *member, const char *text) {
    if (text) *given = value_set_take(*given, member, value_string_lossy(text, strlen(text)));
}

void kernel_set_texts(const struct kernel *kernel, tn_value *given, const char *member, const char *option) {
    size_t count = argument_count(kernel->arguments, option);
    tn_value list = value_array_reserve(count);
    for (size_t i = 0; i < count; i++) {
        const char *text = argument_at(kernel->arguments, option, i);
        list = value_push_take(list, value_string_lossy(text, strlen(text)));
    }
    if (count)
        *given = value_set_take(*given, member, list);
    else
        value_unref(list);
}

bool kernel_set_json(const struct kernel *kernel, tn_value *given, const char *member, const char *option) {
    const char *text = argument_text(kernel->arguments, option);
    struct error error = ERROR_INIT;
    char what[64];
    if (!text) return true;
    snprintf(what, sizeof what, "--%s", option);
    tn_value value = command_json(text, what, &error);
    if (value)
        *given = value_set_take(*given, member, value);
    else
        command_fail_error(0, &error);
    error_finish(&error);
    return value != NULL;
}

bool kernel_set_number(const struct kernel *kernel, tn_value *given, const char *member, const char *option) {
    const char *text = argument_text(kernel->arguments, option);
    if (!text) return true;
    tn_value value = NULL;
    bool number = json_read(text, strlen(text), NULL, &value, NULL) == TN_OK && value_is_number(value);
    if (number)
        *given = value_set_take(*given, member, value);
    else
        value_unref(value);
    if (!number) command_fail(0, "--%s: found `%s`, expected a number", option, text);
    return number;
}

bool kernel_set_page(const struct kernel *kernel, tn_value *given) {
    kernel_set_text(given, "after", argument_text(kernel->arguments, "after"));
    return kernel_set_number(kernel, given, "limit", "limit");
}

bool kernel_json(const struct kernel *kernel) { return argument_given(kernel->arguments, "json"); }

tn_value kernel_path(const char *text) {
    tn_value names = value_array();
    while (*text) {
        size_t length = strcspn(text, "/");
        names = value_push_take(names, value_string_lossy(text, length));
        text += length + (text[length] == '/');
    }
    return names;
}

/* ---- Printing ---- */

const char *kernel_text(tn_value object, const char *member) {
    tn_value value = value_get(object, member);
    return value_is(value, TN_STRING) ? value_chars(value, NULL) : "";
}

void kernel_show(tn_value object) {
    for (size_t i = 0; i < value_count(object); i++) {
        tn_value value = value_value_at(object, i);
        const char *name = value_chars(value_key_at(object, i), NULL);
        if (value_is(value, TN_STRING)) {
            command_say(stdout, "%s: %s\n", name, value_chars(value, NULL));
        } else if (!value_is(value, TN_NULL)) {
            char *json = json_text(value, JSON_COMPACT);
            command_say(stdout, "%s: %s\n", name, json);
            mem_free(json);
        }
    }
}

int kernel_print_take(const struct kernel *kernel, tn_value value) {
    if (kernel_json(kernel))
        command_print(value);
    else
        kernel_show(value);
    value_unref(value);
    return COMMAND_OK;
}

void kernel_more(tn_value result) {
    if (value_to_bool(value_get(result, "more")))
        fprintf(stderr, "there are more: --limit shows more of them, --after ID goes on behind one\n");
}
