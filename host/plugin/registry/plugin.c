/*
 * plugin.c - struct plugin: accessors, counters, its tn_host, and its end.
 *
 * A plugin reaches the host only through plugin->host.get. That function reads the table of interfaces, which does not
 * change, so any thread may call it. loader.c loads the code.
 */
#include "adl/value/memory.h"
#include "host/base/file_open.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_internal.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct registry_interface *plugin_interface_row(const struct plugin *plugin, const char *id) {
    const struct registry_options *options = &plugin->registry->options;
    for (const struct registry_interface *row = options->interfaces; row && row->id; row++)
        if (strcmp(row->id, id) == 0) return row->draft && !plugin->drafts ? NULL : row;
    return NULL;
}

static const void *plugin_host_get(void *self, const char *interface_id) {
    const struct plugin *plugin = self;
    const struct registry_interface *row = interface_id ? plugin_interface_row(plugin, interface_id) : NULL;
    if (interface_id && plugin->registry->options.requested)
        plugin->registry->options.requested(plugin, interface_id, row != NULL);
    return row ? row->vtable : NULL;
}

struct plugin *plugin_of(const tn_host *host) {
    return host && host->get == plugin_host_get ? host->self : NULL;
}

struct plugin *plugin_new_take(struct registry *registry, tn_value manifest, const char *path, const char *source) {
    static _Atomic uint32_t numbers; /* process-wide: the owner of a token is unique in the process */
    struct plugin *plugin = mem_zalloc(sizeof *plugin);
    plugin->host = (tn_host){sizeof(tn_host), plugin, plugin_host_get};
    plugin->registry = registry;
    plugin->path = mem_text(path);
    plugin->source = mem_text(source);
    plugin->manifest = manifest;
    plugin->id = manifest_text(manifest_plugin(manifest), "id");
    plugin->version = manifest_text(manifest_plugin(manifest), "version");
    plugin->title = manifest_text(manifest_plugin(manifest), "title");
    plugin->number = atomic_fetch_add(&numbers, 1) + 1;
    return plugin;
}

struct plugin *plugin_new_cached(struct registry *registry, struct manifest_cache *cache,
                                 const struct cached_manifest *cached, const char *path, const char *source) {
    struct plugin *plugin = plugin_new_take(registry, NULL, path, source);
    plugin->cached = cached;
    plugin->cache = cache;
    plugin->id = cached->id;
    plugin->version = cached->version;
    plugin->title = cached->title;
    plugin->device = cached->device;
    plugin->inode = cached->inode;
    plugin->changed = cached->changed;
    return plugin;
}

/* The cached manifest is damaged, or does not have the names that the cache has: reads the file, as without a cache. */
static tn_value plugin_reread(struct plugin *plugin, struct error *error) {
    struct manifest manifest = {.value = NULL};
    manifest_cache_discard(plugin->cache);
    if (manifest_read(plugin->path, &manifest, error) != TN_OK) return NULL;
    tn_value whole = value_ref(manifest.value);
    bool same = manifest.device == plugin->device && manifest.inode == plugin->inode &&
                manifest_cache_agrees(plugin->cached, whole);
    manifest_finish(&manifest);
    if (same) return whole;
    value_unref(whole);
    error_set(error, TN_INVALID, "PLUGIN_REFUSED",
              "%s: the cached manifest is not the plugin's; the cache was removed: start again", plugin->path);
    return NULL;
}

static tn_value manifest_of_names(const struct plugin *plugin) {
    tn_value names = value_set_take(value_object_reserve(3), "id", value_text(plugin->id));
    names = value_set_take(names, "version", value_text(plugin->version));
    names = value_set_take(names, "title", value_text(plugin->title));
    tn_value manifest = value_set_take(value_object_reserve(2), "plugin", names);
    return value_set_take(manifest, "components", value_array());
}

static void plugin_decide_isolation(struct plugin *plugin) {
    const struct registry_options *options = &plugin->registry->options;
    plugin->isolated =
        plugin->program || (options->isolation && !plugin->native && options->isolation->wanted(options->user, plugin));
}

/* The plugin is const to its users, for whom nothing changes. */
void plugin_realise(const struct plugin *user_plugin) {
    struct plugin *plugin = (struct plugin *)(uintptr_t)user_plugin;
    struct error error = ERROR_INIT;
    if (plugin->manifest) return;
    if (manifest_cache_read(plugin->cache, plugin->cached, plugin->path, &plugin->manifest, NULL) != TN_OK) {
        plugin->manifest = plugin_reread(plugin, &error);
        if (plugin->manifest) plugin->cached = NULL; /* it was read from the file */
    }
    bool good = plugin->manifest != NULL;
    if (!good) plugin->manifest = manifest_of_names(plugin);
    plugin_decide_isolation(plugin);
    if (!good && plugin->state == PLUGIN_KNOWN) (void)plugin_refuse(plugin, TN_INVALID, &error);
    error_finish(&error);
}

int32_t plugin_read(struct registry *registry, const char *path, const char *source, struct plugin **out,
                    struct error *error) {
    struct manifest manifest;
    int32_t status = manifest_read(path, &manifest, error);
    if (status != TN_OK) return status;
    *out = plugin_of_manifest_take(registry, &manifest, path, source);
    return TN_OK;
}

struct plugin *plugin_of_manifest_take(struct registry *registry, struct manifest *read, const char *path,
                                       const char *source) {
    struct manifest manifest = *read;
    mem_free(manifest.notes);
    struct plugin *plugin = plugin_new_take(registry, manifest.value, path, source);
    plugin->device = manifest.device;
    plugin->inode = manifest.inode;
    plugin->program = manifest.program;
    struct stat found;
    if (stat(path, &found) == 0) plugin->changed = found.st_ctim;
    return plugin;
}

void plugin_free(struct plugin *plugin) {
    if (!plugin) return;
    mem_free(plugin->path);
    mem_free(plugin->source);
    value_unref(plugin->manifest);
    error_finish(&plugin->refusal);
    value_unref(plugin->grants);
    mem_free(plugin);
}

static void plugin_notify_ended(struct plugin *plugin) {
    for (const struct registry_interface *row = plugin->registry->options.interfaces; row && row->id; row++)
        if (row->ended) row->ended(plugin);
}

int32_t plugin_refuse(struct plugin *plugin, int32_t status, struct error *error) {
    plugin->state = PLUGIN_REFUSED;
    error_finish(&plugin->refusal);
    error_copy(&plugin->refusal, error);
    plugin_notify_ended(plugin);
    return status;
}

int32_t plugin_refuse_state(const struct plugin *plugin, struct error *error) {
    if (plugin->state == PLUGIN_QUIESCED)
        return error_set(error, TN_UNSUPPORTED, "PLUGIN_REFUSED",
                         "plugin `%s` (%s) is quiesced: it accepts no new work, and is unloaded when its last run has "
                         "ended; plugin/load of its file makes it usable again",
                         plugin->id, plugin->path);
    return error_set(error, TN_UNSUPPORTED, "PLUGIN_REFUSED", "plugin `%s` (%s) is %s; load it again to use it",
                     plugin->id, plugin->path, plugin_state_name(plugin->state));
}

void plugin_quiesce(struct plugin *plugin) {
    if (plugin->state == PLUGIN_LOADED) plugin->state = PLUGIN_QUIESCED;
    if (plugin->state != PLUGIN_QUIESCED || plugin->ends) return;
    plugin->ends = true;
    if (plugin->lifecycle && plugin->lifecycle->quiesce) plugin->lifecycle->quiesce(plugin->plugin->self);
}

void plugin_end(struct plugin *plugin) {
    plugin_quiesce(plugin);
    if (plugin->state == PLUGIN_QUIESCED && plugin->lifecycle && plugin->lifecycle->deinit)
        plugin->lifecycle->deinit(plugin->plugin->self);
    plugin_notify_ended(plugin);
    if (plugin->state != PLUGIN_REFUSED && plugin->state != PLUGIN_SHADOWED) plugin->state = PLUGIN_UNLOADED;
    loader_release_object(plugin);
}

const char *plugin_id(const struct plugin *plugin) { return plugin->id; }
const char *plugin_version(const struct plugin *plugin) { return plugin->version; }
const char *plugin_title(const struct plugin *plugin) { return plugin->title; }
const char *plugin_path(const struct plugin *plugin) { return plugin->path; }
bool plugin_file_replaced(const struct plugin *plugin) {
    struct stat found;
    return stat(plugin->path, &found) != 0 || (uint64_t)found.st_dev != plugin->device ||
           (uint64_t)found.st_ino != plugin->inode;
}

const char *plugin_file_hash(struct plugin *plugin) {
    struct stat found;
    if (plugin->file_hash[0]) return plugin->file_hash;
    int file = *plugin->path ? open(plugin->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (file < 0) return NULL;
    bool same = fstat(file, &found) == 0 && S_ISREG(found.st_mode) && (uint64_t)found.st_dev == plugin->device &&
                (uint64_t)found.st_ino == plugin->inode && found.st_ctim.tv_sec == plugin->changed.tv_sec &&
                found.st_ctim.tv_nsec == plugin->changed.tv_nsec;
    bool hashed = same && file_hash(file, plugin->file_hash, NULL) == 0;
    (void)close(file);
    return hashed ? plugin->file_hash : NULL;
}

const char *plugin_source(const struct plugin *plugin) { return plugin->source; }
bool plugin_bundled(const struct plugin *plugin) { return plugin->bundled; }
bool plugin_may_use_drafts(const struct plugin *plugin) { return plugin->drafts; }
bool plugin_isolated(const struct plugin *plugin) {
    plugin_realise(plugin);
    return plugin->isolated;
}
tn_value plugin_manifest(const struct plugin *plugin) {
    plugin_realise(plugin);
    return plugin->manifest;
}

static bool manifest_has(const struct plugin *plugin, const char *member) {
    return value_count(value_get(manifest_plugin(plugin->manifest), member)) > 0;
}

bool plugin_has_dynamic(const struct plugin *plugin) {
    return plugin->manifest ? manifest_has(plugin, "dynamic") : plugin->cached->dynamic;
}

bool plugin_has_provides(const struct plugin *plugin) {
    return plugin->manifest ? manifest_has(plugin, "provides") : plugin->cached->provides;
}

bool plugin_has_secrets(const struct plugin *plugin) { return plugin->manifest || plugin->cached->secrets; }

void plugin_settle_isolation(struct plugin *plugin) {
    if (plugin->manifest) plugin_decide_isolation(plugin);
}
enum plugin_state plugin_state(const struct plugin *plugin) { return plugin->state; }
struct registry *plugin_registry(const struct plugin *plugin) {
    return plugin->registry;
}
tn_value plugin_grants(const struct plugin *plugin) { return plugin->grants; }
uint32_t plugin_number(const struct plugin *plugin) { return plugin->number; }
const tn_host *plugin_host(const struct plugin *plugin) { return &plugin->host; }

const char *plugin_state_name(enum plugin_state state) {
    static const char *const names[] = {
        [PLUGIN_KNOWN] = "known",       [PLUGIN_LOADED] = "loaded",   [PLUGIN_QUIESCED] = "quiesced",
        [PLUGIN_UNLOADED] = "unloaded", [PLUGIN_REFUSED] = "refused", [PLUGIN_SHADOWED] = "shadowed"};
    return names[state];
}

const struct error *plugin_refusal(const struct plugin *plugin) {
    return plugin->state == PLUGIN_REFUSED ? &plugin->refusal : NULL;
}

const struct plugin *plugin_shadowed_by(const struct plugin *plugin) { return plugin->shadowed_by; }

const void *plugin_interface(const struct plugin *plugin, const char *interface_id) {
    return plugin->state == PLUGIN_LOADED ? plugin->plugin->get(plugin->plugin->self, interface_id) : NULL;
}

void *plugin_self(const struct plugin *plugin) { return plugin->plugin->self; }

void plugin_ref(struct plugin *plugin) { atomic_fetch_add_explicit(&plugin->refs, 1, memory_order_relaxed); }
void plugin_unref(struct plugin *plugin) { atomic_fetch_sub_explicit(&plugin->refs, 1, memory_order_release); }
void plugin_task_begin(struct plugin *plugin) { atomic_fetch_add_explicit(&plugin->tasks, 1, memory_order_relaxed); }
void plugin_task_end(struct plugin *plugin) { atomic_fetch_sub_explicit(&plugin->tasks, 1, memory_order_release); }

uint64_t plugin_refs(const struct plugin *plugin) { return atomic_load_explicit(&plugin->refs, memory_order_acquire); }
uint64_t plugin_tasks(const struct plugin *plugin) {
    return atomic_load_explicit(&plugin->tasks, memory_order_acquire);
}
_Atomic uint64_t *plugin_memory(struct plugin *plugin) { return &plugin->memory; }
struct poll_watches **plugin_watches(struct plugin *plugin) {
    return &plugin->watches;
}

struct error *plugin_set_refusal_place(struct plugin *plugin, struct error *place) {
    struct error *before = plugin->refusal_place;
    plugin->refusal_place = place;
    return before;
}

int32_t plugin_note_refusal(struct plugin *plugin, tn_value error) {
    if (!plugin->refusal_place) return TN_UNSUPPORTED;
    error_from_value(plugin->refusal_place, error);
    if (!*plugin->refusal_place->message)
        error_set(plugin->refusal_place, TN_FAILED,
                  value_get(error, "code") ? plugin->refusal_place->code : "INVALID_CONFIG",
                  "the plugin refuses, and reports no reason");
    return TN_FAILED;
}
