/*
 * reserved.h - names that belong to the bundled plugins: ids that begin with `tenon.`, and components without a dot.
 *
 * Documents use these names without saying which plugin they mean, so a foreign plugin must not be able to claim one.
 * Whether a plugin is bundled depends only on the folder of its file (search_is_installed), never on its manifest.
 *
 *     if (!plugin->bundled) status = reserved_check(path, manifest, &error);     // NAME_RESERVED
 *
 * Thread: any.
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_RESERVED_H
#define TENON_HOST_PLUGIN_REGISTRY_RESERVED_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdint.h>

/* Fails with NAME_RESERVED if the manifest of a plugin that is not bundled claims a reserved name. `file` is the
 * beginning of the message. The manifest must be valid (manifest_check). */
int32_t reserved_check(const char *file, tn_value manifest, struct error *error);
/* The parts of it: for the plugin's id, and for the name of one of its components. */
int32_t reserved_check_plugin_id(const char *file, const char *id, struct error *error);
int32_t reserved_check_name(const char *file, const char *plugin_id, const char *kind, const char *id,
                            struct error *error);
/* The same for one component of the plugin `plugin_id`. */
int32_t reserved_check_component(const char *file, const char *plugin_id, tn_value component, struct error *error);

#endif
