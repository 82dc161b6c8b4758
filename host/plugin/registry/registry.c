/*
 * registry.c - adds and removes plugins: scanning, duplicates, problems, unloading.
 *
 * No code of a plugin runs here except its end. A bad plugin is stored as a problem and does not affect the others;
 * only a path that the user typed makes a scan fail. registry_rows.c has the components, loader.c loads the code.
 */
#include "host/plugin/registry/registry.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/plugin_search.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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
    /* Plugins end in reverse order of loading. */
    if (registry->plugin_count > 0)
        qsort((void *)registry->plugins, registry->plugin_count, sizeof *registry->plugins, compare_load_order);
    for (size_t i = 0; i < registry->plugin_count; i++) plugin_quiesce(registry->plugins[i]);
    for (size_t i = 0; i < registry->plugin_count; i++) plugin_end(registry->plugins[i]);
    rows_free(registry);
    for (size_t i = 0; i < registry->plugin_count; i++) plugin_free(registry->plugins[i]);
    for (size_t i = 0; i < registry->problem_count; i++) {
        mem_free((void *)(uintptr_t)registry->problems[i].path);
        mem_free((void *)(uintptr_t)registry->problems[i].code);
        mem_free((void *)(uintptr_t)registry->problems[i].message);
    }
    mem_free(registry->problems);
    mem_free((void *)registry->plugins);
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

uint64_t registry_generation(const struct registry *registry) { return registry->generation; }

/* ---- Problems ---- */

size_t registry_problems(const struct registry *registry) { return registry->problem_count; }
const struct problem *registry_problem_at(const struct registry *registry, size_t index) {
    return &registry->problems[index];
}

static void registry_add_problem(struct registry *registry, const char *path, const struct error *error) {
    if (registry->problem_count == REGISTRY_PROBLEMS_MAX) {
        registry->problems_dropped++;
        return;
    }
    MEM_EXTEND(registry->problems, registry->problem_count);
    registry->problems[registry->problem_count++] =
        (struct problem){mem_text(path), mem_text(error->code), mem_text(error->message)};
}

/* ---- Plugins ---- */

struct plugin *registry_plugin(struct registry *registry, const char *plugin_id) {
    struct plugin *found = NULL; /* an unloaded plugin is only the second choice */
    for (size_t i = 0; i < registry->plugin_count; i++) {
        struct plugin *plugin = registry->plugins[i];
        if (plugin->replaced || strcmp(plugin->id, plugin_id) != 0) continue;
        if (plugin->state != PLUGIN_UNLOADED) return plugin;
        if (!found) found = plugin;
    }
    return found;
}

static int compare_plugin_ids(const void *a, const void *b) {
    return strcmp((*(struct plugin *const *)a)->id, (*(struct plugin *const *)b)->id);
}

void registry_each_plugin(struct registry *registry, void (*visit)(void *user, struct plugin *plugin), void *user) {
    if (registry->plugin_count == 0) return;
    size_t count = registry->plugin_count;
    struct plugin **sorted = mem_array(NULL, count, sizeof *sorted);
    memcpy((void *)sorted, (const void *)registry->plugins, count * sizeof *sorted);
    qsort((void *)sorted, count, sizeof *sorted, compare_plugin_ids);
    for (size_t i = 0; i < count; i++)
        if (!sorted[i]->replaced) visit(user, sorted[i]);
    mem_free((void *)sorted);
}

void registry_add_plugin(struct registry *registry, struct plugin *plugin) {
    const struct isolation *isolation = registry->options.isolation;
    plugin->isolated =
        plugin->program || (isolation && !plugin->native && isolation->wanted(registry->options.user, plugin));
    MEM_EXTEND(registry->plugins, registry->plugin_count);
    registry->plugins[registry->plugin_count++] = plugin;
    registry->generation++;
}

/* True if two files have the same contents. Used only if both claim the same plugin id. */
static bool files_equal(const char *a, const char *b) {
    int first = open(a, O_RDONLY | O_CLOEXEC), second = open(b, O_RDONLY | O_CLOEXEC);
    bool same = first >= 0 && second >= 0;
    char left[16384], right[16384];
    ssize_t got = 1;
    for (off_t at = 0; same && got > 0; at += got) {
        got = pread(first, left, sizeof left, at);
        same = got >= 0 && pread(second, right, sizeof right, at) == got && memcmp(left, right, (size_t)got) == 0;
    }
    if (first >= 0) close(first);
    if (second >= 0) close(second);
    return same;
}

/* Two files have the same plugin id: refuses both, unless the first is already loaded. */
static int32_t plugin_refuse_both(struct plugin *first, struct plugin *second, struct error *error) {
    int32_t status =
        error_set(error, TN_INVALID, "PLUGIN_DUPLICATE",
                  "two files claim the plugin `%s`: %s (version %s, from %s) and %s (version %s, from %s); "
                  "remove one of them from the search path",
                  first->id, first->path, first->version, first->source, second->path, second->version, second->source);
    if (first->state == PLUGIN_KNOWN) plugin_refuse(first, status, error);
    return plugin_refuse(second, status, error);
}

/* Adds the plugin's components. Duplicates become problems; returns the first one. */
static int32_t plugin_add_components(struct plugin *plugin, struct error *error) {
    tn_value components = manifest_components(plugin->manifest);
    int32_t result = TN_OK;
    for (size_t i = 0; i < value_count(components); i++) {
        struct error why = ERROR_INIT;
        tn_value component = value_at(components, i);
        const char *kind = manifest_text(component, "kind"), *id = manifest_text(component, "id");
        struct row *row = row_find(plugin->registry, kind, id, strlen(id)), *fresh;
        int32_t status;
        if (row && row->component.plugin == plugin) { /* it was added at run time with the same id */
            continue;
        } else if (row && row->component.plugin->state == PLUGIN_LOADED) {
            struct row claim = {.component = {.plugin = plugin}};
            status = row_conflict(row, &claim, &why); /* a component in use stays; the new one is not added */
        } else {
            status = row_add(plugin, component, &fresh, &why);
            if (status == TN_OK && row) status = row_conflict(row, fresh, &why);
        }
        if (status != TN_OK) {
            registry_add_problem(plugin->registry, plugin->path, &why);
            if (result == TN_OK) error_copy(error, &why);
            if (result == TN_OK) result = status;
        }
        error_finish(&why);
        if (status == TN_LIMIT) break;
    }
    return result;
}

/* Takes the plugin. Failures become problems. */
static int32_t registry_add_plugin_take(struct registry *registry, struct plugin *plugin, struct error *error) {
    struct plugin *there = registry_plugin(registry, plugin->id);
    struct error why = ERROR_INIT;
    int32_t status = TN_OK;
    if (registry->plugin_count == REGISTRY_PLUGINS_MAX) {
        status = error_set(&why, TN_LIMIT, "LIMIT", "%s: a host knows at most %u plugins", plugin->path,
                           REGISTRY_PLUGINS_MAX);
        registry_add_problem(registry, plugin->path, &why);
        plugin_free(plugin);
    } else if (there && there->state != PLUGIN_UNLOADED) {
        bool same = !there->native && !plugin->native &&
                    ((there->device == plugin->device && there->inode == plugin->inode) ||
                     files_equal(there->path, plugin->path));
        if (same) {
            /* A bundled plugin stays bundled, even if another search path found it first. */
            there->bundled |= plugin->bundled;
            plugin_free(plugin);
        } else {
            status = plugin_refuse_both(there, plugin, &why);
            registry_add_problem(registry, plugin->path, &why);
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

static int32_t registry_add_path(struct registry *registry, const char *path, const char *source, bool bundled,
                                 bool named, struct error *error) {
    struct manifest manifest;
    struct error why = ERROR_INIT;
    int32_t status = manifest_read(path, &manifest, &why);
    if (status == TN_OK) {
        struct plugin *plugin = plugin_new_take(registry, manifest.value, path, source);
        plugin->device = manifest.device;
        plugin->inode = manifest.inode;
        plugin->program = manifest.program;
        plugin->bundled = bundled;
        status = registry_add_plugin_take(registry, plugin, &why);
    } else if (!named && strcmp(why.code, "MANIFEST_MISSING") == 0) {
        status = TN_OK; /* a library in the same folder as the plugins */
    } else {
        registry_add_problem(registry, path, &why);
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
        status = registry_add_path(registry, search.entries[0].path, source, false, true, error);
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
    struct error *error;
    int32_t status; /* the first failure of a path that the user typed */
};

static void registry_scan_file(void *user, const char *path, bool named) {
    struct scan *scan = user;
    const struct search_entry *entry = scan->entry;
    struct error why = ERROR_INIT;
    int32_t status =
        registry_add_path(scan->registry, path, entry->source, entry->origin == SEARCH_INSTALLED, named, &why);
    if (status != TN_OK && named && entry->origin == SEARCH_FLAG && scan->status == TN_OK) {
        scan->status = status;
        error_copy(scan->error, &why);
    }
    error_finish(&why);
}

int32_t registry_scan(struct registry *registry, const struct search *search, struct error *error) {
    struct scan scan = {.registry = registry, .error = error, .status = TN_OK};
    for (size_t i = 0; i < search->count; i++) {
        struct error why = ERROR_INIT;
        scan.entry = &search->entries[i];
        int32_t status = search_files(scan.entry, registry_scan_file, &scan, &why);
        /* The default directories need not exist. */
        bool expected = scan.entry->origin != SEARCH_USER && scan.entry->origin != SEARCH_INSTALLED;
        if (status != TN_OK && (expected || status != TN_NOT_FOUND))
            registry_add_problem(registry, scan.entry->path, &why);
        if (status != TN_OK && scan.entry->origin == SEARCH_FLAG && scan.status == TN_OK) {
            scan.status = status;
            error_copy(error, &why);
        }
        error_finish(&why);
    }
    return scan.status;
}

/* ---- Resetting ---- */

int32_t registry_reset_plugin(struct registry *registry, const char *plugin_id, int64_t *deaths, struct error *error) {
    const struct isolation *isolation = registry->options.isolation;
    struct plugin *plugin = registry_plugin(registry, plugin_id);
    bool isolated = plugin && plugin->isolated;
    bool runs = isolated && (plugin->state == PLUGIN_LOADED || plugin->state == PLUGIN_QUIESCED);
    *deaths = isolation ? isolation->reset(registry->options.user, plugin_id, runs ? plugin->plugin : NULL) : 0;
    if (!plugin && *deaths == 0)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "cannot reset the plugin `%s`: it does not exist",
                         plugin_id);
    if (isolated && plugin->state == PLUGIN_REFUSED && plugin->start_failed) {
        error_finish(&plugin->refusal);
        plugin->state = PLUGIN_KNOWN;
        registry->generation++;
    }
    return TN_OK;
}

/* ---- Unloading ---- */

int32_t registry_unload(struct registry *registry, const char *plugin_id,
                        void (*live)(void *user, const struct plugin *plugin, struct buffer *which), void *user,
                        struct error *error) {
    struct plugin *plugin = registry_plugin(registry, plugin_id);
    if (!plugin || plugin->state == PLUGIN_UNLOADED)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "cannot unload the plugin `%s`: it does not exist",
                         plugin_id);
    plugin_quiesce(plugin);
    uint64_t refs = plugin_refs(plugin), tasks = plugin_tasks(plugin);
    if (refs > 0 || tasks > 0) {
        struct buffer which;
        buffer_init(&which, ERROR_MESSAGE_MAX / 2);
        if (live) live(user, plugin, &which);
        error_set(
            error, TN_AGAIN, "PLUGIN_BUSY",
            "cannot unload the plugin `%s`: it has %llu instance%s and %llu open task%s%s%s; it accepts no new work; "
            "retry when they have ended",
            plugin->id, (unsigned long long)refs, refs == 1 ? "" : "s", (unsigned long long)tasks,
            tasks == 1 ? "" : "s", which.length ? ": " : "", buffer_cstr(&which));
        buffer_finish(&which);
        return TN_AGAIN;
    }
    for (size_t i = 0; i < registry->row_count; i++)
        if (registry->rows[i]->component.plugin == plugin) row_remove(registry, registry->rows[i]);
    plugin_end(plugin);
    plugin->state = PLUGIN_UNLOADED; /* so that a refused plugin can be replaced too */
    registry->generation++;
    return TN_OK;
}
