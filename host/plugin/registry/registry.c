/*
 * registry.c - adds and removes plugins: scanning, duplicates, problems, unloading.
 *
 * No code of a plugin runs here except its end. A bad plugin is stored as a problem and does not affect the others;
 * only a path that the user typed makes a scan fail. registry_rows.c has the components, loader.c loads the code.
 */
#include "host/plugin/registry/registry.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/preset.h"
#include "host/plugin/registry/reserved.h"
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct registry *registry_new(const struct registry_options *options) {
    struct registry *registry = mem_zalloc(sizeof *registry);
    if (options) registry->options = *options;
    return registry;
}

static int compare_load_order(const void *a, const void *b) {
    uint32_t left = (*(struct plugin *const *)a)->loaded_as, right = (*(struct plugin *const *)b)->loaded_as;
    return (left < right) - (left > right);
}

void registry_free(struct registry *registry) {
    if (!registry) return;
    if (registry->options.loop) loop_timer_stop(registry->options.loop, &registry->idle_timer);
    registry_abort_loads(registry);
    /* Plugins end in reverse order of loading. Most were never loaded: they come last, in any order. */
    size_t loaded = 0;
    for (size_t i = 0; i < registry->plugin_count; i++) {
        struct plugin *plugin = registry->plugins[i];
        if (plugin->loaded_as == 0) continue;
        registry->plugins[i] = registry->plugins[loaded];
        registry->plugins[loaded++] = plugin;
    }
    if (loaded > 0) qsort((void *)registry->plugins, loaded, sizeof *registry->plugins, compare_load_order);
    for (size_t i = 0; i < registry->plugin_count; i++) plugin_quiesce(registry->plugins[i]);
    for (size_t i = 0; i < registry->plugin_count; i++) plugin_end(registry->plugins[i]);
    rows_free(registry);
    for (size_t i = 0; i < registry->plugin_count; i++) plugin_free(registry->plugins[i]);
    for (size_t i = 0; i < registry->problem_count; i++) {
        mem_free((void *)(uintptr_t)registry->problems[i].path);
        mem_free((void *)(uintptr_t)registry->problems[i].code);
        mem_free((void *)(uintptr_t)registry->problems[i].message);
        mem_free((void *)(uintptr_t)registry->problems[i].rival);
    }
    mem_free(registry->problems);
    mem_free(registry->altered);
    mem_free((void *)registry->plugins);
    mem_free((void *)registry->id_buckets);
    for (size_t i = 0; i < registry->cache_count; i++) manifest_cache_free(registry->caches[i]);
    mem_free((void *)registry->caches);
    mem_free(registry);
}

struct loop *registry_loop(const struct registry *registry) {
    return registry->options.loop;
}
struct secrets *registry_secrets(const struct registry *registry) {
    return registry->options.secrets;
}

void *registry_owner(const struct registry *registry, const char *id) {
    return registry->options.owner ? registry->options.owner(registry->options.user, id) : NULL;
}

const struct registry_watch *registry_watch(const struct registry *registry) { return registry->options.watch; }

void registry_note_change(struct registry *registry) {
    registry->generation++;
    if (registry->changed) registry->changed(registry->changed_user);
}

void registry_on_change(struct registry *registry, void (*changed)(void *user), void *user) {
    registry->changed = changed;
    registry->changed_user = user;
}

uint64_t registry_generation(const struct registry *registry) { return registry->generation; }

/* ---- Problems ---- */

size_t registry_problems(const struct registry *registry) { return registry->problem_count; }
const struct problem *registry_problem_at(const struct registry *registry, size_t index) {
    return &registry->problems[index];
}

/* `rival` is the plugin that claims the same, or NULL. */
static void registry_add_problem(struct registry *registry, const char *path, const struct plugin *rival,
                                 const struct error *error) {
    mem_free(registry->altered);
    registry->altered = NULL;
    if (registry->problem_count == REGISTRY_PROBLEMS_MAX) {
        registry->problems_dropped++;
        return;
    }
    MEM_EXTEND(registry->problems, registry->problem_count);
    registry->problems[registry->problem_count++] = (struct problem){
        mem_text(path), mem_text(error->code), mem_text(error->message), rival ? mem_text(rival->path) : NULL};
}

const char *registry_altered(struct registry *registry) {
    struct buffer text;
    size_t count = 0;
    if (registry->altered) return registry->altered;
    buffer_init(&text, ERROR_MESSAGE_MAX / 2);
    for (size_t i = 0; i < registry->problem_count; i++) {
        const struct problem *problem = &registry->problems[i];
        if (strcmp(problem->code, "PACK_ALTERED") != 0) continue;
        buffer_format(&text, "%s%s", count ? " and " : "; it may be in ", problem->path);
        count++;
    }
    if (count)
        buffer_format(&text,
                      ", which %s not used because of changes after the installation; `tenon pack list` shows them",
                      count == 1 ? "is" : "are");
    registry->altered = buffer_detach(&text, NULL);
    return registry->altered;
}

/* ---- Plugins ---- */

static size_t id_bucket(const struct registry *registry, const char *id) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (; *id; id++) hash = (hash ^ (unsigned char)*id) * 1099511628211u;
    return (size_t)(hash ^ hash >> 32) & (registry->id_bucket_count - 1);
}

/* Appends the plugin to the list of its id. */
static void registry_index_plugin(struct registry *registry, struct plugin *plugin) {
    struct plugin **at = &registry->id_buckets[id_bucket(registry, plugin->id)];
    while (*at) at = &(*at)->next_by_id;
    plugin->next_by_id = NULL;
    *at = plugin;
}

/* Call it after the last of `plugins` was added. */
static void registry_index_last(struct registry *registry) {
    if (registry->plugin_count <= registry->id_bucket_count) {
        registry_index_plugin(registry, registry->plugins[registry->plugin_count - 1]);
        return;
    }
    mem_free((void *)registry->id_buckets);
    registry->id_bucket_count = registry->id_bucket_count ? registry->id_bucket_count * 4 : 64;
    registry->id_buckets = mem_zalloc(registry->id_bucket_count * sizeof(struct plugin *));
    for (size_t i = 0; i < registry->plugin_count; i++) registry_index_plugin(registry, registry->plugins[i]);
}

struct plugin *registry_plugin(struct registry *registry, const char *plugin_id) {
    struct plugin *found = NULL; /* one that is unloaded or only listed is the second choice */
    if (registry->id_bucket_count == 0) return NULL;
    for (struct plugin *plugin = registry->id_buckets[id_bucket(registry, plugin_id)]; plugin;
         plugin = plugin->next_by_id) {
        if (plugin->replaced || strcmp(plugin->id, plugin_id) != 0) continue;
        if (plugin->state != PLUGIN_UNLOADED && !plugin->aside) return plugin;
        if (!found || found->aside) found = plugin;
    }
    return found;
}

static int compare_plugin_ids(const void *a, const void *b) {
    return strcmp((*(struct plugin *const *)a)->id, (*(struct plugin *const *)b)->id);
}

static void registry_visit_plugins(struct registry *registry, bool all,
                                   void (*visit)(void *user, struct plugin *plugin), void *user) {
    if (registry->plugin_count == 0) return;
    size_t count = registry->plugin_count;
    struct plugin **sorted = mem_array(NULL, count, sizeof *sorted);
    memcpy((void *)sorted, (const void *)registry->plugins, count * sizeof *sorted);
    qsort((void *)sorted, count, sizeof *sorted, compare_plugin_ids);
    for (size_t i = 0; i < count; i++)
        if (!sorted[i]->replaced && (all || !sorted[i]->aside)) visit(user, sorted[i]);
    mem_free((void *)sorted);
}

void registry_each_plugin(struct registry *registry, void (*visit)(void *user, struct plugin *plugin), void *user) {
    registry_visit_plugins(registry, false, visit, user);
}

void registry_each_found_plugin(struct registry *registry, void (*visit)(void *user, struct plugin *plugin),
                                void *user) {
    registry_visit_plugins(registry, true, visit, user);
}

void registry_add_plugin(struct registry *registry, struct plugin *plugin) {
    const struct registry_options *options = &registry->options;
    plugin->drafts =
        plugin->bundled || options->allow_drafts || (options->drafts && options->drafts(options->user, plugin->id));
    plugin_settle_isolation(plugin);
    MEM_EXTEND(registry->plugins, registry->plugin_count);
    registry->plugins[registry->plugin_count++] = plugin;
    registry_index_last(registry);
    registry_note_change(registry);
}

/*
 * Two files of the same place have the same plugin id: refuses both, unless the first is already loaded. If `second`
 * was added at run time and belongs to an earlier place, only it is refused, because the first may be in use.
 */
static int32_t plugin_refuse_both(struct plugin *first, struct plugin *second, struct error *error) {
    int32_t status =
        error_set(error, TN_INVALID, "PLUGIN_DUPLICATE",
                  "two files claim the plugin `%s`: %s (version %s, from %s) and %s (version %s, from %s); "
                  "remove one of them from the search path",
                  first->id, first->path, first->version, first->source, second->path, second->version, second->source);
    if (first->state == PLUGIN_KNOWN && !first->loading && first->place == second->place)
        plugin_refuse(first, status, error);
    return plugin_refuse(second, status, error);
}

/* True if `first` hides what `second` also claims. */
static bool plugin_shadows(const struct plugin *first, const struct plugin *second) {
    return !first->native && !second->native && first->place < second->place;
}

static void plugin_shadow(const struct plugin *first, struct plugin *second) {
    second->shadowed_by = first;
    second->aside = true;
    second->state = PLUGIN_SHADOWED;
}

/* Two files of the same contents are one plugin. If one of them came with the host, that one is used. */
static void plugin_merge_copy_take(struct plugin *there, struct plugin *copy) {
    if (copy->bundled && !there->bundled && there->state == PLUGIN_KNOWN) {
        char *path = there->path, *source = there->source;
        there->path = copy->path;
        there->source = copy->source;
        there->device = copy->device;
        there->inode = copy->inode;
        there->bundled = true;
        copy->path = path;
        copy->source = source;
    }
    plugin_free(copy);
}

/* Adds the plugin's components. Duplicates become problems; returns the first one. */
static int32_t plugin_add_components(struct plugin *plugin, struct error *error) {
    const struct cached_manifest *cached = plugin->manifest ? NULL : plugin->cached;
    size_t count = cached ? cached->component_count : manifest_entry_count(plugin->manifest);
    int32_t result = TN_OK;
    for (size_t i = 0; i < count; i++) {
        if (cached && named_add(plugin, (uint32_t)i)) continue;
        struct error why = ERROR_INIT;
        const char *kind = cached ? cached->components[i].kind : NULL, *id = cached ? cached->components[i].id : NULL;
        if (!cached) manifest_entry_names(plugin->manifest, i, &kind, &id);
        struct row *row = row_find(plugin->registry, kind, id, strlen(id)), *fresh;
        int32_t status;
        const struct plugin *owner = row ? row->component.plugin : NULL;
        /* It was added at run time with the same id, or another plugin's component is used instead. */
        if (owner && (owner == plugin || plugin_shadows(owner, plugin))) continue;
        if (owner && owner->state == PLUGIN_LOADED) {
            struct row claim = {.component = {.plugin = plugin}};
            status = row_conflict(row, &claim, &why); /* a component in use stays; the new one is not added */
        } else {
            tn_value entry = cached ? NULL : manifest_entry_at(plugin->manifest, i);
            status = cached ? row_add_named(plugin, (uint32_t)i, &fresh, &why) : row_add(plugin, entry, &fresh, &why);
            value_unref(entry);
            if (status == TN_OK && cached) registry_note_change(plugin->registry);
            if (status == TN_OK && row) status = row_conflict(row, fresh, &why);
        }
        if (status != TN_OK) {
            registry_add_problem(plugin->registry, plugin->path, status == TN_LIMIT ? NULL : owner, &why);
            if (result == TN_OK) error_copy(error, &why);
            if (result == TN_OK) result = status;
        }
        error_finish(&why);
        if (status == TN_LIMIT) break;
    }
    return result;
}

int32_t registry_add_plugin_take(struct registry *registry, struct plugin *plugin, struct error *error) {
    struct plugin *there = registry_plugin(registry, plugin->id);
    struct error why = ERROR_INIT;
    int32_t status = TN_OK;
    if (registry->plugin_count == REGISTRY_PLUGINS_MAX) {
        status = error_set(&why, TN_LIMIT, "LIMIT", "%s: a host knows at most %u plugins", plugin->path,
                           REGISTRY_PLUGINS_MAX);
        registry_add_problem(registry, plugin->path, NULL, &why);
        plugin_free(plugin);
    } else if (there && there->state != PLUGIN_UNLOADED && !there->aside) {
        bool same = !there->native && !plugin->native &&
                    ((there->device == plugin->device && there->inode == plugin->inode) ||
                     search_files_equal(there->path, plugin->path));
        if (same) {
            plugin_merge_copy_take(there, plugin);
        } else if (plugin_shadows(there, plugin)) {
            registry_add_plugin(registry, plugin);
            plugin_shadow(there, plugin);
        } else {
            status = plugin_refuse_both(there, plugin, &why);
            registry_add_problem(registry, plugin->path, there, &why);
            registry_add_plugin(registry, plugin);
        }
    } else {
        registry_add_plugin(registry, plugin);
        status = plugin_add_components(plugin, &why);
    }
    if (status != TN_OK) error_copy(error, &why);
    error_finish(&why);
    return status;
}

/* Takes the plugin: it is listed as refused, and affects no other plugin. */
static void registry_set_aside_take(struct registry *registry, struct plugin *plugin, struct error *why) {
    registry_add_problem(registry, plugin->path, NULL, why);
    plugin->aside = true;
    plugin_refuse(plugin, TN_INVALID, why);
    if (registry->plugin_count < REGISTRY_PLUGINS_MAX)
        registry_add_plugin(registry, plugin);
    else
        plugin_free(plugin);
}

/* A plugin file of the search path. */
struct found_file {
    const char *path, *source;
    enum search_origin place;
    bool scanned; /* else it is added at run time */
    bool named;   /* the user has typed its path, instead of that of its folder */
    /* For a file of a folder: */
    struct manifest_cache *cache; /* NULL: its manifest is read */
    const char *name;
    int folder;
    bool direct;              /* it is certainly not a symbolic link */
    bool in_installed_folder; /* the folder is that of the plugins that came with the host */
};

static bool file_is_installed(const struct found_file *file) {
    if (file->place == SEARCH_INSTALLED) return true;
    return file->direct ? file->in_installed_folder : search_is_installed(file->path);
}

/* Reads a manifest, or takes it from the cache. */
static int32_t found_file_read(struct registry *registry, const struct found_file *file, struct plugin **out,
                               struct error *error) {
    struct manifest manifest;
    struct stat status;
    if (!file->cache || fstatat(file->folder, file->name, &status, 0) != 0)
        return plugin_read(registry, file->path, file->source, out, error);
    const struct cached_manifest *known = manifest_cache_lookup(file->cache, file->name, &status);
    if (known) {
        *out = plugin_new_cached(registry, file->cache, known, file->path, file->source);
        return TN_OK;
    }
    int32_t result = manifest_read(file->path, &manifest, error);
    if (result != TN_OK) return result;
    manifest_cache_add(file->cache, file->name, &status, &manifest);
    *out = plugin_of_manifest_take(registry, &manifest, file->path, file->source);
    return TN_OK;
}

static int32_t plugin_check_reserved(const struct plugin *plugin, struct error *error) {
    const struct cached_manifest *cached = plugin->cached;
    if (plugin->manifest) return reserved_check(plugin->path, plugin->manifest, error);
    int32_t status = reserved_check_plugin_id(plugin->path, plugin->id, error);
    for (size_t i = 0; status == TN_OK && i < cached->component_count; i++)
        status =
            reserved_check_name(plugin->path, plugin->id, cached->components[i].kind, cached->components[i].id, error);
    return status;
}

/*
 * Reads a manifest. *out is the plugin, even if it is refused because of a reserved name. It is NULL if a scan has
 * found a copy of a bundled plugin, whose own file is used.
 */
static int32_t registry_read_plugin(struct registry *registry, const struct found_file *file, struct plugin **out,
                                    struct error *error) {
    struct plugin *plugin;
    int32_t status = found_file_read(registry, file, &plugin, error);
    if (status != TN_OK) return status;
    plugin->place = file->place;
    plugin->bundled = file_is_installed(file);
    *out = plugin;
    if (plugin->bundled || registry->options.names_checked) return TN_OK;
    status = plugin_check_reserved(plugin, error);
    if (status == TN_OK || !file->scanned || !search_is_copy_of_installed(file->path)) return status;
    error_finish(error);
    plugin_free(plugin);
    *out = NULL;
    return TN_OK;
}

static int32_t registry_add_found(struct registry *registry, const struct found_file *file, struct error *error) {
    struct error why = ERROR_INIT;
    struct plugin *plugin = NULL;
    int32_t status = registry_read_plugin(registry, file, &plugin, &why);
    if (status == TN_OK && plugin) {
        status = registry_add_plugin_take(registry, plugin, &why);
    } else if (plugin) {
        registry_set_aside_take(registry, plugin, &why);
    } else if (status == TN_OK) {
        /* nothing to add */
    } else if (!file->named && strcmp(why.code, "MANIFEST_MISSING") == 0) {
        status = TN_OK; /* a library in the same folder as the plugins */
    } else {
        registry_add_problem(registry, file->path, NULL, &why);
    }
    if (status != TN_OK) error_copy(error, &why);
    error_finish(&why);
    return status;
}

int32_t registry_add_file(struct registry *registry, const char *path, const char *source, struct error *error) {
    struct search search;
    int32_t status;
    search_init(&search);
    search_add(&search, path, SEARCH_FLAG,
               source); /* adds a slash to plain names, because dlopen searches for those elsewhere */
    if (search.count == 0)
        status = error_set(error, TN_INVALID, "NOT_FOUND", "the path of a plugin is empty");
    else
        status = registry_add_found(
            registry, &(struct found_file){.path = search.entries[0].path, .source = source, .named = true}, error);
    search_finish(&search);
    return status;
}

int32_t registry_add_native(struct registry *registry, tn_value manifest, const tn_plugin *plugin, const char *source,
                            struct error *error) {
    int32_t status = manifest_check(source, manifest, error);
    if (status != TN_OK) return status;
    struct plugin *native = plugin_new_take(registry, value_ref(manifest), "", source);
    native->native = native->bundled = true;
    native->plugin = plugin;
    return registry_add_plugin_take(registry, native, error);
}

/* ---- Scanning ---- */

struct scan {
    struct registry *registry;
    const struct search_entry *entry;
    struct manifest_cache *cache; /* of the entry, if it is a folder; or NULL */
    bool opened;                  /* the cache of the entry was opened, or cannot be */
    bool in_installed_folder;
    char *installed; /* the folder of the plugins that came with the host; or NULL */
    struct error *error;
    int32_t status; /* the first failure of a path that the user typed */
};

/* Before the first file of a folder. */
static void scan_open_folder(struct scan *scan) {
    struct registry *registry = scan->registry;
    const struct registry_options *options = &registry->options;
    char resolved[PATH_MAX];
    scan->opened = true;
    scan->in_installed_folder =
        scan->installed && realpath(scan->entry->path, resolved) && strcmp(resolved, scan->installed) == 0;
    if (!options->cache_place) return;
    scan->cache = manifest_cache_open(options->cache_place, scan->entry->path, options->cache_refresh);
    if (!scan->cache) return;
    MEM_EXTEND(registry->caches, registry->cache_count);
    registry->caches[registry->cache_count++] = scan->cache;
}

static void registry_scan_file(void *user, const struct search_file *file) {
    struct scan *scan = user;
    const struct search_entry *entry = scan->entry;
    struct error why = ERROR_INIT;
    bool named = file->name == NULL;
    if (!named && !scan->opened) scan_open_folder(scan);
    const struct found_file found = {.path = file->path,
                                     .source = entry->source,
                                     .place = entry->origin,
                                     .scanned = true,
                                     .named = named,
                                     .cache = scan->cache,
                                     .name = file->name,
                                     .folder = file->folder,
                                     .direct = file->direct,
                                     .in_installed_folder = scan->in_installed_folder};
    int32_t status = registry_add_found(scan->registry, &found, &why);
    bool typed = status != TN_OK && named && entry->origin == SEARCH_FLAG;
    if (typed && strcmp(why.code, "NAME_RESERVED") == 0) {
        log_write(LOG_WARN, NULL, "%s; the plugin is not used", why.message); /* it stops no document */
    } else if (typed && scan->status == TN_OK) {
        scan->status = status;
        error_copy(scan->error, &why);
    }
    error_finish(&why);
}

int32_t registry_scan(struct registry *registry, const struct search *search, struct error *error) {
    struct scan scan = {
        .registry = registry, .installed = search_installed_directory(), .error = error, .status = TN_OK};
    for (size_t i = 0; i < search->count; i++) {
        struct error why = ERROR_INIT;
        scan.entry = &search->entries[i];
        scan.opened = scan.in_installed_folder = false;
        scan.cache = NULL;
        int32_t status = search_each_file(scan.entry, registry_scan_file, &scan, &why);
        if (scan.cache) manifest_cache_save(scan.cache);
        /* The default directories need not exist. */
        bool expected = scan.entry->origin != SEARCH_USER && scan.entry->origin != SEARCH_INSTALLED;
        if (status != TN_OK && (expected || status != TN_NOT_FOUND))
            registry_add_problem(registry, scan.entry->path, NULL, &why);
        if (status != TN_OK && scan.entry->origin == SEARCH_FLAG && scan.status == TN_OK) {
            scan.status = status;
            error_copy(error, &why);
        }
        error_finish(&why);
    }
    mem_free(scan.installed);
    return scan.status;
}

/* ---- Resetting ---- */

int32_t registry_reset_plugin(struct registry *registry, const char *plugin_id, int64_t *deaths, struct error *error) {
    const struct isolation *isolation = registry->options.isolation;
    struct plugin *plugin = registry_plugin(registry, plugin_id);
    bool isolated = plugin && plugin_isolated(plugin);
    bool runs = isolated && (plugin->state == PLUGIN_LOADED || plugin->state == PLUGIN_QUIESCED);
    *deaths = isolation ? isolation->reset(registry->options.user, plugin_id, runs ? plugin->plugin : NULL) : 0;
    if (!plugin && *deaths == 0)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "cannot reset the plugin `%s`: it does not exist%s",
                         plugin_id, registry_altered(registry));
    if (isolated && plugin->state == PLUGIN_REFUSED && plugin->start_failed) {
        error_finish(&plugin->refusal);
        plugin->state = PLUGIN_KNOWN;
        registry_note_change(registry);
    }
    return TN_OK;
}

/* ---- Unloading ---- */

#define IDLE_MS 100 /* between two looks whether a quiesced plugin can be unloaded */

static bool plugin_is_busy(const struct plugin *plugin) { return plugin_refs(plugin) > 0 || plugin_tasks(plugin) > 0; }

static int32_t registry_plugin_to_end(struct registry *registry, const char *plugin_id, struct plugin **out,
                                      struct error *error) {
    struct plugin *plugin = *out = registry_plugin(registry, plugin_id);
    if (plugin && plugin->loading)
        return error_set(error, TN_AGAIN, "PLUGIN_BUSY", "cannot unload the plugin `%s`: it is being loaded",
                         plugin_id);
    if (plugin && plugin->state != PLUGIN_UNLOADED) return TN_OK;
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "cannot unload the plugin `%s`: it does not exist%s", plugin_id,
                     registry_altered(registry));
}

static void registry_end_plugin(struct registry *registry, struct plugin *plugin) {
    named_take_all(registry);
    for (size_t i = 0; i < registry->row_count; i++)
        if (registry->rows[i]->component.plugin == plugin) row_remove(registry, registry->rows[i]);
    plugin_end(plugin);
    plugin->state = PLUGIN_UNLOADED; /* so that a refused plugin can be replaced too */
    registry_note_change(registry);
}

int32_t registry_unload(struct registry *registry, const char *plugin_id,
                        void (*live)(void *user, const struct plugin *plugin, struct buffer *which), void *user,
                        struct error *error) {
    struct plugin *plugin;
    int32_t status = registry_plugin_to_end(registry, plugin_id, &plugin, error);
    if (status != TN_OK) return status;
    uint64_t refs = plugin_refs(plugin), tasks = plugin_tasks(plugin);
    if (refs > 0 || tasks > 0) {
        struct buffer which;
        buffer_init(&which, ERROR_MESSAGE_MAX / 2);
        if (live) live(user, plugin, &which);
        error_set(
            error, TN_AGAIN, "PLUGIN_BUSY",
            "cannot unload the plugin `%s`: it has %llu instance%s and %llu open task%s%s%s; it is still %s; retry "
            "when they have ended, or quiesce it: then it is unloaded when they have ended",
            plugin->id, (unsigned long long)refs, refs == 1 ? "" : "s", (unsigned long long)tasks,
            tasks == 1 ? "" : "s", which.length ? ": " : "", buffer_cstr(&which), plugin_state_name(plugin->state));
        buffer_finish(&which);
        return TN_AGAIN;
    }
    registry_end_plugin(registry, plugin);
    return TN_OK;
}

/* A task may end on any thread, so it is enough to look from time to time. */
static void registry_on_idle_timer(struct loop_timer *timer) {
    struct registry *registry = CONTAINER_OF(timer, struct registry, idle_timer);
    bool waits = false;
    for (size_t i = 0; i < registry->plugin_count; i++) {
        struct plugin *plugin = registry->plugins[i];
        if (plugin->state != PLUGIN_QUIESCED || plugin->replaced || plugin->ends) continue;
        if (plugin_is_busy(plugin))
            waits = true;
        else
            registry_end_plugin(registry, plugin);
    }
    if (waits) loop_timer_start(registry->options.loop, timer, IDLE_MS, registry_on_idle_timer);
}

int32_t registry_quiesce(struct registry *registry, const char *plugin_id, struct error *error) {
    struct plugin *plugin;
    int32_t status = registry_plugin_to_end(registry, plugin_id, &plugin, error);
    if (status != TN_OK) return status;
    if (!plugin_is_busy(plugin)) {
        registry_end_plugin(registry, plugin);
        return TN_OK;
    }
    if (plugin->state != PLUGIN_LOADED) return TN_OK;
    plugin->state = PLUGIN_QUIESCED;
    registry_note_change(registry);
    if (registry->options.loop && !loop_timer_is_running(&registry->idle_timer))
        loop_timer_start(registry->options.loop, &registry->idle_timer, IDLE_MS, registry_on_idle_timer);
    return TN_OK;
}

bool registry_resume(struct plugin *plugin) {
    if (plugin->state != PLUGIN_QUIESCED || plugin->ends) return false;
    plugin->state = PLUGIN_LOADED;
    registry_note_change(plugin->registry);
    return true;
}

bool registry_is_quiescing(const struct registry *registry) {
    for (size_t i = 0; i < registry->plugin_count; i++)
        if (registry->plugins[i]->state == PLUGIN_QUIESCED && !registry->plugins[i]->replaced) return true;
    return false;
}
