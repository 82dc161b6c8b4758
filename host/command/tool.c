/*
 * tool.c - `tenon tool list`, `search` and `show`: which tools there are, what one takes and does; tool_call.c calls
 * one.
 */
#include "host/command/tool.h"
#include "adl/document/catalog.h"
#include "adl/value/memory.h"
#include "host/command/command.h"
#include "host/command/schema.h"
#include "host/config/config.h"
#include "host/host.h"
#include "host/plugin/registry.h"
#include "host/tool/tool.h"
#include "host/unknown.h"
#include <stdio.h>
#include <string.h>

#define SEARCH_LIMIT 20

void command_tool_policy(const struct host *host, const struct component_info *info, struct tool_policy *policy) {
    tool_policy_of(NULL, config_tool_approval(host->config), info->id, info->effects, true, policy);
}

/* ---- list, search ---- */

struct listing {
    const struct host *host;
    tn_value rows;
    int width; /* of the longest name */
};

/* The definition, and what people want to know besides. */
static tn_value row_of(const struct host *host, const struct component_info *info) {
    struct tool_policy policy;
    command_tool_policy(host, info, &policy);
    tn_value row = tool_definition(info, &policy);
    row = value_set_take(row, "title", value_text(info->title));
    row = value_set_take(row, "plugin", value_text(info->plugin_id));
    row = value_set_take(row, "why", value_ref(policy.why));
    tool_policy_finish(&policy);
    return row;
}

static void add_row(void *user, const struct component_info *info) {
    struct listing *listing = user;
    int width = (int)strnlen(info->id, 40);
    if (width > listing->width) listing->width = width;
    listing->rows = value_push_take(listing->rows, row_of(listing->host, info));
}

static const char *text_of(tn_value object, const char *key) {
    tn_value text = value_get(object, key);
    return text && value_is(text, TN_STRING) ? value_chars(text, NULL) : "";
}

static void join(struct buffer *out, tn_value texts) {
    for (size_t i = 0; i < value_count(texts); i++)
        buffer_format(out, "%s%s", i ? ", " : "", value_chars(value_at(texts, i), NULL));
}

static void print_row(const struct listing *listing, tn_value row) {
    struct buffer effects;
    buffer_init(&effects, SIZE_MAX);
    join(&effects, value_get(row, "effects"));
    command_say(stdout, "%-*s  %-4s  %s (%s)\n", listing->width, text_of(row, "tool_name"), text_of(row, "approval"),
                text_of(row, "title"), text_of(row, "plugin"));
    if (effects.length) command_say(stdout, "%-*s        %s\n", listing->width, "", buffer_cstr(&effects));
    buffer_finish(&effects);
}

static void print_rows(const struct arguments *arguments, const struct listing *listing) {
    if (argument_given(arguments, "json")) {
        command_print(listing->rows);
        return;
    }
    for (size_t i = 0; i < value_count(listing->rows); i++) print_row(listing, value_at(listing->rows, i));
}

/* A rule that does nothing may be one that should have forbidden something. */
static void warn(void *user, const char *message) {
    (void)user;
    command_fail(0, "warning: %s", message);
}

static int list(const struct arguments *arguments, const char *query, size_t limit, const char *none) {
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    struct listing listing = {.host = host, .rows = value_array()};
    tool_search(host, query, limit, add_row, &listing);
    print_rows(arguments, &listing);
    unknown_tools(host, warn, NULL);
    if (!value_count(listing.rows) && !argument_given(arguments, "json")) command_fail(0, "%s", none);
    value_unref(listing.rows);
    host_free(host);
    return COMMAND_OK;
}

int command_tool_list(const struct arguments *arguments) {
    return list(arguments, "", SIZE_MAX, "no plugin has a tool; `tenon doctor` says where they are looked for");
}

int command_tool_search(const struct arguments *arguments) {
    return list(arguments, operand_at(arguments, 0), SEARCH_LIMIT,
                "no tool has all of these words in its name, title or documentation");
}

/* ---- show ---- */

static void print_side(const char *what, tn_value schema) {
    struct buffer form;
    if (!schema) return;
    buffer_init(&form, SIZE_MAX);
    command_schema_form(&form, schema, schema);
    command_say(stdout, "\n%s: %s\n", what, buffer_cstr(&form));
    buffer_finish(&form);
    command_schema_members(NULL, schema);
}

static void print_tool(tn_value row) {
    struct buffer effects;
    buffer_init(&effects, SIZE_MAX);
    join(&effects, value_get(row, "effects"));
    command_say(stdout, "%s: %s\n", text_of(row, "tool_name"), text_of(row, "title"));
    if (strcmp(text_of(row, "description"), text_of(row, "title")) != 0)
        command_say(stdout, "\n%s\n", text_of(row, "description"));
    command_say(stdout, "\nplugin: %s\n", text_of(row, "plugin"));
    command_say(stdout, "effects: %s\n", effects.length ? buffer_cstr(&effects) : "none");
    command_say(stdout, "approval: %s, as %s\n", text_of(row, "approval"), text_of(row, "why"));
    print_side("arguments", value_get(row, "input_schema"));
    print_side("result", value_get(row, "output_schema"));
    buffer_finish(&effects);
}

struct host *command_tool_open(const struct arguments *arguments, struct component **component, int *code) {
    struct host *host = command_host(arguments);
    struct error error = ERROR_INIT;
    *code = COMMAND_PLUGIN_PROBLEM;
    if (!host) return NULL;
    if (registry_resolve(host->registry, "tool", operand_at(arguments, 0), component, &error) == TN_OK) return host;
    if (error.code && strcmp(error.code, "TOOL_NOT_FOUND") == 0) *code = COMMAND_USAGE;
    command_fail_error(0, &error);
    error_finish(&error);
    host_free(host);
    return NULL;
}

int command_tool_show(const struct arguments *arguments) {
    struct component *component;
    int code;
    struct host *host = command_tool_open(arguments, &component, &code);
    if (!host) return code;
    tn_value row = row_of(host, component->info);
    if (argument_given(arguments, "json"))
        command_print(row);
    else
        print_tool(row);
    unknown_tools(host, warn, NULL);
    value_unref(row);
    host_free(host);
    return COMMAND_OK;
}
