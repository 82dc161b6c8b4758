/*
 * plugin_client.c - plugins as clients, the callers for whom they act, and calls of their tasks. Requests are in
 * plugin_request.c, subscriptions in plugin_subscription.c.
 */
#include "host/server/plugin_client.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi_host.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/plugin_client_internal.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"
#include "host/server/server_run.h"
#include <stdio.h>

/* ---- Clients ---- */

struct plugin_client *plugin_client_find(const struct plugin_clients *clients, const struct plugin *plugin) {
    struct plugin_client *client = clients->first;
    while (client && client->plugin != plugin) client = client->next;
    return client;
}

/* Those of its manifest's `plugin`; none if it declares none. Borrowed: an empty array needs no reference. */
static tn_value plugin_own_effects(const struct plugin *plugin) {
    tn_value effects = value_get(manifest_plugin(plugin_manifest(plugin)), "effects");
    return effects ? effects : value_array();
}

static struct plugin_client *plugin_client_new(struct plugin_clients *clients, struct plugin *plugin) {
    struct plugin_client *client = mem_zalloc(sizeof *client);
    client->clients = clients;
    client->plugin = plugin;
    client->rights = (struct component_info){.id = plugin_id(plugin),
                                             .kind = "plugin",
                                             .title = plugin_title(plugin),
                                             .documentation = "",
                                             .plugin_id = plugin_id(plugin),
                                             .plugin_version = plugin_version(plugin),
                                             .manifest = manifest_plugin(plugin_manifest(plugin)),
                                             .effects = plugin_own_effects(plugin)};
    client->next = clients->first;
    return clients->first = client;
}

static struct client *client_for(struct plugin_client *client) {
    char name[MANIFEST_ID_MAX + 16];
    (void)snprintf(name, sizeof name, "plugin %s", plugin_id(client->plugin));
    return client_new(client->clients->server, &(struct client_options){.name = name,
                                                                        .scope = METHOD_ADMIN,
                                                                        .plugin = true,
                                                                        .notify = plugin_client_notify,
                                                                        .unsubscribed = plugin_client_unsubscribed,
                                                                        .user = client});
}

struct plugin_client *plugin_client_of(struct plugin_clients *clients, struct plugin *plugin) {
    struct plugin_client *client = plugin_client_find(clients, plugin);
    enum plugin_state state = plugin_state(plugin);
    if (state == PLUGIN_REFUSED || state == PLUGIN_UNLOADED) return NULL;
    if (!client) client = plugin_client_new(clients, plugin);
    if (!client->client) client->client = client_for(client);
    return client;
}

/* ---- Calls of tasks ---- */

struct client *plugin_clients_client(struct plugin_clients *clients, struct plugin *plugin) {
    const struct plugin_client *client = plugin_client_of(clients, plugin);
    return client ? client->client : NULL;
}

const struct component_info *plugin_clients_rights(const struct plugin_clients *clients, const struct client *client) {
    const struct plugin_client *plugin = clients->first;
    while (plugin && plugin->client != client) plugin = plugin->next;
    return plugin ? &plugin->rights : NULL;
}

struct server *plugin_server(const struct plugin *plugin) {
    const struct method_source *source = registry_owner(plugin_registry(plugin), TN_HOST_1);
    return source ? plugin_clients_server(source->user) : NULL;
}

static int32_t source_make(const struct component *component, const char *name, struct callable **out) {
    const struct method *method = method_find(name);
    if (!method) return TN_NOT_FOUND;
    *out = method_call_of_component(method, component);
    return TN_OK;
}

/* ---- Callers ---- */

int32_t plugin_client_check(const struct plugin_client *client, const struct plugin_caller *caller,
                            const struct method *method, struct error *error) {
    int32_t status = method_check_caller(client->clients->server, &client->rights, method, error);
    if (status != TN_OK || !caller || !caller->options.check) return status;
    return caller->options.check(caller->options.user, method, error);
}

struct plugin_caller *plugin_caller_new(struct plugin_clients *clients, struct plugin *plugin,
                                        const struct plugin_caller_options *options) {
    struct plugin_client *client = plugin_client_of(clients, plugin);
    if (!client) return NULL;
    struct plugin_caller *caller = mem_zalloc(sizeof *caller);
    caller->client = client;
    caller->options = *options;
    caller->options.name = caller->name = mem_text(options->name);
    caller->options.owner = caller->owner = options->owner ? mem_text(options->owner) : NULL;
    caller->user =
        client_new(clients->server,
                   &(struct client_options){.name = options->name, .scope = options->scope, .owner = options->owner});
    caller->next = client->callers;
    caller->link = &client->callers;
    if (caller->next) caller->next->link = &caller->next;
    client->callers = caller;
    return caller;
}

void plugin_caller_free(struct plugin_caller *caller) {
    if (!caller) return;
    plugin_client_drop_requests(caller->client, caller);
    plugin_client_drop_subscriptions(caller->client, caller);
    *caller->link = caller->next;
    if (caller->next) caller->next->link = caller->link;
    client_free(caller->user);
    mem_free(caller->name);
    mem_free(caller->owner);
    mem_free(caller);
}

void plugin_caller_refuse(struct plugin_caller *caller, const char *message) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_FAILED, "PERMISSION_DENIED", "%s", message);
    plugin_client_refuse_subscriptions(caller, &error);
    error_finish(&error);
}

bool plugin_caller_is_used(const struct plugin_caller *caller) {
    return caller->share.requests > 0 || caller->share.subscriptions > 0;
}

int32_t plugin_caller_request(struct plugin_caller *caller, const char *method, tn_value params,
                              tn_host_handler handler, void *user, uint64_t *request) {
    return plugin_client_request(caller->client, caller, method, params, handler, user, request);
}

int32_t plugin_caller_subscribe(struct plugin_caller *caller, tn_value params, tn_host_handler handler, void *user,
                                uint64_t *subscription) {
    return plugin_client_subscribe(caller->client, caller, params, handler, user, subscription);
}

/* ---- Requests and subscriptions ---- */

static int32_t source_request(void *user, struct plugin *plugin, const char *name, tn_value params,
                              tn_host_handler handler, void *handler_user, uint64_t *out) {
    struct plugin_client *client;
    if (!method_find(name)) return TN_NOT_FOUND;
    client = plugin_client_of(user, plugin);
    return client ? plugin_client_request(client, NULL, name, params, handler, handler_user, out) : TN_STALE;
}

static int32_t source_cancel(void *user, struct plugin *plugin, uint64_t number) {
    return plugin_client_cancel(plugin_client_find(user, plugin), number);
}

static int32_t source_subscribe(void *user, struct plugin *plugin, tn_value params, tn_host_handler handler,
                                void *handler_user, uint64_t *out) {
    struct plugin_client *client = plugin_client_of(user, plugin);
    return client ? plugin_client_subscribe(client, NULL, params, handler, handler_user, out) : TN_STALE;
}

static int32_t source_pause(void *user, struct plugin *plugin, uint64_t number, bool paused) {
    return plugin_client_pause(plugin_client_find(user, plugin), number, paused);
}

static int32_t source_unsubscribe(void *user, struct plugin *plugin, uint64_t number) {
    return plugin_client_unsubscribe(plugin_client_find(user, plugin), number);
}

/* ---- The end ---- */

static void plugin_client_end(struct plugin_client *client) {
    plugin_client_drop_requests(client, NULL);
    plugin_client_drop_subscriptions(client, NULL);
    client_free(client->client);
    client->client = NULL;
}

static void source_ended(void *user, struct plugin *plugin) {
    struct plugin_client *client = plugin_client_find(user, plugin);
    if (client) plugin_client_end(client);
}

static void client_set_left_all(struct plugin_client *client, bool left) {
    if (client->client) client_set_left(client->client, left);
    for (struct plugin_caller *caller = client->callers; caller; caller = caller->next)
        client_set_left(caller->user, left);
}

static void source_left(void *user, struct plugin *plugin) {
    struct plugin_clients *clients = user;
    struct plugin_client *client = plugin_client_find(clients, plugin);
    if (!client) return;
    client_set_left_all(client, true);
    server_runs_end_left(server_runs_of(clients->server));
    client_set_left_all(client, false);
}

static void source_free(void *user) { server_free(((struct plugin_clients *)user)->server); }

struct plugin_clients *plugin_clients_new(struct server *server) {
    struct plugin_clients *clients = mem_zalloc(sizeof *clients);
    clients->server = server;
    clients->sweep.run = plugin_clients_sweep;
    clients->source = (struct method_source){.user = clients,
                                             .make = source_make,
                                             .request = source_request,
                                             .cancel = source_cancel,
                                             .subscribe = source_subscribe,
                                             .pause = source_pause,
                                             .unsubscribe = source_unsubscribe,
                                             .refuse_unknown = method_refuse_unknown,
                                             .ended = source_ended,
                                             .left = source_left,
                                             .free = source_free};
    return clients;
}

struct server *plugin_clients_server(const struct plugin_clients *clients) {
    return clients->server;
}

const struct method_source *plugin_clients_source(const struct plugin_clients *clients) { return &clients->source; }

static bool no_request_is_open(void *user) { return ((const struct plugin_clients *)user)->open == 0; }

void plugin_clients_free(struct plugin_clients *clients) {
    for (struct plugin_client *client = clients->first; client; client = client->next) plugin_client_end(client);
    (void)loop_run(server_loop(clients->server), no_request_is_open, clients);
    loop_undefer(server_loop(clients->server), &clients->sweep);
    plugin_clients_sweep(&clients->sweep);
    while (clients->first) {
        struct plugin_client *next = clients->first->next;
        mem_free(clients->first);
        clients->first = next;
    }
    mem_free(clients);
}
