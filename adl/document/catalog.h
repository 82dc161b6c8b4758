/*
 * catalog.h - what the language asks about the world outside a document: components, plugins, files.
 *
 * adl/ does no I/O and knows no plugin: whoever checks a document passes a catalog. The host's registry is one; a test
 * makes one from a few rows. Everything returned is borrowed and stays valid while the catalog does.
 */
#ifndef TENON_ADL_CATALOG_H
#define TENON_ADL_CATALOG_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>

struct error;
struct schema;

/* One component, as its plugin's manifest publishes it. */
struct component_info {
    const char *id;              /* "acme.sentiment", "llm" */
    const char *kind;            /* "node" "model" "tool" "runner" "reducer" "store" */
    const char *title;           /* one line */
    const char *documentation;   /* Markdown; "" where none */
    const char *plugin_id;       /* "tenon.core" */
    const char *plugin_version;  /* "1.2.0" */
    tn_value manifest;           /* the component's whole object in the manifest */
    tn_value effects;            /* array of strings; NULL: not declared, the worst is assumed */
    const struct schema *config; /* never NULL: a component without configuration has the schema of {} */
    const struct schema *input;  /* NULL: anything */
    const struct schema *output; /* NULL: anything */
};

/* Called with each match; false stops. */
typedef bool (*catalog_visit)(void *user, const struct component_info *component);

struct catalog {
    void *self;
    /* The component, or NULL. */
    const struct component_info *(*find)(void *self, const char *kind, const char *id, size_t length);
    /* Every component of a kind (NULL: of all), in order of id. */
    void (*each)(void *self, const char *kind, catalog_visit visit, void *user);
    /* The version of a plugin that is installed ("1.2.0"), or NULL; and all plugins' ids, for "did you mean". */
    const char *(*plugin_version)(void *self, const char *plugin_id);
    void (*each_plugin)(void *self, void (*visit)(void *user, const char *plugin_id), void *user);
    /*
     * Reads a file that a document names, resolved from the folder of `from` (a document's own path): a string value
     * with its text, to be released; *path becomes the resolved path (mem_free it). NULL where it cannot be read, with
     * *why a static reason ("no such file"). May itself be NULL: documents that name files are then not followed.
     */
    tn_value (*read)(void *self, const char *from, const char *file, char **path, const char **why);
    /*
     * Whether a component that was found can be used, as far as that is known without running anything: not where its
     * plugin is refused, or another one claims its id. False sets the error. May be NULL: all can.
     */
    bool (*usable)(void *self, const struct component_info *component, struct error *error);
    /* Whether the operator's configuration binds that role to a model: then the document need not. May be NULL. */
    bool (*role_bound)(void *self, const char *role, size_t length);
};

#endif
