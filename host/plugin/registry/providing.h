/*
 * providing.h - finds the plugin that provides an interface to the host: a store, HTTP.
 *
 * The manifest lists such interfaces (`provides`). The operator names a plugin by its id or by the last word of it:
 * "sqlite" means tenon.sqlite. A full id takes precedence over the last word of another plugin's id, and the last word
 * of a bundled plugin over that of others.
 *
 *     struct providing found;
 *     providing_find(&found, registry, TN_STORE_DRAFT, "sqlite");
 *     if (!found.plugin) error_set(…, "expected one of: %s", buffer_cstr(&found.names));
 *     providing_finish(&found);
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_PROVIDING_H
#define TENON_HOST_PLUGIN_REGISTRY_PROVIDING_H

#include "adl/value/buffer.h"
#include "host/plugin/registry/registry.h"

struct providing {
    const char *interface_id, *name;
    struct plugin *plugin; /* the plugin of that name, or NULL */
    struct plugin *only;   /* the only plugin that provides the interface; NULL if none or several do */
    uint32_t count;
    uint32_t fit;              /* how well the plugin fits the name */
    const char *other_version; /* of the interface: the id that the plugin of that name provides instead; or NULL */
    struct buffer names;       /* ids of all that provide it, separated by commas; truncated if long */
};

/* [loop] `interface_id` and `name` are borrowed until providing_finish. */
void providing_find(struct providing *found, struct registry *registry, const char *interface_id, const char *name);
/* The error of a plugin that provides found->other_version. `what` is for the message: "store". */
int32_t providing_refuse_version(const struct providing *found, const char *what, struct error *error);
void providing_finish(struct providing *found);

#endif
