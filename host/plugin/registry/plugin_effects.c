/*
 * plugin_effects.c - the effects that a plugin has: what any of its components declares, because they share a process,
 * what its manifest declares beside `dynamic` for components that it adds at run time, and what the operator grants in
 * its section. A component without `effects` declares nothing.
 */
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include <string.h>

static bool any_effect_matches(tn_value effects, plugin_effect_test *test, const void *subject) {
    for (size_t i = 0; i < value_count(effects); i++) {
        tn_value effect = value_at(effects, i);
        if (value_is(effect, TN_STRING) && test(value_chars(effect, NULL), subject)) return true;
    }
    return false;
}

bool plugin_declares(const struct plugin *plugin, plugin_effect_test *test, const void *subject) {
    tn_value components = manifest_components(plugin_manifest(plugin));
    for (size_t i = 0; i < value_count(components); i++)
        if (any_effect_matches(value_get(value_at(components, i), "effects"), test, subject)) return true;
    return any_effect_matches(value_get(manifest_plugin(plugin_manifest(plugin)), "effects"), test, subject) ||
           any_effect_matches(plugin_grants(plugin), test, subject);
}

static bool effect_allows_secret(const char *effect, const void *subject) {
    if (strncmp(effect, "secret", 6) != 0) return false;
    return effect[6] == 0 || (effect[6] == ':' && strcmp(effect + 7, subject) == 0);
}

bool plugin_may_use_secret(const struct plugin *plugin, const char *name) {
    return plugin_declares(plugin, effect_allows_secret, name);
}
