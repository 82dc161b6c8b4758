/*
 * command_tool.c - `tenon tool list`, `search` and `show`. command_tool_call.c calls a tool.
 */
#include "host/program/command_tool.h"
#include "adl/document/catalog.h"
#include "adl/value/memory.h"
#include "host/assembly/config_lint.h"
#include "host/assembly/host.h"
#include "host/engine/tool/tool.h"
#include "host/plugin/registry/registry.h"
#include "host/program/command.h"
#include "host/program/command_schema.h"
#include <stdio.h>
#include <string.h>

#define SEARCH_LIMIT 20

/* ---- list, search ---- */

struct tool_list {
    const struct host *host;
    tn_value rows;
    int width; /* width of the longest name */
};

static void tool_list_add(void *user, const struct component_info *info) {
    struct tool_list *listing = user;
    int width = (int)strnlen(info->id, 40);
    if (width > listing->width) listing->width = width;
    listing->rows = value_push_take(listing->rows, tool_describe(host_engine(listing->host), NULL, info));
}

static const char *row_text(tn_value row, const char *key) {
    tn_value text = value_get(row, key);
    return text && value_is(text, TN_STRING) ? value_chars(text, NULL) : "";
}

static void append_joined(struct buffer *out, tn_value texts) {
    for (size_t i = 0; i < value_count(texts); i++)
        buffer_format(out, "%s%s", i ? ", " : "", value_chars(value_at(texts, i), NULL));
}

static void tool_print_row(const struct tool_list *listing, tn_value row) {
    struct buffer effects;
    buffer_init(&effects, SIZE_MAX);
    append_joined(&effects, value_get(row, "effects"));
    command_print_line(stdout, "%-*s  %-4s  %s (%s)", listing->width, row_text(row, "tool_name"),
                       row_text(row, "approval"), row_text(row, "title"), row_text(row, "plugin"));
    if (effects.length) command_print_line(stdout, "%-*s        %s", listing->width, "", buffer_cstr(&effects));
    buffer_finish(&effects);
}

static void tool_print_rows(const struct arguments *arguments, const struct tool_list *listing) {
    if (argument_given(arguments, "json")) {
        command_print(listing->rows);
        return;
    }
    for (size_t i = 0; i < value_count(listing->rows); i++) tool_print_row(listing, value_at(listing->rows, i));
}

/* Warns about a rule that matches no tool: it may have been meant to deny one. */
static void warn_about_rule(void *user, const char *message) {
    (void)user;
    command_warn("warning: %s", message);
}

static int tool_print_list(const struct arguments *arguments, const char *query, size_t limit, const char *none) {
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    struct tool_list listing = {.host = host, .rows = value_array()};
    tool_search(host_engine(host), query, limit, tool_list_add, &listing);
    tool_print_rows(arguments, &listing);
    config_lint_tools(host, warn_about_rule, NULL);
    if (!value_count(listing.rows) && !argument_given(arguments, "json")) command_warn("%s", none);
    value_unref(listing.rows);
    host_free(host);
    return COMMAND_OK;
}

int command_tool_list(const struct arguments *arguments) {
    return tool_print_list(arguments, "", SIZE_MAX, "no plugin provides a tool; `tenon doctor` shows the search path");
}

int command_tool_search(const struct arguments *arguments) {
    return tool_print_list(arguments, operand_at(arguments, 0), SEARCH_LIMIT,
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
    struct component *component;
    int code;
    struct host *host = command_tool_open(arguments, &component, &code);
    if (!host) return code;
    tn_value row = tool_describe(host_engine(host), NULL, component->info);
    if (argument_given(arguments, "json"))
        command_print(row);
    else
        tool_print(row);
    config_lint_tools(host, warn_about_rule, NULL);
    value_unref(row);
    host_free(host);
    return COMMAND_OK;
}
