/*
 * registry.h - every component there is, by kind and id, and the plugins they come from.
 *
 * Plugins are known by their manifests alone until one of their components is resolved: then, and only then, their
 * code is loaded and initialised. Schemas are compiled when a component is first asked for. A component whose id two
 * plugins claim, and a plugin whose id two files claim, belong to none of them: resolving one is refused, naming both
 * files. Rows are never freed before the registry: what is borrowed from here stays valid while it lives.
 *
 *     struct registry *registry = registry_new(&(struct registry_options){.interfaces = table, .user = host});
 *     registry_scan(registry, &search, &error);                       // manifests only
 *     if (registry_resolve(registry, "node", "acme.judge", &component, &error) != TN_OK) return report(&error);
 *     component->vtable->create(component->self, component->info->id, config, binder, &instance);
 *     registry_free(registry);                                        // deinit of all that was loaded
 *
 * Everything is [loop] unless it says otherwise.
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_H
#define TENON_HOST_PLUGIN_REGISTRY_H

#include "adl/document/catalog.h"
#include "adl/value/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <tenon/expect.h>
#include <tenon/registry.h>

struct plugin; /* plugin.h */
struct registry;
struct search;

#define REGISTRY_PLUGINS_MAX    1000u   /* plugins known at once, refused ones included */
#define REGISTRY_COMPONENTS_MAX 100000u /* components ever known to one registry, removed ones included */
#define REGISTRY_EXPECT_MS      60000   /* waited for at most, for what a plugin says that it will add */
#define REGISTRY_PROBLEMS_MAX   200u    /* problems kept; further ones are counted */

/* An interface that plugins may ask for. A table of them ends with a row whose id is NULL. */
struct registry_interface {
    const char *id;
    const void *vtable; /* static for the registry's life */
    bool draft;         /* offered to bundled plugins, and to others where drafts are allowed */
    /* [loop] The plugin has ended, or is refused: what it left behind is let go of. May be called again. May be NULL.
     */
    void (*ended)(struct plugin *plugin);
};

/* How plugins run in processes of their own: isolate/remote.h, or nothing. */
struct isolation {
    bool (*wanted)(void *user, const struct plugin *plugin); /* asked once, when its manifest has been read */
    const tn_plugin *(*open)(void *user, struct plugin *plugin);
    int32_t (*start)(const tn_plugin *end, tn_value config, struct error *error);
    void (*close)(const tn_plugin *end); /* of one that was refused; its lifecycle's deinit does it otherwise */
};

struct registry_options {
    const struct registry_interface *interfaces; /* borrowed for the registry's life; NULL: none */
    bool allow_drafts;
    /*
     * The section of the configuration for a plugin: an object, a new reference; NULL in *out is none. Not TN_OK: the
     * plugin is refused with the error, unless *out is the section with {secret: NAME} where there was none to be had,
     * and all of these are of items that may be left out (section.c). May be NULL.
     */
    int32_t (*config)(void *user, const char *plugin_id, tn_value *out, struct error *error);
    /* What a plugin of this process is seen through: check mode (interface/guard.h). May be NULL. */
    const tn_plugin *(*wrap)(struct plugin *plugin, const tn_plugin *end);
    /* The folder that names of files in that section are relative to; NULL in and out are allowed: they stay. */
    const char *(*folder)(void *user, const char *plugin_id);
    const struct isolation *isolation; /* NULL: every plugin runs in this process */
    /*
     * Lets time pass until done(of) is true; false: it is not, and REGISTRY_EXPECT_MS are over. May be NULL: nobody
     * waits.
     */
    bool (*wait)(void *user, bool (*done)(void *of), void *of);
    /*
     * For plugin_check, which runs plugins in a child of fork; each may be NULL. `forked` is called there before
     * anything else; `settle` runs what plugins wait for until done(of) is true, or it has been long enough.
     */
    void (*forked)(void *user);
    void (*settle)(void *user, bool (*done)(void *of), void *of);
    void *user; /* registry_user gives it back: how interfaces find their host */
};

/* A component ready to make instances: its plugin's code is loaded. */
struct component {
    const struct component_info *info;
    struct plugin *plugin; /* never NULL: components of the process itself have one without a file */
    const tn_component_1 *vtable;
    void *self; /* create's first argument */
    bool blocking, reentrant;
    bool removed; /* taken back at run time: instances that exist go on */
};

struct registry *registry_new(const struct registry_options *options); /* options are copied; NULL: all empty */
/* Ends every plugin (quiesce, deinit); their tasks and instances must be gone. NULL is allowed. */
void registry_free(struct registry *registry);
void *registry_user(const struct registry *registry);

/* ---- Knowing plugins ---- */

/*
 * Reads the manifests of every plugin that `search` lists. What is wrong with one plugin is a problem of that plugin
 * (registry_problem_at) and not of the others. TN_OK, or the first failure that concerns a path somebody typed.
 */
int32_t registry_scan(struct registry *registry, const struct search *search, struct error *error);
/* One file more, at run time. `source` says who asked for it: "--plugins", "tenon/plugin/load". */
int32_t registry_add_file(struct registry *registry, const char *path, const char *source, struct error *error);

/*
 * Components of the process itself. `manifest` is a whole manifest, {"plugin": {id, version, title}, "components":
 * […]}; `plugin` is what a plugin's entry would have returned, asked for TN_COMPONENT_1 and TN_LIFECYCLE_1; it must
 * live as long as the registry. `source` is copied: where it came from, for people. The host's end (tn_host) for it is
 * plugin_host of registry_plugin.
 */
int32_t registry_add_native(struct registry *registry, tn_value manifest, const tn_plugin *plugin, const char *source,
                            struct error *error);

struct problem {
    const char *path; /* "" where no file is to blame */
    const char *code; /* "PLUGIN_INVALID", "MANIFEST_INVALID", "PLUGIN_DUPLICATE", … */
    const char *message;
};
/* What is wrong with plugins that were found, in the order found. Borrowed. */
size_t registry_problems(const struct registry *registry);
const struct problem *registry_problem_at(const struct registry *registry, size_t index);

struct plugin *registry_plugin(struct registry *registry, const char *plugin_id); /* NULL where unknown */
/* In order of id, refused ones included. */
void registry_each_plugin(struct registry *registry, void (*visit)(void *user, struct plugin *plugin), void *user);

/* ---- Components ---- */

/*
 * The component, with its plugin loaded and initialised now if it was not. One that nobody's manifest has is looked for
 * among those that plugins add at run time: each that says so of its kind is loaded. *out is borrowed from the
 * registry. Fails with TN_NOT_FOUND (<KIND>_NOT_FOUND: the message has the nearest name), or as plugin_load does.
 */
int32_t registry_resolve(struct registry *registry, const char *kind, const char *id, struct component **out,
                         struct error *error);
/*
 * A catalog's find that looks further: where no manifest has the name, plugins that add components of the kind at run
 * time are loaded, as far as that is safe for somebody who only asks (bundled, or in a process of their own).
 */
const struct component_info *registry_find(void *registry, const char *kind, const char *id, size_t length);
/* Whether every component of the kind is known: no plugin that adds such at run time is left to be loaded, or failed.
 */
bool registry_knows_all(const struct registry *registry, const char *kind);
/* Loads the plugins that add components of the kind at run time; those that cannot be loaded are logged. */
void registry_load_dynamic(struct registry *registry, const char *kind);
/* What is known of it without loading anything; NULL where nothing is. */
const struct component_info *registry_known(const struct registry *registry, const char *kind, const char *id);
/* Fills find, each, plugin_version, each_plugin and self (the registry); leaves the files to the caller. */
void registry_catalog(struct registry *registry, struct catalog *catalog);

/* ---- At run time (tenon/registry.h) ---- */

/* The draft's vtable, for the table of interfaces. */
extern const tn_registry_draft registry_draft;
extern const tn_expect_draft registry_expect_draft;
/* A component of a kind that the plugin's manifest declares dynamic. TN_INVALID, TN_LIMIT. */
int32_t registry_add_component(struct plugin *plugin, tn_value component, struct error *error);
int32_t registry_remove_component(struct plugin *plugin, const char *kind, const char *id, struct error *error);
/* The plugin says that it will add components soon, or that these are all (tenon.expect). */
void registry_expect(struct plugin *plugin, bool more);
/* Whether any of them does that may add components of the kind at run time; NULL: of any. */
bool registry_expecting(const struct registry *registry, const char *kind);
/* Before everything ends: those that have used it are quiesced, and may go on expecting while they take leave. */
void registry_take_leave(struct registry *registry);
/* Grows with every component or plugin that comes or goes: what was derived from the catalog is then out of date. */
uint64_t registry_generation(const struct registry *registry);

/*
 * Puts the build of a plugin that `path` is in the place of the one that is known by the same id: what is created from
 * now on is created by it. The old one finishes what it has. Where the new one is refused, nothing has changed.
 */
int32_t registry_upgrade(struct registry *registry, const char *path, const char *source, struct error *error);
/* Ends replaced plugins whose last instance is gone. */
void registry_sweep(struct registry *registry);
uint64_t registry_upgrades(const struct registry *registry); /* how many there have been */

/*
 * Quiesce, then deinit; the code stays mapped and the plugin's components are gone. TN_AGAIN (PLUGIN_BUSY) while it has
 * instances or open tasks, naming what `live` adds to `which`; it is then quiesced, and unloading may be tried again.
 * `live` may be NULL.
 */
struct buffer;
int32_t registry_unload(struct registry *registry, const char *plugin_id,
                        void (*live)(void *user, const struct plugin *plugin, struct buffer *which), void *user,
                        struct error *error);

#endif
