/*
 * provider.h - which plugin a store comes from, and where it is: what store.c opens.
 */
#ifndef TENON_HOST_STORE_PROVIDER_H
#define TENON_HOST_STORE_PROVIDER_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <tenon/store.h>

struct host;
struct plugin;

struct provider {
    struct plugin *plugin; /* referenced */
    const tn_store_draft *vtable;
    void *self; /* open's first argument */
};

/* STORE_NOT_FOUND names those that there are; or as plugin_load fails. `options` may be NULL. */
int32_t provider_find(struct host *host, tn_value options, struct provider *out, struct error *error);
void provider_release(struct provider *provider);
/* What open is given, with `path` filled in and the collections' `indexes`; a new reference. *path is owned. */
tn_value provider_options(struct host *host, tn_value options, char **path);
/* [any] Makes the folder of `path`; *error is an object as a store gives it. */
int32_t provider_folder(const char *path, tn_value *error);
/* What a store's error object says; whatever it is. */
void provider_error(struct error *error, int32_t status, tn_value object);

#endif
