/*
 * registry.h - all known plugins, and their components by kind and id.
 *
 * A plugin's code is loaded and initialised only when one of its components is resolved; until then the registry knows
 * only its manifest. Schemas are compiled on first use. Rows are not freed before the registry, so borrowed results
 * stay valid for the registry's life.
 *
 * If two plugins claim the same component, or two files the same plugin id, the one in the earlier place of the search
 * path is used and shadows the other. If both are in the same place, neither can be used: resolving fails with an error
 * that names both files. A plugin that claims a reserved name (reserved.h) is refused and affects no other plugin.
 *
 *     struct registry *registry = registry_new(&(struct registry_options){.interfaces = table, .user = host});
 *     registry_scan(registry, &search, &error);                       // manifests only
 *     if (registry_resolve(registry, "node", "acme.judge", &component, &error) != TN_OK) return report(&error);
 *     component->vtable->create(component->self, component->info->id, config, binder, &instance);
 *     registry_free(registry);                                        // deinit of every loaded plugin
 *
 * Thread: every function is [loop] unless it says otherwise.
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_REGISTRY_H
#define TENON_HOST_PLUGIN_REGISTRY_REGISTRY_H

#include "adl/document/catalog.h"
#include "adl/value/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <tenon/demand.h>
#include <tenon/registry.h>

struct loop;
struct plugin; /* plugin.h */
struct registry;
struct search;
struct secrets;

#define REGISTRY_PLUGINS_MAX    1000u   /* plugins of one registry, including refused ones */
#define REGISTRY_COMPONENTS_MAX 100000u /* components of one registry, including removed ones */
#define REGISTRY_EXPECT_MS      60000 /* longest wait for components that a plugin has announced (registry_1.expect) */
#define REGISTRY_LEAVE_MS       2000 /* longest wait at the end of the host for plugins that have expected components */
#define REGISTRY_PROBLEMS_MAX   200u /* problems stored; further ones are only counted */

/* An interface that plugins may request. A table of them ends with a row whose id is NULL. */
struct registry_interface {
    const char *id;
    const void *vtable; /* valid for the registry's life */
    bool draft;         /* offered only to bundled plugins, unless drafts are allowed */
    /* [loop] The plugin has ended, or was refused: release what it left behind. Repeatable. May be NULL. */
    void (*ended)(struct plugin *plugin);
};

/* How isolated plugins run: implemented by plugin/isolate/remote.h. */
struct isolation {
    bool (*wanted)(void *user, const struct plugin *plugin); /* called once, after its manifest has been read */
    const tn_plugin *(*open)(void *user, struct plugin *plugin);
    int32_t (*start)(const tn_plugin *end, tn_value config, struct error *error);
    void (*close)(const tn_plugin *end); /* called for a refused plugin; deinit closes the others */
    /*
     * Clears the pause and the count of deaths, of this host and of others. `end` is NULL if the plugin is not loaded
     * or not known. Returns the number of deaths that were cleared.
     */
    int64_t (*reset)(void *user, const char *plugin_id, const tn_plugin *end);
    /*
     * `start` without waiting. TN_AGAIN: `started` is called once, later, with NULL or the error, unless `close` is
     * called before. NULL: every load waits.
     */
    int32_t (*start_later)(const tn_plugin *end, tn_value config,
                           void (*started)(struct plugin *plugin, const struct error *error), struct error *error);
};

/* Check mode (plugin/conformance/guard.h): called around every callback into a plugin: a post, a descriptor, HTTP. */
struct registry_watch {
    void *(*enter)(const struct plugin *plugin);
    void (*leave)(void *before); /* what enter returned */
};

struct registry_options {
    const struct registry_interface *interfaces; /* borrowed for the registry's life; may be NULL */
    bool allow_drafts;                           /* for every plugin */
    /* True if this plugin may use draft interfaces. Called once, after its manifest has been read. May be NULL. */
    bool (*drafts)(void *user, const char *plugin_id);
    bool names_checked; /* the caller has checked reserved names: a child process, whose host has */
    /*
     * Returns the plugin's section of the configuration: *out is an object, a new reference, or NULL if it has none. On
     * failure the plugin is refused with the error. Exception: if secrets could not be fetched, *out may be the section
     * with {secret: NAME} left in place; then only the items with these are omitted, if they are optional
     * (plugin_section.c). May be NULL.
     */
    int32_t (*config)(void *user, const char *plugin_id, tn_value *out, struct error *error);
    /*
     * The plugin's section as it is configured, with {secret: NAME}; borrowed, NULL if it has none. Called often: it
     * must be quick, and must fetch no secret. May be NULL: then every section may have any items.
     */
    tn_value (*section)(void *user, const char *plugin_id);
    /*
     * The rows of `providers` in tenon.yaml, {NAME: {provider, …}}; borrowed; NULL if there are none. Called often. May
     * be NULL.
     */
    tn_value (*providers)(void *user);
    /* Wraps the vtable of a plugin of this process: check mode (plugin/conformance/guard.h). May be NULL. */
    const tn_plugin *(*wrap)(struct plugin *plugin, const tn_plugin *end);
    const struct registry_watch *watch; /* borrowed for the registry's life; NULL if callbacks are not watched */
    /* The folder against which file names in that section are resolved. If it, or its result, is NULL, names stay
     * unchanged. */
    const char *(*folder)(void *user, const char *plugin_id);
    /*
     * Resolves a file name in that section with a special meaning, such as `pack:NAME/FILE`: *path becomes its
     * path, to be freed with mem_free. TN_NOT_FOUND if the name is an ordinary one. May be NULL.
     */
    int32_t (*locate)(void *user, const char *name, char **path, struct error *error);
    const struct isolation *isolation; /* NULL if every plugin runs in this process */
    /*
     * Runs the loop until done(of) is true, and returns true; or returns false after `ms`. If it is NULL, the registry
     * does not wait for announced components.
     */
    bool (*wait)(void *user, int64_t ms, bool (*done)(void *of), void *of);
    /* Nothing is started to find components: only those are added that plugins know already (tenon/demand.h). */
    bool known_only;
    /*
     * For `plugin check`, which runs plugins in a forked child; each may be NULL. The child calls `forked` first.
     * `settle` runs the loop until done(of) is true or a time limit has passed.
     */
    void (*forked)(void *user);
    /* [any] A plugin has requested an interface; `offered` is false if it gets NULL. */
    void (*requested)(const struct plugin *plugin, const char *interface_id, bool offered);
    void (*settle)(void *user, bool (*done)(void *of), void *of);
    struct loop *loop;       /* the loop of the interfaces, which is freed after the registry; if NULL, they fail */
    struct secrets *secrets; /* removed from what plugins log and add; may be NULL */
    /* Returns the object that the interface of this id works on (registry_owner). May be NULL. */
    void *(*owner)(void *user, const char *interface_id);
    /*
     * The folder with what is known of plugin files (manifest_cache.h), borrowed for the registry's life; NULL: each
     * scan reads every file. `cache_refresh`: it reads them, and writes the cache.
     */
    const char *cache_place;
    bool cache_refresh;
    void *user; /* the first argument of the callbacks above */
};

/* A resolved component: its plugin's code is loaded. */
struct component {
    const struct component_info *info;
    struct plugin *plugin; /* never NULL; native components have a plugin without a file */
    const tn_component_1 *vtable;
    void *self; /* create's first argument */
    bool blocking, reentrant;
    bool removed; /* removed at run time; existing instances continue */
};

struct registry *registry_new(const struct registry_options *options); /* options are copied; NULL means all empty */
/* Ends every plugin (quiesce, deinit). It must have no tasks or instances. NULL is allowed. */
void registry_free(struct registry *registry);
struct loop *registry_loop(const struct registry *registry);       /* [any] may be NULL */
struct secrets *registry_secrets(const struct registry *registry); /* [any] may be NULL */
/* [any] The object that the interface `id` works on, in a type that the interface defines; or NULL. */
void *registry_owner(const struct registry *registry, const char *id);
/* [any] options.watch; may be NULL. */
const struct registry_watch *registry_watch(const struct registry *registry);

/* ---- Finding plugins ---- */

/*
 * Reads the manifest of every plugin that `search` lists. A bad plugin becomes a problem (registry_problem_at) and does
 * not affect the others. Returns TN_OK, or the first failure of a path that the user typed.
 */
int32_t registry_scan(struct registry *registry, const struct search *search, struct error *error);
/* Adds one file at run time. `source` names its origin in messages: "--plugins", "tenon/plugin/load". */
int32_t registry_add_file(struct registry *registry, const char *path, const char *source, struct error *error);

/*
 * Adds components of the process itself. `manifest` is a complete manifest: {"plugin": {id, version, title},
 * "components": […]}. `plugin` is what a plugin's entry would return, with TN_COMPONENT_1 and TN_LIFECYCLE_1; it must
 * outlive the registry. `source` is copied; it names the origin in messages. To get its tn_host, call plugin_host with
 * registry_plugin.
 */
int32_t registry_add_native(struct registry *registry, tn_value manifest, const tn_plugin *plugin, const char *source,
                            struct error *error);

/*
 * Adds a plugin that is linked into the process. `entry` is its tn_plugin_entry_1, and is called when one of its
 * components is resolved. `manifest` is complete, or NULL: then it is read from the notes of the object that contains
 * the entry. Unlike a native plugin it has no privileges. Fails with NAME_RESERVED, with PLUGIN_DUPLICATE if a plugin
 * or a component of the same id exists, and like manifest_read; then nothing is added.
 */
typedef const tn_plugin *TN_FN(registry_entry)(const tn_host *host);
int32_t registry_add_linked(struct registry *registry, registry_entry entry, tn_value manifest, const char *source,
                            struct error *error);
/* PLUGIN_DUPLICATE if the registry has such a component already. */
int32_t registry_check_free(struct registry *registry, const char *source, const char *kind, const char *id,
                            struct error *error);

struct problem {
    const char *path; /* "" if the problem is not in a file */
    const char *code; /* "PLUGIN_INVALID", "MANIFEST_INVALID", "PLUGIN_DUPLICATE", … */
    const char *message;
    const char *rival; /* PLUGIN_DUPLICATE: the file of the other plugin; otherwise NULL */
};
/* Problems of plugins, in the order found. Borrowed. */
size_t registry_problems(const struct registry *registry);
const struct problem *registry_problem_at(const struct registry *registry, size_t index);
/*
 * Names the files of packs that are not used because they were altered, as the end of a message that a plugin or a
 * component is missing: "; it may be in FILE, …". "" if there are none. Borrowed until the next problem.
 */
const char *registry_altered(struct registry *registry);

struct plugin *registry_plugin(struct registry *registry, const char *plugin_id); /* NULL if unknown */
/* In order of id, including refused plugins. */
void registry_each_plugin(struct registry *registry, void (*visit)(void *user, struct plugin *plugin), void *user);
/* The same, and also plugins that are only listed: shadowed ones, and those that claim a reserved name. */
void registry_each_found_plugin(struct registry *registry, void (*visit)(void *user, struct plugin *plugin),
                                void *user);

/* ---- Components ---- */

/*
 * Resolves a component, and loads its plugin if necessary. If no manifest has the component, plugins that add
 * components of this kind at run time are loaded too. For a preset, it is the component that the preset stands for: its
 * configuration is in the catalog (preset.h). *out is borrowed from the registry. Fails with TN_NOT_FOUND (code
 * NOT_FOUND or TOOL_NOT_FOUND; the message suggests the nearest name), or as plugin_load does.
 */
int32_t registry_resolve(struct registry *registry, const char *kind, const char *id, struct component **out,
                         struct error *error);
/*
 * catalog.find that also loads plugins: if no manifest has the name, it loads the plugins that add components of the
 * kind at run time, but only those whose code is safe to run during a check (bundled or isolated).
 */
const struct component_info *registry_find(void *registry, const char *kind, const char *id, size_t length);
/* True if every component of the kind is known: each plugin that adds such components at run time is loaded. */
bool registry_knows_all(const struct registry *registry, const char *kind);
/* With options.known_only: true if a component of this id may exist that would be known only after something has been
 * started. Otherwise false. */
bool registry_may_have(const struct registry *registry, const char *kind, const char *id);
/*
 * True if components of the kind may exist that are not known: a plugin that adds such at run time is not loaded yet,
 * or, with options.known_only, it is loaded but does not know all of them without starting something.
 */
bool registry_has_unloaded(const struct registry *registry, const char *kind);
/*
 * Loads the plugins that add components of the kind at run time, and waits for components whose ids match `pattern`, in
 * which `*` stands for any characters. Failures are logged.
 */
void registry_load_dynamic(struct registry *registry, const char *kind, const char *pattern);
/*
 * Loads the plugins that came with the host and add components at run time, as far as `may` allows. Does not wait for
 * these components. Failures are logged.
 */
void registry_load_bundled_dynamic(struct registry *registry, bool (*may)(void *user, const struct plugin *plugin),
                                   void *user);
/* What the registry knows about a component without loading a plugin; NULL if it is unknown. */
const struct component_info *registry_known(const struct registry *registry, const char *kind, const char *id);
/* False for a component of a quiesced plugin. `component` is the registry's. */
bool registry_offers(const struct component_info *component);
/* Sets find, each, usable, plugin_version, each_plugin and self (the registry) of a catalog. */
void registry_catalog(struct registry *registry, struct catalog *catalog);

/* ---- Loading without waiting ---- */

/*
 * While on, plugin_load does not wait for the process of an isolated plugin: it starts it, and fails with TN_AGAIN
 * (PLUGIN_BUSY). The load ends later; then plugin_load can be called again.
 */
void registry_defer_loads(struct registry *registry, bool on);
bool registry_has_deferred(const struct registry *registry); /* plugin_load has failed so since registry_defer_loads */
bool registry_is_loading(const struct registry *registry);   /* a load that was started so has not ended */
/* Ends the processes of plugins that are being loaded; they can be loaded again. */
void registry_abort_loads(struct registry *registry);

/* ---- At run time (tenon/registry.h) ---- */

/* Adds a component of a kind that the plugin's manifest declares as dynamic. Fails with TN_INVALID or TN_LIMIT. */
int32_t registry_add_component(struct plugin *plugin, tn_value component, struct error *error);
int32_t registry_remove_component(struct plugin *plugin, const char *kind, const char *id, struct error *error);
/* The plugin announces that it will add components soon (`more`), or that it has added all (registry_1.expect). */
void registry_expect(struct plugin *plugin, bool more);
/* The plugin's function for tenon/demand.h; NULL removes it. */
void registry_watch_demand(struct plugin *plugin, tn_demand demand, void *user);
/* True if components of the kind that match the pattern are being started, and were not added yet. */
bool registry_is_coming(struct registry *registry, const char *kind, const char *pattern);
bool registry_has_demand(const struct plugin *plugin);
/* Calls it for one kind and pattern; `how` is TN_DEMAND_…. False if there is none. */
bool registry_demand_one(const struct plugin *plugin, const char *kind, size_t kind_length, const char *pattern,
                         size_t length, int32_t how);
void registry_demand_all(const struct plugin *plugin); /* calls it for every component; nothing if there is none */
/* True while a plugin has announced components that it has not added yet. */
bool registry_is_expecting(const struct registry *registry);
/*
 * Before the host ends: quiesces plugins that have used registry_1.expect, and waits until they need no more time, for
 * at most REGISTRY_LEAVE_MS.
 */
void registry_take_leave(struct registry *registry);
/* Increments whenever a component or plugin is added or removed: data derived from the catalog is then stale. */
uint64_t registry_generation(const struct registry *registry);
/* Calls `changed` for each such change, while it is made: the function must only note it. NULL removes it. */
void registry_on_change(struct registry *registry, void (*changed)(void *user), void *user);

/*
 * Replaces the plugin of the same id by the build at `path`: new instances are created by the new build, and existing
 * ones finish with the old. If the new build is refused, nothing changes.
 */
int32_t registry_upgrade(struct registry *registry, const char *path, const char *source, struct error *error);
/* Ends replaced plugins that have no instances left. */
void registry_sweep(struct registry *registry);
uint64_t registry_upgrades(const struct registry *registry); /* number of upgrades so far */

/*
 * `tenon plugin reset`: an isolated plugin whose processes keep ending is started again at once, and its deaths are
 * forgotten. If it was refused because its first process could not be started, it can be loaded again. *deaths becomes
 * the number of deaths that were cleared. Fails with TN_NOT_FOUND if there is neither such a plugin nor a death.
 */
int32_t registry_reset_plugin(struct registry *registry, const char *plugin_id, int64_t *deaths, struct error *error);

/*
 * Calls quiesce and deinit, and removes the plugin's components. The code stays mapped. While the plugin has instances
 * or open tasks, it returns TN_AGAIN (PLUGIN_BUSY), and nothing changes. `live` adds their names to the message; it may
 * be NULL.
 */
struct buffer;
int32_t registry_unload(struct registry *registry, const char *plugin_id,
                        void (*live)(void *user, const struct plugin *plugin, struct buffer *which), void *user,
                        struct error *error);
/*
 * Unloads the plugin now, or, if it has instances or open tasks, when the last of them has ended; until then it is
 * quiesced: it creates no instances. Only then its lifecycle's quiesce is called, so registry_resume can undo it.
 */
int32_t registry_quiesce(struct registry *registry, const char *plugin_id, struct error *error);
/* Makes a quiesced plugin usable again. False if it is not quiesced, or its lifecycle's quiesce was called. */
bool registry_resume(struct plugin *plugin);
bool registry_is_quiescing(const struct registry *registry); /* true while a plugin is quiesced */

#endif
