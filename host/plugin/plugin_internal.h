/*
 * plugin_internal.h - what the files of this folder share: plugins, rows of components, the registry around them.
 */
#ifndef TENON_HOST_PLUGIN_PLUGIN_INTERNAL_H
#define TENON_HOST_PLUGIN_PLUGIN_INTERNAL_H

#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"

struct plugin {
    tn_host host; /* what its entry is given; host.self is this plugin */
    struct registry *registry;
    char *path, *source;
    bool bundled, native; /* native: part of the process */
    bool copied;          /* opened as a private copy, whoever else has the file */
    bool replaced;        /* by a newer build (upgrade.c): known to nobody but its instances */
    bool program;         /* no shared object: a program */
    bool isolated;        /* runs in a process of its own; every program does */
    bool counted;         /* it is in the loader's list of objects in use */
    bool expecting;       /* it will add components soon, it says; or has something to say to others before it ends */
    bool expects;         /* it has said so before */
    tn_value manifest;    /* one reference; id, version and title point into it */
    const char *id, *version, *title;
    uint64_t device, inode;
    uint32_t number;
    uint32_t loaded_as; /* the how-manieth to be loaded: ending goes backwards */
    enum plugin_state state;
    struct error refusal;
    tn_value grants;                  /* effects that the operator grants it in its section; an array or NULL */
    const tn_plugin *entered;         /* what its entry returned */
    const tn_plugin *plugin;          /* the same, or what watches it */
    const tn_component_1 *components; /* NULL where it has none */
    const tn_lifecycle_1 *lifecycle;
    _Atomic uint64_t refs, tasks, memory;
    struct watches *watches;
};

/* One component; `component` is what registry_resolve gives. Never freed before the registry. */
struct row {
    struct component component;
    struct component_info info;
    struct row *next;  /* in its bucket */
    struct row *rival; /* another plugin's row of the same kind and id: neither is usable */
    struct schema *config, *input, *output;
    bool compiled;
    struct error broken; /* a schema of its manifest that does not compile */
};

struct registry {
    struct registry_options options;
    struct plugin **plugins; /* in the order found */
    size_t plugin_count;
    struct row **rows;         /* in order of id and kind once sorted */
    size_t row_count, removed; /* removed: of the rows */
    bool sorted;
    struct row **buckets;
    size_t bucket_count; /* a power of two */
    struct problem *problems;
    size_t problem_count, problems_dropped;
    struct schema *nothing, *anything; /* the schemas of {} and of everything; compiled when first needed */
    uint64_t generation, upgrades;
    uint32_t loads;
};

/* plugin.c. Takes the manifest; the rest is copied. */
struct plugin *plugin_new_take(struct registry *registry, tn_value manifest, const char *path, const char *source);
void plugin_free(struct plugin *plugin);
/* Sets the state and keeps a copy of the error. Returns status. */
int32_t plugin_refuse(struct plugin *plugin, int32_t status, struct error *error);
/* The table's row for an id that this plugin may have, or NULL. */
const struct registry_interface *plugin_interface_row(const struct plugin *plugin, const char *id);
/* Lifecycle's quiesce, once. */
void plugin_quiesce(struct plugin *plugin);
/* deinit; the state becomes unloaded. No instance or task may be left. */
void plugin_end(struct plugin *plugin);

/* registry.c: takes the plugin, and decides whether it is isolated. */
void registry_keep(struct registry *registry, struct plugin *plugin);

/*
 * section.c: its section of the configuration, checked against its schema, with defaults and whole paths; an object. A
 * new reference.
 */
int32_t plugin_section(struct plugin *plugin, tn_value *out, struct error *error);

/* loader.c: the object is in use by one plugin fewer. */
void loader_forget(struct plugin *plugin);

/* rows.c */
struct row *row_find(const struct registry *registry, const char *kind, const char *id, size_t length);
/* Adds a row for a component of the plugin's manifest; TN_LIMIT past REGISTRY_COMPONENTS_MAX. */
int32_t row_add(struct plugin *plugin, tn_value component, struct row **out, struct error *error);
/* Compiles its schemas, once. TN_INVALID: one does not compile, and nobody can use the component. */
int32_t row_check(struct row *row, struct error *error);
void row_remove(struct registry *registry, struct row *row);
/* What row_remove took out; nothing else may have its kind and id now. */
void row_restore(struct registry *registry, struct row *row);
void rows_free(struct registry *registry);
/* Says that two rows claim one id, with both files. */
int32_t row_conflict(const struct row *row, const struct row *rival, struct error *error);

#endif
