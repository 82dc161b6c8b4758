/*
 * config_read.c - reads the keys of one tenon.yaml. config_load.c finds the files.
 *
 * config_keys.def has one row for each key. CONFIG_KEY("plugins", plugin_path, "path", …) is the key `path` in the
 * mapping at the key `plugins`; its value is read by config_read_plugin_path. config_read_keys calls that function for
 * each key that it finds. Each mistake becomes a diagnostic with its position, and reading continues with the next key.
 * A relative path starts at the folder of the file. The files that paths name are not opened.
 *
 * Diagnostics: E020 is a value of a wrong kind, E021 an unknown key, E022 a missing key, E023 an unknown word, E025 a
 * number out of range, E027 too many entries.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/duration.h"
#include "adl/document/model_role.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/base/config/config.h"
#include "host/base/config/config_internal.h"
#include "host/base/config/config_reader.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 100 /* bytes shown of a key or a value */

/* ---- Mistakes ---- */

int config_shown_length(const char *text, size_t length) {
    size_t shown = length < SHOWN_MAX ? length : SHOWN_MAX;
    while (shown < length && shown && ((unsigned char)text[shown] & 0xc0) == 0x80) shown--;
    return (int)shown;
}

/* The full path of `key` in the mapping at `parent`. `.text` is valid until the end of the expression that contains the
 * call. */
struct config_where config_where(const char *parent, tn_value key) {
    struct config_where where;
    size_t length;
    const char *name = value_chars(key, &length);
    snprintf(where.text, sizeof where.text, "%.*s.%.*s", config_shown_length(parent, strlen(parent)), parent,
             config_shown_length(name, length), name);
    where.text[config_shown_length(where.text, strlen(where.text))] = 0;
    return where;
}

/*
 * Reports a value of a wrong kind; its text is not shown, because it can be a secret. `where` is the full path of the
 * key, for example "plugins.path".
 */
void config_report_kind(struct config_reader *reader, const struct tree_node *node, const char *where,
                        const char *expected) {
    if (node->kind == TREE_BROKEN) return; /* a syntax error, which has been reported */
    diagnostics_add(reader->diagnostics, ADL_E020, reader->source, node->span, "`%s`: found %s, expected %s", where,
                    value_kind_name(node->kind), expected);
}

/* Reports a value that is not one of the expected words or numbers, and shows it. For keys that never have a secret. */
void config_report_value(struct config_reader *reader, const struct tree_node *node, const char *where,
                         const char *expected) {
    size_t length;
    if (node->kind == TN_STRING) {
        const char *text = value_chars(node->value, &length);
        diagnostics_add(reader->diagnostics, ADL_E020, reader->source, node->span, "`%s`: found `%.*s`, expected %s",
                        where, config_shown_length(text, length), text, expected);
    } else if (node->kind == TN_INT || node->kind == TN_DOUBLE || node->kind == TN_BOOL) {
        char *text = json_text(node->value, JSON_COMPACT);
        diagnostics_add(reader->diagnostics, ADL_E020, reader->source, node->span, "`%s`: found %s, expected %s", where,
                        text, expected);
        mem_free(text);
    } else {
        config_report_kind(reader, node, where, expected);
    }
}

/*
 * Returns how many entries of the list at `where` may be used: `max` at most. If there are more, reports the first
 * surplus one. `entries` is what they are, for example "paths".
 */
uint32_t config_usable_count(struct config_reader *reader, const struct tree_node *list, const char *where,
                             uint32_t max, const char *entries) {
    if (list->count <= max) return list->count;
    diagnostics_add(reader->diagnostics, ADL_E027, reader->source, list->items[max].node->span,
                    "`%s`: found %u %s, expected at most %u", where, list->count, entries, max);
    return max;
}

/*
 * Reports a key that a mapping does not have. `mapping` names it in the message, for example "`limits`" or "a price".
 * `meant` is the name that was probably meant, or NULL.
 */
static void config_report_unknown_key(struct config_reader *reader, const struct tree_item *item, const char *mapping,
                                      const char *meant) {
    size_t length;
    const char *name = value_chars(item->key, &length);
    struct diagnostic *diagnostic = diagnostics_add(reader->diagnostics, ADL_E021, reader->source, item->key_span,
                                                    "found the key `%.*s`, which %s does not have",
                                                    config_shown_length(name, length), name, mapping);
    if (meant) diagnostic_suggest_name(diagnostic, item->key_span, meant, strlen(meant));
}

/* Returns true for a mapping. Reports any other value, except an empty one. */
bool config_expect_mapping(struct config_reader *reader, const struct tree_node *node, const char *where,
                           const char *expected) {
    if (node->kind == TN_OBJECT) return true;
    if (node->kind != TN_NULL) config_report_kind(reader, node, where, expected);
    return false;
}

/* ---- Keys ---- */

/* Returns the index of the key in `names`. If it is not there, returns KEY_UNKNOWN and sets *meant to the
 * nearest name, or NULL. */
static size_t config_lookup_key(tn_value key, const char *const *names, size_t count, const char **meant) {
    struct nearest near;
    size_t length;
    const char *name = value_chars(key, &length);
    *meant = NULL;
    nearest_init(&near, name, length);
    for (size_t i = 0; i < count; i++) {
        if (value_text_is(key, names[i])) return i;
        nearest_add_candidate(&near, names[i], strlen(names[i]));
    }
    *meant = nearest_result(&near);
    return KEY_UNKNOWN;
}

/* Returns the index of the item's key in `names`, or reports the key and returns KEY_UNKNOWN. */
size_t config_expect_key(struct config_reader *reader, const struct tree_item *item, const char *mapping,
                         const char *const *names, size_t count) {
    const char *meant;
    size_t index = config_lookup_key(item->key, names, count, &meant);
    if (index == KEY_UNKNOWN) config_report_unknown_key(reader, item, mapping, meant);
    return index;
}

/* The readers, one for each row of config_keys.def. config_read_keys calls them. */
#define CONFIG_KEY(parent, identifier, name, form, example, documentation)                                             \
    static void config_read_##identifier(struct config_reader *reader, const struct tree_node *node);
#include "host/base/config/config_keys.def"
#undef CONFIG_KEY

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

/* Reads the keys in the mapping at the key `parent`, for example "plugins", or at the top of the file if it is "". */
static void config_read_keys(struct config_reader *reader, const struct tree_node *node, const char *parent) {
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

/* ---- Paths ---- */

/*
 * The folder of a file (mem_free it). It is absolute, because other processes and later readers of a path in the file
 * may have another working folder. A folder that does not exist stays as in `name`.
 */
static char *config_folder_of(const char *name) {
    char absolute[PATH_MAX];
    const char *slash = strrchr(name, '/');
    char *folder = !slash ? mem_text(".") : mem_text_n(name, slash == name ? 1 : (size_t)(slash - name));
    if (*folder == '/' || !realpath(folder, absolute)) return folder;
    mem_free(folder);
    return mem_text(absolute);
}

/*
 * Returns the path with the folder that it starts at (mem_free it): "~/x" starts at the home folder, "x" at the folder
 * of the file.
 */
char *config_resolve_path(const struct config_reader *reader, const char *path) {
    struct buffer text;
    const char *home = getenv("HOME");
    buffer_init(&text, SIZE_MAX);
    if (path[0] == '~' && path[1] == '/' && home && *home)
        buffer_format(&text, "%s%s", home, path + 1);
    else if (path[0] == '/')
        buffer_text(&text, path);
    else
        buffer_format(&text, "%s/%s", reader->folder, path);
    return buffer_detach(&text, NULL);
}

/* The same for the string `node`; a new reference. */
static tn_value config_resolve_node(const struct config_reader *reader, const struct tree_node *node) {
    char *path = config_resolve_path(reader, value_chars(node->value, NULL));
    tn_value resolved = value_string_lossy(path, strlen(path));
    mem_free(path);
    return resolved;
}

/* ---- Durations ---- */

bool config_as_duration(const struct tree_node *node, int64_t *ms) {
    size_t length;
    if (node->kind == TN_STRING) {
        const char *text = value_chars(node->value, &length);
        return duration_read(text, length, ms) == DURATION_OK;
    }
    if (node->kind != TN_INT && node->kind != TN_DOUBLE) return false;
    return duration_from_seconds(value_to_double(node->value), ms) == DURATION_OK;
}

/* ---- plugins ---- */

static void config_read_plugins(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_mapping(reader, node, "plugins",
                              "a mapping with `path`, `config`, `isolation`, `processes`, `drafts` and `admin`"))
        config_read_keys(reader, node, "plugins");
}

void config_add_path(struct config *config, const char *path) {
    MEM_EXTEND(config->paths, config->path_count);
    config->paths[config->path_count++] = mem_text(path);
}

/* Calls `one` for the node, or for each item if it is a list, of which at most `max` are read. */
static void config_read_list(struct config_reader *reader, const struct tree_node *node, const char *key, uint32_t max,
                             const char *items,
                             void (*one)(struct config_reader *reader, const struct tree_node *node)) {
    if (node->kind != TN_ARRAY) {
        one(reader, node);
        return;
    }
    uint32_t count = config_usable_count(reader, node, key, max, items);
    for (uint32_t i = 0; i < count; i++) one(reader, node->items[i].node);
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

static void config_read_plugin_path(struct config_reader *reader, const struct tree_node *node) {
    config_read_list(reader, node, "plugins.path", CONFIG_PATHS_MAX, "paths", config_read_one_path);
}

static void config_add_section(struct config_reader *reader, const struct tree_item *item) {
    struct config *config = reader->config;
    config->plugins = value_set_key_take(config->plugins, value_ref(item->key), tree_to_value(item->node));
    config->folders = value_set_key_take(config->folders, value_ref(item->key),
                                         value_string_lossy(reader->folder, strlen(reader->folder)));
}

static void config_read_plugin_config(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "plugins.config", "a mapping of plugin ids to their sections")) return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (config_expect_mapping(reader, item->node, config_where("plugins.config", item->key).text,
                                  "a mapping: the configuration of the plugin"))
            config_add_section(reader, item);
    }
}

static void config_read_isolation(struct config_reader *reader, const struct tree_node *node) {
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

static void config_read_processes(struct config_reader *reader, const struct tree_node *node) {
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

static void config_read_drafts(struct config_reader *reader, const struct tree_node *node) {
    config_read_list(reader, node, "plugins.drafts", CONFIG_PATHS_MAX, "ids", config_read_one_draft);
}

static void config_read_admins(struct config_reader *reader, const struct tree_node *node) {
    config_read_list(reader, node, "plugins.admin", CONFIG_PATHS_MAX, "ids", config_read_one_admin);
}

/* ---- files ---- */

static void config_read_files(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_mapping(reader, node, "files", "a mapping with `roots`")) config_read_keys(reader, node, "files");
}

static void config_read_one_root(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind == TN_STRING)
        reader->config->roots = value_push_take(reader->config->roots, config_resolve_node(reader, node));
    else
        config_report_kind(reader, node, "files.roots", "a path, or a list of paths");
}

static void config_read_file_roots(struct config_reader *reader, const struct tree_node *node) {
    config_read_list(reader, node, "files.roots", CONFIG_ROOTS_MAX, "folders", config_read_one_root);
}

/* ---- packs ---- */

static void config_read_packs(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_mapping(reader, node, "packs", "a mapping with `trust`, `install` and `registries`"))
        config_read_keys(reader, node, "packs");
}

static void config_read_one_public_key(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind != TN_STRING) {
        config_report_kind(reader, node, "packs.trust", "a public key, or the path of a .pub file");
        return;
    }
    bool is_path = !config_is_public_key(value_chars(node->value, NULL));
    reader->config->trust =
        value_push_take(reader->config->trust, is_path ? config_resolve_node(reader, node) : value_ref(node->value));
}

static void config_read_trust(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind != TN_ARRAY) {
        config_read_one_public_key(reader, node);
        return;
    }
    uint32_t count = config_usable_count(reader, node, "packs.trust", CONFIG_TRUST_MAX, "public keys");
    for (uint32_t i = 0; i < count; i++) config_read_one_public_key(reader, node->items[i].node);
}

static void config_read_one_pack(struct config_reader *reader, const struct tree_node *node) {
    const char *text = node->kind == TN_STRING ? value_chars(node->value, NULL) : "";
    if (strncmp(text, "oci://", 6) == 0 && strstr(text, "@sha256:"))
        reader->config->installs = value_push_take(reader->config->installs, value_ref(node->value));
    else
        config_report_value(
            reader, node, "packs.install",
            "a reference with a digest, oci://HOST[:PORT]/NAME@sha256:…, as `tenon pack push` prints it");
}

static void config_read_pack_installs(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind != TN_ARRAY) {
        config_read_one_pack(reader, node);
        return;
    }
    uint32_t count = config_usable_count(reader, node, "packs.install", CONFIG_INSTALLS_MAX, "packs");
    for (uint32_t i = 0; i < count; i++) config_read_one_pack(reader, node->items[i].node);
}

/* Checks {user?, password?, plain_http?}. No message contains a value, because it can be a secret in a wrong place. */
static bool config_check_registry(struct config_reader *reader, const struct tree_node *node, const char *where) {
    static const char *const members[] = {"user", "password", "plain_http"};
    static const char expected[] =
        "a mapping with `user` and `password: {secret: NAME}` (never the password itself), or "
        "`plain_http`";
    bool good = node->kind == TN_OBJECT;
    for (uint32_t i = 0; good && i < node->count; i++)
        good = config_expect_key(reader, &node->items[i], "a registry", members, 3) != KEY_UNKNOWN;
    if (node->kind == TN_OBJECT && !good) return false;
    const struct tree_node *user = good ? tree_get(node, "user") : NULL,
                           *password = good ? tree_get(node, "password") : NULL,
                           *plain = good ? tree_get(node, "plain_http") : NULL,
                           *name = password ? tree_get(password, "secret") : NULL;
    good = good && (!user || user->kind == TN_STRING) && (!plain || plain->kind == TN_BOOL);
    if (password) good = good && user && password->kind == TN_OBJECT && password->count == 1 && name;
    if (name) good = good && name->kind == TN_STRING;
    if (good && (user == NULL) == (password == NULL)) return true;
    config_report_kind(reader, node, where, expected);
    return false;
}

static void config_read_pack_registries(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "packs.registries", "a mapping of hosts to mappings")) return;
    uint32_t count = config_usable_count(reader, node, "packs.registries", CONFIG_HOSTS_MAX, "registries");
    for (uint32_t i = 0; i < count; i++) {
        const struct tree_item *item = &node->items[i];
        if (!config_check_registry(reader, item->node, config_where("packs.registries", item->key).text)) continue;
        reader->config->registries =
            value_set_key_take(reader->config->registries, value_ref(item->key), tree_to_value(item->node));
    }
}

/* ---- models and prices ---- */

/* Checks {models: [binding or list of bindings, …], …}. */
static bool config_check_role_models(struct config_reader *reader, const struct tree_node *node, const char *where);

/* Checks a binding: "provider:model", {provider, …}, or a list of these. The list contains the fallbacks in order. */
static bool config_check_binding(struct config_reader *reader, const struct tree_node *node, const char *where,
                                 bool in_list) {
    if (node->kind == TN_STRING) return true;
    if (node->kind == TN_OBJECT) {
        const struct tree_node *provider = tree_get(node, "provider"), *models = tree_get(node, "models");
        if (provider && provider->kind == TN_STRING) return true;
        if (!provider && models && !in_list) return config_check_role_models(reader, models, where);
        diagnostics_add(reader->diagnostics, ADL_E022, reader->source, node->span,
                        "`%s`: found no `provider`, expected the name of a provider, as in {provider: openai}", where);
        return false;
    }
    if (node->kind == TN_ARRAY && !in_list && node->count > 0) {
        bool good = true;
        for (uint32_t i = 0; i < node->count; i++)
            good &= config_check_binding(reader, node->items[i].node, where, true);
        return good;
    }
    config_report_kind(reader, node, where,
                       "\"provider:model\", a mapping with `provider`, a list of these, or a mapping with `models`");
    return false;
}

/* It is written before `:` in a binding. */
static bool is_provider_name(tn_value key) {
    size_t length;
    const char *text = value_chars(key, &length);
    bool letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
    return letter && length <= 200 && strlen(text) == length &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == length;
}

static bool config_check_role_models(struct config_reader *reader, const struct tree_node *node, const char *where) {
    bool good = node->kind == TN_ARRAY && node->count > 0;
    if (!good) config_report_kind(reader, node, where, "`models` to be a list of models");
    for (uint32_t i = 0; good && i < node->count; i++) {
        const struct tree_node *item = node->items[i].node;
        good = config_check_binding(reader, item, where, item->kind != TN_ARRAY);
    }
    return good;
}

/* Checks what the host reads of a binding itself: retry, fallback, balance, cooldown, cache. */
static bool config_check_role(struct config_reader *reader, const struct tree_node *node, const char *where) {
    struct model_role role = MODEL_ROLE_INIT;
    struct error error = ERROR_INIT;
    tn_value binding = tree_to_value(node);
    bool good = model_role_read(binding, &role, &error) == TN_OK;
    if (!good)
        diagnostics_add(reader->diagnostics, ADL_E020, reader->source, node->span, "`%s`: %s", where, error.message);
    error_finish(&error);
    value_unref(binding);
    return good;
}

static void config_read_models(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "models", "a mapping of roles to models")) return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        struct config_where where = config_where("models", item->key);
        if (config_check_binding(reader, item->node, where.text, false) &&
            config_check_role(reader, item->node, where.text))
            reader->config->models =
                value_set_key_take(reader->config->models, value_ref(item->key), tree_to_value(item->node));
    }
}

static void config_read_providers(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "providers", "a mapping of names to mappings with `provider`")) return;
    uint32_t count = config_usable_count(reader, node, "providers", CONFIG_PROVIDERS_MAX, "providers");
    for (uint32_t i = 0; i < count; i++) {
        const struct tree_item *item = &node->items[i];
        const struct tree_node *provider = item->node->kind == TN_OBJECT ? tree_get(item->node, "provider") : NULL;
        struct config_where where = config_where("providers", item->key);
        if (!is_provider_name(item->key))
            diagnostics_add(reader->diagnostics, ADL_E022, reader->source, item->node->span,
                            "`%s`: found a name with other characters, expected letters, digits, `.`, `_` and `-`, "
                            "starting with a letter",
                            where.text);
        else if (item->node->kind != TN_OBJECT)
            config_report_kind(reader, item->node, where.text, "a mapping with `provider` and its configuration");
        else if (!provider || provider->kind != TN_STRING)
            diagnostics_add(reader->diagnostics, ADL_E022, reader->source, item->node->span,
                            "`%s`: found no `provider`, expected the name of a provider, as in {provider: openai, "
                            "base_url: \"https://…\"}",
                            where.text);
        else
            reader->config->providers =
                value_set_key_take(reader->config->providers, value_ref(item->key), tree_to_value(item->node));
    }
}

static void config_read_model_calls(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_mapping(reader, node, "model_calls", "a mapping with `retry` and `limits`"))
        config_read_keys(reader, node, "model_calls");
}

static void config_report_call_error(struct config_reader *reader, const struct tree_node *node, struct error *error) {
    diagnostics_add(reader->diagnostics, ADL_E020, reader->source, node->span, "`model_calls`: %s", error->message);
    error_finish(error);
}

static void config_read_model_retry(struct config_reader *reader, const struct tree_node *node) {
    struct model_retry retry = MODEL_RETRY_INIT;
    struct error error = ERROR_INIT;
    tn_value value = tree_to_value(node);
    if (model_retry_read(value, "retry", &retry, &error) == TN_OK)
        reader->config->calls = value_set_take(reader->config->calls, "retry", value_ref(value));
    else
        config_report_call_error(reader, node, &error);
    value_unref(value);
}

static void config_read_model_limits(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "model_calls.limits", "a mapping of keys to mappings")) return;
    uint32_t count = config_usable_count(reader, node, "model_calls.limits", CONFIG_KEYS_MAX, "keys");
    tn_value all = value_object();
    for (uint32_t i = 0; i < count; i++) {
        const struct tree_item *item = &node->items[i];
        struct model_limits limits;
        struct error error = ERROR_INIT;
        tn_value value = tree_to_value(item->node);
        if (model_limits_read(value, value_chars(item->key, NULL), &limits, &error) == TN_OK)
            all = value_set_key_take(all, value_ref(item->key), value_ref(value));
        else
            config_report_call_error(reader, item->node, &error);
        value_unref(value);
    }
    reader->config->calls = value_set_take(reader->config->calls, "limits", all);
}

static bool config_check_price(struct config_reader *reader, const struct tree_node *node, const char *where) {
    static const char *const members[] = {"input", "output", "cached", "cache_write"};
    if (!config_expect_mapping(reader, node, where, "a mapping with `input` and `output`")) return false;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (config_expect_key(reader, item, "a price", members, sizeof members / sizeof *members) == KEY_UNKNOWN)
            return false;
        bool number = item->node->kind == TN_INT || item->node->kind == TN_DOUBLE;
        if (!number || value_to_double(item->node->value) < 0) {
            config_report_value(reader, item->node, config_where(where, item->key).text,
                                "a number of at least 0: the price of a million tokens");
            return false;
        }
    }
    return true;
}

static void config_read_prices(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "prices", "a mapping of models to prices")) return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (config_check_price(reader, item->node, config_where("prices", item->key).text))
            reader->config->prices =
                value_set_key_take(reader->config->prices, value_ref(item->key), tree_to_value(item->node));
    }
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

static void config_read_store(struct config_reader *reader, const struct tree_node *node) {
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

static void config_read_memory(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_mapping(reader, node, "memory", "a mapping with `embed`"))
        config_read_keys(reader, node, "memory");
}

static void config_set_memory(struct config_reader *reader, const char *key, const struct tree_node *node) {
    reader->config->memory = value_set_take(reader->config->memory, key, value_ref(node->value));
}

static void config_read_memory_embed(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind == TN_STRING && *value_chars(node->value, NULL))
        config_set_memory(reader, "embed", node);
    else
        config_report_value(reader, node, "memory.embed", "a role of `models`, or \"provider:model\"");
}

static void config_set_memory_number(struct config_reader *reader, const char *key, const struct tree_node *node,
                                     const char *where, int64_t least, int64_t most) {
    int64_t number = node->kind == TN_INT ? value_to_int(node->value) : least - 1;
    char expected[80];
    snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)least, (long long)most);
    if (number >= least && number <= most)
        config_set_memory(reader, key, node);
    else
        config_report_value(reader, node, where, expected);
}

static void config_read_memory_dimensions(struct config_reader *reader, const struct tree_node *node) {
    config_set_memory_number(reader, "dimensions", node, "memory.dimensions", 1, 16384);
}

static void config_read_memory_bytes(struct config_reader *reader, const struct tree_node *node) {
    config_set_memory_number(reader, "bytes", node, "memory.bytes", CONFIG_MEMORY_BYTES_MIN, CONFIG_MEMORY_BYTES_MAX);
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

static void config_read_secrets(struct config_reader *reader, const struct tree_node *node) {
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

/* ---- schedules ---- */

static void config_read_schedules(struct config_reader *reader, const struct tree_node *node) {
    config_read_schedule_list(reader, node);
}

/* ---- http ---- */

static void config_read_http(struct config_reader *reader, const struct tree_node *node) {
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

static void config_read_tools(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_mapping(reader, node, "tools", "a mapping with `approval` and `audit`"))
        config_read_keys(reader, node, "tools");
}

static void config_set_tools_take(struct config_reader *reader, const char *key, tn_value value) {
    reader->config->tools = value_set_take(reader->config->tools, key, value);
}

static void config_read_tool_approval(struct config_reader *reader, const struct tree_node *node) {
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

static void config_read_tool_audit(struct config_reader *reader, const struct tree_node *node) {
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

static void config_read_tool_audit_arguments(struct config_reader *reader, const struct tree_node *node) {
    config_set_tool_flag(reader, node, "audit_arguments", "tools.audit_arguments");
}

static void config_read_tool_audit_required(struct config_reader *reader, const struct tree_node *node) {
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

static void config_read_limits(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "limits", "a mapping of limits to numbers")) return;
    for (uint32_t i = 0; i < node->count; i++) config_read_one_limit(reader, &node->items[i]);
}

static void config_read_loops(struct config_reader *reader, const struct tree_node *node) {
    int64_t number = node->kind == TN_INT ? value_to_int(node->value) : 0;
    if (number >= 1 && number <= CONFIG_LOOPS_MAX)
        reader->config->loops = (int32_t)number;
    else if (node->kind == TN_STRING && value_text_is(node->value, "auto"))
        reader->config->loops = CONFIG_LOOPS_AUTO;
    else
        config_report_value(reader, node, "loops", "a whole number from 1 to 64, or `auto`");
}

static void config_read_work(struct config_reader *reader, const struct tree_node *node) {
    config_read_task_types(reader, node);
}

static void config_read_log(struct config_reader *reader, const struct tree_node *node) {
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
