/*
 * protocols.c - finds the plugins that serve a protocol, by their manifests.
 */
#include "host/assembly/protocols.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

static const char route_effect[] = "server.route:";

bool protocol_is_served_by(const struct plugin *plugin) {
    tn_value effects = value_get(manifest_plugin(plugin_manifest(plugin)), "effects");
    for (size_t i = 0; value_is(effects, TN_ARRAY) && i < value_count(effects); i++) {
        tn_value effect = value_at(effects, i);
        if (value_is(effect, TN_STRING) &&
            strncmp(value_chars(effect, NULL), route_effect, sizeof route_effect - 1) == 0)
            return true;
    }
    return false;
}

static const char *last_word(const char *id) {
    const char *dot = strrchr(id, '.');
    return dot ? dot + 1 : id;
}

/* ---- Names ---- */

struct protocol_search {
    const char *name;
    struct plugin *exact, *bundled, *other;
};

static void search_visit(void *user, struct plugin *plugin) {
    struct protocol_search *search = user;
    const char *id = plugin_id(plugin);
    if (!protocol_is_served_by(plugin)) return;
    if (strcmp(id, search->name) == 0) search->exact = plugin;
    if (strcmp(last_word(id), search->name) != 0) return;
    if (plugin_bundled(plugin))
        search->bundled = plugin;
    else
        search->other = plugin;
}

struct plugin *protocol_find(const struct host *host, const char *name) {
    struct protocol_search search = {name, NULL, NULL, NULL};
    registry_each_plugin(host_registry(host), search_visit, &search);
    return search.exact ? search.exact : search.bundled ? search.bundled : search.other;
}

static void offer_visit(void *user, struct plugin *plugin) {
    if (!protocol_is_served_by(plugin)) return;
    const char *id = plugin_id(plugin), *word = last_word(id);
    nearest_add_candidate(user, word, strlen(word));
    nearest_add_candidate(user, id, strlen(id));
}

void protocol_offer_names(const struct host *host, struct nearest *nearest) {
    registry_each_plugin(host_registry(host), offer_visit, nearest);
}

/* ---- What is served ---- */

/* The plugins are collected first, because loading one can change the registry. */
struct protocol_list {
    struct plugin **items;
    size_t count;
};

static void list_add(struct protocol_list *list, struct plugin *plugin) {
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == plugin) return;
    MEM_EXTEND(list->items, list->count);
    list->items[list->count++] = plugin;
    plugin_ref(plugin);
}

static void list_visit(void *user, struct plugin *plugin) {
    if (plugin_bundled(plugin) && protocol_is_served_by(plugin)) list_add(user, plugin);
}

static int32_t list_named(const struct host *host, tn_value names, struct protocol_list *list, struct error *error) {
    for (size_t i = 0; i < value_count(names); i++) {
        size_t length;
        const char *name = value_chars(value_at(names, i), &length);
        struct plugin *plugin = protocol_find(host, name);
        if (!plugin) {
            struct nearest nearest;
            nearest_init(&nearest, name, length);
            protocol_offer_names(host, &nearest);
            return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                             "serve.protocols: no plugin `%s` serves a protocol (an effect `server.route:…`)%s%s", name,
                             nearest_hint(&nearest).text, registry_altered(host_registry(host)));
        }
        list_add(list, plugin);
    }
    return TN_OK;
}

int32_t protocols_each(const struct host *host,
                       int32_t (*visit)(void *user, struct plugin *plugin, struct error *error), void *user,
                       struct error *error) {
    tn_value names = value_get(config_serve(host_config(host)), "protocols");
    struct protocol_list list = {NULL, 0};
    int32_t status = TN_OK;
    if (names)
        status = list_named(host, names, &list, error);
    else
        registry_each_plugin(host_registry(host), list_visit, &list);
    for (size_t i = 0; status == TN_OK && i < list.count; i++) status = visit(user, list.items[i], error);
    for (size_t i = 0; i < list.count; i++) plugin_unref(list.items[i]);
    mem_free((void *)list.items);
    return status;
}
