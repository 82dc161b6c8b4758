/*
 * command_memory.c - `tenon memory`: stores, shows, searches and deletes memories. A namespace is written users/ada.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/program/command_kernel.h"
#include <string.h>

/* {namespace, key} from the first two operands. */
static tn_value memory_operands(const struct arguments *arguments) {
    tn_value given = value_set_take(value_object(), "namespace", command_kernel_path(operand_at(arguments, 0)));
    command_kernel_set_text(&given, "key", operand_at(arguments, 1));
    return given;
}

/* ---- put, get, delete ---- */

/* Reads a value: JSON if it is valid JSON, "@file" or "-"; otherwise a text. */
static tn_value memory_read_value(const struct arguments *arguments, const char *text) {
    struct error error = ERROR_INIT;
    tn_value value = NULL;
    if (text[0] == '@' || strcmp(text, "-") == 0) {
        value = command_json(arguments, text, "VALUE", &error);
        if (!value) command_warn_error(&error);
    } else if (json_read(text, strlen(text), NULL, &value, NULL) != TN_OK) {
        value = value_string_lossy(text, strlen(text));
    }
    error_finish(&error);
    return value;
}

int command_memory_put(const struct arguments *arguments) {
    struct command_kernel kernel;
    tn_value given = memory_operands(arguments), result = NULL;
    int code = command_kernel_open(&kernel, arguments);
    tn_value value = code ? NULL : memory_read_value(arguments, operand_at(arguments, 2));
    if (value) given = value_set_take(given, "value", value);
    command_kernel_set_text(&given, "text", argument_text(arguments, "text"));
    if (!code && (!value || !command_kernel_set_number(&kernel, &given, "ttl_seconds", "ttl"))) code = COMMAND_USAGE;
    if (code)
        value_unref(given);
    else
        code = command_kernel_call_take(&kernel, "memory/put", given, &result);
    if (!code && command_kernel_json(&kernel)) command_print(result);
    value_unref(result);
    return command_kernel_close(&kernel, code);
}

int command_memory_get(const struct arguments *arguments) {
    struct command_kernel kernel;
    tn_value result = NULL;
    int code = command_kernel_open(&kernel, arguments);
    if (!code) code = command_kernel_call_take(&kernel, "memory/get", memory_operands(arguments), &result);
    if (!code && value_is(result, TN_NULL))
        code = command_report(COMMAND_RUN_FAILED, "there is no memory `%s` in %s", operand_at(arguments, 1),
                              operand_at(arguments, 0));
    else if (!code)
        command_print(command_kernel_json(&kernel) ? result : value_get(result, "value"));
    value_unref(result);
    return command_kernel_close(&kernel, code);
}

int command_memory_delete(const struct arguments *arguments) {
    struct command_kernel kernel;
    tn_value result = NULL;
    int code = command_kernel_open(&kernel, arguments);
    if (!code) code = command_kernel_call_take(&kernel, "memory/delete", memory_operands(arguments), &result);
    value_unref(result);
    return command_kernel_close(&kernel, code);
}

/* ---- search ---- */

static void print_path(FILE *out, tn_value names) {
    for (size_t i = 0; i < value_count(names); i++)
        command_printf(out, "%s%s", i ? "/" : "", value_chars(value_at(names, i), NULL));
}

static int memory_print_list(const struct command_kernel *kernel, tn_value result, bool similar) {
    tn_value list = value_get(result, "memories");
    if (command_kernel_json(kernel)) return command_kernel_print_take(kernel, result);
    for (size_t i = 0; i < value_count(list); i++) {
        tn_value memory = value_at(list, i);
        char *json = json_text(value_get(memory, "value"), JSON_COMPACT);
        print_path(stdout, value_get(memory, "namespace"));
        command_printf(stdout, "  %s  %s\n", command_kernel_text(memory, "key"), json);
        mem_free(json);
    }
    if (value_count(list) == 0)
        fputs(similar
                  ? "no memories with a vector of this model; those that were stored without `memory.embed`, or with "
                    "another model, must be stored again\n"
                  : "no memories\n",
              stderr);
    if (value_to_bool(value_get(result, "more"))) fprintf(stderr, "there are more: raise --limit\n");
    value_unref(result);
    return COMMAND_OK;
}

int command_memory_search(const struct arguments *arguments) {
    struct command_kernel kernel;
    tn_value given = value_object(), result = NULL;
    bool similar = argument_given(arguments, "similar");
    int code = command_kernel_open(&kernel, arguments);
    if (operand_count(arguments))
        given = value_set_take(given, "namespace", command_kernel_path(operand_at(arguments, 0)));
    command_kernel_set_text(&given, "query", argument_text(arguments, "query"));
    command_kernel_set_text(&given, "similar", argument_text(arguments, "similar"));
    if (argument_given(arguments, "exact")) given = value_set_take(given, "exact", value_bool(true));
    if (!code && (!command_kernel_set_json(&kernel, &given, "filter", "filter") ||
                  !command_kernel_set_number(&kernel, &given, "limit", "limit")))
        code = COMMAND_USAGE;
    if (code)
        value_unref(given);
    else
        code = command_kernel_call_take(&kernel, "memory/search", given, &result);
    return command_kernel_close(&kernel, code ? code : memory_print_list(&kernel, result, similar));
}
