/*
 * registry.c - plugins coming and going: scanning, adding, duplicates, problems, unloading.
 *
 * Nothing of a plugin runs here but its end. What is wrong with one plugin is kept as a problem and leaves the others
 * alone; only what concerns a path that somebody typed is a failure. Components are rows.c's, code is loader.c's.
 */
#include "host/plugin/registry.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin_internal.h"
#include "host/plugin/search.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct registry *registry_new(const struct registry_options *options) {
    struct registry *registry = mem_zalloc(sizeof *registry);
    if (options) registry->options = *options;
    return registry;
}

static int compare_loaded(const void *a, const void *b) {
    uint32_t left = (*(struct plugin *const *)a)->loaded_as, right = (*(struct plugin *const *)b)->loaded_as;
    return (left < right) - (left > right);
}

void registry_free(struct registry *registry) {
    if (!registry) return;
    /* What was loaded last ends first. */
    if (registry->plugin_count > 0)
        qsort((void *)registry->plugins, registry->plugin_count, sizeof *registry->plugins, compare_loaded);
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

void *registry_user(const struct registry *registry) { return registry->options.user; }
uint64_t registry_generation(const struct registry *registry) { return registry->generation; }

/* ---- Problems ---- */

size_t registry_problems(const struct registry *registry) { return registry->problem_count; }
const struct problem *registry_problem_at(const struct registry *registry, size_t index) {
    return &registry->problems[index];
}

static void problem_add(struct registry *registry, const char *path, const struct error *error) {
    if (registry->problem_count == REGISTRY_PROBLEMS_MAX) {
        registry->problems_dropped++;
        return;
    }
    size_t count = registry->problem_count;
    if ((count & (count - 1)) == 0)
        registry->problems = mem_array(registry->problems, count ? count * 2 : 1, sizeof *registry->problems);
    registry->problems[registry->problem_count++] =
        (struct problem){mem_text(path), mem_text(error->code), mem_text(error->message)};
}

/* ---- Plugins ---- */

struct plugin *registry_plugin(struct registry *registry, const char *plugin_id) {
    struct plugin *found = NULL; /* one that is unloaded only where there is no other */
    for (size_t i = 0; i < registry->plugin_count; i++) {
        struct plugin *plugin = registry->plugins[i];
        if (plugin->replaced || strcmp(plugin->id, plugin_id) != 0) continue;
        if (plugin->state != PLUGIN_UNLOADED) return plugin;
        if (!found) found = plugin;
    }
    return found;
}

static int compare_ids(const void *a, const void *b) {
    return strcmp((*(struct plugin *const *)a)->id, (*(struct plugin *const *)b)->id);
}

void registry_each_plugin(struct registry *registry, void (*visit)(void *user, struct plugin *plugin), void *user) {
    if (registry->plugin_count == 0) return;
    size_t count = registry->plugin_count;
    struct plugin **sorted = mem_array(NULL, count, sizeof *sorted);
    memcpy((void *)sorted, (const void *)registry->plugins, count * sizeof *sorted);
    qsort((void *)sorted, count, sizeof *sorted, compare_ids);
    for (size_t i = 0; i < count; i++)
        if (!sorted[i]->replaced) visit(user, sorted[i]);
    mem_free((void *)sorted);
}

void registry_keep(struct registry *registry, struct plugin *plugin) {
    const struct isolation *isolation = registry->options.isolation;
    plugin->isolated =
        plugin->program || (isolation && !plugin->native && isolation->wanted(registry->options.user, plugin));
    size_t count = registry->plugin_count;
    if ((count & (count - 1)) == 0)
        registry->plugins = mem_array((void *)registry->plugins, count ? count * 2 : 1, sizeof *registry->plugins);
    registry->plugins[registry->plugin_count++] = plugin;
    registry->generation++;
}

/* Whether two files hold the same bytes. Only asked where two files claim one plugin id. */
static bool same_content(const char *a, const char *b) {
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

/* The id is taken: neither file is used, unless the first one's code is running already. */
static int32_t refuse_both(struct plugin *first, struct plugin *second, struct error *error) {
    int32_t status =
        error_set(error, TN_INVALID, "PLUGIN_DUPLICATE",
                  "two files claim the plugin `%s`: %s (version %s, from %s) and %s (version %s, from %s); "
                  "take one of them out of the search path",
                  first->id, first->path, first->version, first->source, second->path, second->version, second->source);
    if (first->state == PLUGIN_KNOWN) plugin_refuse(first, status, error);
    return plugin_refuse(second, status, error);
}

/* Adds the plugin's components; what two plugins claim is a problem, and the first one found is returned. */
static int32_t add_components(struct plugin *plugin, struct error *error) {
    tn_value components = manifest_components(plugin->manifest);
    int32_t result = TN_OK;
    for (size_t i = 0; i < value_count(components); i++) {
        struct error why = ERROR_INIT;
        tn_value component = value_at(components, i);
        const char *kind = manifest_text(component, "kind"), *id = manifest_text(component, "id");
        struct row *row = row_find(plugin->registry, kind, id, strlen(id)), *fresh;
        int32_t status;
        if (row && row->component.plugin == plugin) { /* a dynamic one, of the same id */
            continue;
        } else if (row && row->component.plugin->state == PLUGIN_LOADED) {
            struct row claim = {.component = {.plugin = plugin}};
            status = row_conflict(row, &claim, &why); /* what is in use stays: the newcomer goes without */
        } else {
            status = row_add(plugin, component, &fresh, &why);
            if (status == TN_OK && row) status = row_conflict(row, fresh, &why);
        }
        if (status != TN_OK) {
            problem_add(plugin->registry, plugin->path, &why);
            if (result == TN_OK) error_copy(error, &why);
            if (result == TN_OK) result = status;
        }
        error_finish(&why);
        if (status == TN_LIMIT) break;
    }
    return result;
}

/* Takes the plugin. Failures are kept as problems. */
static int32_t add_plugin(struct registry *registry, struct plugin *plugin, struct error *error) {
    struct plugin *there = registry_plugin(registry, plugin->id);
    struct error why = ERROR_INIT;
    int32_t status = TN_OK;
    if (registry->plugin_count == REGISTRY_PLUGINS_MAX) {
        status = error_set(&why, TN_LIMIT, "LIMIT", "%s: a host knows at most %u plugins", plugin->path,
                           REGISTRY_PLUGINS_MAX);
        problem_add(registry, plugin->path, &why);
        plugin_free(plugin);
    } else if (there && there->state != PLUGIN_UNLOADED) {
        bool same = !there->native && !plugin->native &&
                    ((there->device == plugin->device && there->inode == plugin->inode) ||
                     same_content(there->path, plugin->path));
        if (same) {
            /* What came with the host stays that, whichever way led to it first. */
            there->bundled |= plugin->bundled;
            plugin_free(plugin);
        } else {
            status = refuse_both(there, plugin, &why);
            problem_add(registry, plugin->path, &why);
            registry_keep(registry, plugin);
        }
    } else {
        registry_keep(registry, plugin);
        status = add_components(plugin, &why);
    }
    if (status != TN_OK) error_copy(error, &why);
    error_finish(&why);
    return status;
}

static int32_t add_path(struct registry *registry, const char *path, const char *source, bool bundled, bool named,
                        struct error *error) {
    struct manifest manifest;
    struct error why = ERROR_INIT;
    int32_t status = manifest_read(path, &manifest, &why);
    if (status == TN_OK) {
        struct plugin *plugin = plugin_new_take(registry, manifest.value, path, source);
        plugin->device = manifest.device;
        plugin->inode = manifest.inode;
        plugin->program = manifest.program;
        plugin->bundled = bundled;
        status = add_plugin(registry, plugin, &why);
    } else if (!named && strcmp(why.code, "MANIFEST_MISSING") == 0) {
        status = TN_OK; /* a library that lies beside the plugins */
    } else {
        problem_add(registry, path, &why);
    }
    if (status != TN_OK) error_copy(error, &why);
    error_finish(&why);
    return status;
}

int32_t registry_add_file(struct registry *registry, const char *path, const char *source, struct error *error) {
    struct search search;
    int32_t status;
    search_init(&search);
    search_add(&search, path, SEARCH_FLAG, source); /* gives every path a slash: dlopen searches for those without */
    if (search.count == 0)
        status = error_set(error, TN_INVALID, "NOT_FOUND", "the path of a plugin is empty");
    else
        status = add_path(registry, search.entries[0].path, source, false, true, error);
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
    return add_plugin(registry, native, error);
}

/* ---- Scanning ---- */

struct scan {
    struct registry *registry;
    const struct search_entry *entry;
    struct error *error;
    int32_t status; /* of the first failure that concerns a path somebody typed */
};

static void scan_file(void *user, const char *path, bool named) {
    struct scan *scan = user;
    const struct search_entry *entry = scan->entry;
    struct error why = ERROR_INIT;
    int32_t status = add_path(scan->registry, path, entry->source, entry->origin == SEARCH_INSTALLED, named, &why);
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
        int32_t status = search_files(scan.entry, scan_file, &scan, &why);
        /* The directories that are always looked at need not be there. */
        bool expected = scan.entry->origin != SEARCH_USER && scan.entry->origin != SEARCH_INSTALLED;
        if (status != TN_OK && (expected || status != TN_NOT_FOUND)) problem_add(registry, scan.entry->path, &why);
        if (status != TN_OK && scan.entry->origin == SEARCH_FLAG && scan.status == TN_OK) {
            scan.status = status;
            error_copy(error, &why);
        }
        error_finish(&why);
    }
    return scan.status;
}

/* ---- Unloading ---- */

int32_t registry_unload(struct registry *registry, const char *plugin_id,
                        void (*live)(void *user, const struct plugin *plugin, struct buffer *which), void *user,
                        struct error *error) {
    struct plugin *plugin = registry_plugin(registry, plugin_id);
    if (!plugin || plugin->state == PLUGIN_UNLOADED)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "there is no plugin `%s` to unload", plugin_id);
    plugin_quiesce(plugin);
    uint64_t refs = plugin_refs(plugin), tasks = plugin_tasks(plugin);
    if (refs > 0 || tasks > 0) {
        struct buffer which;
        buffer_init(&which, ERROR_MESSAGE_MAX / 2);
        if (live) live(user, plugin, &which);
        error_set(
            error, TN_AGAIN, "PLUGIN_BUSY",
            "plugin `%s` cannot be unloaded: it has %llu instance%s and %llu open task%s%s%s; it takes no new work, "
            "so try again when they have ended",
            plugin->id, (unsigned long long)refs, refs == 1 ? "" : "s", (unsigned long long)tasks,
            tasks == 1 ? "" : "s", which.length ? ": " : "", buffer_cstr(&which));
        buffer_finish(&which);
        return TN_AGAIN;
    }
    for (size_t i = 0; i < registry->row_count; i++)
        if (registry->rows[i]->component.plugin == plugin) row_remove(registry, registry->rows[i]);
    plugin_end(plugin);
    plugin->state = PLUGIN_UNLOADED; /* a refused one may be replaced, too */
    registry->generation++;
    return TN_OK;
}
