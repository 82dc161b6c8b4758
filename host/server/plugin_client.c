/*
 * plugin_client.c - calls, requests and subscriptions of plugins.
 */
#include "host/server/plugin_client.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_host.h"
#include "host/plugin/call/call.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"
#include <assert.h>
#include <stdio.h>

/* It is freed with the others, because frames of runs that the plugin has started point to its `rights`. */
struct plugin_client {
    struct plugin_client *next;
    struct plugin_clients *clients;
    struct plugin *plugin;
    struct component_info rights; /* of what it does outside of tasks */
    struct client *client;        /* NULL after the plugin has ended; made again if it starts again (reset) */
    struct plugin_request *requests;
    struct plugin_subscription *subscriptions;
    uint64_t last_request, last_subscription;
    uint32_t request_count, subscription_count;
};

/* A call outside of tasks. */
struct plugin_request {
    struct plugin_request *next;
    struct plugin_client *client; /* NULL after the plugin has ended */
    struct plugin_clients *clients;
    uint64_t number;
    struct call *call;
    tn_value params;
    tn_host_handler handler; /* NULL after cancel */
    void *user;
    struct loop_work work; /* starts it */
};

struct plugin_subscription {
    struct plugin_subscription *next;
    struct plugin_client *client;
    uint64_t number; /* for the plugin */
    uint64_t inner;  /* of the client's subscription; 0 after its end */
    tn_host_handler handler;
    void *user;
    tn_value refusal;        /* why it was refused, an error object; NULL if its run has ended */
    struct loop_work ending; /* reports its end */
    bool paused;
};

struct plugin_clients {
    struct server *server;
    struct plugin_client *first;
    uint64_t open; /* requests */
    struct method_source source;
};

/* ---- Events ---- */

/* The subscription with this number, or NULL. */
static struct plugin_subscription *subscription_of(const struct plugin_client *client, uint64_t number) {
    struct plugin_subscription *at = client ? client->subscriptions : NULL;
    while (at && at->number != number) at = at->next;
    return at;
}

static struct plugin_subscription *subscription_of_inner(const struct plugin_client *client, uint64_t inner) {
    struct plugin_subscription *at = client->subscriptions;
    while (at && at->inner != inner) at = at->next;
    return at;
}

/* Frees what is kept for the plugin; the client's subscription ends separately. */
static void subscription_drop(struct plugin_subscription *subscription) {
    struct plugin_client *client = subscription->client;
    struct plugin_subscription **at = &client->subscriptions;
    while (*at != subscription) at = &(*at)->next;
    *at = subscription->next;
    client->subscription_count--;
    loop_undefer(server_loop(client->clients->server), &subscription->ending);
    value_unref(subscription->refusal);
    mem_free(subscription);
}

static void subscription_report_end(struct loop_work *work) {
    struct plugin_subscription *subscription = CONTAINER_OF(work, struct plugin_subscription, ending);
    struct plugin *plugin = subscription->client->plugin;
    tn_host_handler handler = subscription->handler;
    void *user = subscription->user;
    tn_value refusal = value_ref(subscription->refusal);
    if (!subscription->paused) {
        subscription_drop(subscription);
        void *before = interface_enter(plugin);
        handler(user, refusal ? TN_FAILED : TN_OK, refusal);
        interface_leave(plugin, before);
    }
    value_unref(refusal);
}

static void plugin_client_unsubscribed(void *user, uint64_t inner) {
    struct plugin_client *client = user;
    struct plugin_subscription *subscription = subscription_of_inner(client, inner);
    if (!subscription) return; /* the plugin has ended it */
    subscription->inner = 0;
    loop_defer(server_loop(client->clients->server), &subscription->ending);
}

/* The number in the event is that of the plugin. */
static void plugin_client_notify(void *user, uint64_t inner, const char *event, tn_value params) {
    const struct plugin_client *client = user;
    const struct plugin_subscription *subscription = subscription_of_inner(client, inner);
    if (!subscription) return;
    struct plugin *plugin = client->plugin;
    tn_value number = value_int((int64_t)subscription->number);
    tn_value whole = value_set_take(value_object_reserve(2), "event", value_text(event));
    whole = value_set_take(whole, "params", value_set_take(value_ref(params), "subscription", number));
    void *before = interface_enter(plugin);
    subscription->handler(subscription->user, TN_CHUNK, whole);
    interface_leave(plugin, before);
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

/* NULL if the plugin has ended. A plugin that could not start, and was reset, is the same struct plugin. */
static struct plugin_client *plugin_client_of(struct plugin_clients *clients, struct plugin *plugin) {
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

/* ---- Requests ---- */

static void request_free(struct plugin_request *request) {
    request->clients->open--;
    call_free(request->call);
    value_unref(request->params);
    mem_free(request);
}

/* Removes it from its client. */
static void request_unlink(struct plugin_request *request) {
    assert(request->client);
    struct plugin_request **at = &request->client->requests;
    while (*at != request) at = &(*at)->next;
    *at = request->next;
    request->client->request_count--;
    request->client = NULL;
}

static void request_report(struct plugin_request *request, int32_t status, tn_value result) {
    if (!request->handler) return;
    struct plugin *plugin = request->client->plugin;
    tn_host_handler handler = request->handler;
    request_unlink(request); /* the handler may end the plugin's use of tenon.host */
    request->handler = NULL;
    void *before = interface_enter(plugin);
    handler(request->user, status, result);
    interface_leave(plugin, before);
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

static int32_t source_request(void *user, struct plugin *plugin, const char *name, tn_value params,
                              tn_host_handler handler, void *handler_user, uint64_t *out) {
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
                                       .handler = handler,
                                       .user = handler_user,
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
    request->handler = NULL;
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

static struct subscription *subscription_make(struct plugin_client *client, tn_value params, struct error *error) {
    const struct method *method = method_find(value_get(params, "run_id") ? "run/subscribe" : "event/subscribe");
    struct subscription *made = NULL;
    tn_value read = NULL;
    int32_t status = method_check_caller(client->clients->server, &client->rights, method, error);
    if (status == TN_OK) status = method_read_params(method, params, &read, error);
    if (status == TN_OK && value_get(read, "credit"))
        error_set(error, TN_INVALID, "INVALID_INPUT",
                  "`credit`: found one, expected none: a plugin receives events until it calls `pause`");
    else if (status == TN_OK)
        made = method_subscribe(client->client, read, error);
    value_unref(read);
    return made;
}

static int32_t source_subscribe(void *user, struct plugin *plugin, tn_value params, tn_host_handler handler,
                                void *handler_user, uint64_t *out) {
    struct plugin_client *client = plugin_client_of(user, plugin);
    struct error error = ERROR_INIT;
    if (!client) return TN_STALE;
    if (client->subscription_count == TN_HOST_SUBSCRIPTIONS_MAX) return TN_LIMIT;
    struct subscription *made = subscription_make(client, params, &error);
    struct plugin_subscription *subscription = mem_zalloc(sizeof *subscription);
    *subscription = (struct plugin_subscription){.next = client->subscriptions,
                                                 .client = client,
                                                 .number = ++client->last_subscription,
                                                 .inner = made ? subscription_number(made) : 0,
                                                 .handler = handler,
                                                 .user = handler_user,
                                                 .refusal = made ? NULL : error_to_value(&error),
                                                 .ending = {.run = subscription_report_end}};
    client->subscriptions = subscription;
    client->subscription_count++;
    if (!made) loop_defer(server_loop(client->clients->server), &subscription->ending);
    *out = subscription->number;
    error_finish(&error);
    return TN_OK;
}

static int32_t source_pause(void *user, struct plugin *plugin, uint64_t number, bool paused) {
    struct plugin_client *client = plugin_client_find(user, plugin);
    struct plugin_subscription *subscription = subscription_of(client, number);
    if (!subscription) return TN_STALE;
    subscription->paused = paused;
    if (subscription->inner)
        subscription_pause(subscription_find(client->client, subscription->inner), paused);
    else if (!paused)
        loop_defer(server_loop(client->clients->server), &subscription->ending);
    return TN_OK;
}

static int32_t source_unsubscribe(void *user, struct plugin *plugin, uint64_t number) {
    const struct plugin_client *client = plugin_client_find(user, plugin);
    struct plugin_subscription *subscription = subscription_of(client, number);
    if (!subscription) return TN_STALE;
    uint64_t inner = subscription->inner;
    subscription_drop(subscription);
    if (inner) subscription_end(subscription_find(client->client, inner));
    return TN_OK;
}

/* ---- The end ---- */

static void plugin_client_end(struct plugin_client *client) {
    while (client->requests) request_drop(client->requests);
    while (client->subscriptions) subscription_drop(client->subscriptions);
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
                                             .refuse_unknown = method_refuse_unknown,
                                             .ended = source_ended,
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
    while (clients->first) {
        struct plugin_client *next = clients->first->next;
        mem_free(clients->first);
        clients->first = next;
    }
    mem_free(clients);
}
