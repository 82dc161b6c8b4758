/*
 * host.c - putting a host together, and the files its documents name.
 *
 * Order matters: configuration first (it says where plugins are), then the loop, then manifests; no plugin's code is
 * loaded here. Taking apart goes the other way.
 */
#include "host/host.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/call/worker.h"
#include "host/config/config.h"
#include "host/files.h"
#include "host/http/http.h"
#include "host/http/recording.h"
#include "host/interface/guard.h"
#include "host/interface/interface.h"
#include "host/isolate/remote.h"
#include "host/log.h"
#include "host/loop/loop.h"
#include "host/model/model.h"
#include "host/pack/installed.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include "host/plugin/search.h"
#include "host/store/store.h"
#include "host/tool/tool.h"
#include "host/unknown.h"
#include <stdlib.h>
#include <string.h>

/* What a plugin is told of the configuration: its section, with secrets in place. */
static int32_t plugin_config(void *user, const char *plugin_id, tn_value *out, struct error *error) {
    const struct host *host = user;
    tn_value section = config_plugin(host->config, plugin_id);
    if (!section) return TN_OK;
    int32_t status = config_reveal(host->config, section, out, error);
    if (status == TN_OK) http_learn_secrets(host->http, section, *out);
    return status;
}

/* ---- Waiting for plugins ---- */

#define SETTLE_MS 1000 /* waited for at most, for what a plugin does by itself, where it is only checked */

struct waiting {
    struct loop_timer timer;
    bool (*done)(void *of);
    void *of;
    bool late;
};

static void wait_late(struct loop_timer *timer) { ((struct waiting *)(void *)timer)->late = true; }

static bool wait_done(void *user) {
    const struct waiting *waiting = user;
    return waiting->late || waiting->done(waiting->of);
}

/* False: it was too long. */
static bool wait_for(const struct host *host, int64_t ms, bool (*done)(void *of), void *of) {
    struct waiting waiting = {.done = done, .of = of};
    loop_timer_start(host->loop, &waiting.timer, ms, wait_late);
    (void)loop_run(host->loop, wait_done, &waiting);
    loop_timer_stop(host->loop, &waiting.timer);
    return !waiting.late;
}

/* Nothing of ours runs meanwhile that could be waiting for this very document: only from outside the loop. */
static bool expect_wait(void *user, bool (*done)(void *of), void *of) {
    const struct host *host = user;
    return loop_running(host->loop) || wait_for(host, REGISTRY_EXPECT_MS, done, of);
}

static void forked(void *user) { loop_forked(((const struct host *)user)->loop); }
static void settle(void *user, bool (*done)(void *of), void *of) { (void)wait_for(user, SETTLE_MS, done, of); }

static const char *plugin_folder(void *user, const char *plugin_id) {
    const struct host *host = user;
    return config_plugin_folder(host->config, plugin_id);
}

static int32_t find_plugins(struct host *host, const struct host_options *options, struct error *error) {
    struct search search;
    search_init(&search);
    for (const char *const *path = options->plugin_paths; path && *path; path++)
        search_add(&search, *path, SEARCH_FLAG, "--plugins");
    search_add_environment(&search);
    for (size_t i = 0; i < config_plugin_paths(host->config); i++)
        search_add(&search, config_plugin_path(host->config, i), SEARCH_CONFIG, "tenon.yaml");
    if (!options->no_installed) {
        search_add_user(&search);
        packs_search(host->config, &search);
        search_add_installed(&search);
    }
    int32_t status = registry_scan(host->registry, &search, error);
    search_finish(&search);
    return status;
}

/* NULL: nobody wants it. */
static const char *wanted_because(const struct host *host, const struct plugin *plugin) {
    for (size_t i = 0; i < value_count(host->isolate); i++)
        if (value_text_is(value_at(host->isolate, i), plugin_id(plugin))) return "--isolate";
    if (config_isolated(host->config, plugin_id(plugin), plugin_bundled(plugin)))
        return "tenon.yaml, plugins.isolation";
    /* What asks for it, or is of a pack that nobody trusted has signed: unless the operator names this very plugin. */
    if (config_unisolated(host->config, plugin_id(plugin))) return NULL;
    if (value_text_is(value_get(manifest_plugin(plugin_manifest(plugin)), "isolation"), "process"))
        return "its manifest asks for it";
    return packs_untrusted(host->config, plugin_path(plugin)) ? "its pack is not trusted (packs.trust)" : NULL;
}

static bool isolation_wanted(void *user, const struct plugin *plugin) { return wanted_because(user, plugin) != NULL; }

const char *host_isolation_reason(const struct host *host, const struct plugin *plugin) {
    if (!plugin_isolated(plugin)) return NULL;
    const char *reason = wanted_because(host, plugin);
    return reason ? reason : "it is a program";
}

static const tn_plugin *isolation_open(void *user, struct plugin *plugin) { return remote_open(user, plugin); }

static const struct isolation isolation = {isolation_wanted, isolation_open, remote_start, remote_close};

void host_registry_options(struct host *host, struct registry_options *out) {
    *out = (struct registry_options){.interfaces = host->check_plugins ? guard_table() : interface_table,
                                     .wrap = host->check_plugins ? guard_wrap : NULL,
                                     .allow_drafts = host->allow_drafts,
                                     .config = plugin_config,
                                     .folder = plugin_folder,
                                     .isolation = &isolation,
                                     .wait = expect_wait,
                                     .forked = forked,
                                     .settle = settle,
                                     .user = host};
}

/* Whether tenon.yaml, or --model, says which model a role is. Every role that a document has is asked about. */
static bool role_bound(void *self, const char *role, size_t length) {
    struct host *host = registry_user(self);
    char *name = mem_text_n(role, length);
    bool bound = config_model(host->config, name) != NULL;
    if (bound) host->roles_unheard = value_remove_take(host->roles_unheard, value_text(name));
    mem_free(name);
    return bound;
}

static void offer_id(void *user, struct plugin *plugin) {
    nearest_offer(user, plugin_id(plugin), strlen(plugin_id(plugin)));
}

/* An id that nobody has would silently isolate nothing. */
static int32_t check_isolate(const struct host *host, struct error *error) {
    for (size_t i = 0; i < value_count(host->isolate); i++) {
        const char *id = value_chars(value_at(host->isolate, i), NULL);
        if (registry_plugin(host->registry, id)) continue;
        struct nearest nearest;
        nearest_init(&nearest, id, strlen(id));
        registry_each_plugin(host->registry, offer_id, &nearest);
        const char *near = nearest_result(&nearest);
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "there is no plugin `%s` to isolate%s%s%s", id,
                         near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
    }
    return TN_OK;
}

static const char *option_or(const char *option, const char *variable) {
    if (option) return option;
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

/* What is said on the command line is not changed by what a shell has around it. */
static int32_t open_recordings(struct host *host, const struct host_options *options, struct error *error) {
    const char *record =
        options->replay_dir ? options->record_dir : option_or(options->record_dir, "TENON_HTTP_RECORD");
    const char *replay =
        options->record_dir ? options->replay_dir : option_or(options->replay_dir, "TENON_HTTP_REPLAY");
    if (record && replay)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "to record (%s) and to replay (%s) do not go together; give one of them", record, replay);
    if (replay) return replayer_open(replay, &host->http_replay, error);
    return record ? recorder_open(record, &host->http_record, error) : TN_OK;
}

static void warn(void *user, const char *message) {
    (void)user;
    log_write(LOG_WARN, NULL, "%s", message);
}

static int32_t bind_models(struct host *host, const char *const *model, struct error *error) {
    tn_value before = value_ref(config_models(host->config)), after;
    int32_t status = TN_OK;
    for (; status == TN_OK && model && *model; model++) status = model_bind(host->config, *model, error);
    after = config_models(host->config);
    for (size_t i = 0; i < value_count(after); i++)
        if (!value_get_key(before, value_key_at(after, i)))
            host->roles_unheard = value_set_key_take(host->roles_unheard, value_ref(value_key_at(after, i)),
                                                     value_ref(value_value_at(after, i)));
    value_unref(before);
    return status;
}

struct host *host_new(const struct host_options *options, struct error *error) {
    struct host *host = mem_zalloc(sizeof *host);
    int32_t status = TN_OK;
    host->allow_drafts = options->allow_drafts;
    host->check_plugins = options->check_plugins;
    host->isolate = value_array();
    host->roles_unheard = value_object();
    for (const char *const *id = options->isolate; id && *id; id++)
        host->isolate = value_push_take(host->isolate, value_text(*id));
    if (options->no_config)
        host->config = config_empty();
    else
        status = config_load(options->config_file, &host->config, error);
    if (status == TN_OK) status = bind_models(host, options->models, error);
    if (status == TN_OK) {
        log_set_level(config_log_level(host->config));
        host->concurrency_max = (uint32_t)config_limit(host->config, "concurrency", UINT32_MAX);
        host->recursion_max = (uint32_t)config_limit(host->config, "recursion_limit", UINT32_MAX);
        int64_t workers = config_limit(host->config, "workers", 0);
        if (workers) workers_limit((uint32_t)workers);
        host->loop = loop_new(error);
        if (!host->loop) status = TN_ERROR;
    }
    if (status == TN_OK) {
        loop_enter(host->loop);
        host->http = http_new(host);
        struct registry_options registry_options;
        host_registry_options(host, &registry_options);
        host->registry = registry_new(&registry_options);
        status = find_plugins(host, options, error);
        if (status == TN_OK) status = check_isolate(host, error);
        if (status == TN_OK) status = open_recordings(host, options, error);
        if (status == TN_OK) unknown_plugins(host, warn, NULL);
    }
    if (status != TN_OK) {
        host_free(host);
        return NULL;
    }
    registry_catalog(host->registry, &host->catalog);
    host->catalog.find = registry_find;
    host->catalog.read = files_read;
    host->catalog.role_bound = role_bound;
    return host;
}

void host_free(struct host *host) {
    if (!host) return;
    store_close(host->store);
    tools_free(host->tools);
    host->tools = NULL;
    if (host->registry) registry_take_leave(host->registry);
    http_close(host->http); /* while plugins are there, which may still say something of their exchanges */
    registry_free(host->registry);
    http_free(host->http);
    recorder_free(host->http_record);
    replayer_free(host->http_replay);
    loop_free(host->loop);
    config_free(host->config);
    value_unref(host->isolate);
    value_unref(host->fallbacks_told);
    value_unref(host->roles_unheard);
    mem_free(host);
}
