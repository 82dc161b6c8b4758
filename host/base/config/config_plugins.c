/*
 * config_plugins.c - reads `plugins` of tenon.yaml.
 */
#include "adl/value/memory.h"
#include "host/base/config/config_internal.h"
#include "host/base/config/config_reader.h"
#include <string.h>

void config_read_plugins(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_mapping(reader, node, "plugins",
                              "a mapping with `path`, `config`, `isolation`, `processes`, `drafts` and `admin`"))
        config_read_keys(reader, node, "plugins");
}

void config_add_path(struct config *config, const char *path) {
    MEM_EXTEND(config->paths, config->path_count);
    config->paths[config->path_count++] = mem_text(path);
}

static void config_read_one_path(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind != TN_STRING) {
        config_report_kind(reader, node, "plugins.path", "a path, or a list of paths");
        return;
    }
    char *path = config_resolve_path(reader, value_chars(node->value, NULL));
    config_add_path(reader->config, path);
    mem_free(path);
}

void config_read_plugin_path(struct config_reader *reader, const struct tree_node *node) {
    config_read_list(reader, node, "plugins.path", CONFIG_PATHS_MAX, "paths", config_read_one_path);
}

static void config_add_section(struct config_reader *reader, const struct tree_item *item) {
    struct config *config = reader->config;
    config->plugins = value_set_key_take(config->plugins, value_ref(item->key), tree_to_value(item->node));
    config->folders = value_set_key_take(config->folders, value_ref(item->key),
                                         value_string_lossy(reader->folder, strlen(reader->folder)));
}

void config_read_plugin_config(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "plugins.config", "a mapping of plugin ids to their sections")) return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (config_expect_mapping(reader, item->node, config_where("plugins.config", item->key).text,
                                  "a mapping: the configuration of the plugin"))
            config_add_section(reader, item);
    }
}

void config_read_isolation(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "plugins.isolation",
                               "a mapping of plugin ids, or \"*\", to `process` or `none`"))
        return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        tn_value word = item->node->kind == TN_STRING ? item->node->value : NULL;
        if (value_text_is(word, "process") || value_text_is(word, "none"))
            reader->config->isolation =
                value_set_key_take(reader->config->isolation, value_ref(item->key), value_ref(word));
        else
            config_report_value(reader, item->node, config_where("plugins.isolation", item->key).text,
                                "`process` or `none`");
    }
}

void config_read_processes(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "plugins.processes",
                               "a mapping of plugin ids, or \"*\", to numbers from 1 to 256"))
        return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        tn_value count = item->node->kind == TN_INT ? item->node->value : NULL;
        if (count && value_to_int(count) >= 1 && value_to_int(count) <= CONFIG_PROCESSES_MAX)
            reader->config->processes =
                value_set_key_take(reader->config->processes, value_ref(item->key), value_ref(count));
        else
            config_report_value(reader, item->node, config_where("plugins.processes", item->key).text,
                                "a number from 1 to 256");
    }
}

/* Adds an id to a set of plugins. `every` says what to do instead of "*". */
static void config_read_plugin_id(struct config_reader *reader, const struct tree_node *node, const char *key,
                                  const char *every, tn_value *set) {
    if (node->kind == TN_STRING && value_text_is(node->value, "*"))
        config_report_value(reader, node, key, every);
    else if (node->kind == TN_STRING)
        *set = value_set_key_take(*set, value_ref(node->value), value_bool(true));
    else
        config_report_kind(reader, node, key, "the id of a plugin, or a list of ids");
}

static void config_read_one_draft(struct config_reader *reader, const struct tree_node *node) {
    config_read_plugin_id(reader, node, "plugins.drafts",
                          "the id of a plugin; `--allow-drafts` allows drafts for all plugins",
                          &reader->config->drafts);
}

static void config_read_one_admin(struct config_reader *reader, const struct tree_node *node) {
    config_read_plugin_id(reader, node, "plugins.admin", "the id of a plugin", &reader->config->admins);
}

void config_read_drafts(struct config_reader *reader, const struct tree_node *node) {
    config_read_list(reader, node, "plugins.drafts", CONFIG_PATHS_MAX, "ids", config_read_one_draft);
}

void config_read_admins(struct config_reader *reader, const struct tree_node *node) {
    config_read_list(reader, node, "plugins.admin", CONFIG_PATHS_MAX, "ids", config_read_one_admin);
}
