/*
 * registry_dynamic.c - components that a plugin adds and removes at run time (tenon/registry.h).
 *
 * A dynamic component follows the rules of a manifest. In addition, the manifest must declare its kind as dynamic, so
 * that a reader of manifests knows that there may be more components. The plugin gets a status; the reason is logged.
 *
 * A name that no manifest has may belong to such a component. To find it, the plugins of its kind are loaded, and those
 * that have announced components (registry_1.expect) are waited for, at most REGISTRY_EXPECT_MS. A plugin that
 * has a function for tenon/demand.h is asked instead, so that only what matches the name is started and waited for;
 * with options.known_only, nothing is started. When the host ends, plugins that use `expect` are waited for, at most
 * REGISTRY_LEAVE_MS.
 */
#include "adl/document/effects.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/base/secrets/secrets.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/reserved.h"
#include <stdio.h>
#include <string.h>

static const char *plugin_display_name(const struct plugin *plugin) {
    return *plugin->path ? plugin->path : plugin->id;
}

bool plugin_is_dynamic(const struct plugin *plugin, const char *kind) {
    if (!plugin_has_dynamic(plugin)) return false;
    tn_value dynamic = value_get(manifest_plugin(plugin_manifest(plugin)), "dynamic");
    for (size_t i = 0; i < value_count(dynamic); i++)
        if (value_text_is(value_at(dynamic, i), kind)) return true;
    return false;
}

static tn_value append_all(tn_value list, tn_value more) {
    for (size_t i = 0; more && value_is(more, TN_ARRAY) && i < value_count(more); i++)
        list = value_push_take(list, value_ref(value_at(more, i)));
    return list;
}

/*
 * A component that may call others can cause what they do. So the plugin's manifest, which the operator has seen, must
 * declare its rights to call and all of its effects: a plugin must not widen them at run time.
 */
static int32_t check_dynamic_rights(const struct plugin *plugin, tn_value component, struct error *error) {
    tn_value effects = value_get(component, "effects"), declared = value_array();
    const char *missing = NULL;
    declared = append_all(declared, value_get(manifest_plugin(plugin_manifest(plugin)), "effects"));
    declared = append_all(declared, plugin->grants);
    bool calls = false;
    for (size_t i = 0; effects && value_is(effects, TN_ARRAY) && !missing && i < value_count(effects); i++) {
        const char *effect = value_chars(value_at(effects, i), NULL);
        bool right = effect_is_call(effect), covered = false;
        for (size_t k = 0; right && !covered && k < value_count(declared); k++)
            covered = effect_covers(value_chars(value_at(declared, k), NULL), effect);
        calls |= right;
        if (right && !covered) missing = effect;
    }
    bool within = !missing && (!calls || effects_within(effects, declared, &missing));
    int32_t status = TN_OK;
    if (!within)
        status = error_set(error, TN_INVALID, "PERMISSION_DENIED",
                           "%s: plugin `%s` adds the %s `%s` at run time with the effect `%s`, which the `effects` of "
                           "its manifest, beside \"dynamic\", do not declare",
                           plugin_display_name(plugin), plugin->id, manifest_text(component, "kind"),
                           manifest_text(component, "id"), missing ? missing : "");
    value_unref(declared);
    return status;
}

static int32_t registry_add_scrubbed(struct plugin *plugin, tn_value component, struct error *error) {
    char place[MANIFEST_ID_MAX + sizeof ": at run time"];
    snprintf(place, sizeof place, "%s: at run time", plugin->id);
    int32_t status = manifest_check_component(place, component, error);
    if (status != TN_OK) return status;
    const char *kind = manifest_text(component, "kind"), *id = manifest_text(component, "id");
    if (plugin->replaced || plugin->ends || plugin->state == PLUGIN_UNLOADED)
        return error_set(error, TN_INVALID, "PLUGIN_REFUSED",
                         "plugin `%s`, version %s, is about to end: it cannot add the %s `%s` any more", plugin->id,
                         plugin->version, kind, id);
    if (!plugin_is_dynamic(plugin, kind))
        return error_set(error, TN_INVALID, "PERMISSION_DENIED",
                         "%s: plugin `%s` adds the %s `%s` at run time, but its manifest lacks \"dynamic\": "
                         "[\"%s\"]",
                         plugin_display_name(plugin), plugin->id, kind, id, kind);
    if (!plugin->bundled && !plugin->registry->options.names_checked) {
        status = reserved_check_component(plugin_display_name(plugin), plugin->id, component, error);
        if (status != TN_OK) return status;
    }
    if (check_dynamic_rights(plugin, component, error) != TN_OK) return TN_INVALID;
    struct row *there = row_find(plugin->registry, kind, id, strlen(id));
    if (there && there->component.plugin == plugin)
        return error_set(error, TN_INVALID, "PLUGIN_DUPLICATE", "plugin `%s` already has the %s `%s`; remove it first",
                         plugin->id, kind, id);
    if (there) {
        struct row claim = {.component = {.plugin = plugin}};
        return row_conflict(there, &claim, error);
    }
    /*
     * Compile its schemas now: no author has checked them, unlike those of a manifest. Then forget them: a service may
     * have a thousand tools, of which few are used, and a compiled schema is many times larger than its document.
     */
    struct row *row = NULL;
    status = row_add(plugin, component, &row, error);
    if (status != TN_OK) return status;
    row->at_run_time = true;
    bool fresh = !row->compiled; /* a row that has come back may have instances, which use its schemas */
    status = row_check(row, error);
    if (status == TN_OK && fresh) row_forget_schemas(row);
    if (status != TN_OK) row_remove(plugin->registry, row);
    return status;
}

/* A server whose tools a plugin adds can repeat a secret in them, for example in a description, which models receive.
 */
int32_t registry_add_component(struct plugin *plugin, tn_value component, struct error *error) {
    struct secrets *secrets = plugin->registry->options.secrets;
    if (!secrets) return registry_add_scrubbed(plugin, component, error);
    tn_value safe = secrets_scrub(secrets, component, SECRETS_RESULT_MIN);
    int32_t status = registry_add_scrubbed(plugin, safe, error);
    value_unref(safe);
    return status;
}

int32_t registry_remove_component(struct plugin *plugin, const char *kind, const char *id, struct error *error) {
    struct row *row = row_find(plugin->registry, kind, id, strlen(id));
    if (!row || row->component.plugin != plugin)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "plugin `%s` has no %s `%s` to remove", plugin->id, kind,
                         id);
    row_remove(plugin->registry, row);
    return TN_OK;
}

void registry_expect(struct plugin *plugin, bool more) {
    plugin->expecting = more;
    plugin->expects |= more;
}

void registry_watch_demand(struct plugin *plugin, tn_demand demand, void *user) {
    plugin->demand = demand;
    plugin->demand_user = user;
}

/* ---- Loading plugins, and waiting for what they add ---- */

static bool plugin_is_running(const struct plugin *plugin) {
    return (plugin->state == PLUGIN_LOADED || plugin->state == PLUGIN_QUIESCED) && !plugin->replaced;
}

/* Asks a plugin that has a function for it (tenon/demand.h). True if matching components may exist that it has not
 * added. */
static bool plugin_demand(const struct plugin *plugin, const char *kind, const char *pattern, size_t length,
                          int32_t how) {
    const struct registry_watch *watch = plugin->registry->options.watch;
    if (!plugin_is_running(plugin) || !plugin_is_dynamic(plugin, kind)) return false;
    void *before = watch ? watch->enter(plugin) : NULL;
    int32_t more = plugin->demand(plugin->demand_user, kind, strlen(kind), pattern, length, how);
    if (watch) watch->leave(before);
    return more == 1;
}

/*
 * True if the plugin, once loaded, would add nothing: its manifest says from which members of its section it makes its
 * components (`dynamic_from`), and the section has no items there. If the section has any other member, the answer is
 * false, because it may be a misspelt one, which the plugin's schema reports when it is loaded. A plugin that declares
 * this wrongly hides only its own components.
 */
static bool plugin_adds_nothing(const struct plugin *plugin) {
    const struct registry_options *options = &plugin->registry->options;
    tn_value members = value_get(manifest_plugin(plugin_manifest(plugin)), "dynamic_from");
    if (!options->section || value_count(members) == 0) return false;
    tn_value section = options->section(options->user, plugin->id);
    size_t empty = 0;
    if (!section || value_is(section, TN_NULL)) return true;
    if (!value_is(section, TN_OBJECT)) return false;
    for (size_t i = 0; i < value_count(members); i++) {
        tn_value items = value_get_key(section, value_at(members, i));
        empty += (value_is(items, TN_ARRAY) || value_is(items, TN_OBJECT)) && value_count(items) == 0;
    }
    return empty == value_count(section);
}

bool registry_has_demand(const struct plugin *plugin) { return plugin->demand != NULL; }

bool registry_demand_one(const struct plugin *plugin, const char *kind, size_t kind_length, const char *pattern,
                         size_t length, int32_t how) {
    return plugin->demand && plugin->demand(plugin->demand_user, kind, kind_length, pattern, length, how) == 1;
}

void registry_demand_all(const struct plugin *plugin) {
    tn_value kinds = value_get(manifest_plugin(plugin_manifest(plugin)), "dynamic");
    for (size_t i = 0; plugin->demand && i < value_count(kinds); i++)
        (void)plugin_demand(plugin, value_chars(value_at(kinds, i), NULL), "*", 1, TN_DEMAND_START);
}

/* True if the plugin has announced components that may be of this kind (NULL means any kind), or may when it is loaded.
 */
static bool plugin_is_expecting(const struct plugin *plugin, const char *kind) {
    if (plugin->loading) return kind ? plugin_is_dynamic(plugin, kind) : plugin_has_dynamic(plugin);
    return plugin->expecting && plugin_is_running(plugin) && (!kind || plugin_is_dynamic(plugin, kind));
}

/* True if any plugin has announced components of the kind (NULL means any kind). */
static bool registry_expecting(const struct registry *registry, const char *kind) {
    for (size_t i = 0; i < registry->plugin_count; i++)
        if (plugin_is_expecting(registry->plugins[i], kind)) return true;
    return false;
}

bool registry_is_expecting(const struct registry *registry) { return registry_expecting(registry, NULL); }

/* Wait condition of registry_await. */
struct registry_wait {
    struct registry *registry;
    const char *kind; /* NULL means any kind */
    const char *id;   /* or a pattern; NULL to wait until all are added */
    size_t length;
};

/* True if the plugin may still add what is waited for. */
static bool registry_wait_concerns(const struct registry_wait *wait, const struct plugin *plugin) {
    if (!plugin->demand || !wait->id || plugin->loading) return plugin_is_expecting(plugin, wait->kind);
    return !wait->registry->options.known_only &&
           plugin_demand(plugin, wait->kind, wait->id, wait->length, TN_DEMAND_START);
}

/* True if a plugin may still add what is waited for. */
static bool registry_wait_has_reason(const struct registry_wait *wait) {
    for (size_t i = 0; i < wait->registry->plugin_count; i++)
        if (registry_wait_concerns(wait, wait->registry->plugins[i])) return true;
    return false;
}

bool registry_is_coming(struct registry *registry, const char *kind, const char *pattern) {
    const struct registry_wait wait = {registry, kind, pattern, strlen(pattern)};
    return registry_wait_has_reason(&wait);
}

static bool registry_wait_is_done(void *of) {
    const struct registry_wait *wait = of;
    if (wait->id && row_find_named(wait->registry, wait->kind, wait->id, wait->length)) return true;
    return !registry_wait_has_reason(wait);
}

/* `late` describes, in the log, a plugin for which the wait was too short. */
static void registry_await(struct registry *registry, struct registry_wait wait, int64_t ms, const char *late) {
    if (!registry->options.wait || registry_wait_is_done(&wait)) return;
    if (registry->options.wait(registry->options.user, ms, registry_wait_is_done, &wait)) return;
    for (size_t i = 0; i < registry->plugin_count; i++)
        if (registry_wait_concerns(&wait, registry->plugins[i]))
            log_write(LOG_WARN, registry->plugins[i]->id, "%s within %d s", late, (int)(ms / 1000));
}

void registry_take_leave(struct registry *registry) {
    registry_abort_loads(registry);
    for (size_t i = 0; i < registry->plugin_count; i++)
        if (registry->plugins[i]->expects) plugin_quiesce(registry->plugins[i]);
    registry_await(registry, (struct registry_wait){.registry = registry}, REGISTRY_LEAVE_MS,
                   "the host ends, but the plugin did not finish its work");
}

/* Notifies the plugins that have a function for tenon/demand.h, without waiting. */
static void registry_demand(struct registry *registry, const char *kind, const char *pattern, size_t length) {
    int32_t how = registry->options.known_only ? TN_DEMAND_KNOWN : TN_DEMAND_START;
    for (size_t i = 0; i < registry->plugin_count; i++)
        if (registry->plugins[i]->demand) (void)plugin_demand(registry->plugins[i], kind, pattern, length, how);
}

/*
 * Loads every plugin that adds components of the kind at run time, then waits for `id`, or, if it is a pattern, for all
 * components that match. `only_safe`: only plugins whose code may run during a check (bundled or isolated); log
 * failures.
 */
static void registry_load_kind(struct registry *registry, const char *kind, const char *id, size_t length,
                               bool only_safe) {
    for (size_t i = 0; i < registry->plugin_count; i++) {
        struct plugin *plugin = registry->plugins[i];
        struct error error = ERROR_INIT;
        if (plugin->state != PLUGIN_KNOWN || plugin->replaced || !plugin_is_dynamic(plugin, kind) ||
            plugin_adds_nothing(plugin))
            continue;
        if (only_safe && !plugin->bundled && !plugin_isolated(plugin)) continue;
        /* If !only_safe, row_not_found reports the failure. */
        if (plugin_load(plugin, &error) != TN_OK && only_safe && !plugin->loading)
            log_write(LOG_ERROR, NULL, "%s", error.message);
        error_finish(&error);
    }
    registry_demand(registry, kind, id, length);
    registry_await(registry, (struct registry_wait){registry, kind, id, length}, REGISTRY_EXPECT_MS,
                   "it announced components, but did not add them");
}

bool registry_knows_all(const struct registry *registry, const char *kind) {
    for (size_t i = 0; i < registry->plugin_count; i++) {
        const struct plugin *plugin = registry->plugins[i];
        if (plugin->replaced || plugin->aside || plugin->state == PLUGIN_LOADED || !plugin_is_dynamic(plugin, kind))
            continue;
        if (plugin->state != PLUGIN_KNOWN || !plugin_adds_nothing(plugin)) return false;
    }
    for (size_t i = 0; i < registry->plugin_count; i++)
        if (registry->plugins[i]->demand && plugin_demand(registry->plugins[i], kind, "*", 1, TN_DEMAND_QUERY))
            return false;
    return !registry_expecting(registry, kind);
}

bool registry_has_unloaded(const struct registry *registry, const char *kind) {
    for (size_t i = 0; i < registry->plugin_count; i++) {
        const struct plugin *plugin = registry->plugins[i];
        if (plugin->state == PLUGIN_KNOWN && !plugin->replaced && !plugin->aside && plugin_is_dynamic(plugin, kind) &&
            !plugin_adds_nothing(plugin))
            return true;
        if (registry->options.known_only && plugin->demand && plugin_demand(plugin, kind, "*", 1, TN_DEMAND_QUERY))
            return true;
    }
    return false;
}

bool registry_may_have(const struct registry *registry, const char *kind, const char *id) {
    for (size_t i = 0; registry->options.known_only && i < registry->plugin_count; i++)
        if (registry->plugins[i]->demand && plugin_demand(registry->plugins[i], kind, id, strlen(id), TN_DEMAND_QUERY))
            return true;
    return false;
}

void registry_load_dynamic(struct registry *registry, const char *kind, const char *pattern) {
    registry_load_kind(registry, kind, pattern, strlen(pattern), true);  /* logs failures */
    registry_load_kind(registry, kind, pattern, strlen(pattern), false); /* the caller is going to use them */
}

void registry_load_bundled_dynamic(struct registry *registry, bool (*may)(void *user, const struct plugin *plugin),
                                   void *user) {
    for (size_t i = 0; i < registry->plugin_count; i++) {
        struct plugin *plugin = registry->plugins[i];
        struct error error = ERROR_INIT;
        if (plugin->state != PLUGIN_KNOWN || plugin->replaced || !plugin->bundled || !plugin_has_dynamic(plugin) ||
            plugin_adds_nothing(plugin) || !may(user, plugin))
            continue;
        if (plugin_load(plugin, &error) != TN_OK) log_write(LOG_ERROR, NULL, "%s", error.message);
        error_finish(&error);
    }
    registry_demand(registry, "tool", "*", 1);
}

struct row *row_search(struct registry *registry, const char *kind, const char *id, size_t length, bool only_safe) {
    struct row *row = row_find_named(registry, kind, id, length);
    if (row) return row;
    registry_load_kind(registry, kind, id, length, only_safe);
    return row_find_named(registry, kind, id, length);
}
