/*
 * command_tool.c - `tenon tool list`, `search` and `show`. command_tool_call.c calls a tool.
 */
#include "host/program/command_tool.h"
#include "adl/value/memory.h"
#include "host/assembly/config_lint.h"
#include "host/assembly/host.h"
#include "host/plugin/registry/registry.h"
#include "host/program/command.h"
#include "host/program/command_schema.h"
#include "host/program/method_caller.h"
#include <stdio.h>
#include <string.h>

/* ---- list, search ---- */

static const char *row_text(tn_value row, const char *key) {
    tn_value text = value_get(row, key);
    return text && value_is(text, TN_STRING) ? value_chars(text, NULL) : "";
}

static void append_joined(struct buffer *out, tn_value texts) {
    for (size_t i = 0; i < value_count(texts); i++)
        buffer_format(out, "%s%s", i ? ", " : "", value_chars(value_at(texts, i), NULL));
}

static void tool_print_row(tn_value row, int width) {
    struct buffer effects;
    buffer_init(&effects, SIZE_MAX);
    append_joined(&effects, value_get(row, "effects"));
    command_print_line(stdout, "%-*s  %-4s  %s (%s)", width, row_text(row, "tool_name"), row_text(row, "approval"),
                       row_text(row, "title"), row_text(row, "plugin"));
    if (effects.length) command_print_line(stdout, "%-*s        %s", width, "", buffer_cstr(&effects));
    buffer_finish(&effects);
}

static void tool_print_rows(const struct arguments *arguments, tn_value rows, const char *none) {
    int width = 0; /* of the longest name */
    if (argument_given(arguments, "json")) {
        command_print(rows);
        return;
    }
    for (size_t i = 0; i < value_count(rows); i++) {
        int length = (int)strnlen(row_text(value_at(rows, i), "tool_name"), 40);
        if (length > width) width = length;
    }
    for (size_t i = 0; i < value_count(rows); i++) tool_print_row(value_at(rows, i), width);
    if (!value_count(rows)) command_warn("%s", none);
}

/* Warns about a rule that matches no tool: it may have been meant to deny one. */
static void warn_about_rule(void *user, const char *message) {
    (void)user;
    command_warn("warning: %s", message);
}

/* The configuration of a host of this command; that of a running host is not this user's to correct. */
static void warn_about_rules(const struct method_caller *caller) {
    struct host *host = method_caller_host(caller);
    if (host) config_lint_tools(host, warn_about_rule, NULL);
}

static int tool_print_list(const struct arguments *arguments, const char *method, tn_value params, const char *none) {
    struct method_caller *caller;
    tn_value found = NULL;
    int code = method_caller_open(&caller, arguments, NULL, NULL);
    if (code)
        value_unref(params);
    else
        code = method_caller_call_take(caller, method, params, &found);
    if (!code) {
        tool_print_rows(arguments, value_get(found, "tools"), none);
        warn_about_rules(caller);
    }
    value_unref(found);
    method_caller_free(caller);
    return code;
}

int command_tool_list(const struct arguments *arguments) {
    const char *pattern = operand_at(arguments, 0);
    tn_value params = value_object_reserve(1);
    if (!pattern)
        return tool_print_list(arguments, "tool/list", params,
                               "no plugin provides a tool; `tenon doctor` shows the search path");
    params = value_set_take(params, "pattern", value_string_lossy(pattern, strlen(pattern)));
    return tool_print_list(arguments, "tool/list", params, "the name of no tool matches this pattern");
}

int command_tool_search(const struct arguments *arguments) {
    const char *query = operand_at(arguments, 0);
    tn_value params = value_set_take(value_object_reserve(1), "query", value_string_lossy(query, strlen(query)));
    return tool_print_list(arguments, "tool/search", params,
                           "no tool contains all of these words in its name, title or documentation");
}

/* ---- show ---- */

static void tool_print_schema(const char *what, tn_value schema) {
    struct buffer form;
    if (!schema) return;
    buffer_init(&form, SIZE_MAX);
    command_schema_form(&form, schema, schema);
    command_printf(stdout, "\n%s: %s\n", what, buffer_cstr(&form));
    buffer_finish(&form);
    command_schema_members(NULL, schema);
}

static void tool_print(tn_value row) {
    struct buffer effects;
    buffer_init(&effects, SIZE_MAX);
    append_joined(&effects, value_get(row, "effects"));
    command_print_line(stdout, "%s: %s", row_text(row, "tool_name"), row_text(row, "title"));
    if (strcmp(row_text(row, "description"), row_text(row, "title")) != 0)
        command_printf(stdout, "\n%s\n", row_text(row, "description"));
    command_printf(stdout, "\nplugin: %s\n", row_text(row, "plugin"));
    command_printf(stdout, "effects: %s\n", effects.length ? buffer_cstr(&effects) : "none");
    command_printf(stdout, "approval: %s, as %s\n", row_text(row, "approval"), row_text(row, "why"));
    tool_print_schema("arguments", value_get(row, "input_schema"));
    tool_print_schema("result", value_get(row, "output_schema"));
    buffer_finish(&effects);
}

struct host *command_tool_open(const struct arguments *arguments, struct component **component, int *code) {
    struct host *host = command_host(arguments);
    struct error error = ERROR_INIT;
    *code = COMMAND_PLUGIN_PROBLEM;
    if (!host) return NULL;
    if (registry_resolve(host_registry(host), "tool", operand_at(arguments, 0), component, &error) == TN_OK)
        return host;
    if (error.code && strcmp(error.code, "TOOL_NOT_FOUND") == 0) *code = COMMAND_USAGE;
    command_warn_error(&error);
    error_finish(&error);
    host_free(host);
    return NULL;
}

int command_tool_show(const struct arguments *arguments) {
    const char *name = operand_at(arguments, 0);
    struct method_caller *caller;
    struct error error = ERROR_INIT;
    tn_value row = NULL;
    int code = method_caller_open(&caller, arguments, NULL, NULL);
    tn_value params = value_set_take(value_object_reserve(1), "tool", value_string_lossy(name, strlen(name)));
    if (code) {
        value_unref(params);
    } else if (method_caller_try_take(caller, "tool/show", params, &row, &error) != TN_OK) {
        bool unknown = strcmp(error.code, "TOOL_NOT_FOUND") == 0 || strcmp(error.code, "INVALID_INPUT") == 0;
        code = method_caller_report(unknown ? COMMAND_USAGE : COMMAND_PLUGIN_PROBLEM, &error);
    } else {
        if (argument_given(arguments, "json"))
            command_print(row);
        else
            tool_print(row);
        warn_about_rules(caller);
    }
    value_unref(row);
    error_finish(&error);
    method_caller_free(caller);
    return code;
}
