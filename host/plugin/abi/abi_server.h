/*
 * abi_server.h - tenon.server: routes of the host's HTTP server for plugins. What implements it is a table of
 * functions, because the room `server/web` is above this one.
 *
 *     host_set_routes(host, &(struct route_source){.user = web, .route = web_source_route, …});
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_PLUGIN_ABI_ABI_SERVER_H
#define TENON_HOST_PLUGIN_ABI_ABI_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <tenon/server.h>

struct error;
struct plugin;

/* The owner of tenon.server (registry_owner). The functions are those of tn_server_draft, with checked arguments. */
struct route_source {
    void *user;
    int32_t (*route)(void *user, struct plugin *plugin, tn_value route, tn_server_handler handler, void *handler_user,
                     uint64_t *number, struct error *error);
    int32_t (*unroute)(void *user, struct plugin *plugin, uint64_t number);
    int32_t (*respond)(void *user, struct plugin *plugin, uint64_t request, tn_value response);
    int32_t (*write)(void *user, struct plugin *plugin, uint64_t request, const char *data, size_t length);
    int32_t (*event)(void *user, struct plugin *plugin, uint64_t request, tn_value event);
    int32_t (*finish)(void *user, struct plugin *plugin, uint64_t request);
    int32_t (*abort)(void *user, struct plugin *plugin, uint64_t request);
    int32_t (*flow)(void *user, struct plugin *plugin, uint64_t request, bool on);
    int32_t (*accept)(void *user, struct plugin *plugin, uint64_t request, const char *protocol);
    int32_t (*send)(void *user, struct plugin *plugin, uint64_t request, tn_value message);
    int32_t (*close)(void *user, struct plugin *plugin, uint64_t request, int32_t code, const char *reason);
    int32_t (*request_as)(void *user, struct plugin *plugin, uint64_t caller, const char *method, tn_value params,
                          tn_host_handler handler, void *handler_user, uint64_t *request);
    int32_t (*subscribe_as)(void *user, struct plugin *plugin, uint64_t caller, tn_value params,
                            tn_host_handler handler, void *handler_user, uint64_t *subscription);
    void (*ended)(void *user, struct plugin *plugin); /* no function of the plugin may be called any more */
};

extern const tn_server_draft interface_server;
void interface_server_ended(struct plugin *plugin);

#endif
