/*
 * command_node.c - `tenon node list` and `show`: the node types of all plugins, from their manifests.
 */
#include "adl/document/catalog.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/assembly/host.h"
#include "host/plugin/registry/registry.h"
#include "host/program/command.h"
#include "host/program/command_schema.h"
#include "host/program/yaml_text.h"
#include <stdio.h>
#include <string.h>

/* What the manifest declares, and the plugin; a new reference. */
static tn_value node_row(const struct component_info *info) {
    tn_value row = value_set_take(value_ref(info->manifest), "plugin", value_text(info->plugin_id));
    return value_set_take(row, "plugin_version", value_text(info->plugin_version));
}

/* ---- list ---- */

struct node_list {
    tn_value rows;
    int width; /* width of the longest name */
};

static bool node_list_add(void *user, const struct component_info *info) {
    struct node_list *listing = user;
    int width = (int)strnlen(info->id, 40);
    if (width > listing->width) listing->width = width;
    listing->rows = value_push_take(listing->rows, node_row(info));
    return true;
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
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    struct node_list listing = {value_array(), 0};
    host_catalog(host)->each(host_catalog(host)->self, "node", node_list_add, &listing);
    if (argument_given(arguments, "json"))
        command_print(listing.rows);
    else
        for (size_t i = 0; i < value_count(listing.rows); i++) node_print_row(&listing, value_at(listing.rows, i));
    if (!value_count(listing.rows) && !argument_given(arguments, "json"))
        command_warn("no plugin provides a node type; `tenon doctor` shows the search path");
    value_unref(listing.rows);
    host_free(host);
    return COMMAND_OK;
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

static bool node_suggest(void *user, const struct component_info *info) {
    nearest_add_candidate(user, info->id, strlen(info->id));
    return true;
}

/* A node type that a plugin adds at run time is found by loading it, as `tenon check` does. */
static const struct component_info *node_find(struct host *host, const char *name) {
    return registry_find(host_registry(host), "node", name, strlen(name));
}

static int node_unknown(struct host *host, const char *name) {
    struct nearest nearest;
    nearest_init(&nearest, name, strlen(name));
    host_catalog(host)->each(host_catalog(host)->self, "node", node_suggest, &nearest);
    command_warn("there is no node type `%s`%s%s", name, nearest_hint(&nearest).text,
                 registry_altered(host_registry(host)));
    fputs("See `tenon node list`.\n", stderr);
    return COMMAND_USAGE;
}

int command_node_show(const struct arguments *arguments) {
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    const struct component_info *info = node_find(host, operand_at(arguments, 0));
    int code = COMMAND_OK;
    if (!info) {
        code = node_unknown(host, operand_at(arguments, 0));
    } else {
        tn_value row = node_row(info);
        if (argument_given(arguments, "json"))
            command_print(row);
        else
            node_print(row);
        value_unref(row);
    }
    host_free(host);
    return code;
}
