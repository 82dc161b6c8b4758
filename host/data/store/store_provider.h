/*
 * store_provider.h - the plugin that provides a store, and the path of the store. For store.c.
 */
#ifndef TENON_HOST_DATA_STORE_STORE_PROVIDER_H
#define TENON_HOST_DATA_STORE_STORE_PROVIDER_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <tenon/store.h>

struct config;
struct plugin;
struct registry;

struct store_provider {
    struct plugin *plugin; /* referenced */
    const tn_store_draft *vtable;
    void *self;      /* the first argument of vtable->open */
    bool has_groups; /* vtable->group can be called */
};

/*
 * Finds and loads the plugin that `options` names; `options` may be NULL. Fails with STORE_NOT_FOUND, which lists the
 * stores that exist, or with an error of plugin_load.
 */
int32_t store_provider_find(struct registry *registry, tn_value options, struct store_provider *out,
                            struct error *error);
void store_provider_release(struct store_provider *provider);
/* The options for the provider's `open`: `options` with `path` and `indexes`. A new reference; the caller frees *path.
 */
tn_value store_provider_options(const struct config *config, tn_value options, char **path);
/* Creates the folder of `path`. *error is an object in the form that providers return. Thread: any. */
int32_t store_provider_folder(const char *path, tn_value *error);
/* Sets `error` from a provider's error object. `object` may be any value or NULL. */
void store_provider_error(struct error *error, int32_t status, tn_value object);

#endif
