/*
 * plugin_client.h - the plugins of a host as clients of its method table: implements tenon.host
 * (plugin/abi/abi_host.h).
 *
 * Each plugin that uses tenon.host has one client. A call of a task is a child of the task. A request is a call outside
 * of tasks. Both have the rights of a component, never more (method_call.h). If a plugin ends, or its process, its
 * requests are cancelled and its subscriptions end; runs that it has started continue without `ends_with_client`.
 *
 *     struct plugin_clients *clients = plugin_clients_new(server);
 *     host_set_methods(host, plugin_clients_source(clients));
 *     ...
 *     host_set_methods(host, NULL);
 *     plugin_clients_free(clients);
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_PLUGIN_CLIENT_H
#define TENON_HOST_SERVER_PLUGIN_CLIENT_H

#include "host/server/method.h"
#include <stdbool.h>
#include <tenon/host.h>

struct client;
struct component_info;
struct method_source;
struct plugin;
struct plugin_clients;
struct server;

struct plugin_clients *plugin_clients_new(struct server *server);
/* Requests that are open are cancelled, and the loop runs until they have ended. */
void plugin_clients_free(struct plugin_clients *clients);
/* The client of a plugin, which is made when it is first needed; NULL if the plugin has ended. */
struct client *plugin_clients_client(struct plugin_clients *clients, struct plugin *plugin);
/* What the plugin of a client may call outside of tasks, and subscribe to, borrowed; NULL for other clients. */
const struct component_info *plugin_clients_rights(const struct plugin_clients *clients, const struct client *client);
struct plugin_clients *server_plugin_clients(const struct server *server); /* those of a server */
struct server *plugin_clients_server(const struct plugin_clients *clients);
/* For host_set_methods; its `user` is `clients`. Borrowed. */
const struct method_source *plugin_clients_source(const struct plugin_clients *clients);
/*
 * What plugins do from now on is caused by a request with this trace context: {traceparent, tracestate?}, borrowed, or
 * NULL. Returns the one before, for the end of the call. A run that a plugin starts for a caller has it in its
 * metadata. What a handler of such a call does, has the same cause.
 */
tn_value plugin_clients_set_trace(struct plugin_clients *clients, tn_value trace);
/* The server whose methods the plugin can call; NULL if there is none, or not any more. */
struct server *plugin_server(const struct plugin *plugin);

/*
 * A user for whom a plugin calls methods (tenon.server): calls have the scope and the owner of the caller, not the
 * rights of the plugin, whose effects must allow the method all the same. Requests and subscriptions are among those of
 * tenon.host, so the plugin cancels and pauses them there.
 */
struct plugin_caller;
struct plugin_caller_options {
    const char *name; /* for people; copied */
    enum method_scope scope;
    const char *owner; /* NULL: the operator; copied */
    /* Whether it may call the method now: TN_OK, or PERMISSION_DENIED or a limit. May be NULL, as `done`. */
    int32_t (*check)(void *user, const struct method *method, struct error *error);
    /* The end of each request that `check` has allowed. `result` is NULL if it has failed, or was cancelled. Borrowed.
     */
    void (*done)(void *user, const struct method *method, tn_value params, tn_value result);
    void *user;
};
/* NULL if the plugin has ended. It must be freed before plugin_clients_free. */
struct plugin_caller *plugin_caller_new(struct plugin_clients *clients, struct plugin *plugin,
                                        const struct plugin_caller_options *options);
/* Requests are cancelled, subscriptions end, both without a report. NULL is allowed. */
void plugin_caller_free(struct plugin_caller *caller);
/* Its subscriptions end with PERMISSION_DENIED and this message. */
void plugin_caller_refuse(struct plugin_caller *caller, const char *message);
bool plugin_caller_is_used(const struct plugin_caller *caller); /* it has open requests or subscriptions */
/* As the functions of tn_host_1. */
int32_t plugin_caller_request(struct plugin_caller *caller, const char *method, tn_value params,
                              tn_host_handler handler, void *user, uint64_t *request);
int32_t plugin_caller_subscribe(struct plugin_caller *caller, tn_value params, tn_host_handler handler, void *user,
                                uint64_t *subscription);

#endif
