/*
 * command_node.c - `tenon node list` and `show`: the node types of all plugins, from their manifests.
 */
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/assembly/host.h"
#include "host/plugin/registry/registry.h"
#include "host/program/command.h"
#include "host/program/command_schema.h"
#include "host/program/method_caller.h"
#include "host/program/yaml_text.h"
#include <stdio.h>
#include <string.h>

struct node_list {
    tn_value rows; /* as node_row returns them */
    int width;     /* width of the longest name */
};

/* What component/show returns, as one object: what the manifest declares, and the plugin. A new reference. */
static tn_value node_row(tn_value shown) {
    tn_value row =
        value_set_take(value_ref(value_get(shown, "component")), "plugin", value_ref(value_get(shown, "plugin")));
    return value_set_take(row, "plugin_version", value_ref(value_get(shown, "version")));
}

/* NULL and `error` if the host has no such node type. */
static tn_value node_show(struct method_caller *caller, tn_value id, struct error *error) {
    tn_value params = value_set_take(value_object_reserve(2), "kind", value_text("node")), shown = NULL;
    params = value_set_take(params, "id", value_ref(id));
    if (method_caller_try_take(caller, "component/show", params, &shown, error) != TN_OK) return NULL;
    tn_value row = node_row(shown);
    value_unref(shown);
    return row;
}

/* The result of component/list, in *found. Returns the exit code. */
static int node_find_all(struct method_caller *caller, tn_value *found) {
    tn_value params = value_set_take(value_object_reserve(1), "kind", value_text("node"));
    return method_caller_call_take(caller, "component/list", params, found);
}

/* ---- list ---- */

/* A node type that has gone since the list was made is left out. */
static void node_list_add(struct node_list *listing, struct method_caller *caller, tn_value id) {
    struct error error = ERROR_INIT;
    tn_value row = node_show(caller, id, &error);
    int width = (int)strnlen(value_chars(id, NULL), 40);
    if (row && width > listing->width) listing->width = width;
    if (row) listing->rows = value_push_take(listing->rows, row);
    error_finish(&error);
}

static void print_joined(tn_value texts) {
    for (size_t i = 0; i < value_count(texts); i++)
        command_printf(stdout, "%s%s", i ? ", " : "", value_chars(value_at(texts, i), NULL));
}

static void node_print_row(const struct node_list *listing, tn_value row) {
    tn_value effects = value_get(row, "effects");
    command_print_line(stdout, "%-*s  %s (%s)", listing->width, command_text(row, "id", ""),
                       command_text(row, "title", ""), command_text(row, "plugin", ""));
    if (effects && !value_count(effects)) return;
    command_printf(stdout, "%-*s  ", listing->width, "");
    if (effects)
        print_joined(effects);
    else
        fputs("effects not declared", stdout);
    putchar('\n');
}

int command_node_list(const struct arguments *arguments) {
    struct method_caller *caller;
    struct node_list listing = {value_array(), 0};
    tn_value found = NULL;
    int code = method_caller_open(&caller, arguments, NULL, NULL);
    if (!code) code = node_find_all(caller, &found);
    tn_value all = code ? NULL : value_get(found, "components");
    for (size_t i = 0; all && i < value_count(all); i++)
        node_list_add(&listing, caller, value_get(value_at(all, i), "id"));
    if (!code && argument_given(arguments, "json"))
        command_print(listing.rows);
    else
        for (size_t i = 0; i < value_count(listing.rows); i++) node_print_row(&listing, value_at(listing.rows, i));
    if (!code && !value_count(listing.rows) && !argument_given(arguments, "json"))
        command_warn("no plugin provides a node type; `tenon doctor` shows the search path");
    value_unref(found);
    value_unref(listing.rows);
    method_caller_free(caller);
    return code;
}

/* ---- show ---- */

static void node_print_examples(tn_value examples) {
    for (size_t i = 0; examples && value_is(examples, TN_ARRAY) && i < value_count(examples); i++) {
        tn_value example = value_at(examples, i), config = value_get(example, "config");
        struct buffer text;
        buffer_init(&text, SIZE_MAX);
        if (config) yaml_text(&text, config, 4);
        command_printf(stdout, "\nexample: %s\n%s", command_text(example, "title", ""), buffer_cstr(&text));
        buffer_finish(&text);
    }
}

static void node_print(tn_value row) {
    tn_value effects = value_get(row, "effects"), errors = value_get(row, "errors");
    const char *about = command_text(row, "documentation", "");
    command_print_line(stdout, "%s: %s", command_text(row, "id", ""), command_text(row, "title", ""));
    if (*about) command_printf(stdout, "\n%s\n", about);
    command_printf(stdout, "\nplugin: %s %s\neffects: ", command_text(row, "plugin", ""),
                   command_text(row, "plugin_version", ""));
    if (effects && value_count(effects))
        print_joined(effects);
    else
        fputs(effects ? "none" : "not declared", stdout);
    fputs("\n\nconfig:\n", stdout);
    command_schema_members(NULL, value_get(row, "config"));
    if (errors && value_is(errors, TN_OBJECT)) fputs("\nerrors:\n", stdout);
    for (size_t i = 0; errors && value_is(errors, TN_OBJECT) && i < value_count(errors); i++) {
        const char *code = value_chars(value_key_at(errors, i), NULL);
        command_printf(stdout, "    %-18s %s\n", code, command_text(errors, code, ""));
    }
    node_print_examples(value_get(row, "examples"));
}

static int node_unknown(struct method_caller *caller, const char *name) {
    struct host *host = method_caller_host(caller);
    struct nearest nearest;
    tn_value found = NULL;
    nearest_init(&nearest, name, strlen(name));
    tn_value all = node_find_all(caller, &found) ? NULL : value_get(found, "components");
    for (size_t i = 0; all && i < value_count(all); i++) {
        size_t length;
        const char *id = value_chars(value_get(value_at(all, i), "id"), &length);
        nearest_add_candidate(&nearest, id, length);
    }
    command_warn("there is no node type `%s`%s%s", name, nearest_hint(&nearest).text,
                 host ? registry_altered(host_registry(host)) : "");
    fputs("See `tenon node list`.\n", stderr);
    value_unref(found);
    return COMMAND_USAGE;
}

/* INVALID_INPUT: it cannot be a name. */
static bool is_unknown(const struct error *error) {
    return strcmp(error->code, "NOT_FOUND") == 0 || strcmp(error->code, "INVALID_INPUT") == 0;
}

int command_node_show(const struct arguments *arguments) {
    const char *name = operand_at(arguments, 0);
    struct method_caller *caller;
    struct error error = ERROR_INIT;
    int code = method_caller_open(&caller, arguments, NULL, NULL);
    tn_value id = value_string_lossy(name, strlen(name)), row = code ? NULL : node_show(caller, id, &error);
    if (row && argument_given(arguments, "json"))
        command_print(row);
    else if (row)
        node_print(row);
    else if (!code)
        code = is_unknown(&error) ? node_unknown(caller, name)
                                  : method_caller_report(method_caller_exit_code(&error), &error);
    value_unref(row);
    value_unref(id);
    error_finish(&error);
    method_caller_free(caller);
    return code;
}
