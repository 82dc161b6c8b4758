/*
 * host.c - creates a host from the parts in the rooms below, and frees it. README.md has the order and its reasons.
 *
 * No code of a plugin runs here. The rooms below know no host: they receive what they need as options, and call back
 * through the tables of functions that this file fills.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/assembly/abi_table.h"
#include "host/assembly/config_lint.h"
#include "host/assembly/host_internal.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/environment.h"
#include "host/base/files.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/base/secrets/secrets.h"
#include "host/data/kernel/kernel_abi.h"
#include "host/data/store/store.h"
#include "host/data/thread/thread_cache.h"
#include "host/engine/graph/binding.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graph_abi.h"
#include "host/engine/model/model.h"
#include "host/engine/tool/tool.h"
#include "host/net/http.h"
#include "host/net/http_abi.h"
#include "host/net/http_recording.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_host.h"
#include "host/plugin/call/worker.h"
#include "host/plugin/conformance/guard.h"
#include "host/plugin/isolate/launch_program.h"
#include "host/plugin/isolate/remote.h"
#include "host/plugin/isolate/remote_deaths.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/plugin/registry/registry.h"
#include <stdlib.h>
#include <string.h>

/* The configuration that a plugin receives: its section of tenon.yaml, with the texts of secrets. */
static int32_t host_plugin_config(void *user, const char *plugin_id, tn_value *out, struct error *error) {
    const struct host *host = user;
    tn_value section = config_plugin_section(host->config, plugin_id);
    if (!section) return TN_OK;
    int32_t status = config_reveal(host->config, section, out, error);
    if (status == TN_OK) secrets_learn(host->secrets, section, *out);
    return status;
}

/* ---- Waiting for plugins ---- */

#define SETTLE_MS 1000 /* the longest wait for background work of a plugin that `plugin check` has loaded */

struct host_wait {
    struct loop_timer timer;
    bool (*done)(void *user);
    void *user;
    bool timed_out;
};

static void host_wait_timed_out(struct loop_timer *timer) {
    CONTAINER_OF(timer, struct host_wait, timer)->timed_out = true;
}

static bool host_wait_is_over(void *user) {
    const struct host_wait *wait = user;
    return wait->timed_out || wait->done(wait->user);
}

/* Runs the loop until done(user). Returns false if that takes longer than `ms`. */
static bool host_wait_for(const struct host *host, int64_t ms, bool (*done)(void *user), void *user) {
    struct host_wait wait = {.done = done, .user = user};
    loop_timer_start(host->loop, &wait.timer, ms, host_wait_timed_out);
    (void)loop_run(host->loop, host_wait_is_over, &wait);
    loop_timer_stop(host->loop, &wait.timer);
    return !wait.timed_out;
}

/* Waits only if the loop is not running: a run could wait for this very document, and a nested wait would block it. */
static bool host_wait_for_expected(void *host_user, int64_t ms, bool (*done)(void *user), void *user) {
    const struct host *host = host_user;
    return loop_running(host->loop) || host_wait_for(host, ms, done, user);
}

static void host_forked(void *user) { loop_forked(((const struct host *)user)->loop); }

static void host_settle(void *host, bool (*done)(void *user), void *user) {
    (void)host_wait_for(host, SETTLE_MS, done, user);
}

/* ---- Plugins ---- */

static const char *host_plugin_folder(void *user, const char *plugin_id) {
    const struct host *host = user;
    return config_plugin_folder(host->config, plugin_id);
}

static tn_value host_plugin_section(void *user, const char *plugin_id) {
    const struct host *host = user;
    return config_plugin_section(host->config, plugin_id);
}

static int32_t host_scan_plugins(struct host *host, const struct host_options *options, struct error *error) {
    struct search *search = &host->search;
    for (const char *const *path = options->plugin_paths; path && *path; path++)
        search_add(search, *path, SEARCH_FLAG, "--plugins");
    search_add_environment(search);
    for (size_t i = 0; i < config_plugin_path_count(host->config); i++)
        search_add(search, config_plugin_path(host->config, i), SEARCH_CONFIG, "tenon.yaml");
    if (!options->no_installed) {
        search_add_user(search);
        packs_search(host->config, search);
        search_add_installed(search);
    }
    return registry_scan(host->registry, search, error);
}

static bool host_plugin_drafts(void *user, const char *plugin_id) { return host_allows_drafts(user, plugin_id); }

/* ---- Isolation ---- */

/* Returns why the plugin must run in a separate process, or NULL. */
static const char *isolation_reason(const struct host *host, const struct plugin *plugin) {
    for (size_t i = 0; i < value_count(host->isolate); i++)
        if (value_text_is(value_at(host->isolate, i), plugin_id(plugin))) return "--isolate";
    if (config_isolated(host->config, plugin_id(plugin), plugin_bundled(plugin)))
        return "tenon.yaml, plugins.isolation";
    /* The manifest and an untrusted pack require isolation, unless the operator names the id of this plugin. */
    if (config_allows_in_process(host->config, plugin_id(plugin))) return NULL;
    if (value_text_is(value_get(manifest_plugin(plugin_manifest(plugin)), "isolation"), "process"))
        return "its manifest requests it";
    return packs_untrusted(host->config, plugin_path(plugin)) ? "its pack is not trusted (packs.trust)" : NULL;
}

static bool isolation_is_requested(void *user, const struct plugin *plugin) {
    return isolation_reason(user, plugin) != NULL;
}

const char *host_isolation_reason(const struct host *host, const struct plugin *plugin) {
    if (!plugin_isolated(plugin)) return NULL;
    const char *reason = isolation_reason(host, plugin);
    return reason ? reason : "it is a program";
}

static const tn_plugin *isolation_open(void *user, struct plugin *plugin) {
    return remote_open(&((const struct host *)user)->remote, plugin);
}

/*
 * A plugin of an untrusted pack must not gain rights because this machine cannot filter system calls. It starts without
 * the filter only if the operator names its id in plugins.isolation.
 */
static bool isolation_requires_filter(void *user, const struct plugin *plugin) {
    const struct host *host = user;
    return !value_get(config_isolation(host->config), plugin_id(plugin)) &&
           packs_untrusted(host->config, plugin_path(plugin));
}

/* Each loop has separate processes; together they have as many as one loop would have, but at least one each. */
static uint32_t isolation_processes(void *user, const struct plugin *plugin) {
    const struct host *host = user;
    uint32_t count = config_plugin_processes(host->config, plugin_id(plugin));
    if (host->loops == 1) return count;
    if (!count) count = remote_processes_default();
    return count > host->loops ? count / host->loops : 1;
}

/* Also clears what other hosts have recorded, which resets the plugin there. */
static int64_t isolation_reset(void *user, const char *plugin_id, const tn_plugin *end) {
    const struct host *host = user;
    int64_t recorded = deaths_clear(host->remote.state_folder, plugin_id);
    int64_t own = end ? remote_deaths(end) : 0;
    if (end) remote_reset(end);
    return recorded > own ? recorded : own;
}

tn_value host_plugin_deaths(const struct host *host, const char *plugin_id) {
    return deaths_read(host->remote.state_folder, plugin_id);
}

static const struct isolation isolation = {isolation_is_requested, isolation_open,  remote_start,
                                           remote_close,           isolation_reset, remote_start_later};

static void *host_interface_owner(void *user, const char *interface_id) {
    struct host *host = user;
    if (strcmp(interface_id, TN_HTTP_1) == 0) return host->http;
    if (strcmp(interface_id, TN_STATE_DRAFT) == 0) return &host->state;
    if (strcmp(interface_id, TN_LAUNCH_DRAFT) == 0) return &host->remote;
    if (strcmp(interface_id, TN_HOST_1) == 0) return atomic_load(&host->methods);
    if (strcmp(interface_id, TN_SERVER_DRAFT) == 0) return host->serves ? &host->routes : NULL;
    return strcmp(interface_id, TN_DOCUMENT_DRAFT) == 0 ? host->engine : NULL;
}

static tn_value host_providers(void *user) { return config_providers(((struct host *)user)->config); }

void host_registry_options(struct host *host, struct registry_options *out) {
    *out = (struct registry_options){.interfaces = host->check_plugins ? guard_table(interface_table) : interface_table,
                                     .requested = host->requested,
                                     .wrap = host->check_plugins ? guard_wrap : NULL,
                                     .watch = host->check_plugins ? &guard_watch : NULL,
                                     .allow_drafts = host->allow_drafts,
                                     .drafts = host_plugin_drafts,
                                     .config = host_plugin_config,
                                     .section = host_plugin_section,
                                     .providers = host_providers,
                                     .folder = host_plugin_folder,
                                     .locate = host_locate_file,
                                     .isolation = &isolation,
                                     .wait = host_wait_for_expected,
                                     .known_only = host->known_only,
                                     .forked = host_forked,
                                     .settle = host_settle,
                                     .loop = host->loop,
                                     .secrets = host->secrets,
                                     .owner = host_interface_owner,
                                     .user = host};
}

/* True if tenon.yaml or --model binds the role. The catalog calls this for each role of each document. */
static bool host_role_is_bound(void *self, const char *role, size_t length) {
    struct host *host = self;
    char *name = mem_text_n(role, length);
    bool bound = config_model(host->config, name) != NULL;
    if (bound) host->unbound_roles = value_remove_take(host->unbound_roles, value_text(name));
    mem_free(name);
    return bound;
}

static void host_offer_plugin_id(void *user, struct plugin *plugin) {
    nearest_add_candidate(user, plugin_id(plugin), strlen(plugin_id(plugin)));
}

/* An unknown id in `isolate` is an error, because it would have no effect; if plugins are loaded later, a warning. */
static int32_t host_check_isolate(const struct host *host, bool loads_later, struct error *error) {
    for (size_t i = 0; i < value_count(host->isolate); i++) {
        const char *id = value_chars(value_at(host->isolate, i), NULL);
        if (registry_plugin(host->registry, id)) continue;
        struct nearest nearest;
        nearest_init(&nearest, id, strlen(id));
        registry_each_plugin(host->registry, host_offer_plugin_id, &nearest);
        if (loads_later) {
            log_write(LOG_WARN, NULL, "--isolate: unknown plugin `%s`%s%s", id, nearest_hint(&nearest).text,
                      registry_altered(host->registry));
            continue;
        }
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "cannot isolate the unknown plugin `%s`%s%s", id,
                         nearest_hint(&nearest).text, registry_altered(host->registry));
    }
    return TN_OK;
}

static const char *option_or_variable(const char *option, const char *variable) {
    if (option) return option;
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

/* Options override the environment: with one of the two options, neither variable is used. */
static int32_t host_open_recordings(struct host *host, const struct host_options *options, struct error *error) {
    const char *record =
        options->replay_dir ? options->record_dir : option_or_variable(options->record_dir, "TENON_HTTP_RECORD");
    const char *replay =
        options->record_dir ? options->replay_dir : option_or_variable(options->replay_dir, "TENON_HTTP_REPLAY");
    if (record && replay)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "cannot record (to %s) and replay (from %s) at the same time; use only one of them", record,
                         replay);
    if (replay) return replayer_open(replay, &host->replayer, error);
    return record ? recorder_open(record, &host->recorder, error) : TN_OK;
}

static char *host_scrub_line(void *user, const char *line) { return secrets_scrub_line(user, line); }

static void host_log_warning(void *user, const char *message) {
    (void)user;
    log_write(LOG_WARN, NULL, "%s", message);
}

/* The roles that were not bound `before` have no use until a document names them. */
static void host_note_roles(struct host *host, tn_value before) {
    tn_value after = config_models(host->config);
    for (size_t i = 0; i < value_count(after); i++)
        if (!value_get_key(before, value_key_at(after, i)))
            host->unbound_roles = value_set_key_take(host->unbound_roles, value_ref(value_key_at(after, i)),
                                                     value_ref(value_value_at(after, i)));
}

int32_t host_bind_roles(struct host *host, tn_value bindings, struct error *error) {
    tn_value before = value_ref(config_models(host->config));
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(bindings); i++)
        status = model_bind_value(host->config, value_chars(value_key_at(bindings, i), NULL),
                                  value_value_at(bindings, i), error);
    host_note_roles(host, before);
    value_unref(before);
    return status;
}

static int32_t host_bind_models(struct host *host, const struct host_options *options, struct error *error) {
    tn_value before = value_ref(config_models(host->config));
    int32_t status = TN_OK;
    for (const char *const *model = options->models; status == TN_OK && model && *model; model++)
        status = model_bind(host->config, *model, error);
    host_note_roles(host, before);
    value_unref(before);
    return status == TN_OK && options->bindings ? host_bind_roles(host, options->bindings, error) : status;
}

/* ---- Secrets in the environment ---- */

/* The variables in which services expect their keys, also if no plugin or configuration names them. */
static const char *const usual_keys[] = {
    "OPENAI_API_KEY",   "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY",     "GOOGLE_API_KEY",
    "AZURE_API_KEY",    "MISTRAL_API_KEY",   "GROQ_API_KEY",         "XAI_API_KEY",        "DEEPSEEK_API_KEY",
    "COHERE_API_KEY",   "TOGETHER_API_KEY",  "OPENROUTER_API_KEY",   "FIREWORKS_API_KEY",  "PERPLEXITY_API_KEY",
    "CEREBRAS_API_KEY", "HF_TOKEN",          "AZURE_OPENAI_API_KEY", "NVIDIA_API_KEY",     "REPLICATE_API_TOKEN",
    "MOONSHOT_API_KEY", "DEEPINFRA_API_KEY", "SAMBANOVA_API_KEY",    "BASETEN_API_KEY",    "NEBIUS_API_KEY",
    "ZAI_API_KEY",      "DASHSCOPE_API_KEY", "HYPERBOLIC_API_KEY",   "AI_GATEWAY_API_KEY", "GITHUB_TOKEN"};

static void host_take_effects(const struct config *config, tn_value effects) {
    for (size_t i = 0; i < value_count(effects); i++) {
        const char *effect = value_chars(value_at(effects, i), NULL);
        if (!effect || strncmp(effect, "secret:", 7) != 0) continue;
        const char *variable = config_secret_variable(config, effect + 7);
        if (variable) environment_take(variable);
    }
}

static void host_take_plugin_secrets(void *user, struct plugin *plugin) {
    if (!plugin_has_secrets(plugin)) return;
    tn_value manifest = plugin_manifest(plugin), components = manifest_components(manifest);
    host_take_effects(user, value_get(manifest_plugin(manifest), "effects"));
    for (size_t i = 0; i < value_count(components); i++)
        host_take_effects(user, value_get(value_at(components, i), "effects"));
}

/*
 * Removes all secrets that are known now from the environment, so that no child inherits or reads them. A document can
 * name others: those are overwritten when its graph is built.
 */
static void host_take_secrets(const struct host *host) {
    for (size_t i = 0; i < sizeof usual_keys / sizeof *usual_keys; i++) environment_take(usual_keys[i]);
    config_each_secret_variable(host->config, environment_take);
    registry_each_plugin(host->registry, host_take_plugin_secrets, host->config);
}

/* ---- The parts ---- */

/* For tables with a `void *user`. */
static struct store *host_store_of_user(void *user, struct error *error) { return host_store(user, error); }

struct store *host_store(struct host *host, struct error *error) {
    const struct store_from from = {host->loop, host->registry, host->config};
    tn_value options = host->store_options ? host->store_options : config_store(host->config), revealed = NULL;
    if (host->store) return host->store;
    /* Secrets, such as the password of a database. */
    int32_t status = options ? config_reveal(host->config, options, &revealed, error) : TN_OK;
    if (revealed) secrets_learn(host->secrets, options, revealed);
    if (status == TN_OK) host->store = store_open(&from, revealed, error);
    value_unref(revealed);
    return host->store;
}

/* The model of `memory.embed`: a role of tenon.yaml, or a provider and its model. */
static int32_t host_memory_embedder(void *user, struct kernel_embedder *out, struct error *error) {
    struct host *host = user;
    tn_value memory = config_memory(host->config), embed = value_get(memory, "embed");
    int64_t number;
    *out = (struct kernel_embedder){NULL, 0, CONFIG_MEMORY_BYTES};
    if (!embed) return TN_OK;
    if (!host->memory_model) {
        const char *name = value_chars(embed, NULL);
        tn_value role = config_model(host->config, name);
        struct error why = ERROR_INIT;
        int32_t status = model_new(host->engine, name, role ? role : embed, NULL, &host->memory_model, &why);
        if (status != TN_OK)
            error_set(error, status, why.code, "the model of `memory.embed` in tenon.yaml, `%s`: %s", name,
                      why.message);
        error_finish(&why);
        if (status != TN_OK) return status;
    }
    out->model = host->memory_model;
    if (value_as_int(value_get(memory, "dimensions"), &number)) out->dimensions = number;
    if (value_as_int(value_get(memory, "bytes"), &number)) out->bytes = (size_t)number;
    return TN_OK;
}

void host_set_store_take(struct host *host, struct store *store) { host->store = store; }

void host_set_store_options_take(struct host *host, tn_value options) {
    value_unref(host->store_options);
    host->store_options = options;
}

struct log *host_log(const struct host *host) {
    return host->log;
}
struct loop *host_loop(const struct host *host) {
    return host->loop;
}
struct registry *host_registry(const struct host *host) {
    return host->registry;
}
struct config *host_config(const struct host *host) {
    return host->config;
}
struct engine *host_engine(const struct host *host) {
    return host->engine;
}
const struct search *host_plugin_search(const struct host *host) { return &host->search; }
const struct catalog *host_catalog(const struct host *host) { return &host->engine->catalog; }
struct secrets *host_secrets(const struct host *host) {
    return host->secrets;
}

struct http *host_http(const struct host *host) {
    return host->http;
}
const struct kernel_source *host_state(const struct host *host) { return &host->state; }
void host_allow_drafts(struct host *host) { host->allow_drafts = true; }
bool host_allows_drafts(const struct host *host, const char *plugin_id) {
    return host->allow_drafts || value_get(host->drafts, plugin_id) || config_allows_drafts(host->config, plugin_id);
}
bool host_allows_admin(const struct host *host, const char *plugin_id) {
    return config_allows_admin(host->config, plugin_id);
}
void host_set_methods(struct host *host, const struct method_source *methods) {
    if (methods) host->method_source = *methods;
    atomic_store(&host->methods, methods ? &host->method_source : NULL);
}
const struct method_source *host_method_source(const struct host *host) { return atomic_load(&host->methods); }
void host_set_routes(struct host *host, const struct route_source *routes) {
    host->serves = routes != NULL;
    if (routes) host->routes = *routes;
}
tn_value host_unbound_roles(const struct host *host) { return host->unbound_roles; }
void host_limit_end(struct host *host, int64_t by_ms) { atomic_store(&host->ends_by_ms, by_ms); }
void host_set_loops(struct host *host, uint32_t count) { host->loops = count; }
uint32_t host_loops(const struct host *host) { return host->loops; }
bool host_records(const struct host *host) { return host->recorder || host->replayer; }

/* ---- Creating and freeing ---- */

/* What the other host has read, and what was changed since: it can differ from the file that is there now. */
static void host_copy_config(struct host *host, const struct host *beside) {
    host->config = config_copy(beside->config);
    value_unref(host->unbound_roles);
    host->unbound_roles = value_ref(beside->unbound_roles);
    if (beside->store_options) host->store_options = value_ref(beside->store_options);
    host->loops = beside->loops;
    log_set_level(host->log, log_level(beside->log));
}

static int32_t host_read_config(struct host *host, const struct host_options *options, struct error *error) {
    int32_t status = TN_OK;
    if (options->beside) {
        host_copy_config(host, options->beside);
        return TN_OK;
    }
    if (options->no_config)
        host->config = config_empty();
    else
        status = config_load(options->config_file, &host->config, error);
    if (status == TN_OK) status = host_bind_models(host, options, error);
    if (status != TN_OK) return status;
    int32_t level = config_log_level(host->config);
    log_set_level(host->log, options->quiet && level < LOG_ERROR ? LOG_ERROR : level);
    int64_t workers = config_limit(host->config, "workers", 0);
    if (workers) workers_limit((uint32_t)workers);
    return TN_OK;
}

static int32_t host_open_plugins(struct host *host, const struct host_options *options, struct error *error) {
    struct registry_options registry_options;
    host_registry_options(host, &registry_options);
    host->manifest_cache = options->manifest_cache ? mem_text(options->manifest_cache) : NULL;
    registry_options.cache_place = host->manifest_cache;
    registry_options.cache_refresh = options->refresh_manifests;
    host->registry = registry_new(&registry_options);
    int32_t status = host_scan_plugins(host, options, error);
    if (status == TN_OK) status = host_check_isolate(host, options->loads_later, error);
    return status;
}

/* After the registry, because the provider of HTTP is a component. */
static int32_t host_open_http(struct host *host, const struct host_options *options, struct error *error) {
    int32_t status = host_open_recordings(host, options, error);
    if (status != TN_OK) return status;
    host->http = http_new(&(struct http_options){.loop = host->loop,
                                                 .config = host->config,
                                                 .registry = host->registry,
                                                 .secrets = host->secrets,
                                                 .recorder = host->recorder,
                                                 .replayer = host->replayer});
    return TN_OK;
}

static void host_connect_services(struct host *host) {
    host->state = (struct kernel_source){host->loop, host_store_of_user, host, host_memory_embedder};
    host->remote = (struct remote_services){.loop = host->loop,
                                            .requires_filter = isolation_requires_filter,
                                            .requires_filter_user = host,
                                            .processes = isolation_processes,
                                            .processes_user = host,
                                            .state_folder = host->state_folder,
                                            .ends_by_ms = &host->ends_by_ms,
                                            .config = host->config,
                                            .secrets = host->secrets,
                                            .secrets_optional = host->replayer != NULL,
                                            .http = &interface_http,
                                            .methods = &interface_host,
                                            .server = &interface_server,
                                            .state = &interface_state,
                                            .document = &interface_document,
                                            .http_request = interface_http_call};
}

static void host_connect_engine(struct host *host) {
    struct engine *engine = host->engine;
    engine->concurrency_max = (uint32_t)config_limit(host->config, "concurrency", UINT32_MAX);
    engine->recursion_max = (uint32_t)config_limit(host->config, "recursion_limit", UINT32_MAX);
    engine->loop = host->loop;
    engine->registry = host->registry;
    engine->config = host->config;
    engine->store = host_store_of_user;
    engine->store_user = host;
    engine->scope = binding_scope_of_host;
    engine->models = models_new(engine->loop);
    engine->tools = tools_new(engine);
    engine->graphs = graphs_new();
    engine->threads = thread_cache_new();
    registry_catalog(host->registry, &engine->catalog);
    engine->catalog.find = registry_find;
    engine->catalog.read = files_read;
    engine->catalog.read_self = host->files;
    engine->catalog.role_bound = host_role_is_bound;
    engine->catalog.role_self = host;
}

/* If the other host could not open its store, this one tries, and reports the same error, when it is used. */
static void host_join(struct host *host, struct host *beside) {
    host->remote.ends_by_ms = beside->remote.ends_by_ms;
    if (beside->store) host->store = store_open_port(beside->store, host->loop);
    tools_share_gates(host->engine->tools, beside->engine->tools);
    models_share_limits(host->engine->models, beside->engine->models);
}

struct host *host_new(const struct host_options *options, struct error *error) {
    struct host *host = mem_zalloc(sizeof *host);
    host->loops = 1;
    host->engine = mem_zalloc(sizeof *host->engine);
    host->log = log_new();
    host->allow_drafts = options->allow_drafts;
    host->check_plugins = options->check_plugins;
    host->known_only = options->known_only;
    host->requested = options->requested;
    host->unbound_roles = value_object();
    host->state_folder = options->no_config ? NULL : deaths_folder();
    host->isolate = value_array();
    host->drafts = value_object();
    for (const char *const *id = options->drafts; id && *id; id++)
        host->drafts = value_set_take(host->drafts, *id, value_bool(true));
    for (const char *const *id = options->isolate; id && *id; id++)
        host->isolate = value_push_take(host->isolate, value_text(*id));
    if (host_read_config(host, options, error) != TN_OK) goto failed;
    host->loop = loop_new(error);
    if (!host->loop) goto failed;
    loop_set_log(host->loop, host->log);
    loop_enter(host->loop);
    host->secrets = secrets_new(host->config, host->loop);
    log_set_scrub(host->log, host_scrub_line, host->secrets);
    if (host_open_plugins(host, options, error) != TN_OK) goto failed;
    host_take_secrets(host);
    if (host_open_http(host, options, error) != TN_OK) goto failed;
    config_lint_plugins(host, options->known_plugin, host_log_warning, NULL);
    host->files = host_files_new(host, options->file_roots);
    host_connect_services(host);
    host_connect_engine(host);
    if (options->beside) host_join(host, options->beside);
    return host;

failed:
    host_free(host);
    return NULL;
}

void host_free(struct host *host) {
    if (!host) return;
    struct engine *engine = host->engine;
    struct log *before = log_ref(log_current());
    log_enter(host->log);
    const struct method_source *methods = host_method_source(host);
    if (methods) methods->free(methods->user);
    store_close(host->store);
    callable_unref(host->memory_model);
    tools_free(engine->tools);
    engine->tools = NULL;
    if (host->registry) registry_take_leave(host->registry);
    http_close(host->http); /* while the plugins exist, because they still report the ends of their exchanges */
    if (host->secrets) secrets_close(host->secrets);
    registry_free(host->registry);
    search_finish(&host->search);
    http_free(host->http);
    log_set_scrub(host->log, NULL, NULL);
    secrets_free(host->secrets);
    recorder_free(host->recorder);
    replayer_free(host->replayer);
    models_free(engine->models); /* its timer is one of the loop */
    engine->models = NULL;
    loop_free(host->loop);
    files_free(host->files);
    config_free(host->config);
    value_unref(host->isolate);
    value_unref(host->drafts);
    mem_free(host->state_folder);
    thread_cache_free(engine->threads);
    mem_free(host->manifest_cache);
    graphs_free(engine->graphs);
    value_unref(host->unbound_roles);
    value_unref(host->store_options);
    mem_free(engine);
    log_enter(before == host->log ? NULL : before);
    log_unref(before);
    log_set_sink(host->log, NULL, NULL); /* a worker that hangs can hold the log for longer than the sink exists */
    log_unref(host->log);
    mem_free(host);
}
