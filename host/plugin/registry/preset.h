/*
 * preset.h - presets: names of model providers that stand for a component and a configuration.
 *
 * A component of the kind `model` declares them in its manifest: `presets: {groq: {title?, documentation?, config:
 * {…}}}`. tenon.yaml adds others, or changes these, under `providers`: `{groq: {provider: groq, …configuration}}`. The
 * registry has a row for each name (registry_rows.c, registry_preset.c), so that checks, lists and completions find it
 * as they find a component. The manifest of such a row is that of its component with other names, without `presets` and
 * `examples`, and with `preset: {of: COMPONENT, config: {…}}`. registry_resolve returns the component.
 *
 *     const struct component_info *info = catalog->find(catalog->self, "model", "groq", 4);
 *     tn_value options = preset_merge(preset_config(info), binding);
 *
 * Thread: any, unless stated otherwise.
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_PRESET_H
#define TENON_HOST_PLUGIN_REGISTRY_PRESET_H

#include "adl/document/catalog.h"
#include "adl/value/error.h"
#include <stdbool.h>

#define PRESETS_MAX      200u /* presets of one component */
#define PRESET_CHAIN_MAX 8u   /* rows of `providers` that name each other */

/* The configuration of a row: of a preset, or of a component with a preset of the same name. Borrowed, or NULL. */
tn_value preset_config(const struct component_info *info);
/* The id of the component that a row stands for: its own id, unless it is a preset. Borrowed. */
const char *preset_component(const struct component_info *info);

/*
 * The members of both configurations; those of `over` win, and mappings are merged member by member. NULL counts as
 * empty. If `over` sets a base_url of another origin than that of `under`, the secrets of `under` are left out: they
 * are only for the server that the row names. A new reference.
 */
tn_value preset_merge(tn_value under, tn_value over);

/* ---- Entries of a manifest: its components, and then their presets, except those with the component's own name ----
 */

size_t manifest_entry_count(tn_value manifest);
/* The complete entry, as of a component; a new reference, or NULL. */
tn_value manifest_entry_at(tn_value manifest, size_t index);
/* Only its names; borrowed from the manifest. */
void manifest_entry_names(tn_value manifest, size_t index, const char **kind, const char **id);
/* The entry `name` for a component with this configuration; a new reference. `preset` may have title, documentation. */
tn_value preset_entry(tn_value component, tn_value name, tn_value preset, tn_value config);
/* Checks the form of a component's `presets`. `place` is for messages. */
int32_t preset_check(const char *place, tn_value component, struct error *error);

#endif
