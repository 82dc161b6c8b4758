/*
 * plugin_client.c - calls, requests and subscriptions of plugins.
 */
#include "host/server/plugin_client.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi_host.h"
#include "host/plugin/call/call.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"
#include <stdio.h>

/* It is freed with the others, because frames of runs that the plugin has started point to its `rights`. */
struct plugin_client {
    struct plugin_client *next;
    struct plugin_clients *clients;
    struct plugin *plugin;
    struct component_info rights; /* of what it does outside of tasks */
    struct client *client;        /* NULL after the plugin has ended */
    struct plugin_request *requests;
    struct plugin_handler *handlers;
    uint64_t last_request;
    uint32_t request_count;
};

/* A call outside of tasks. */
struct plugin_request {
    struct plugin_request *next;
    struct plugin_client *client; /* NULL after the plugin has ended */
    struct plugin_clients *clients;
    uint64_t number;
    struct call *call;
    tn_value params;
    tn_host_done done; /* NULL after cancel */
    void *user;
    struct loop_work work; /* starts it, or reports its end */
    bool ended;
};

struct plugin_handler {
    struct plugin_handler *next;
    uint64_t subscription;
    tn_host_event handler;
    void *user;
};

struct plugin_clients {
    struct server *server;
    struct plugin_client *first;
    uint64_t open; /* requests */
    struct method_source source;
};

/* ---- Events ---- */

static struct plugin_handler **handler_link(struct plugin_client *client, uint64_t subscription) {
    struct plugin_handler **at = &client->handlers;
    while (*at && (*at)->subscription != subscription) at = &(*at)->next;
    return at;
}

static void handler_remove(struct plugin_client *client, uint64_t subscription) {
    struct plugin_handler **link = handler_link(client, subscription), *handler = *link;
    if (!handler) return;
    *link = handler->next;
    mem_free(handler);
}

static void plugin_client_unsubscribed(void *user, uint64_t subscription) { handler_remove(user, subscription); }

static void *watch_enter(const struct plugin *plugin) {
    const struct registry_watch *watch = registry_watch(plugin_registry(plugin));
    return watch ? watch->enter(plugin) : NULL;
}

static void watch_leave(const struct plugin *plugin, void *before) {
    const struct registry_watch *watch = registry_watch(plugin_registry(plugin));
    if (watch) watch->leave(before);
}

static void plugin_client_notify(void *user, uint64_t subscription, const char *event, tn_value params) {
    struct plugin_client *client = user;
    const struct plugin_handler *handler = *handler_link(client, subscription);
    if (!handler) return;
    tn_value whole = value_set_take(value_object_reserve(2), "event", value_text(event));
    whole = value_set_take(whole, "params", value_ref(params));
    struct plugin *plugin = client->plugin;
    void *before = watch_enter(plugin);
    handler->handler(handler->user, whole);
    watch_leave(plugin, before);
    value_unref(whole);
}

/* ---- Clients ---- */

static struct plugin_client *plugin_client_find(const struct plugin_clients *clients, const struct plugin *plugin) {
    struct plugin_client *client = clients->first;
    while (client && client->plugin != plugin) client = client->next;
    return client;
}

/* Those of its manifest's `plugin`; none if it declares none. Borrowed: an empty array needs no reference. */
static tn_value plugin_own_effects(const struct plugin *plugin) {
    tn_value effects = value_get(manifest_plugin(plugin_manifest(plugin)), "effects");
    return effects ? effects : value_array();
}

/* NULL if the plugin has ended. */
static struct plugin_client *plugin_client_of(struct plugin_clients *clients, struct plugin *plugin) {
    struct plugin_client *client = plugin_client_find(clients, plugin);
    if (client) return client->client ? client : NULL;
    char name[MANIFEST_ID_MAX + 16];
    (void)snprintf(name, sizeof name, "plugin %s", plugin_id(plugin));
    client = mem_zalloc(sizeof *client);
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
    client->client = client_new(clients->server, &(struct client_options){.name = name,
                                                                          .scope = METHOD_ADMIN,
                                                                          .plugin = true,
                                                                          .notify = plugin_client_notify,
                                                                          .unsubscribed = plugin_client_unsubscribed,
                                                                          .user = client});
    client->next = clients->first;
    return clients->first = client;
}

/* ---- Calls of tasks ---- */

static int32_t source_make(void *user, const struct component *component, const char *name, struct callable **out) {
    struct plugin_clients *clients = user;
    const struct method *method = method_find(name);
    if (!method) return TN_NOT_FOUND;
    const struct plugin_client *client = plugin_client_of(clients, component->plugin);
    if (!client) return TN_STALE;
    *out = method_call_new(client->client, method, component->info);
    return TN_OK;
}

/* ---- Requests ---- */

static void request_free(struct plugin_request *request) {
    request->clients->open--;
    call_free(request->call);
    value_unref(request->params);
    mem_free(request);
}

/* Removes it from its client. */
static void request_unlink(struct plugin_request *request) {
    struct plugin_request **at = &request->client->requests;
    while (*at != request) at = &(*at)->next;
    *at = request->next;
    request->client->request_count--;
    request->client = NULL;
}

static void request_report(struct plugin_request *request, int32_t status, tn_value result) {
    if (!request->done) return;
    struct plugin *plugin = request->client->plugin;
    tn_host_done done = request->done;
    request_unlink(request); /* `done` may end the plugin's use of tenon.host */
    request->done = NULL;
    void *before = watch_enter(plugin);
    done(request->user, status, result);
    watch_leave(plugin, before);
}

static void request_finish(struct plugin_request *request) {
    const struct error *error = call_error(request->call);
    if (call_outcome(request->call) == CALL_COMPLETED) {
        tn_value output = call_output(request->call);
        request_report(request, TN_OK, output ? output : value_null());
    } else {
        tn_value why = error_to_value(error);
        request_report(request, TN_FAILED, why);
        value_unref(why);
    }
    request_free(request);
}

static void request_on_ended(struct call *call) { request_finish(call_owner(call)); }

static void request_start(struct loop_work *work) {
    struct plugin_request *request = CONTAINER_OF(work, struct plugin_request, work);
    if (call_start(request->call, request->params)) request_finish(request);
}

static int32_t source_request(void *user, struct plugin *plugin, const char *name, tn_value params, tn_host_done done,
                              void *done_user, uint64_t *out) {
    static const struct call_ops ops = {.ended = request_on_ended};
    struct plugin_clients *clients = user;
    const struct method *method = method_find(name);
    if (!method) return TN_NOT_FOUND;
    struct plugin_client *client = plugin_client_of(clients, plugin);
    if (!client) return TN_STALE;
    if (client->request_count == TN_HOST_REQUESTS_MAX) return TN_LIMIT;
    struct callable *callable = method_call_new(client->client, method, &client->rights);
    struct plugin_request *request = mem_zalloc(sizeof *request);
    *request = (struct plugin_request){.next = client->requests,
                                       .client = client,
                                       .clients = clients,
                                       .number = ++client->last_request,
                                       .params = params ? value_ref(params) : NULL,
                                       .done = done,
                                       .user = done_user,
                                       .work = {.run = request_start}};
    request->call = call_new(server_loop(clients->server), callable, &ops, request);
    callable_unref(callable);
    client->requests = request;
    client->request_count++;
    clients->open++;
    loop_defer(server_loop(clients->server), &request->work);
    *out = request->number;
    return TN_OK;
}

/* It ends without a report. */
static void request_drop(struct plugin_request *request) {
    struct loop *loop = server_loop(request->clients->server);
    request->done = NULL;
    request_unlink(request);
    if (!request->work.queued) {
        call_cancel(request->call);
        return;
    }
    loop_undefer(loop, &request->work);
    request_free(request);
}

static int32_t source_cancel(void *user, struct plugin *plugin, uint64_t number) {
    struct plugin_client *client = plugin_client_find(user, plugin);
    struct plugin_request *request = client ? client->requests : NULL;
    while (request && request->number != number) request = request->next;
    if (!request) return TN_STALE;
    request_drop(request);
    return TN_OK;
}

/* ---- Subscriptions ---- */

static int32_t source_subscribe(void *user, struct plugin *plugin, tn_value params, tn_host_event handler,
                                void *handler_user, uint64_t *out, struct error *error) {
    struct plugin_clients *clients = user;
    const char *name = value_get(params, "run_id") ? "run/subscribe" : "event/subscribe";
    const struct method *method = method_find(name);
    tn_value read = NULL;
    struct plugin_client *client = plugin_client_of(clients, plugin);
    if (!client) return error_set(error, TN_STALE, "CANCELLED", "the plugin `%s` has ended", plugin_id(plugin));
    int32_t status = method_check_caller(clients->server, &client->rights, method, error);
    if (status == TN_OK) status = method_read_params(method, params, &read, error);
    if (status != TN_OK) return status;
    struct subscription *subscription = method_subscribe(client->client, read, error);
    value_unref(read);
    if (!subscription) return TN_INVALID;
    struct plugin_handler *made = mem_zalloc(sizeof *made);
    *made = (struct plugin_handler){client->handlers, subscription_number(subscription), handler, handler_user};
    client->handlers = made;
    *out = made->subscription;
    return TN_OK;
}

static struct subscription *subscription_of(const struct plugin_clients *clients, const struct plugin *plugin,
                                            uint64_t number) {
    const struct plugin_client *client = plugin_client_find(clients, plugin);
    return client && client->client ? subscription_find(client->client, number) : NULL;
}

static int32_t source_pause(void *user, struct plugin *plugin, uint64_t number, bool paused) {
    struct subscription *subscription = subscription_of(user, plugin, number);
    if (!subscription) return TN_STALE;
    subscription_pause(subscription, paused);
    return TN_OK;
}

static int32_t source_unsubscribe(void *user, struct plugin *plugin, uint64_t number) {
    struct subscription *subscription = subscription_of(user, plugin, number);
    if (!subscription) return TN_STALE;
    subscription_end(subscription);
    return TN_OK;
}

/* ---- The end ---- */

static void plugin_client_end(struct plugin_client *client) {
    while (client->requests) request_drop(client->requests);
    client_free(client->client);
    client->client = NULL;
}

static void source_ended(void *user, struct plugin *plugin) {
    struct plugin_client *client = plugin_client_find(user, plugin);
    if (client) plugin_client_end(client);
}

static void source_free(void *user) { server_free(((struct plugin_clients *)user)->server); }

struct plugin_clients *plugin_clients_new(struct server *server) {
    struct plugin_clients *clients = mem_zalloc(sizeof *clients);
    clients->server = server;
    clients->source = (struct method_source){.user = clients,
                                             .make = source_make,
                                             .request = source_request,
                                             .cancel = source_cancel,
                                             .subscribe = source_subscribe,
                                             .pause = source_pause,
                                             .unsubscribe = source_unsubscribe,
                                             .ended = source_ended,
                                             .free = source_free};
    return clients;
}

struct server *plugin_clients_server(const struct plugin_clients *clients) {
    return clients->server;
}

struct method_source *plugin_clients_source(struct plugin_clients *clients) {
    return &clients->source;
}

static bool no_request_is_open(void *user) { return ((const struct plugin_clients *)user)->open == 0; }

void plugin_clients_free(struct plugin_clients *clients) {
    for (struct plugin_client *client = clients->first; client; client = client->next) plugin_client_end(client);
    (void)loop_run(server_loop(clients->server), no_request_is_open, clients);
    while (clients->first) {
        struct plugin_client *next = clients->first->next;
        mem_free(clients->first);
        clients->first = next;
    }
    mem_free(clients);
}
