/*
 * plugin_internal.h - the structs of this folder: a plugin, a row of the table of components, the registry.
 *
 * Only files of this folder include it. Everything belongs to the loop, except the atomic counters.
 *
 *     struct row *row = row_find(registry, "node", id, strlen(id));
 *     if (row && !row->rival) status = plugin_load(row->component.plugin, error);
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_PLUGIN_INTERNAL_H
#define TENON_HOST_PLUGIN_REGISTRY_PLUGIN_INTERNAL_H

#include "host/base/loop.h"
#include "host/plugin/registry/manifest_cache.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/plugin/registry/registry.h"
#include <tenon/demand.h>
#include <tenon/util/sha256.h>
#include <time.h>

struct plugin {
    /* The private copy that it uses, of the list of the loader; or NULL. */
    struct loaded_copy *copy;

    tn_host host; /* passed to its entry; host.self is this plugin */
    struct registry *registry;
    char *path, *source;
    bool bundled, native; /* native: part of the process */
    bool drafts;          /* may use draft interfaces */
    bool aside;           /* shadowed, or refused because of a reserved name: it is only listed */
    bool copied;          /* always opened as a private copy of the file */
    bool replaced;        /* a newer build has replaced it (plugin_upgrade.c); only its instances still use it */
    bool program;         /* a program instead of a shared object */
    bool isolated;        /* runs in a separate process; every program does */
    bool loading;         /* its first process is being started (registry_defer_loads); the state is still known */
    bool ends;            /* its lifecycle's quiesce was called: it can only end */
    bool counted;         /* it is in the loader's list of loaded objects */
    bool start_failed;    /* refused because its first process did not start */
    bool expecting;       /* it has announced components (registry_1.expect), or needs time before it ends */
    bool expects;         /* it has ever done so */
    tn_demand demand;     /* called when someone looks for components that it may add; or NULL */
    void *demand_user;
    tn_value manifest; /* one reference; NULL until plugin_realise. Use plugin_manifest. */
    /* What the cache knows of its file, until the manifest was read or compared; else NULL. */
    const struct cached_manifest *cached;
    struct manifest_cache *cache;
    const char *id, *version, *title; /* point into the manifest, or into the cache */
    struct plugin *next_by_id;        /* in the same bucket of the registry's table */
    struct timespec changed;          /* when the file, or its attributes, changed last */
    char file_hash[TN_SHA256_TEXT];   /* "" until plugin_file_hash is called */
    uint64_t device, inode;           /* if it has `entry`: UINT64_MAX and its address */
    enum search_origin place;
    const struct plugin *shadowed_by; /* NULL unless shadowed */
    uint32_t number;
    uint32_t loaded_as; /* order of loading; plugins end in reverse order */
    enum plugin_state state;
    struct error refusal;
    struct error *refusal_place; /* plugin_set_refusal_place */
    tn_value grants;             /* effects that the operator grants in its section; an array, or NULL */
    const tn_plugin *TN_FN(entry)(const tn_host *host); /* of a native plugin with its own entry (linked.c); or NULL */
    const tn_plugin *entered;                           /* what its entry returned */
    const tn_plugin *plugin;                            /* the same, or its wrapper in check mode */
    const tn_component_1 *components;                   /* NULL if it has none */
    const tn_lifecycle_1 *lifecycle;
    _Atomic uint64_t refs, tasks, memory;
    struct poll_watches *watches;
};

/* One component; registry_resolve returns `component`. Freed with the registry. */
struct row {
    struct component component;
    struct component_info info;
    struct row *next;  /* next in the same bucket */
    struct row *base;  /* of a row of `providers` in tenon.yaml: what it is based on; else NULL */
    struct row *rival; /* another plugin's row of the same kind and id: neither is usable; else NULL */
    struct schema *config, *input, *output;
    bool at_run_time; /* the plugin added it; it is not in the manifest */
    bool compiled;
    bool named_only;          /* only its kind and id are known, from the cache; see row_realise */
    uint32_t component_place; /* in the manifest, if named_only */
    struct error broken;      /* the error of a schema that does not compile */
};

struct registry {
    struct registry_options options;
    struct plugin **plugins; /* in the order in which they were found */
    size_t plugin_count;
    struct plugin **id_buckets;     /* the same by id; each list is in the order of `plugins` */
    size_t id_bucket_count;         /* a power of two */
    struct manifest_cache **caches; /* of the folders that were scanned; plugins point into them */
    size_t cache_count;
    struct row **rows; /* all rows; in order of id and kind if `sorted` */
    size_t row_count;
    size_t removed; /* rows that are removed */
    bool sorted;
    struct row **buckets;
    size_t bucket_count; /* a power of two */
    /* Components of the cache that have no row yet (registry_named.c): a hash table with open addressing. */
    struct named_component *named;
    size_t named_capacity, named_used, named_count; /* used: also those that got a row */
    struct row **configured; /* rows of `providers` in tenon.yaml (registry_preset.c), in the order of creation */
    size_t configured_count;
    struct problem *problems;
    size_t problem_count, problems_dropped;
    char *altered;                     /* what registry_altered returned, or NULL */
    struct schema *nothing, *anything; /* schemas that accept only {}, and anything; compiled on first use */
    uint64_t generation, upgrades;
    void (*changed)(void *user); /* registry_on_change; may be NULL */
    void *changed_user;
    struct loop_timer idle_timer; /* while a quiesced plugin has instances or tasks */
    uint32_t loads;
    bool defers, deferred; /* registry_defer_loads, registry_has_deferred */
};

/* Counts a change of the components or plugins (registry_generation), and reports it. */
void registry_note_change(struct registry *registry);

/* plugin.c. Takes the manifest; copies the other arguments. */
struct plugin *plugin_new_take(struct registry *registry, tn_value manifest, const char *path, const char *source);
/* The same for the file at `path`: reads its manifest. *out is set if the result is TN_OK. */
int32_t plugin_read(struct registry *registry, const char *path, const char *source, struct plugin **out,
                    struct error *error);
/* A plugin of a file whose manifest is in the cache; it is not read yet. */
struct plugin *plugin_new_cached(struct registry *registry, struct manifest_cache *cache,
                                 const struct cached_manifest *cached, const char *path, const char *source);
/* [loop] Reads the manifest, if only the cache was read. If the cache is wrong, the plugin is refused. */
void plugin_realise(const struct plugin *plugin);
/* True if the manifest has something under `dynamic`, or `provides`; does not read it. */
bool plugin_has_dynamic(const struct plugin *plugin);
/* Takes what the manifest has. */
struct manifest;
struct plugin *plugin_of_manifest_take(struct registry *registry, struct manifest *manifest, const char *path,
                                       const char *source);
/* Decides whether the plugin is isolated; for one of the cache, plugin_realise does that. */
void plugin_settle_isolation(struct plugin *plugin);
void plugin_free(struct plugin *plugin);
/* Sets the state and keeps a copy of the error. Returns status. */
int32_t plugin_refuse(struct plugin *plugin, int32_t status, struct error *error);
/* The interface of an id, or NULL if this plugin may not use it. */
const struct registry_interface *plugin_interface_row(const struct plugin *plugin, const char *id);
/* Sets the error of a plugin that is neither known, loaded nor refused. Returns its status. */
int32_t plugin_refuse_state(const struct plugin *plugin, struct error *error);
/* Calls deinit; the state becomes unloaded. The plugin must have no instances or tasks. */
void plugin_end(struct plugin *plugin);

/* registry.c: takes the plugin and decides whether it is isolated. */
void registry_add_plugin(struct registry *registry, struct plugin *plugin);
/* registry.c: takes the plugin and adds its components. Failures become problems. */
int32_t registry_add_plugin_take(struct registry *registry, struct plugin *plugin, struct error *error);

/*
 * plugin_section.c: the plugin's section of the configuration, validated, with defaults and absolute paths. *out is an
 * object, a new reference.
 */
int32_t plugin_section(struct plugin *plugin, tn_value *out, struct error *error);
/* `from` with the value at the JSON Pointer `pointer` replaced; a new reference. */
tn_value section_replace(tn_value from, const char *pointer, tn_value by);

/* loader.c: the plugin no longer uses its shared object. */
void loader_release_object(struct plugin *plugin);

/* registry_dynamic.c */
bool plugin_is_dynamic(const struct plugin *plugin, const char *kind); /* its manifest declares the kind as dynamic */
/*
 * row_find, but also loads plugins that add components of the kind at run time. `only_safe`: only those whose code may
 * run during a check (bundled or isolated).
 */
struct row *row_search(struct registry *registry, const char *kind, const char *id, size_t length, bool only_safe);

/* registry_rows.c: the table of components. A removed row is not found. */
struct row *row_find(const struct registry *registry, const char *kind, const char *id, size_t length);
/* Adds a row for a component. TN_LIMIT after REGISTRY_COMPONENTS_MAX. */
int32_t row_add(struct plugin *plugin, tn_value component, struct row **out, struct error *error);
/* The same for the component at this place of a manifest that is not read yet. Does not count as a change. */
int32_t row_add_named(struct plugin *plugin, uint32_t place, struct row **out, struct error *error);
uint64_t row_hash(const char *kind, const char *id, size_t length);
/* The same as row_find, but only what has a row already. */
struct row *row_lookup(const struct registry *registry, const char *kind, const char *id, size_t length);

/* registry_named.c: components that only the cache knows; a row is made for one when it is searched. */

/*
 * Adds the component at this place of a manifest that is not read yet. False if its kind and id are known already, or
 * there are too many: then nothing has changed.
 */
bool named_add(struct plugin *plugin, uint32_t place);
/* Makes the row of a component. NULL if the table does not have it. */
struct row *named_take(struct registry *registry, const char *kind, const char *id, size_t length);
/* Makes all rows: call it before going through `rows`. */
void named_take_all(struct registry *registry);
/* registry_preset.c */

/* row_find, but a row of `providers` in tenon.yaml hides others of its name. */
struct row *row_find_named(struct registry *registry, const char *kind, const char *id, size_t length);
/* True if `providers` in tenon.yaml has the name. */
bool row_is_configured(const struct registry *registry, const char *kind, const char *id, size_t length);
/* The row of the component that a preset stands for; for any other row, the row itself. NULL if it was removed. */
struct row *row_component(struct registry *registry, struct row *row);
/* Visits the rows of `providers` in the order of tenon.yaml. */
void rows_each_configured(struct registry *registry, void (*visit)(void *user, struct row *row), void *user);
void rows_free_configured(struct registry *registry);

/* Reads the manifest of a row whose kind and id come from the cache. If that fails, its plugin is refused. */
void row_realise(struct row *row);
/* Compiles its schemas, once. TN_INVALID if one does not compile: the component cannot be used. */
int32_t row_check(struct row *row, struct error *error);
/*
 * Frees the compiled schemas, which the next use compiles again. Only for a row that was just added: no caller has its
 * information yet.
 */
void row_forget_schemas(struct row *row);
void row_remove(struct registry *registry, struct row *row);
/* Adds a removed row again. No other row may have its kind and id. */
void row_restore(struct registry *registry, struct row *row);
void rows_free(struct registry *registry);
/* Sets the error for two rows that claim the same id; it names both files. Returns its status. */
int32_t row_conflict(const struct row *row, const struct row *rival, struct error *error);

#endif
