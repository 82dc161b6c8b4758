/*
 * config.c - a configuration in memory: its memory, and the values of its keys. The readers of keys fill it
 * (config_reader.h).
 */
#include "adl/value/memory.h"
#include "host/base/config/config_internal.h"

/* ---- Memory ---- */

/* The places of all values that a configuration owns. */
#define CONFIG_VALUES(config)                                                                                          \
    {                                                                                                                  \
        &(config)->plugins, &(config)->folders, &(config)->isolation, &(config)->processes, &(config)->drafts,         \
            &(config)->admins, &(config)->models, &(config)->providers, &(config)->prices, &(config)->secrets,         \
            &(config)->limits, &(config)->work, &(config)->tools, &(config)->trust, &(config)->registries,             \
            &(config)->installs, &(config)->roots, &(config)->schedules, &(config)->store, &(config)->http,            \
            &(config)->calls, &(config)->memory, &(config)->serve                                                      \
    }

struct config *config_empty(void) {
    struct config *config = mem_zalloc(sizeof *config);
    /* One value for all, without value_ref: the empty object is an immediate value, which has no reference count. */
    config->plugins = config->folders = config->isolation = config->processes = config->drafts = config->admins =
        config->models = config->providers = config->prices = config->secrets = config->tools = config->limits =
            config->registries = config->work = config->schedules = config->calls = config->memory = value_object();
    config->trust = value_array();
    config->roots = value_array();
    config->installs = value_array();
    config->log = CONFIG_LOG_UNSET;
    config->history = CONFIG_HISTORY_UNSET;
    config->loops = CONFIG_LOOPS_UNSET;
    return config;
}

struct config *config_copy(const struct config *config) {
    struct config *copy = mem_alloc(sizeof *copy);
    *copy = *config;
    copy->file = config->file ? mem_text(config->file) : NULL;
    copy->paths = NULL;
    copy->path_count = 0;
    for (size_t i = 0; i < config->path_count; i++) config_add_path(copy, config->paths[i]);
    tn_value *values[] = CONFIG_VALUES(copy);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) (void)value_ref(*values[i]);
    return copy;
}

void config_free(struct config *config) {
    if (!config) return;
    for (size_t i = 0; i < config->path_count; i++) mem_free(config->paths[i]);
    mem_free((void *)config->paths);
    mem_free(config->file);
    tn_value *values[] = CONFIG_VALUES(config);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) value_unref(*values[i]);
    mem_free(config);
}

/* ---- Getters, in the order of config.h ---- */

const char *config_file(const struct config *config) { return config ? config->file : NULL; }
size_t config_plugin_path_count(const struct config *config) { return config ? config->path_count : 0; }
const char *config_plugin_path(const struct config *config, size_t index) { return config->paths[index]; }
tn_value config_file_roots(const struct config *config) { return config ? config->roots : NULL; }
tn_value config_pack_installs(const struct config *config) { return config ? config->installs : NULL; }
tn_value config_registry(const struct config *config, const char *host) {
    return config ? value_get(config->registries, host) : NULL;
}

tn_value config_plugin_section(const struct config *config, const char *plugin_id) {
    return config ? value_get(config->plugins, plugin_id) : NULL;
}

tn_value config_plugin_sections(const struct config *config) { return config ? config->plugins : NULL; }

const char *config_plugin_folder(const struct config *config, const char *plugin_id) {
    tn_value folder = config ? value_get(config->folders, plugin_id) : NULL;
    return folder ? value_chars(folder, NULL) : NULL;
}

tn_value config_isolation(const struct config *config) { return config ? config->isolation : NULL; }

bool config_isolated(const struct config *config, const char *plugin_id, bool bundled) {
    tn_value word = config ? value_get(config->isolation, plugin_id) : NULL;
    if (config && !word && !bundled) word = value_get(config->isolation, "*");
    return value_text_is(word, "process");
}

tn_value config_processes(const struct config *config) { return config ? config->processes : NULL; }

uint32_t config_plugin_processes(const struct config *config, const char *plugin_id) {
    tn_value count = config ? value_get(config->processes, plugin_id) : NULL;
    if (config && !count) count = value_get(config->processes, "*");
    return count ? (uint32_t)value_to_int(count) : 0;
}

tn_value config_drafts(const struct config *config) { return config ? config->drafts : NULL; }

bool config_allows_drafts(const struct config *config, const char *plugin_id) {
    return config && value_get(config->drafts, plugin_id);
}

tn_value config_admins(const struct config *config) { return config ? config->admins : NULL; }

bool config_allows_admin(const struct config *config, const char *plugin_id) {
    return config && value_get(config->admins, plugin_id);
}

bool config_allows_in_process(const struct config *config, const char *plugin_id) {
    return config && value_text_is(value_get(config->isolation, plugin_id), "none");
}

tn_value config_store(const struct config *config) { return config ? config->store : NULL; }
int64_t config_history(const struct config *config) {
    return config && config->history != CONFIG_HISTORY_UNSET ? config->history : CONFIG_HISTORY_ALL;
}
tn_value config_http(const struct config *config) { return config ? config->http : NULL; }

tn_value config_model(const struct config *config, const char *role) {
    return config ? value_get(config->models, role) : NULL;
}

tn_value config_memory(const struct config *config) { return config ? config->memory : NULL; }
tn_value config_models(const struct config *config) { return config ? config->models : NULL; }
tn_value config_providers(const struct config *config) { return config ? config->providers : NULL; }

void config_bind_model_take(struct config *config, const char *role, tn_value binding) {
    config->models = value_set_take(config->models, role, binding);
}

void config_set_models_take(struct config *config, tn_value models) {
    value_unref(config->models);
    config->models = models;
}

tn_value config_work(const struct config *config) { return config && value_count(config->work) ? config->work : NULL; }

tn_value config_schedules(const struct config *config) { return config ? config->schedules : NULL; }

tn_value config_serve(const struct config *config) { return config ? config->serve : NULL; }
tn_value config_graphs(const struct config *config) { return config ? value_get(config->serve, "graphs") : NULL; }

tn_value config_prices(const struct config *config) { return config ? config->prices : NULL; }
tn_value config_model_retry(const struct config *config) { return config ? value_get(config->calls, "retry") : NULL; }
tn_value config_model_limits(const struct config *config) { return config ? value_get(config->calls, "limits") : NULL; }

tn_value config_tool_policies(const struct config *config) {
    return config ? value_get(config->tools, "approval") : NULL;
}

const char *config_tool_audit(const struct config *config) {
    tn_value path = config ? value_get(config->tools, "audit") : NULL;
    return path ? value_chars(path, NULL) : NULL;
}

bool config_tool_flag(const struct config *config, const char *key) {
    tn_value flag = config ? value_get(config->tools, key) : NULL;
    return flag == value_bool(true); /* a boolean is an immediate value */
}

int64_t config_limit(const struct config *config, const char *name, int64_t default_value) {
    tn_value limit = config ? value_get(config->limits, name) : NULL;
    return limit ? value_to_int(limit) : default_value;
}

int32_t config_loops(const struct config *config) {
    return config && config->loops != CONFIG_LOOPS_UNSET ? config->loops : 1;
}

int32_t config_log_level(const struct config *config) {
    return config && config->log != CONFIG_LOG_UNSET ? config->log : TN_LOG_WARN;
}
