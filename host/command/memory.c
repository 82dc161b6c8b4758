/*
 * memory.c - `tenon memory`: what is remembered across runs, from a shell. A namespace is written users/ada.
 */
#include "adl/value/memory.h"
#include "adl/value/json.h"
#include "host/command/kernel.h"
#include "host/host.h"
#include <string.h>

/* namespace and key, of the first two operands. */
static tn_value place_of(const struct arguments *arguments) {
    tn_value given = value_set_take(value_object(), "namespace", kernel_path(operand_at(arguments, 0)));
    kernel_set_text(&given, "key", operand_at(arguments, 1));
    return given;
}

/* ---- put, get, delete ---- */

/* JSON where it reads as such, or from a file, or standard input; else a text. */
static tn_value read_value(const char *text) {
    struct error error = ERROR_INIT;
    tn_value value = NULL;
    if (text[0] == '@' || strcmp(text, "-") == 0) {
        value = command_json(text, "VALUE", &error);
        if (!value) command_fail_error(0, &error);
    } else if (json_read(text, strlen(text), NULL, &value, NULL) != TN_OK) {
        value = value_string_lossy(text, strlen(text));
    }
    error_finish(&error);
    return value;
}

int command_memory_put(const struct arguments *arguments) {
    struct kernel kernel;
    tn_value given = place_of(arguments), result = NULL;
    int code = kernel_open(&kernel, arguments);
    tn_value value = code ? NULL : read_value(operand_at(arguments, 2));
    if (value) given = value_set_take(given, "value", value);
    kernel_set_text(&given, "text", argument_text(arguments, "text"));
    if (!code && (!value || !kernel_set_number(&kernel, &given, "ttl_seconds", "ttl"))) code = COMMAND_USAGE;
    if (code)
        value_unref(given);
    else
        code = kernel_ask_take(&kernel, "memory.put", given, &result);
    if (!code && kernel_json(&kernel)) command_print(result);
    value_unref(result);
    return kernel_close(&kernel, code);
}

int command_memory_get(const struct arguments *arguments) {
    struct kernel kernel;
    tn_value result = NULL;
    int code = kernel_open(&kernel, arguments);
    if (!code) code = kernel_ask_take(&kernel, "memory.get", place_of(arguments), &result);
    if (!code && value_is(result, TN_NULL))
        code = command_fail(COMMAND_RUN_FAILED, "there is no memory `%s` in %s", operand_at(arguments, 1),
                            operand_at(arguments, 0));
    else if (!code)
        command_print(kernel_json(&kernel) ? result : value_get(result, "value"));
    value_unref(result);
    return kernel_close(&kernel, code);
}

int command_memory_delete(const struct arguments *arguments) {
    struct kernel kernel;
    tn_value result = NULL;
    int code = kernel_open(&kernel, arguments);
    if (!code) code = kernel_ask_take(&kernel, "memory.delete", place_of(arguments), &result);
    value_unref(result);
    return kernel_close(&kernel, code);
}

/* ---- search ---- */

static void print_path(FILE *out, tn_value names) {
    for (size_t i = 0; i < value_count(names); i++)
        command_say(out, "%s%s", i ? "/" : "", value_chars(value_at(names, i), NULL));
}

static int print_list(const struct kernel *kernel, tn_value result) {
    tn_value list = value_get(result, "memories");
    if (kernel_json(kernel)) return kernel_print_take(kernel, result);
    for (size_t i = 0; i < value_count(list); i++) {
        tn_value memory = value_at(list, i);
        char *json = json_text(value_get(memory, "value"), JSON_COMPACT);
        print_path(stdout, value_get(memory, "namespace"));
        command_say(stdout, "  %s  %s\n", kernel_text(memory, "key"), json);
        mem_free(json);
    }
    if (value_count(list) == 0) fprintf(stderr, "no memories\n");
    if (value_to_bool(value_get(result, "more"))) fprintf(stderr, "there are more: --limit shows more of them\n");
    value_unref(result);
    return COMMAND_OK;
}

int command_memory_search(const struct arguments *arguments) {
    struct kernel kernel;
    tn_value given = value_object(), result = NULL;
    int code = kernel_open(&kernel, arguments);
    if (operand_count(arguments)) given = value_set_take(given, "namespace", kernel_path(operand_at(arguments, 0)));
    kernel_set_text(&given, "query", argument_text(arguments, "query"));
    if (!code && (!kernel_set_json(&kernel, &given, "filter", "filter") ||
                  !kernel_set_number(&kernel, &given, "limit", "limit")))
        code = COMMAND_USAGE;
    if (code)
        value_unref(given);
    else
        code = kernel_ask_take(&kernel, "memory.search", given, &result);
    return kernel_close(&kernel, code ? code : print_list(&kernel, result));
}
