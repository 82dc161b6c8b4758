/*
 * loader.c - loads a plugin: check the file, open it, call its entry, compare it with the manifest, initialise it.
 *
 * Everything that can be checked without running the plugin's code is checked first (dlopen runs constructors). The
 * object is opened with RTLD_LOCAL, so symbols of plugins do not collide, and is never unmapped, because thread-local
 * destructors of a plugin's threads may still run. An object has one set of static variables, which belongs to one
 * host; a second host of the process that loads the same file gets a private copy of it.
 */
#include "host/plugin/registry/loader.h"
#include "adl/document/version.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/base/log.h"
#include "host/base/secrets/secrets.h"
#include "host/plugin/registry/elf_note.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_internal.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRY      "tn_plugin_entry_1"
#define REASON_MAX 512 /* bytes of the last message that a plugin logged before it failed */

/* The beginning of a message: the plugin's file, or how it came into the process. */
static const char *plugin_place(const struct plugin *plugin) { return *plugin->path ? plugin->path : plugin->source; }

/* ---- Before loading ---- */

/* "tenon.value/2 (this host offers tenon.value/1)". */
static void describe_missing_interface(struct buffer *out, const struct plugin *plugin, const char *id) {
    const struct registry_interface *row = plugin->registry->options.interfaces;
    size_t name = strcspn(id, "/");
    struct nearest near;
    bool same = false;
    buffer_format(out, "%s`%s`", out->length ? ", " : "", id);
    nearest_init(&near, id, strlen(id));
    for (; row && row->id; row++) {
        if (strcmp(row->id, id) == 0) {
            buffer_format(out, " (a draft: allow it with `plugins: {drafts: [%s]}` in tenon.yaml, or --allow-drafts)",
                          plugin->id);
            return;
        }
        if (strncmp(row->id, id, name) == 0 && row->id[name] == '/') {
            buffer_format(out, "%s`%s`", same ? ", " : " (this host offers ", row->id);
            same = true;
        } else {
            nearest_add_candidate(&near, row->id, strlen(row->id));
        }
    }
    if (same)
        buffer_char(out, ')');
    else if (nearest_result(&near))
        buffer_format(out, " (did it mean `%s`?)", nearest_result(&near));
}

static int32_t loader_check_interfaces(const struct plugin *plugin, struct error *error) {
    tn_value required = value_get(manifest_plugin(plugin_manifest(plugin)), "requires");
    struct buffer missing;
    size_t count = 0;
    int32_t status = TN_OK;
    buffer_init(&missing, ERROR_MESSAGE_MAX);
    for (size_t i = 0; i < value_count(required); i++) {
        const char *id = value_chars(value_at(required, i), NULL);
        if (plugin_interface_row(plugin, id)) continue;
        describe_missing_interface(&missing, plugin, id);
        count++;
    }
    if (count > 0)
        status = error_set(error, TN_UNSUPPORTED, "INTERFACE_MISSING",
                           "%s: plugin `%s` %s needs %s that this host (Tenon %s) does not offer: %s",
                           plugin_place(plugin), plugin->id, plugin->version,
                           count == 1 ? "an interface" : "interfaces", TENON_VERSION, buffer_cstr(&missing));
    buffer_finish(&missing);
    return status;
}

/* A draft that a plugin provides to the host needs the same permission as one that it uses. */
static int32_t loader_check_drafts(const struct plugin *plugin, struct error *error) {
    tn_value provides = value_get(manifest_plugin(plugin_manifest(plugin)), "provides");
    for (size_t i = 0; i < value_count(provides); i++) {
        const char *id = value_chars(value_at(provides, i), NULL);
        if (plugin->drafts || !strstr(id, "-draft.")) continue;
        return error_set(error, TN_UNSUPPORTED, "PLUGIN_REFUSED",
                         "%s: plugin `%s` %s provides `%s` (a draft: allow it with `plugins: {drafts: [%s]}` in "
                         "tenon.yaml, or --allow-drafts)",
                         plugin->path, plugin->id, plugin->version, id, plugin->id);
    }
    return TN_OK;
}

int32_t loader_preflight(const struct plugin *plugin, struct error *error) {
    const char *constraint = manifest_text(manifest_plugin(plugin_manifest(plugin)), "tenon");
    struct version here;
    size_t at;
    if (*constraint && version_parse(TENON_VERSION, strlen(TENON_VERSION), &here) &&
        constraint_holds(constraint, strlen(constraint), &here, &at) != 1)
        return error_set(error, TN_UNSUPPORTED, "PLUGIN_REFUSED",
                         "%s: plugin `%s` %s is for Tenon %s, but this is Tenon %s; update one of them", plugin->path,
                         plugin->id, plugin->version, constraint, TENON_VERSION);
    int32_t status = loader_check_interfaces(plugin, error);
    return status == TN_OK ? loader_check_drafts(plugin, error) : status;
}

/* Checks, just before loading, that the file is the one whose manifest was read, and is safe to map. */
static int32_t loader_check_object(const struct plugin *plugin, struct error *error) {
    struct elf_file *file;
    struct elf_symbols symbols = ELF_SYMBOLS_INIT;
    int32_t status = elf_open(plugin->path, &file, error);
    if (status != TN_OK) return status;
    if (elf_device(file) != plugin->device || elf_inode(file) != plugin->inode)
        status = error_set(error, TN_INVALID, "PLUGIN_REFUSED",
                           "%s: the file was replaced after its manifest was read; restart to use the new one",
                           plugin->path);
    if (status == TN_OK && plugin->cached && !manifest_cache_matches(plugin->cache, plugin->cached, file)) {
        manifest_cache_discard(plugin->cache);
        status =
            error_set(error, TN_INVALID, "PLUGIN_REFUSED",
                      "%s: the cached manifest is not the plugin's; the cache was removed: start again", plugin->path);
    }
    if (status == TN_OK) status = elf_symbols(file, &symbols, error);
    if (status == TN_OK) {
        bool entry = false;
        for (size_t i = 0; i < symbols.defined_count; i++) entry |= strcmp(symbols.defined[i], ENTRY) == 0;
        if (!entry)
            status = error_set(error, TN_INVALID, "PLUGIN_INVALID",
                               "%s: plugin `%s` does not export " ENTRY " (%zu other symbols); give it TN_EXPORT",
                               plugin->path, plugin->id, symbols.defined_count);
        else if (symbols.unique_count > 0)
            status = error_set(error, TN_UNSUPPORTED, "PLUGIN_REFUSED",
                               "%s: plugin `%s` exports unique symbols (`%s`%s), which all objects of a process would "
                               "share; build it with -fno-gnu-unique and a version script",
                               plugin->path, plugin->id, symbols.unique[0], symbols.unique_count > 1 ? ", …" : "");
        elf_symbols_finish(&symbols);
    }
    elf_close(file);
    return status;
}

/* ---- Objects in use in this process ---- */

/* One shared object that a plugin of this process has opened by its path. */
struct loaded_object {
    uint64_t device, inode;
    const struct plugin *user; /* NULL if its plugin has ended but a thread still hangs in it */
    struct loaded_object *next;
};

/* A private copy of a plugin that came with the host; such files do not change. It stays mapped. */
struct loaded_copy {
    uint64_t device, inode; /* of the original */
    void *handle;
    bool used; /* by a plugin, or by a thread that hangs in it */
    struct loaded_copy *next;
};

/* Process-wide, because dlopen is: two hosts that open one file would share its variables. */
static struct {
    pthread_mutex_t mutex; /* guards the lists */
    struct loaded_object *first;
    struct loaded_copy *copies;
} loaded_objects = {.mutex = PTHREAD_MUTEX_INITIALIZER};

enum object_use {
    OBJECT_TAKEN,
    OBJECT_IN_USE,  /* a plugin of another host uses it */
    OBJECT_UNUSABLE /* a task of a plugin that has ended still uses it */
};

/* Takes the object for this plugin, unless it is used. */
static enum object_use object_take(struct plugin *plugin) {
    struct loaded_object *object;
    pthread_mutex_lock(&loaded_objects.mutex);
    for (object = loaded_objects.first; object; object = object->next)
        if (object->device == plugin->device && object->inode == plugin->inode) break;
    enum object_use use = !object ? OBJECT_TAKEN : object->user ? OBJECT_IN_USE : OBJECT_UNUSABLE;
    if (use == OBJECT_TAKEN) {
        object = mem_alloc(sizeof *object);
        *object = (struct loaded_object){plugin->device, plugin->inode, plugin, loaded_objects.first};
        loaded_objects.first = object;
        plugin->counted = true;
    }
    pthread_mutex_unlock(&loaded_objects.mutex);
    return use;
}

/* Takes a copy that no plugin uses any more. NULL if there is none. */
static void *copy_take(struct plugin *plugin) {
    pthread_mutex_lock(&loaded_objects.mutex);
    struct loaded_copy *copy = loaded_objects.copies;
    while (copy && (copy->used || copy->device != plugin->device || copy->inode != plugin->inode)) copy = copy->next;
    if (copy) copy->used = true;
    plugin->copy = copy;
    pthread_mutex_unlock(&loaded_objects.mutex);
    return copy ? copy->handle : NULL;
}

/* Hosts for documents are opened again and again: what each has loaded must not remain for good. */
static void copy_add(struct plugin *plugin, void *handle) {
    struct loaded_copy *copy = mem_alloc(sizeof *copy);
    pthread_mutex_lock(&loaded_objects.mutex);
    *copy = (struct loaded_copy){plugin->device, plugin->inode, handle, true, loaded_objects.copies};
    loaded_objects.copies = plugin->copy = copy;
    pthread_mutex_unlock(&loaded_objects.mutex);
}

static void copy_release(struct plugin *plugin) {
    pthread_mutex_lock(&loaded_objects.mutex);
    if (plugin->copy && plugin_tasks(plugin) == 0) plugin->copy->used = false;
    plugin->copy = NULL;
    pthread_mutex_unlock(&loaded_objects.mutex);
}

void loader_release_object(struct plugin *plugin) {
    copy_release(plugin);
    if (!plugin->counted) return;
    plugin->counted = false;
    pthread_mutex_lock(&loaded_objects.mutex);
    for (struct loaded_object **at = &loaded_objects.first; *at; at = &(*at)->next) {
        if ((*at)->user != plugin) continue;
        struct loaded_object *object = *at;
        /* A thread that hangs in the object uses its variables forever: never hand out the object again. */
        object->user = NULL;
        if (plugin_tasks(plugin) > 0) break;
        *at = object->next;
        mem_free(object);
        break;
    }
    pthread_mutex_unlock(&loaded_objects.mutex);
}

/* Opens an anonymous copy of the file. Libraries found through $ORIGIN are still those of the original. */
static void *loader_open_copy(const char *path, struct error *error) {
    int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("tenon-plugin", MFD_CLOEXEC);
    struct stat status;
    void *handle = NULL;
    bool copied = from >= 0 && to >= 0 && fstat(from, &status) == 0;
    off_t left = copied ? status.st_size : 0;
    while (copied && left > 0) {
        ssize_t sent = sendfile(to, from, NULL, (size_t)left);
        if (sent < 0 && errno == EINTR) continue;
        copied = sent > 0;
        left -= sent > 0 ? sent : 0;
    }
    if (copied) {
        char name[64];
        snprintf(name, sizeof name, "/proc/self/fd/%d", to);
        handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!handle) error_set(error, TN_INVALID, "PLUGIN_REFUSED", "%s: cannot be loaded: %s", path, dlerror());
        /* Keep the descriptor open: dlopen identifies a copy by its name, so no other copy may get the same one. */
    } else {
        error_set(error, TN_ERROR, "IO", "%s: cannot copy the file for a second host in this process: %s", path,
                  strerror(errno));
    }
    if (!handle && to >= 0) close(to);
    if (from >= 0) close(from);
    return handle;
}

/* ---- Loading ---- */

/* What a plugin says while its entry or init runs: the reason that it reports, or else its last warning. */
struct listener {
    struct plugin *plugin;
    struct error refusal, *refusal_before;
    char line[REASON_MAX];
    struct log_text line_before;
};

static void listen_begin(struct listener *listener, struct plugin *plugin) {
    listener->plugin = plugin;
    listener->refusal = (struct error)ERROR_INIT;
    listener->refusal_before = plugin_set_refusal_place(plugin, &listener->refusal);
    listener->line_before = log_remember((struct log_text){listener->line, sizeof listener->line});
}

/* The reason, "" if there is none; valid until listener->refusal is finished. */
static const char *listen_end(struct listener *listener) {
    (void)log_remember(listener->line_before);
    (void)plugin_set_refusal_place(listener->plugin, listener->refusal_before);
    return listener->refusal.message ? listener->refusal.message : listener->line;
}

struct listened_code {
    char text[80];
};

/* The code of the plugin's own error, as the end of a message: " (NO_KEY)"; "" if it has reported none. */
static struct listened_code listen_code(const struct listener *listener) {
    struct listened_code code = {""};
    if (listener->refusal.code) (void)snprintf(code.text, sizeof code.text, " (%.70s)", listener->refusal.code);
    return code;
}

/* Calls the entry, which returns the plugin's code or declines. */
static int32_t loader_enter(struct plugin *plugin, const tn_plugin *TN_FN(entry)(const tn_host *),
                            struct error *error) {
    struct listener listener;
    listen_begin(&listener, plugin);
    plugin->plugin = entry(&plugin->host);
    const char *reason = listen_end(&listener);
    if (!plugin->plugin)
        error_set(error, TN_UNSUPPORTED, "PLUGIN_REFUSED", "%s: plugin `%s` %s declined to be loaded%s%s%s",
                  plugin_place(plugin), plugin->id, plugin->version, *reason ? ": " : ", and reported no reason",
                  reason, listen_code(&listener).text);
    error_finish(&listener.refusal);
    if (!plugin->plugin) return TN_UNSUPPORTED;
    plugin->entered = plugin->plugin;
    if (plugin->registry->options.wrap) plugin->plugin = plugin->registry->options.wrap(plugin, plugin->plugin);
    return TN_OK;
}

static int32_t loader_open_object(struct plugin *plugin, struct error *error) {
    void *handle;
    if (!plugin->copied && object_take(plugin) == OBJECT_TAKEN) {
        (void)dlerror();
        handle = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!handle)
            error_set(error, TN_INVALID, "PLUGIN_REFUSED", "%s: cannot be loaded: %s", plugin_place(plugin), dlerror());
    } else {
        bool shared = plugin->bundled && !plugin->copied;
        handle = shared ? copy_take(plugin) : NULL;
        if (!handle) {
            handle = loader_open_copy(plugin->path, error);
            if (handle && shared) copy_add(plugin, handle);
        }
    }
    if (!handle) return TN_INVALID;
    void *symbol = dlsym(handle, ENTRY);
    const tn_plugin *TN_FN(entry)(const tn_host *);
    _Static_assert(sizeof entry == sizeof symbol, "POSIX: a function's address fits a pointer");
    memcpy(&entry, &symbol, sizeof entry);
    if (!symbol)
        return error_set(error, TN_INVALID, "PLUGIN_INVALID", "%s: plugin `%s` does not export " ENTRY,
                         plugin_place(plugin), plugin->id);
    return loader_enter(plugin, entry, error);
}

/* Its variables belong to one host at a time, as those of a file, but there is no second copy of it. */
static int32_t loader_enter_linked(struct plugin *plugin, struct error *error) {
    enum object_use use = object_take(plugin);
    if (use == OBJECT_IN_USE)
        return error_set(
            error, TN_UNSUPPORTED, "PLUGIN_REFUSED",
            "%s: plugin `%s` is a part of this program, and another host of the program uses it; close that "
            "host first",
            plugin_place(plugin), plugin->id);
    if (use == OBJECT_UNUSABLE)
        return error_set(error, TN_UNSUPPORTED, "PLUGIN_REFUSED",
                         "%s: plugin `%s` is a part of this program, and a task of it had not ended when the host that "
                         "used it was closed; the task may still use its variables, so this process cannot use the "
                         "plugin again: end every task after it is cancelled",
                         plugin_place(plugin), plugin->id);
    return loader_enter(plugin, plugin->entry, error);
}

/* Starts no code here: the plugin's own process loads it. */
static int32_t loader_open_remote(struct plugin *plugin, struct error *error) {
    const struct registry_options *options = &plugin->registry->options;
    if (!options->isolation)
        return error_set(error, TN_UNSUPPORTED, "PLUGIN_REFUSED",
                         "%s: plugin `%s` must run in a separate process, but this host cannot isolate plugins",
                         plugin_place(plugin), plugin->id);
    plugin->plugin = options->isolation->open(options->user, plugin);
    tn_value provides = value_get(manifest_plugin(plugin_manifest(plugin)), "provides");
    for (size_t i = 0; i < value_count(provides); i++) {
        const char *id = value_chars(value_at(provides, i), NULL);
        if (plugin->plugin->get(plugin->plugin->self, id)) continue;
        return error_set(
            error, TN_UNSUPPORTED, "PLUGIN_REFUSED",
            "%s: plugin `%s` provides `%s` to the host; a plugin that provides it cannot run in a separate "
            "process",
            plugin->path, plugin->id, id);
    }
    return TN_OK;
}

static int32_t loader_check_size(const struct plugin *plugin, const char *what, uint64_t found, size_t expected,
                                 struct error *error) {
    if (found == expected) return TN_OK;
    return error_set(error, TN_INVALID, "PLUGIN_INVALID",
                     "%s: plugin `%s`: its %s has %" PRIu64
                     " bytes, this host's %zu: they were built from different headers; "
                     "build the plugin against a released tenon.h",
                     plugin->path, plugin->id, what, found, expected);
}

/* Checks that the code offers what the manifest promises. */
static int32_t loader_check_vtables(struct plugin *plugin, struct error *error) {
    int32_t status = loader_check_size(plugin, "tn_plugin", plugin->plugin->size, sizeof(tn_plugin), error);
    if (status != TN_OK) return status;
    if (!plugin->plugin->get)
        return error_set(error, TN_INVALID, "PLUGIN_INVALID", "%s: plugin `%s`: tn_plugin.get is NULL",
                         plugin_place(plugin), plugin->id);
    void *self = plugin->plugin->self;
    const tn_component_1 *components = plugin->plugin->get(self, TN_COMPONENT_1);
    const tn_lifecycle_1 *lifecycle = plugin->plugin->get(self, TN_LIFECYCLE_1);
    tn_value provides = value_get(manifest_plugin(plugin_manifest(plugin)), "provides");
    bool promised = value_count(manifest_components(plugin_manifest(plugin))) > 0 ||
                    value_count(value_get(manifest_plugin(plugin_manifest(plugin)), "dynamic")) > 0;
    if (promised && !components)
        return error_set(error, TN_INVALID, "PLUGIN_INVALID",
                         "%s: plugin `%s`: its manifest has components, but its code does not offer " TN_COMPONENT_1,
                         plugin_place(plugin), plugin->id);
    if (components) status = loader_check_size(plugin, "tn_component_1", components->size, sizeof *components, error);
    if (status == TN_OK && components && (!components->create || !components->start || !components->destroy))
        return error_set(error, TN_INVALID, "PLUGIN_INVALID", "%s: plugin `%s`: tn_component_1.%s is NULL",
                         plugin_place(plugin), plugin->id,
                         !components->create  ? "create"
                         : !components->start ? "start"
                                              : "destroy");
    if (status == TN_OK && lifecycle)
        status = loader_check_size(plugin, "tn_lifecycle_1", lifecycle->size, sizeof *lifecycle, error);
    for (size_t i = 0; status == TN_OK && i < value_count(provides); i++)
        if (!plugin->plugin->get(self, value_chars(value_at(provides, i), NULL)))
            status = error_set(error, TN_INVALID, "PLUGIN_INVALID",
                               "%s: plugin `%s`: its manifest provides `%s`, but its code does not offer it",
                               plugin_place(plugin), plugin->id, value_chars(value_at(provides, i), NULL));
    plugin->components = components;
    plugin->lifecycle = lifecycle;
    return status;
}

static void loader_on_started(struct plugin *plugin, const struct error *error);

/* TN_AGAIN: loader_on_started will be called. */
static int32_t loader_start_process(struct plugin *plugin, tn_value section, struct error *error) {
    const struct isolation *isolation = plugin->registry->options.isolation;
    int32_t status;
    if (plugin->registry->defers && isolation->start_later)
        status = isolation->start_later(plugin->plugin, section, loader_on_started, error);
    else
        status = isolation->start(plugin->plugin, section, error);
    plugin->loading = status == TN_AGAIN;
    plugin->start_failed = status != TN_OK && !plugin->loading;
    return status;
}

static int32_t loader_initialise(struct plugin *plugin, struct error *error) {
    tn_value section = NULL;
    int32_t status = plugin_section(plugin, &section, error);
    if (status != TN_OK) return status;
    if (plugin->isolated) {
        status = loader_start_process(plugin, section, error);
    } else if (plugin->lifecycle && plugin->lifecycle->init) {
        struct listener listener;
        listen_begin(&listener, plugin);
        status = plugin->lifecycle->init(plugin->plugin->self, section);
        const char *reason = listen_end(&listener);
        if (status != TN_OK)
            error_set(error, status, "PLUGIN_REFUSED",
                      "%s: plugin `%s` %s could not initialise itself (status %d)%s%s%s", plugin_place(plugin),
                      plugin->id, plugin->version, status, *reason ? ": " : ", and reported no reason", reason,
                      listen_code(&listener).text);
        error_finish(&listener.refusal);
    }
    value_unref(section);
    return status;
}

/* Sets the state after the last step, which may have failed. Takes what `why` has. */
static int32_t loader_finish(struct plugin *plugin, int32_t status, struct error *why, struct error *error) {
    if (status == TN_OK) {
        plugin->state = PLUGIN_LOADED;
        plugin->loaded_as = ++plugin->registry->loads;
    } else {
        loader_release_object(plugin);
        if (plugin->isolated && plugin->plugin) plugin->registry->options.isolation->close(plugin->plugin);
        if (plugin->isolated) plugin->plugin = NULL;
        secrets_scrub_error(plugin->registry->options.secrets, why);
        plugin_refuse(plugin, status, why);
        error_copy(error, why);
        registry_note_change(plugin->registry); /* its components are not usable any more */
    }
    error_finish(why);
    return status;
}

static void loader_on_started(struct plugin *plugin, const struct error *error) {
    struct error why = ERROR_INIT;
    if (error) error_copy(&why, error);
    plugin->loading = false;
    plugin->start_failed = error != NULL;
    (void)loader_finish(plugin, error ? TN_FAILED : TN_OK, &why, NULL);
}

static int32_t loader_refuse_loading(struct plugin *plugin, struct error *error) {
    plugin->registry->deferred = true;
    return error_set(error, TN_AGAIN, "PLUGIN_BUSY", "plugin `%s` is being loaded; try again", plugin->id);
}

int32_t plugin_load(struct plugin *plugin, struct error *error) {
    if (plugin->state == PLUGIN_LOADED) return TN_OK;
    plugin_realise(plugin); /* other threads use the manifest of a loaded plugin; this may refuse it */
    if (plugin->state == PLUGIN_REFUSED) {
        error_copy(error, &plugin->refusal);
        return TN_UNSUPPORTED;
    }
    if (plugin->state != PLUGIN_KNOWN) return plugin_refuse_state(plugin, error);
    if (plugin->loading) return loader_refuse_loading(plugin, error);
    struct error why = ERROR_INIT;
    int32_t status = loader_preflight(plugin, &why);
    if (status == TN_OK && !plugin->native && !plugin->program) status = loader_check_object(plugin, &why);
    if (status == TN_OK && !plugin->native)
        status = plugin->isolated ? loader_open_remote(plugin, &why) : loader_open_object(plugin, &why);
    if (status == TN_OK && plugin->entry) status = loader_enter_linked(plugin, &why);
    if (status == TN_OK) status = loader_check_vtables(plugin, &why);
    if (status == TN_OK) status = loader_initialise(plugin, &why);
    return plugin->loading ? loader_refuse_loading(plugin, error) : loader_finish(plugin, status, &why, error);
}

/* ---- Loading without waiting ---- */

void registry_defer_loads(struct registry *registry, bool on) {
    registry->defers = on;
    if (on) registry->deferred = false;
}

bool registry_has_deferred(const struct registry *registry) { return registry->deferred; }

bool registry_is_loading(const struct registry *registry) {
    for (size_t i = 0; i < registry->plugin_count; i++)
        if (registry->plugins[i]->loading) return true;
    return false;
}

void registry_abort_loads(struct registry *registry) {
    for (size_t i = 0; i < registry->plugin_count; i++) {
        struct plugin *plugin = registry->plugins[i];
        if (!plugin->loading) continue;
        plugin->loading = false;
        registry->options.isolation->close(plugin->plugin);
        plugin->plugin = NULL;
        plugin->components = NULL;
        plugin->lifecycle = NULL;
    }
}
