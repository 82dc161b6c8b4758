/*
 * methods_plugin.c - plugins and components: methods/plugin.yaml.
 */
#include "adl/document/catalog.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/engine/engine.h"
#include "host/engine/tool/tool.h"
#include "host/loops/loops.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "host/server/method_call.h"
#include "host/server/method_internal.h"
#include "host/server/plugin_listing.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"
#include "host/server/server_run.h"
#include <string.h>

#define SOURCE_LOAD "plugin/load" /* the source of such plugins in messages and lists */
#define LIVE_SHOWN  5u            /* nodes that the message of a busy plugin names */

static struct registry *registry_of(const struct method_call *call) { return host_registry(server_host(call->server)); }

/* ---- Plugins ---- */

static int32_t plugin_list(const struct method_call *call, struct error *error) {
    (void)error;
    return method_done_take(call, plugin_listing(server_host(call->server)));
}

static int32_t plugin_show(const struct method_call *call, struct error *error) {
    const char *id = method_text(call, "plugin");
    struct registry *registry = registry_of(call);
    const struct plugin *plugin = registry_plugin(registry, id);
    if (plugin) return method_done_take(call, value_ref(plugin_manifest(plugin)));
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "there is no plugin `%s`; plugin/list lists them%s", id,
                     registry_altered(registry));
}

/* `was` is the version before, a text that it takes, or NULL. */
static int32_t plugin_changed_take(const struct method_call *call, const struct plugin *plugin, tn_value was) {
    tn_value change = value_set_take(value_object_reserve(3), "plugin", value_text(plugin_id(plugin)));
    change = value_set_take(change, "version", value_text(plugin_version(plugin)));
    return method_done_take(call, was ? value_set_take(change, "was", was) : change);
}

/* The plugin that the registry has from this file, whose manifest has just been read; NULL if there is none. */
static struct plugin *plugin_of_file(struct registry *registry, const char *path, struct error *error) {
    struct manifest manifest;
    if (manifest_read(path, &manifest, error) != TN_OK) return NULL;
    struct plugin *plugin = registry_plugin(registry, manifest_text(manifest_plugin(manifest.value), "id"));
    if (!plugin)
        error_set(error, TN_NOT_FOUND, "PLUGIN_REFUSED", "%s: the file changed while it was loaded; try again", path);
    manifest_finish(&manifest);
    return plugin;
}

/* Each loop loads the plugins that it finds when it starts; a change of one registry would not reach the others. */
static int32_t refuse_with_loops(const struct method_call *call, struct error *error) {
    const struct loops *loops = server_loops(call->server);
    if (!loops || loops_count(loops) == 1) return TN_OK;
    return error_set(
        error, TN_UNSUPPORTED, "UNSUPPORTED",
        "this host has %u loops, which load their plugins when they start: restart it to use other plugins, "
        "or start it with --loops 1",
        loops_count(loops));
}

static int32_t plugin_load_file(const struct method_call *call, struct error *error) {
    const char *file = method_text(call, "file");
    char *path = NULL;
    int32_t status = refuse_with_loops(call, error);
    if (status == TN_OK) status = method_locate(call, "file", file, &path, error);
    if (status == TN_OK) status = registry_add_file(registry_of(call), path, SOURCE_LOAD, error);
    struct plugin *plugin = status == TN_OK ? plugin_of_file(registry_of(call), path, error) : NULL;
    mem_free(path);
    if (status != TN_OK || !plugin) return status == TN_OK ? TN_NOT_FOUND : status;
    (void)registry_resume(plugin);
    method_defer_loads(call, true);
    status = plugin_load(plugin, error);
    method_defer_loads(call, false);
    return status == TN_OK ? plugin_changed_take(call, plugin, NULL) : method_wait_for_plugins(call, status);
}

static int32_t plugin_upgrade(const struct method_call *call, struct error *error) {
    char *path = NULL;
    tn_value was = NULL;
    int32_t status = refuse_with_loops(call, error);
    if (status == TN_OK) status = method_locate(call, "file", method_text(call, "file"), &path, error);
    const struct plugin *old = status == TN_OK ? plugin_of_file(registry_of(call), path, NULL) : NULL;
    if (old) was = value_text(plugin_version(old));
    if (status == TN_OK) status = registry_upgrade(registry_of(call), path, "plugin/upgrade", error);
    const struct plugin *plugin = status == TN_OK ? plugin_of_file(registry_of(call), path, error) : NULL;
    mem_free(path);
    if (status == TN_OK && plugin) return plugin_changed_take(call, plugin, was);
    value_unref(was);
    return status == TN_OK ? TN_NOT_FOUND : status;
}

/* Names the open nodes of runs that belong to the plugin. */
static void describe_live(void *user, const struct plugin *plugin, struct buffer *which) {
    const struct server_runs *runs = server_runs_of(user);
    const struct server_run *run = NULL;
    size_t shown = 0;
    while ((run = server_run_older(runs, run)) != NULL) {
        tn_value open = server_run_open_nodes(run);
        for (size_t i = 0; i < value_count(open) && shown <= LIVE_SHOWN; i++) {
            tn_value node = value_at(open, i);
            if (!value_text_is(value_get(node, "plugin"), plugin_id(plugin))) continue;
            if (shown++ == LIVE_SHOWN)
                buffer_text(which, ", …");
            else
                buffer_format(which, "%snode `%s` of run %s", shown > 1 ? ", " : "",
                              value_chars(value_get(node, "node"), NULL), server_run_id(run));
        }
        value_unref(open);
    }
}

static bool is_of_plugin(void *plugin, const struct component *component) { return component->plugin == plugin; }

/* Instances of tools are kept for later calls, and would keep the plugin busy. Those that are called now continue. */
static void release_tools(const struct method_call *call, const char *id, bool all) {
    struct plugin *plugin = registry_plugin(registry_of(call), id);
    if (plugin && (all || plugin_tasks(plugin) == 0))
        tools_sweep(server_engine(call->server)->tools, is_of_plugin, plugin);
}

static int32_t plugin_unload(const struct method_call *call, struct error *error) {
    const char *id = method_text(call, "plugin");
    struct registry *registry = registry_of(call);
    if (refuse_with_loops(call, error) != TN_OK) return TN_UNSUPPORTED;
    release_tools(call, id, method_flag(call, "quiesce"));
    int32_t status = method_flag(call, "quiesce") ? registry_quiesce(registry, id, error)
                                                  : registry_unload(registry, id, describe_live, call->server, error);
    if (status != TN_OK) return status;
    const char *state = plugin_state_name(plugin_state(registry_plugin(registry, id)));
    return method_done_take(call, value_set_take(value_object_reserve(1), "state", value_text(state)));
}

static int32_t plugin_reset(const struct method_call *call, struct error *error) {
    int64_t deaths = 0;
    int32_t status = registry_reset_plugin(registry_of(call), method_text(call, "plugin"), &deaths, error);
    if (status != TN_OK) return status;
    return method_done_take(call, value_set_take(value_object_reserve(1), "deaths", value_int(deaths)));
}

/* ---- Components ---- */

struct component_list {
    const char *plugin; /* only of this one; NULL for any */
    tn_value rows;
};

static bool list_component(void *user, const struct component_info *info) {
    struct component_list *list = user;
    if ((list->plugin && strcmp(list->plugin, info->plugin_id) != 0) || !registry_offers(info)) return true;
    tn_value row = value_set_take(value_object_reserve(5), "kind", value_text(info->kind));
    row = value_set_take(row, "id", value_text(info->id));
    row = value_set_take(row, "title", value_text(info->title));
    row = value_set_take(row, "plugin", value_text(info->plugin_id));
    list->rows = value_push_take(list->rows, value_set_take(row, "version", value_text(info->plugin_version)));
    return true;
}

static int32_t component_list(const struct method_call *call, struct error *error) {
    static const char *const kinds[] = {"model", "node", "reducer", "runner", "tool"};
    const struct catalog *catalog = host_catalog(server_host(call->server));
    struct component_list list = {method_text(call, "plugin"), value_array()};
    const char *kind = method_text(call, "kind");
    (void)error;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!kind || strcmp(kind, kinds[i]) == 0) catalog->each(catalog->self, kinds[i], list_component, &list);
    return method_done_take(call, value_set_take(value_object_reserve(1), "components", list.rows));
}

static int32_t component_show(const struct method_call *call, struct error *error) {
    const struct catalog *catalog = host_catalog(server_host(call->server));
    const char *kind = method_text(call, "kind"), *id = method_text(call, "id");
    method_defer_loads(call, true);
    const struct component_info *info = catalog->find(catalog->self, kind, id, strlen(id));
    method_defer_loads(call, false);
    if (!info) {
        error_set(error, TN_NOT_FOUND, "NOT_FOUND", "there is no %s `%s`; component/list lists the components%s", kind,
                  id, registry_altered(registry_of(call)));
        return method_wait_for_plugins(call, TN_NOT_FOUND);
    }
    tn_value shown = value_set_take(value_object_reserve(3), "plugin", value_text(info->plugin_id));
    shown = value_set_take(shown, "version", value_text(info->plugin_version));
    return method_done_take(call, value_set_take(shown, "component", value_ref(info->manifest)));
}

const struct method_handler plugin_methods[] = {
    {"plugin/list", plugin_list},       {"plugin/show", plugin_show},       {"plugin/load", plugin_load_file},
    {"plugin/upgrade", plugin_upgrade}, {"plugin/unload", plugin_unload},   {"plugin/reset", plugin_reset},
    {"component/list", component_list}, {"component/show", component_show}, {NULL, NULL},
};
