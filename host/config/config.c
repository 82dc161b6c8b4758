/*
 * config.c - reading tenon.yaml: a table of keys over the positioned tree. Finding the files is load.c's.
 *
 * Every fault is a diagnostic at its place, and the rest is read all the same: a document is checked by the same rules.
 * Paths are made absolute here, by the folder of the file that has them; nothing they name is opened.
 */
#include "host/config/config.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/text/source.h"
#include "adl/text/tree.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/config/config_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct config *config;
    struct source *source;
    struct diagnostics *found;
    char *folder; /* of the file; "" where it has none */
};

/* ---- Faults ---- */

static void wrong_kind(struct reader *reader, const struct tree_node *node, const char *where, const char *expected) {
    if (node->kind == TREE_BROKEN) return; /* said already */
    diagnostics_add(reader->found, ADL_E020, reader->source, node->span, "`%s`: found %s, expected %s", where,
                    value_kind_name(node->kind), expected);
}

static bool is_mapping(struct reader *reader, const struct tree_node *node, const char *where, const char *expected) {
    if (node->kind == TN_OBJECT) return true;
    if (node->kind != TN_NULL) wrong_kind(reader, node, where, expected); /* a key with nothing after it */
    return false;
}

/* ---- Keys ---- */

#define CONFIG_KEY(section, key, name, form, example, documentation)                                                   \
    static void read_##key(struct reader *reader, const struct tree_node *node);
#include "host/config/keys.def"
#undef CONFIG_KEY

static const struct key {
    struct config_key row;
    void (*read)(struct reader *reader, const struct tree_node *node);
} keys[] = {
#define CONFIG_KEY(section, key, name, form, example, documentation)                                                   \
    {{section, name, form, example, documentation}, read_##key},
#include "host/config/keys.def"
#undef CONFIG_KEY
};

size_t config_key_count(void) { return sizeof keys / sizeof *keys; }
const struct config_key *config_key_at(size_t index) { return &keys[index].row; }

static void unknown_key(struct reader *reader, const struct tree_item *item, const char *where,
                        const struct nearest *near) {
    size_t length;
    const char *name = value_chars(item->key, &length);
    struct diagnostic *diagnostic = diagnostics_add(reader->found, ADL_E021, reader->source, item->key_span,
                                                    "found the key `%.*s`, which %s does not have",
                                                    (int)(length < 100 ? length : 100), name, where);
    const char *meant = nearest_result(near);
    if (meant) diagnostic_suggest_name(diagnostic, item->key_span, meant, strlen(meant));
}

/* The keys of a section: "plugins"; "" is the whole file. */
static void read_keys(struct reader *reader, const struct tree_node *node, const char *section) {
    char where[32] = "tenon.yaml";
    if (*section) snprintf(where, sizeof where, "`%s`", section);
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        const struct key *key = NULL;
        size_t length;
        const char *name = value_chars(item->key, &length);
        struct nearest near;
        nearest_init(&near, name, length);
        for (size_t j = 0; j < config_key_count(); j++) {
            if (strcmp(keys[j].row.section, section) != 0) continue;
            nearest_offer(&near, keys[j].row.name, strlen(keys[j].row.name));
            if (value_text_is(item->key, keys[j].row.name)) key = &keys[j];
        }
        if (key)
            key->read(reader, item->node);
        else
            unknown_key(reader, item, where, &near);
    }
}

/* "~/x" from the home folder, "x" from the file's. */
static char *absolute(const struct reader *reader, const char *path) {
    struct buffer text;
    const char *home = getenv("HOME");
    buffer_init(&text, SIZE_MAX);
    if (path[0] == '~' && path[1] == '/' && home && *home)
        buffer_format(&text, "%s%s", home, path + 1);
    else if (path[0] == '/' || !*reader->folder)
        buffer_text(&text, path);
    else
        buffer_format(&text, "%s/%s", reader->folder, path);
    return buffer_detach(&text, NULL);
}

void config_add_path(struct config *config, const char *path) {
    size_t count = config->path_count;
    if ((count & (count - 1)) == 0)
        config->paths = mem_array((void *)config->paths, count ? count * 2 : 1, sizeof *config->paths);
    config->paths[config->path_count++] = mem_text(path);
}

static void read_path(struct reader *reader, const struct tree_node *node) {
    if (node->kind != TN_STRING) {
        wrong_kind(reader, node, "plugins.path", "a path, or a list of paths");
        return;
    }
    char *path = absolute(reader, value_chars(node->value, NULL));
    if (reader->config->path_count < CONFIG_PATHS_MAX)
        config_add_path(reader->config, path);
    else
        diagnostics_add(reader->found, ADL_E027, reader->source, node->span, "`plugins.path`: at most %u paths",
                        CONFIG_PATHS_MAX);
    mem_free(path);
}

static void read_plugin_path(struct reader *reader, const struct tree_node *node) {
    if (node->kind != TN_ARRAY) {
        read_path(reader, node);
        return;
    }
    for (uint32_t i = 0; i < node->count; i++) read_path(reader, node->items[i].node);
}

static void add_section(struct reader *reader, const struct tree_item *item) {
    struct config *config = reader->config;
    config->plugins = value_set_key_take(config->plugins, value_ref(item->key), tree_to_value(item->node));
    config->folders = value_set_key_take(config->folders, value_ref(item->key),
                                         value_string_lossy(reader->folder, strlen(reader->folder)));
}

static void read_plugin_config(struct reader *reader, const struct tree_node *node) {
    if (!is_mapping(reader, node, "plugins.config", "a mapping of plugin ids to their sections")) return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (is_mapping(reader, item->node, value_chars(item->key, NULL), "a mapping: what the plugin is told"))
            add_section(reader, item);
    }
}

static void read_isolation(struct reader *reader, const struct tree_node *node) {
    if (!is_mapping(reader, node, "plugins.isolation", "a mapping of plugin ids, or \"*\", to `process` or `none`"))
        return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (item->node->kind == TN_STRING &&
            (value_text_is(item->node->value, "process") || value_text_is(item->node->value, "none")))
            reader->config->isolation =
                value_set_key_take(reader->config->isolation, value_ref(item->key), value_ref(item->node->value));
        else
            wrong_kind(reader, item->node, value_chars(item->key, NULL), "`process` or `none`");
    }
}

static void read_plugins(struct reader *reader, const struct tree_node *node) {
    if (is_mapping(reader, node, "plugins", "a mapping with `path`, `config` and `isolation`"))
        read_keys(reader, node, "plugins");
}

static void read_key(struct reader *reader, const struct tree_node *node) {
    if (node->kind != TN_STRING) {
        wrong_kind(reader, node, "packs.trust", "a public key, or the path of a .pub file");
        return;
    }
    const char *text = value_chars(node->value, NULL);
    if (value_count(reader->config->trust) == CONFIG_TRUST_MAX) {
        diagnostics_add(reader->found, ADL_E027, reader->source, node->span, "`packs.trust`: at most %u keys",
                        CONFIG_TRUST_MAX);
        return;
    }
    char *entry = config_is_key(text) ? mem_text(text) : absolute(reader, text);
    reader->config->trust = value_push_take(reader->config->trust, value_string_lossy(entry, strlen(entry)));
    mem_free(entry);
}

static void read_trust(struct reader *reader, const struct tree_node *node) {
    if (node->kind != TN_ARRAY) {
        read_key(reader, node);
        return;
    }
    for (uint32_t i = 0; i < node->count; i++) read_key(reader, node->items[i].node);
}

static void read_packs(struct reader *reader, const struct tree_node *node) {
    if (is_mapping(reader, node, "packs", "a mapping with `trust`")) read_keys(reader, node, "packs");
}

/* "provider:model", {provider, …}, or in a list a fallback for the one before. */
static bool is_binding(struct reader *reader, const struct tree_node *node, const char *role, bool in_list) {
    if (node->kind == TN_STRING) return true;
    if (node->kind == TN_OBJECT) {
        const struct tree_node *provider = tree_get(node, "provider");
        if (provider && provider->kind == TN_STRING) return true;
        diagnostics_add(reader->found, ADL_E022, reader->source, node->span,
                        "`models.%s`: `provider` is missing: which component gives the model?", role);
        return false;
    }
    if (node->kind == TN_ARRAY && !in_list && node->count > 0) {
        bool good = true;
        for (uint32_t i = 0; i < node->count; i++) good &= is_binding(reader, node->items[i].node, role, true);
        return good;
    }
    wrong_kind(reader, node, role, "\"provider:model\", a mapping with `provider`, or a list of these");
    return false;
}

static void read_models(struct reader *reader, const struct tree_node *node) {
    if (!is_mapping(reader, node, "models", "a mapping of roles to models")) return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (is_binding(reader, item->node, value_chars(item->key, NULL), false))
            reader->config->models =
                value_set_key_take(reader->config->models, value_ref(item->key), tree_to_value(item->node));
    }
}

static bool is_price(struct reader *reader, const struct tree_node *node, const char *model) {
    static const char *const members[] = {"input", "output", "cached", "cache_write"};
    if (!is_mapping(reader, node, model, "a mapping with `input` and `output`")) return false;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        bool known = false;
        struct nearest near;
        size_t length;
        const char *name = value_chars(item->key, &length);
        nearest_init(&near, name, length);
        for (size_t j = 0; j < sizeof members / sizeof *members; j++) {
            nearest_offer(&near, members[j], strlen(members[j]));
            known |= value_text_is(item->key, members[j]);
        }
        if (!known) {
            unknown_key(reader, item, "a price", &near);
            return false;
        }
        bool number = item->node->kind == TN_INT || item->node->kind == TN_DOUBLE;
        if (!number || value_to_double(item->node->value) < 0) {
            wrong_kind(reader, item->node, name, "a number of at least 0: what a million tokens cost");
            return false;
        }
    }
    return true;
}

static void read_prices(struct reader *reader, const struct tree_node *node) {
    if (!is_mapping(reader, node, "prices", "a mapping of models to prices")) return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (is_price(reader, item->node, value_chars(item->key, NULL)))
            reader->config->prices =
                value_set_key_take(reader->config->prices, value_ref(item->key), tree_to_value(item->node));
    }
}

static bool is_texts(const struct tree_node *node) {
    bool good = node && node->kind == TN_ARRAY && node->count > 0;
    for (uint32_t i = 0; good && i < node->count; i++) good = node->items[i].node->kind == TN_STRING;
    return good;
}

static void read_secret(struct reader *reader, const struct tree_item *item) {
    const char *name = value_chars(item->key, NULL);
    const struct tree_node *node = item->node;
    if (node->kind == TN_STRING) {
        /* Never echoed: it may be the secret itself. */
        diagnostics_add(
            reader->found, ADL_E020, reader->source, node->span,
            "`secrets.%s`: found a text; a secret is not written here, only where it is: {env: NAME}, {file: "
            "PATH} or {command: [PROGRAM, ARGUMENT…]}",
            name);
        return;
    }
    const struct tree_node *env = tree_get(node, "env"), *file = tree_get(node, "file"),
                           *command = tree_get(node, "command");
    const struct tree_node *hosts = tree_get(node, "hosts");
    bool good = node->kind == TN_OBJECT && node->count == 1 + (hosts != NULL) &&
                ((env && env->kind == TN_STRING) || (file && file->kind == TN_STRING) || is_texts(command));
    if (!good) {
        wrong_kind(reader, node, name, "one of {env: NAME}, {file: PATH} and {command: [PROGRAM, ARGUMENT…]}");
        return;
    }
    if (hosts && (!is_texts(hosts) || hosts->count > CONFIG_HOSTS_MAX)) {
        wrong_kind(reader, hosts, "hosts",
                   "a list of hosts, as in [api.acme.example, \"*.acme.example\"]; 100 at most");
        return;
    }
    tn_value row = tree_to_value(node);
    if (file) {
        char *path = absolute(reader, value_chars(file->value, NULL));
        row = value_set_take(row, "file", value_string_lossy(path, strlen(path)));
        mem_free(path);
    }
    reader->config->secrets = value_set_key_take(reader->config->secrets, value_ref(item->key), row);
}

static void read_secrets(struct reader *reader, const struct tree_node *node) {
    if (!is_mapping(reader, node, "secrets", "a mapping of names to where each secret is")) return;
    for (uint32_t i = 0; i < node->count; i++) read_secret(reader, &node->items[i]);
}

/* ---- Tools ---- */

static void read_tools(struct reader *reader, const struct tree_node *node) {
    if (is_mapping(reader, node, "tools", "a mapping with `approval` and `audit`")) read_keys(reader, node, "tools");
}

static void set_tools_take(struct reader *reader, const char *key, tn_value value) {
    reader->config->tools = value_set_take(reader->config->tools, key, value);
}

static void read_tool_approval(struct reader *reader, const struct tree_node *node) {
    if (!is_mapping(reader, node, "tools.approval", "a mapping of tools, or effects, to `auto`, `ask` or `deny`"))
        return;
    tn_value rules = value_object();
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        tn_value word = item->node->kind == TN_STRING ? item->node->value : NULL;
        if (value_text_is(word, "auto") || value_text_is(word, "ask") || value_text_is(word, "deny"))
            rules = value_set_key_take(rules, value_ref(item->key), value_ref(word));
        else
            wrong_kind(reader, item->node, value_chars(item->key, NULL), "`auto`, `ask` or `deny`");
    }
    set_tools_take(reader, "approval", rules);
}

static void read_tool_audit(struct reader *reader, const struct tree_node *node) {
    if (node->kind != TN_STRING) {
        wrong_kind(reader, node, "tools.audit", "the path of a file");
        return;
    }
    char *path = absolute(reader, value_chars(node->value, NULL));
    set_tools_take(reader, "audit", value_string_lossy(path, strlen(path)));
    mem_free(path);
}

static void read_tool_flag(struct reader *reader, const struct tree_node *node, const char *key) {
    if (node->kind == TN_BOOL)
        set_tools_take(reader, key, value_ref(node->value));
    else
        wrong_kind(reader, node, key, "true or false");
}

static void read_tool_audit_arguments(struct reader *reader, const struct tree_node *node) {
    read_tool_flag(reader, node, "audit_arguments");
}

static void read_tool_audit_required(struct reader *reader, const struct tree_node *node) {
    read_tool_flag(reader, node, "audit_required");
}

/* ---- Limits, and what else there is ---- */

static const struct limit {
    const char *name;
    int64_t least, most;
} limits[] = {
#define CONFIG_LIMIT(name, least, most, documentation) {#name, least, most},
    CONFIG_LIMITS(CONFIG_LIMIT)
#undef CONFIG_LIMIT
};

static void read_store(struct reader *reader, const struct tree_node *node) {
    if (node->kind == TN_STRING) {
        value_unref(reader->config->store);
        reader->config->store = value_set_take(value_object(), "use", value_ref(node->value));
        return;
    }
    if (!is_mapping(reader, node, "store", "the name of a store, or a mapping with `use`")) return;
    const struct tree_node *use = tree_get(node, "use"), *path = tree_get(node, "path");
    if (use && use->kind != TN_STRING) wrong_kind(reader, use, "store.use", "the name of a store");
    if (path && path->kind != TN_STRING) wrong_kind(reader, path, "store.path", "a path");
    tn_value section = tree_to_value(node);
    if (path && path->kind == TN_STRING) {
        char *whole = absolute(reader, value_chars(path->value, NULL));
        section = value_set_take(section, "path", value_string_lossy(whole, strlen(whole)));
        mem_free(whole);
    }
    value_unref(reader->config->store);
    reader->config->store = section;
}

static void read_http(struct reader *reader, const struct tree_node *node) {
    const struct tree_node *use = node->kind == TN_STRING ? node : tree_get(node, "use");
    if (node->kind != TN_STRING &&
        !is_mapping(reader, node, "http", "the name of a plugin that provides HTTP, or a mapping with `use`"))
        return;
    for (uint32_t i = 0; node->kind == TN_OBJECT && i < node->count; i++) {
        struct nearest near;
        nearest_init(&near, value_chars(node->items[i].key, NULL), strlen(value_chars(node->items[i].key, NULL)));
        nearest_offer(&near, "use", 3);
        if (!value_text_is(node->items[i].key, "use")) unknown_key(reader, &node->items[i], "`http`", &near);
    }
    if (use && use->kind != TN_STRING) wrong_kind(reader, use, "http.use", "the name of a plugin that provides HTTP");
    if (!use || use->kind != TN_STRING) return;
    value_unref(reader->config->http);
    reader->config->http = value_set_take(value_object(), "use", value_ref(use->value));
}

static void read_limits(struct reader *reader, const struct tree_node *node) {
    if (!is_mapping(reader, node, "limits", "a mapping of limits to numbers")) return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        const struct limit *limit = NULL;
        struct nearest near;
        size_t length;
        int64_t number;
        const char *name = value_chars(item->key, &length);
        nearest_init(&near, name, length);
        for (size_t j = 0; j < sizeof limits / sizeof *limits; j++) {
            nearest_offer(&near, limits[j].name, strlen(limits[j].name));
            if (value_text_is(item->key, limits[j].name)) limit = &limits[j];
        }
        if (!limit)
            unknown_key(reader, item, "`limits`", &near);
        else if (item->node->kind != TN_INT)
            wrong_kind(reader, item->node, limit->name, "a whole number");
        else if ((number = value_to_int(item->node->value)) < limit->least || number > limit->most)
            diagnostics_add(reader->found, ADL_E025, reader->source, item->node->span,
                            "`limits.%s`: found %lld, expected %lld to %lld", limit->name, (long long)number,
                            (long long)limit->least, (long long)limit->most);
        else
            reader->config->limits =
                value_set_key_take(reader->config->limits, value_ref(item->key), value_ref(item->node->value));
    }
}

static void read_log(struct reader *reader, const struct tree_node *node) {
    static const char *const levels[] = {
        [TN_LOG_DEBUG] = "debug", [TN_LOG_INFO] = "info", [TN_LOG_WARN] = "warn", [TN_LOG_ERROR] = "error"};
    size_t length;
    if (node->kind != TN_STRING) {
        wrong_kind(reader, node, "log", "debug, info, warn or error");
        return;
    }
    const char *level = value_chars(node->value, &length);
    struct nearest near;
    nearest_init(&near, level, length);
    for (int32_t i = TN_LOG_DEBUG; i <= TN_LOG_ERROR; i++) {
        nearest_offer(&near, levels[i], strlen(levels[i]));
        if (value_text_is(node->value, levels[i])) {
            reader->config->log = i;
            return;
        }
    }
    struct diagnostic *diagnostic = diagnostics_add(reader->found, ADL_E023, reader->source, node->span,
                                                    "`log`: found `%.*s`, expected debug, info, warn or error",
                                                    (int)(length < 60 ? length : 60), level);
    if (nearest_result(&near)) diagnostic_suggest_name(diagnostic, node->span, near.best, near.best_length);
}

/* ---- One file ---- */

struct config *config_empty(void) {
    struct config *config = mem_zalloc(sizeof *config);
    config->plugins = config->folders = config->models = config->prices = config->secrets = config->limits =
        config->isolation = value_object();
    config->tools = value_object();
    config->trust = value_array();
    config->log = CONFIG_LOG_UNSET;
    return config;
}

void config_free(struct config *config) {
    if (!config) return;
    for (size_t i = 0; i < config->path_count; i++) mem_free(config->paths[i]);
    mem_free((void *)config->paths);
    mem_free(config->file);
    value_unref(config->plugins);
    value_unref(config->folders);
    value_unref(config->isolation);
    value_unref(config->models);
    value_unref(config->prices);
    value_unref(config->secrets);
    value_unref(config->limits);
    value_unref(config->tools);
    value_unref(config->trust);
    value_unref(config->store);
    value_unref(config->http);
    mem_free(config);
}

struct config *config_read(const char *name, const char *text, size_t length, struct diagnostics *found) {
    struct source *source = source_new(name, text, length);
    const char *slash = strrchr(name, '/');
    struct reader reader = {.config = config_empty(), .source = source, .found = found};
    reader.folder = slash ? mem_text_n(name, slash > name ? (size_t)(slash - name) : 1) : mem_text("");
    struct tree *tree = tree_read(source, &(struct tree_limits){.size = CONFIG_FILE_MAX}, found);
    const struct tree_node *root = tree_root(tree);
    if (is_mapping(&reader, root, name, "a mapping with `plugins`, `packs`, `models`, `secrets`, `limits` and `log`"))
        read_keys(&reader, root, "");
    tree_free(tree);
    source_unref(source);
    mem_free(reader.folder);
    return reader.config;
}

/* ---- Reading what was read ---- */

const char *config_file(const struct config *config) { return config ? config->file : NULL; }
size_t config_plugin_paths(const struct config *config) { return config ? config->path_count : 0; }
const char *config_plugin_path(const struct config *config, size_t index) { return config->paths[index]; }

tn_value config_plugin(const struct config *config, const char *plugin_id) {
    return config ? value_get(config->plugins, plugin_id) : NULL;
}

const char *config_plugin_folder(const struct config *config, const char *plugin_id) {
    tn_value folder = config ? value_get(config->folders, plugin_id) : NULL;
    return folder ? value_chars(folder, NULL) : NULL;
}

bool config_isolated(const struct config *config, const char *plugin_id, bool bundled) {
    tn_value said = config ? value_get(config->isolation, plugin_id) : NULL;
    if (config && !said && !bundled) said = value_get(config->isolation, "*");
    return value_text_is(said, "process");
}

bool config_unisolated(const struct config *config, const char *plugin_id) {
    return config && value_text_is(value_get(config->isolation, plugin_id), "none");
}

tn_value config_isolation(const struct config *config) { return config ? config->isolation : NULL; }

tn_value config_model(const struct config *config, const char *role) {
    return config ? value_get(config->models, role) : NULL;
}

void config_bind_model_take(struct config *config, const char *role, tn_value binding) {
    config->models = value_set_take(config->models, role, binding);
}

tn_value config_tool_approval(const struct config *config) {
    return config ? value_get(config->tools, "approval") : NULL;
}

const char *config_tool_audit(const struct config *config) {
    tn_value path = config ? value_get(config->tools, "audit") : NULL;
    return path ? value_chars(path, NULL) : NULL;
}

bool config_tool_flag(const struct config *config, const char *key) {
    return config && value_get(config->tools, key) == value_bool(true);
}

tn_value config_prices(const struct config *config) { return config ? config->prices : NULL; }
tn_value config_plugin_sections(const struct config *config) { return config ? config->plugins : NULL; }
tn_value config_store(const struct config *config) { return config ? config->store : NULL; }
tn_value config_http(const struct config *config) { return config ? config->http : NULL; }
tn_value config_models(const struct config *config) { return config ? config->models : NULL; }

int64_t config_limit(const struct config *config, const char *name, int64_t otherwise) {
    tn_value limit = config ? value_get(config->limits, name) : NULL;
    return limit ? value_to_int(limit) : otherwise;
}

int32_t config_log_level(const struct config *config) {
    return config && config->log != CONFIG_LOG_UNSET ? config->log : TN_LOG_WARN;
}
