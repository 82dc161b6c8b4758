/*
 * config_read.c - reads one tenon.yaml, and the keys that have no file of their own. config_load.c finds the files.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/config/config_internal.h"
#include "host/base/config/config_reader.h"
#include <stdio.h>
#include <string.h>

/* ---- Keys ---- */

static const struct config_key_row {
    struct config_key key;
    void (*read)(struct config_reader *reader, const struct tree_node *node);
} config_keys[] = {
#define CONFIG_KEY(parent, identifier, name, form, example, documentation)                                             \
    {{parent, name, form, example, documentation}, config_read_##identifier},
#include "host/base/config/config_keys.def"
#undef CONFIG_KEY
};
#define KEY_COUNT (sizeof config_keys / sizeof *config_keys)

size_t config_key_count(void) { return KEY_COUNT; }
const struct config_key *config_key_at(size_t index) { return &config_keys[index].key; }

void config_read_keys(struct config_reader *reader, const struct tree_node *node, const char *parent) {
    const struct config_key_row *rows[KEY_COUNT];
    const char *names[KEY_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strcmp(config_keys[i].key.parent, parent) != 0) continue;
        rows[count] = &config_keys[i];
        names[count++] = config_keys[i].key.name;
    }
    char mapping[32] = "tenon.yaml";
    if (*parent) snprintf(mapping, sizeof mapping, "`%s`", parent);
    for (uint32_t i = 0; i < node->count; i++) {
        size_t index = config_expect_key(reader, &node->items[i], mapping, names, count);
        if (index != KEY_UNKNOWN) rows[index]->read(reader, node->items[i].node);
    }
}

/* ---- files ---- */

void config_read_files(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_mapping(reader, node, "files", "a mapping with `roots`")) config_read_keys(reader, node, "files");
}

static void config_read_one_root(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind == TN_STRING)
        reader->config->roots = value_push_take(reader->config->roots, config_resolve_node(reader, node));
    else
        config_report_kind(reader, node, "files.roots", "a path, or a list of paths");
}

void config_read_file_roots(struct config_reader *reader, const struct tree_node *node) {
    config_read_list(reader, node, "files.roots", CONFIG_ROOTS_MAX, "folders", config_read_one_root);
}

/* ---- store ---- */

/* all | snapshots | {last: N} */
static void config_read_history(struct config_reader *reader, const struct tree_node *node) {
    static const char expected[] = "all, snapshots or {last: N}: the checkpoints of a thread that are kept";
    const struct tree_node *last = node->kind == TN_OBJECT && node->count == 1 ? tree_get(node, "last") : NULL;
    if (last && last->kind == TN_INT && value_to_int(last->value) >= 1 && value_to_int(last->value) <= UINT32_MAX)
        reader->config->history = value_to_int(last->value);
    else if (node->kind == TN_STRING && value_text_is(node->value, "all"))
        reader->config->history = CONFIG_HISTORY_ALL;
    else if (node->kind == TN_STRING && value_text_is(node->value, "snapshots"))
        reader->config->history = CONFIG_HISTORY_SNAPSHOTS;
    else
        config_report_value(reader, node, "store.history", expected);
}

void config_read_store(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind == TN_STRING) {
        value_unref(reader->config->store);
        reader->config->store = value_set_take(value_object(), "use", value_ref(node->value));
        return;
    }
    if (!config_expect_mapping(reader, node, "store", "the name of a store, or a mapping with `use`")) return;
    const struct tree_node *use = tree_get(node, "use"), *path = tree_get(node, "path");
    bool good_use = !use || use->kind == TN_STRING, good_path = !path || path->kind == TN_STRING;
    if (!good_use) config_report_kind(reader, use, "store.use", "the name of a store");
    if (!good_path) config_report_kind(reader, path, "store.path", "a path");
    if (!good_use || !good_path) return;
    tn_value store = tree_to_value(node); /* the store checks its other options */
    if (path) store = value_set_take(store, "path", config_resolve_node(reader, path));
    if (tree_get(node, "history")) config_read_history(reader, tree_get(node, "history"));
    store = value_remove_take(store, value_text("history")); /* the host's, not the plugin's */
    value_unref(reader->config->store);
    reader->config->store = store;
}

/* ---- memory ---- */

void config_read_memory(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_mapping(reader, node, "memory", "a mapping with `embed`"))
        config_read_keys(reader, node, "memory");
}

static void config_set_memory(struct config_reader *reader, const char *key, const struct tree_node *node) {
    reader->config->memory = value_set_take(reader->config->memory, key, value_ref(node->value));
}

void config_read_memory_embed(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind == TN_STRING && *value_chars(node->value, NULL))
        config_set_memory(reader, "embed", node);
    else
        config_report_value(reader, node, "memory.embed", "a role of `models`, or \"provider:model\"");
}

void config_read_memory_dimensions(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_integer(reader, node, "memory.dimensions", 1, 16384))
        config_set_memory(reader, "dimensions", node);
}

void config_read_memory_bytes(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_integer(reader, node, "memory.bytes", CONFIG_MEMORY_BYTES_MIN, CONFIG_MEMORY_BYTES_MAX))
        config_set_memory(reader, "bytes", node);
}

/* ---- secrets ---- */

static bool is_nonempty_text_list(const struct tree_node *node) {
    bool good = node->kind == TN_ARRAY && node->count > 0;
    for (uint32_t i = 0; good && i < node->count; i++) good = node->items[i].node->kind == TN_STRING;
    return good;
}

/*
 * Checks the place of a secret: exactly one of `env`, `file` and `command`, and perhaps `hosts`. No message contains a
 * value, because it can be the secret itself, written in a wrong place. For the same reason, an unknown key is named
 * only if it resembles a known one.
 */
static bool config_check_secret(struct config_reader *reader, const struct tree_node *node, const char *where) {
    static const char *const members[] = {"env", "file", "command", "hosts"};
    static const char expected[] = "one of {env: NAME}, {file: PATH} and {command: [PROGRAM, ARGUMENT…]}";
    if (node->kind == TN_STRING) {
        diagnostics_add(reader->diagnostics, ADL_E020, reader->source, node->span,
                        "`%s`: found a text, expected where the secret is stored: {env: NAME}, {file: PATH} or "
                        "{command: [PROGRAM, ARGUMENT…]}. Do not write the secret itself into this file",
                        where);
        return false;
    }
    bool good = node->kind == TN_OBJECT;
    for (uint32_t i = 0; good && i < node->count; i++) {
        const char *meant;
        if (config_lookup_key(node->items[i].key, members, sizeof members / sizeof *members, &meant) != KEY_UNKNOWN)
            continue;
        good = false;
        if (!meant) break;
        char mapping[sizeof(struct config_where) + 2];
        snprintf(mapping, sizeof mapping, "`%s`", where);
        config_report_unknown_key(reader, &node->items[i], mapping, meant);
        return false;
    }
    const struct tree_node *env = tree_get(node, "env"), *file = tree_get(node, "file"),
                           *command = tree_get(node, "command"), *hosts = tree_get(node, "hosts");
    bool one_place = (env != NULL) + (file != NULL) + (command != NULL) == 1;
    if (!good || !one_place || (env && env->kind != TN_STRING) || (file && file->kind != TN_STRING) ||
        (command && !is_nonempty_text_list(command))) {
        config_report_kind(reader, node, where, expected);
        return false;
    }
    if (!hosts) return true;
    char path[sizeof(struct config_where) + sizeof ".hosts"];
    snprintf(path, sizeof path, "%s.hosts", where);
    if (!is_nonempty_text_list(hosts)) {
        config_report_kind(reader, hosts, path, "a list of hosts, as in [api.acme.example, \"*.acme.example\"]");
        return false;
    }
    return config_usable_count(reader, hosts, path, CONFIG_HOSTS_MAX, "hosts") == hosts->count;
}

void config_read_secrets(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "secrets", "a mapping of names to the places of secrets")) return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (!config_check_secret(reader, item->node, config_where("secrets", item->key).text)) continue;
        tn_value place = tree_to_value(item->node);
        const struct tree_node *file = tree_get(item->node, "file");
        if (file) place = value_set_take(place, "file", config_resolve_node(reader, file));
        reader->config->secrets = value_set_key_take(reader->config->secrets, value_ref(item->key), place);
    }
}

/* ---- http ---- */

void config_read_http(struct config_reader *reader, const struct tree_node *node) {
    static const char *const members[] = {"use"};
    const struct tree_node *use = node;
    if (node->kind != TN_STRING) {
        if (!config_expect_mapping(reader, node, "http",
                                   "the name of a plugin that provides HTTP, or a mapping with `use`"))
            return;
        for (uint32_t i = 0; i < node->count; i++)
            (void)config_expect_key(reader, &node->items[i], "`http`", members, 1);
        use = tree_get(node, "use");
        if (use && use->kind != TN_STRING)
            config_report_kind(reader, use, "http.use", "the name of a plugin that provides HTTP");
    }
    if (!use || use->kind != TN_STRING) return;
    value_unref(reader->config->http);
    reader->config->http = value_set_take(value_object(), "use", value_ref(use->value));
}

/* ---- tools ---- */

void config_read_tools(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_mapping(reader, node, "tools", "a mapping with `approval` and `audit`"))
        config_read_keys(reader, node, "tools");
}

static void config_set_tools_take(struct config_reader *reader, const char *key, tn_value value) {
    reader->config->tools = value_set_take(reader->config->tools, key, value);
}

void config_read_tool_approval(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "tools.approval",
                               "a mapping of tools, `effect:…` or `node:…` to `auto`, `ask` or `deny`"))
        return;
    tn_value policies = value_object();
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        tn_value word = item->node->kind == TN_STRING ? item->node->value : NULL;
        if (value_text_is(word, "auto") || value_text_is(word, "ask") || value_text_is(word, "deny"))
            policies = value_set_key_take(policies, value_ref(item->key), value_ref(word));
        else
            config_report_value(reader, item->node, config_where("tools.approval", item->key).text,
                                "`auto`, `ask` or `deny`");
    }
    config_set_tools_take(reader, "approval", policies);
}

void config_read_tool_audit(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind == TN_STRING)
        config_set_tools_take(reader, "audit", config_resolve_node(reader, node));
    else
        config_report_kind(reader, node, "tools.audit", "the path of a file");
}

static void config_set_tool_flag(struct config_reader *reader, const struct tree_node *node, const char *key,
                                 const char *where) {
    if (node->kind == TN_BOOL)
        config_set_tools_take(reader, key, value_ref(node->value));
    else
        config_report_value(reader, node, where, "true or false");
}

void config_read_tool_audit_arguments(struct config_reader *reader, const struct tree_node *node) {
    config_set_tool_flag(reader, node, "audit_arguments", "tools.audit_arguments");
}

void config_read_tool_audit_required(struct config_reader *reader, const struct tree_node *node) {
    config_set_tool_flag(reader, node, "audit_required", "tools.audit_required");
}

/* ---- limits, loops and log ---- */

static const char *const config_limit_names[] = {
#define CONFIG_LIMIT(name, minimum, maximum, documentation) #name,
    CONFIG_LIMITS(CONFIG_LIMIT)
#undef CONFIG_LIMIT
};

/* In the order of config_limit_names. */
static const struct config_range {
    int64_t minimum, maximum;
} config_limit_ranges[] = {
#define CONFIG_LIMIT(name, minimum, maximum, documentation) {minimum, maximum},
    CONFIG_LIMITS(CONFIG_LIMIT)
#undef CONFIG_LIMIT
};

static void config_read_one_limit(struct config_reader *reader, const struct tree_item *item) {
    size_t index = config_expect_key(reader, item, "`limits`", config_limit_names,
                                     sizeof config_limit_names / sizeof *config_limit_names);
    if (index == KEY_UNKNOWN) return;
    const struct config_range *range = &config_limit_ranges[index];
    if (item->node->kind != TN_INT) {
        config_report_value(reader, item->node, config_where("limits", item->key).text, "a whole number");
        return;
    }
    int64_t number = value_to_int(item->node->value);
    if (number < range->minimum || number > range->maximum) {
        diagnostics_add(reader->diagnostics, ADL_E025, reader->source, item->node->span,
                        "`limits.%s`: found %lld, expected %lld to %lld", config_limit_names[index], (long long)number,
                        (long long)range->minimum, (long long)range->maximum);
        return;
    }
    reader->config->limits =
        value_set_key_take(reader->config->limits, value_ref(item->key), value_ref(item->node->value));
}

void config_read_limits(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "limits", "a mapping of limits to numbers")) return;
    for (uint32_t i = 0; i < node->count; i++) config_read_one_limit(reader, &node->items[i]);
}

void config_read_loops(struct config_reader *reader, const struct tree_node *node) {
    int64_t number = node->kind == TN_INT ? value_to_int(node->value) : 0;
    if (number >= 1 && number <= CONFIG_LOOPS_MAX)
        reader->config->loops = (int32_t)number;
    else if (node->kind == TN_STRING && value_text_is(node->value, "auto"))
        reader->config->loops = CONFIG_LOOPS_AUTO;
    else
        config_report_value(reader, node, "loops", "a whole number from 1 to 64, or `auto`");
}

void config_read_log(struct config_reader *reader, const struct tree_node *node) {
    static const char *const levels[] = {
        [TN_LOG_DEBUG] = "debug", [TN_LOG_INFO] = "info", [TN_LOG_WARN] = "warn", [TN_LOG_ERROR] = "error"};
    static const char expected[] = "debug, info, warn or error";
    if (node->kind != TN_STRING) {
        config_report_value(reader, node, "log", expected);
        return;
    }
    const char *meant;
    size_t length, level = config_lookup_key(node->value, levels, sizeof levels / sizeof *levels, &meant);
    if (level != KEY_UNKNOWN) {
        reader->config->log = (int32_t)level;
        return;
    }
    const char *word = value_chars(node->value, &length);
    struct diagnostic *diagnostic =
        diagnostics_add(reader->diagnostics, ADL_E023, reader->source, node->span, "`log`: found `%.*s`, expected %s",
                        config_shown_length(word, length), word, expected);
    if (meant) diagnostic_suggest_name(diagnostic, node->span, meant, strlen(meant));
}

/* ---- One file ---- */

struct config *config_read(const char *name, const char *text, size_t length, struct diagnostics *diagnostics) {
    struct source *source = source_new(name, text, length);
    struct config_reader reader = {
        .config = config_empty(), .source = source, .diagnostics = diagnostics, .folder = config_folder_of(name)};
    struct tree *tree = tree_read(source, &(struct tree_limits){.size = CONFIG_FILE_MAX}, diagnostics);
    const struct tree_node *root = tree_root(tree);
    if (config_expect_mapping(&reader, root, name, "a mapping with the keys that `tenon reference config` lists"))
        config_read_keys(&reader, root, "");
    tree_free(tree);
    source_unref(source);
    mem_free(reader.folder);
    return reader.config;
}
