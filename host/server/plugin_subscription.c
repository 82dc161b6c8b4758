/*
 * plugin_subscription.c - subscriptions of plugins, for themselves or for a caller.
 *
 * Those of the plugin itself share its client. Each subscription for a caller has a separate client, with the scope and
 * the owner of the caller. So its events need no search, and the limit of subscriptions of a client does not apply.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/plugin/abi/abi.h"
#include "host/server/method_call.h"
#include "host/server/plugin_client_internal.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"

struct plugin_subscription {
    struct plugin_subscription *next;
    struct plugin_client *client;
    struct plugin_caller *caller; /* NULL: the plugin itself */
    struct client *own;           /* of a caller's subscription; else NULL */
    uint64_t number;              /* for the plugin */
    uint64_t inner;               /* of the client's subscription; 0 after its end */
    tn_host_handler handler;      /* NULL after unsubscribe */
    void *user;
    tn_value trace;          /* plugin_clients_set_trace, when it was made */
    tn_value refusal;        /* why it was refused, an error object; NULL if its run has ended */
    struct loop_work ending; /* reports its end */
    bool paused;
};

static struct client *client_of(const struct plugin_subscription *subscription) {
    return subscription->own ? subscription->own : subscription->client->client;
}

/* The subscription with this number, or NULL. */
static struct plugin_subscription *subscription_of(const struct plugin_client *client, uint64_t number) {
    struct plugin_subscription *at = client ? client->subscriptions[number % PLUGIN_BUCKETS] : NULL;
    while (at && at->number != number) at = at->next;
    return at;
}

/* Of the plugin itself: numbers of clients are not those of plugins. */
static struct plugin_subscription *subscription_of_inner(const struct plugin_client *client, uint64_t inner) {
    for (size_t i = 0; i < PLUGIN_BUCKETS; i++)
        for (struct plugin_subscription *at = client->subscriptions[i]; at; at = at->next)
            if (!at->caller && at->inner == inner) return at;
    return NULL;
}

static void subscription_free(struct plugin_subscription *subscription) {
    client_free(subscription->own);
    value_unref(subscription->refusal);
    value_unref(subscription->trace);
    mem_free(subscription);
}

void plugin_clients_sweep(struct loop_work *work) {
    struct plugin_clients *clients = CONTAINER_OF(work, struct plugin_clients, sweep);
    while (clients->dropped) {
        struct plugin_subscription *dropped = clients->dropped;
        clients->dropped = dropped->next;
        subscription_free(dropped);
    }
}

/* The client's subscription ends separately. Its client may be sending to it, so both are freed in another turn. */
static void subscription_drop(struct plugin_subscription *subscription) {
    struct plugin_client *client = subscription->client;
    struct plugin_clients *clients = client->clients;
    struct plugin_subscription **at = &client->subscriptions[subscription->number % PLUGIN_BUCKETS];
    struct loop *loop = server_loop(clients->server);
    while (*at != subscription) at = &(*at)->next;
    *at = subscription->next;
    (subscription->caller ? &subscription->caller->share : &client->share)->subscriptions--;
    loop_undefer(loop, &subscription->ending);
    subscription->handler = NULL;
    if (!subscription->own) {
        subscription_free(subscription);
        return;
    }
    subscription->next = clients->dropped;
    clients->dropped = subscription;
    loop_defer(loop, &clients->sweep);
}

/* ---- Events ---- */

static void subscription_report_end(struct loop_work *work) {
    struct plugin_subscription *subscription = CONTAINER_OF(work, struct plugin_subscription, ending);
    struct plugin *plugin = subscription->client->plugin;
    tn_host_handler handler = subscription->handler;
    void *user = subscription->user;
    struct plugin_clients *clients = subscription->client->clients;
    tn_value refusal = value_ref(subscription->refusal), trace = value_ref(subscription->trace);
    if (!subscription->paused) {
        subscription_drop(subscription);
        void *before = interface_enter(plugin);
        tn_value outer = plugin_clients_set_trace(clients, trace);
        handler(user, refusal ? TN_FAILED : TN_OK, refusal);
        (void)plugin_clients_set_trace(clients, outer);
        interface_leave(plugin, before);
    }
    value_unref(refusal);
    value_unref(trace);
}

/* The number in the event is that of the plugin. */
static void subscription_report(struct plugin_subscription *subscription, const char *event, tn_value params) {
    struct plugin *plugin = subscription->client->plugin;
    tn_value number = value_int((int64_t)subscription->number);
    tn_value whole = value_set_take(value_object_reserve(2), "event", value_text(event));
    whole = value_set_take(whole, "params", value_set_take(value_ref(params), "subscription", number));
    struct plugin_clients *clients = subscription->client->clients;
    tn_value trace = value_ref(subscription->trace); /* the handler may end the subscription */
    void *before = interface_enter(plugin);
    tn_value outer = plugin_clients_set_trace(clients, trace);
    subscription->handler(subscription->user, TN_CHUNK, whole);
    (void)plugin_clients_set_trace(clients, outer);
    interface_leave(plugin, before);
    value_unref(trace);
    value_unref(whole);
}

static void subscription_note_end(struct plugin_subscription *subscription) {
    subscription->inner = 0;
    loop_defer(server_loop(subscription->client->clients->server), &subscription->ending);
}

void plugin_client_notify(void *user, uint64_t inner, const char *event, tn_value params) {
    struct plugin_subscription *subscription = subscription_of_inner(user, inner);
    if (subscription) subscription_report(subscription, event, params);
}

void plugin_client_unsubscribed(void *user, uint64_t inner) {
    struct plugin_subscription *subscription = subscription_of_inner(user, inner);
    if (subscription) subscription_note_end(subscription); /* else the plugin has ended it */
}

static void caller_notify(void *user, uint64_t inner, const char *event, tn_value params) {
    struct plugin_subscription *subscription = user;
    (void)inner;
    if (subscription->handler) subscription_report(subscription, event, params);
}

static void caller_unsubscribed(void *user, uint64_t inner) {
    struct plugin_subscription *subscription = user;
    (void)inner;
    if (subscription->handler) subscription_note_end(subscription);
}

/* ---- For plugins ---- */

static struct subscription *subscription_make(const struct plugin_subscription *own, tn_value params,
                                              struct error *error) {
    const struct method *method = method_find(value_get(params, "run_id") ? "run/subscribe" : "event/subscribe");
    struct subscription *made = NULL;
    tn_value read = NULL;
    int32_t status = plugin_client_check(own->client, own->caller, method, error);
    if (status == TN_OK && own->caller && own->caller->options.scope < method->scope)
        status = error_set(error, TN_FAILED, "PERMISSION_DENIED", "the method %s needs the scope `%s`; %s has `%s`",
                           method->name, method_scope_name(method->scope), own->caller->options.name,
                           method_scope_name(own->caller->options.scope));
    if (status == TN_OK) status = method_read_params(method, params, &read, error);
    if (status == TN_OK && value_get(read, "credit"))
        error_set(error, TN_INVALID, "INVALID_INPUT",
                  "`credit`: found one, expected none: a plugin receives events until it calls `pause`");
    else if (status == TN_OK)
        made = method_subscribe(client_of(own), read, error);
    value_unref(read);
    return made;
}

static struct client *client_for_caller(const struct plugin_caller *caller, struct plugin_subscription *subscription) {
    return client_new(caller->client->clients->server, &(struct client_options){.name = caller->options.name,
                                                                                .scope = caller->options.scope,
                                                                                .owner = caller->options.owner,
                                                                                .notify = caller_notify,
                                                                                .unsubscribed = caller_unsubscribed,
                                                                                .user = subscription});
}

int32_t plugin_client_subscribe(struct plugin_client *client, struct plugin_caller *caller, tn_value params,
                                tn_host_handler handler, void *handler_user, uint64_t *out) {
    struct plugin_share *share = caller ? &caller->share : &client->share;
    struct error error = ERROR_INIT;
    if (share->subscriptions == TN_HOST_SUBSCRIPTIONS_MAX) return TN_LIMIT;
    struct plugin_subscription *subscription = mem_zalloc(sizeof *subscription);
    *subscription = (struct plugin_subscription){.client = client,
                                                 .caller = caller,
                                                 .number = ++client->last_subscription,
                                                 .handler = handler,
                                                 .user = handler_user,
                                                 .trace = value_ref(client->clients->trace),
                                                 .ending = {.run = subscription_report_end}};
    if (caller) subscription->own = client_for_caller(caller, subscription);
    struct subscription *made = subscription_make(subscription, params, &error);
    if (made)
        subscription->inner = subscription_number(made);
    else
        subscription->refusal = error_to_value(&error);
    struct plugin_subscription **bucket = &client->subscriptions[subscription->number % PLUGIN_BUCKETS];
    subscription->next = *bucket;
    *bucket = subscription;
    share->subscriptions++;
    if (!made) loop_defer(server_loop(client->clients->server), &subscription->ending);
    *out = subscription->number;
    error_finish(&error);
    return TN_OK;
}

int32_t plugin_client_pause(struct plugin_client *client, uint64_t number, bool paused) {
    struct plugin_subscription *subscription = subscription_of(client, number);
    if (!subscription) return TN_STALE;
    subscription->paused = paused;
    if (subscription->inner)
        subscription_pause(subscription_find(client_of(subscription), subscription->inner), paused);
    else if (!paused)
        loop_defer(server_loop(client->clients->server), &subscription->ending);
    return TN_OK;
}

static void subscription_end_both(struct plugin_subscription *subscription) {
    struct client *client = client_of(subscription);
    uint64_t inner = subscription->inner;
    bool own = subscription->own != NULL;
    subscription_drop(subscription);
    if (inner && (own || client)) subscription_end(subscription_find(client, inner));
}

int32_t plugin_client_unsubscribe(struct plugin_client *client, uint64_t number) {
    struct plugin_subscription *subscription = subscription_of(client, number);
    if (!subscription) return TN_STALE;
    subscription_end_both(subscription);
    return TN_OK;
}

static struct plugin_subscription *first_of(struct plugin_client *client, size_t bucket,
                                            const struct plugin_caller *caller) {
    struct plugin_subscription *at = client->subscriptions[bucket];
    while (at && caller && at->caller != caller) at = at->next;
    return at;
}

void plugin_client_drop_subscriptions(struct plugin_client *client, const struct plugin_caller *caller) {
    struct plugin_subscription *subscription;
    for (size_t i = 0; i < PLUGIN_BUCKETS; i++)
        while ((subscription = first_of(client, i, caller)) != NULL) subscription_end_both(subscription);
}

void plugin_client_refuse_subscriptions(struct plugin_caller *caller, const struct error *error) {
    const struct plugin_client *client = caller->client;
    for (size_t i = 0; i < PLUGIN_BUCKETS; i++)
        for (struct plugin_subscription *at = client->subscriptions[i]; at; at = at->next) {
            if (at->caller != caller || !at->inner || at->refusal) continue;
            at->refusal = error_to_value(error);
            subscription_end(subscription_find(at->own, at->inner)); /* reports the end in another turn */
        }
}
