/*
 * plugin_client_internal.h - plugins as clients: what plugin_client.c (clients, calls of tasks), plugin_request.c and
 * plugin_subscription.c share.
 */
#ifndef TENON_HOST_SERVER_PLUGIN_CLIENT_INTERNAL_H
#define TENON_HOST_SERVER_PLUGIN_CLIENT_INTERNAL_H

#include "adl/document/catalog.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi_host.h"
#include "host/server/client.h"
#include "host/server/plugin_client.h"

struct call;
struct plugin_request;
struct plugin_subscription;

#define PLUGIN_BUCKETS 64u /* requests and subscriptions of a plugin, by number */

/* What one user of the method table has open: the plugin itself, or a caller. */
struct plugin_share {
    uint32_t requests, subscriptions;
};

/* It is freed with the others, because frames of runs that the plugin has started point to its `rights`. */
struct plugin_client {
    struct plugin_client *next;
    struct plugin_clients *clients;
    struct plugin *plugin;
    struct component_info rights; /* of what it does outside of tasks */
    struct client *client;        /* NULL after the plugin has ended; made again if it starts again (reset) */
    struct plugin_caller *callers;
    struct plugin_request *requests[PLUGIN_BUCKETS];
    struct plugin_subscription *subscriptions[PLUGIN_BUCKETS];
    uint64_t last_request, last_subscription;
    struct plugin_share share;
};

/* A user for whom the plugin acts. Its requests have one client; each of its subscriptions has its own. */
struct plugin_caller {
    struct plugin_caller *next, **link; /* of the plugin's client */
    struct plugin_client *client;
    char *name, *owner;
    struct plugin_caller_options options; /* its texts are those above */
    struct client *user;
    struct plugin_share share;
};

struct plugin_clients {
    struct server *server;
    struct plugin_client *first;
    struct plugin_subscription *dropped; /* freed in the next turn: their client may be sending */
    struct loop_work sweep;
    tn_value trace; /* plugin_clients_set_trace */
    uint64_t open;  /* requests */
    struct method_source source;
};

/* NULL if the plugin has ended. A plugin that could not start, and was reset, is the same struct plugin. */
struct plugin_client *plugin_client_of(struct plugin_clients *clients, struct plugin *plugin);
/* NULL if it has not used tenon.host. */
struct plugin_client *plugin_client_find(const struct plugin_clients *clients, const struct plugin *plugin);
/* PERMISSION_DENIED if the plugin, or the caller, may not call the method now. `caller` may be NULL. */
int32_t plugin_client_check(const struct plugin_client *client, const struct plugin_caller *caller,
                            const struct method *method, struct error *error);

/* plugin_request.c: `caller` is NULL for the plugin itself. */
int32_t plugin_client_request(struct plugin_client *client, struct plugin_caller *caller, const char *name,
                              tn_value params, tn_host_handler handler, void *handler_user, uint64_t *out);
int32_t plugin_client_cancel(struct plugin_client *client, uint64_t number);
/* Ends without a report: those of one caller, or all. */
void plugin_client_drop_requests(struct plugin_client *client, const struct plugin_caller *caller);

/* plugin_subscription.c */
int32_t plugin_client_subscribe(struct plugin_client *client, struct plugin_caller *caller, tn_value params,
                                tn_host_handler handler, void *handler_user, uint64_t *out);
int32_t plugin_client_pause(struct plugin_client *client, uint64_t number, bool paused);
int32_t plugin_client_unsubscribe(struct plugin_client *client, uint64_t number);
void plugin_client_drop_subscriptions(struct plugin_client *client, const struct plugin_caller *caller);
/* They end with this error. */
void plugin_client_refuse_subscriptions(struct plugin_caller *caller, const struct error *error);
/* For client_options of the plugin itself: `user` is its struct plugin_client. */
void plugin_client_notify(void *user, uint64_t inner, const char *event, tn_value params);
void plugin_client_unsubscribed(void *user, uint64_t inner);
void plugin_clients_sweep(struct loop_work *work);

#endif
