/*
 * catalog.h - the language's view of the world outside a document: components, plugins, files.
 *
 * adl/ does no I/O and knows no plugins: the caller that checks a document passes a catalog. The host's registry is
 * one; a test builds one from a few rows. Everything that a catalog returns is borrowed and valid while the catalog
 * lives.
 */
#ifndef TENON_ADL_CATALOG_H
#define TENON_ADL_CATALOG_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>

struct error;
struct schema;
struct source;

/* One component, as published in its plugin's manifest. */
struct component_info {
    const char *id;              /* "acme.sentiment", "llm" */
    const char *kind;            /* "node" "model" "tool" "runner" "reducer" */
    const char *title;           /* one line */
    const char *documentation;   /* Markdown; may be "" */
    const char *plugin_id;       /* "tenon.core" */
    const char *plugin_version;  /* "1.2.0" */
    tn_value manifest;           /* the component's complete object in the manifest */
    tn_value effects;            /* array of strings; NULL if not declared; then the worst is assumed */
    const struct schema *config; /* never NULL; the schema of {} if the component has no configuration */
    const struct schema *input;  /* NULL means anything */
    const struct schema *output; /* NULL means anything */
};

/* Called with each match; returns false to stop. */
typedef bool (*catalog_visit)(void *user, const struct component_info *component);

/* A file that a catalog has read. */
struct catalog_file {
    char *path; /* its canonical path; owned */
    char *root; /* the folder to which the files that it names are confined; owned */
};
void catalog_file_finish(struct catalog_file *file); /* keeps the struct reusable */

struct catalog {
    void *self;
    /* Returns the component, or NULL. */
    const struct component_info *(*find)(void *self, const char *kind, const char *id, size_t length);
    /* Visits every component of a kind (NULL for all kinds) in order of id. */
    void (*each)(void *self, const char *kind, catalog_visit visit, void *user);
    /* The version of an installed plugin ("1.2.0"), or NULL; and the ids of all plugins, for "did you mean". */
    const char *(*plugin_version)(void *self, const char *plugin_id);
    void (*each_plugin)(void *self, void (*visit)(void *user, const char *plugin_id), void *user);
    /*
     * Reads a file that the document `from` names, relative to the folder of that document. The origin and the root of
     * `from` decide which files it can read. If `from` is NULL, the operator names the file, and it can be anywhere.
     * Returns its text as a new reference and fills `found`, which is empty before. Returns NULL if it cannot be read,
     * with the reason in `error` ("no such file"). If the function is NULL, files are not read.
     */
    tn_value (*read)(void *read_self, const struct source *from, const char *file, struct catalog_file *found,
                     struct error *error);
    void *read_self;
    /*
     * Returns false and sets the error if a component cannot be used, as far as is known without running it: its plugin
     * is refused, or another plugin defines its id. If the function is NULL, all can be used.
     */
    bool (*usable)(void *self, const struct component_info *component, struct error *error);
    /*
     * Text that ends a message about a missing component or plugin, and says where it may be: "; it may be in …", or
     * "". May be NULL.
     */
    const char *(*missing)(void *self);
    /*
     * Returns true if components of the kind can be added that are not known yet: by a plugin whose code must not run
     * during a check. Unknown names are then not reported, unless a known one is similar. May be NULL.
     */
    bool (*unloaded)(void *self, const char *kind);
    /*
     * Returns true if the operator's configuration binds the role to a model, so that the document need not. May be
     * NULL.
     */
    bool (*role_bound)(void *role_self, const char *role, size_t length);
    void *role_self;
};

#endif
