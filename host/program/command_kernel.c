/*
 * command_kernel.c - calls methods of Tasks, Artifacts and memories for commands.
 */
#include "host/program/command_kernel.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int command_kernel_open(struct command_kernel *kernel, const struct arguments *arguments) {
    *kernel = (struct command_kernel){.arguments = arguments};
    return method_caller_open(&kernel->caller, arguments, NULL, NULL);
}

int command_kernel_close(struct command_kernel *kernel, int code) {
    method_caller_free(kernel->caller);
    return command_close(code);
}

/* The exit code for an error of the command line, of the store, or of the operation. */
static int exit_code_of_error(const struct error *error) {
    if (strcmp(error->code, "INVALID_INPUT") == 0 || strcmp(error->code, "INVALID") == 0) return COMMAND_USAGE;
    return strncmp(error->code, "STORE", 5) == 0 ? COMMAND_PLUGIN_PROBLEM : COMMAND_RUN_FAILED;
}

int command_kernel_call_take(struct command_kernel *kernel, const char *method, tn_value given, tn_value *out) {
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    /* After a signal, which has cancelled the call, nothing needs to be said. */
    if (method_caller_try_take(kernel->caller, method, given, out, &error) != TN_OK)
        code = command_got_signal() ? COMMAND_CANCELLED : method_caller_report(exit_code_of_error(&error), &error);
    error_finish(&error);
    return code;
}

/* ---- Options ---- */

void command_kernel_set_text(tn_value *given, const char *member, const char *text) {
    if (text) *given = value_set_take(*given, member, value_string_lossy(text, strlen(text)));
}

void command_kernel_set_texts(const struct command_kernel *kernel, tn_value *given, const char *member,
                              const char *option) {
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

bool command_kernel_set_json(const struct command_kernel *kernel, tn_value *given, const char *member,
                             const char *option) {
    const char *text = argument_text(kernel->arguments, option);
    struct error error = ERROR_INIT;
    char what[64];
    if (!text) return true;
    snprintf(what, sizeof what, "--%s", option);
    tn_value value = command_json(kernel->arguments, text, what, &error);
    if (value)
        *given = value_set_take(*given, member, value);
    else
        command_warn_error(&error);
    error_finish(&error);
    return value != NULL;
}

bool command_kernel_set_number(const struct command_kernel *kernel, tn_value *given, const char *member,
                               const char *option) {
    const char *text = argument_text(kernel->arguments, option);
    if (!text) return true;
    tn_value value = NULL;
    bool number = json_read(text, strlen(text), NULL, &value, NULL) == TN_OK && value_is_number(value);
    if (number)
        *given = value_set_take(*given, member, value);
    else
        value_unref(value);
    if (!number) command_warn("--%s: found `%s`, expected a number", option, text);
    return number;
}

bool command_kernel_set_page(const struct command_kernel *kernel, tn_value *given) {
    command_kernel_set_text(given, "after", argument_text(kernel->arguments, "after"));
    return command_kernel_set_number(kernel, given, "limit", "limit");
}

bool command_kernel_json(const struct command_kernel *kernel) { return argument_given(kernel->arguments, "json"); }

tn_value command_kernel_path(const char *text) {
    tn_value names = value_array();
    while (*text) {
        size_t length = strcspn(text, "/");
        names = value_push_take(names, value_string_lossy(text, length));
        text += length + (text[length] == '/');
    }
    return names;
}

/* ---- Printing ---- */

const char *command_kernel_text(tn_value object, const char *member) {
    tn_value value = value_get(object, member);
    return value_is(value, TN_STRING) ? value_chars(value, NULL) : "";
}

/* "name: value" for each member: texts as they are, anything else as JSON. */
static void command_kernel_show(tn_value object) {
    for (size_t i = 0; i < value_count(object); i++) {
        tn_value value = value_value_at(object, i);
        const char *name = value_chars(value_key_at(object, i), NULL);
        if (value_is(value, TN_STRING)) {
            command_printf(stdout, "%s: %s\n", name, value_chars(value, NULL));
        } else if (!value_is(value, TN_NULL)) {
            char *json = json_text(value, JSON_COMPACT);
            command_printf(stdout, "%s: %s\n", name, json);
            mem_free(json);
        }
    }
}

int command_kernel_print_take(const struct command_kernel *kernel, tn_value value) {
    if (command_kernel_json(kernel))
        command_print(value);
    else
        command_kernel_show(value);
    value_unref(value);
    return COMMAND_OK;
}

void command_kernel_more(tn_value result) {
    if (value_to_bool(value_get(result, "more")))
        fprintf(stderr, "there are more: raise --limit, or continue with --after ID\n");
}
