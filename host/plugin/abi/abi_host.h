/*
 * abi_host.h - tenon.host: the method table for plugins. What implements it is a table of functions, because the room
 * `server` is above this one.
 *
 *     host_set_methods(host, &(struct method_source){.user = plugin_clients, .make = make_call, …});
 *
 * Thread: [loop], but for `make`.
 */
#ifndef TENON_HOST_PLUGIN_ABI_ABI_HOST_H
#define TENON_HOST_PLUGIN_ABI_ABI_HOST_H

#include <stdbool.h>
#include <tenon/host.h>

struct callable;
struct component;
struct error;
struct plugin;

/* The owner of tenon.host (registry_owner). */
struct method_source {
    void *user;
    /*
     * [any] The callable of one call by a task of `component`; a new reference. TN_NOT_FOUND: no such method. A worker
     * may call it while the loop removes the source, so it does not get `user`: the callable looks the owner up when
     * it is started. The other functions are [loop].
     */
    int32_t (*make)(const struct component *component, const char *method, struct callable **out);
    /* As the functions of tn_host_1. */
    int32_t (*request)(void *user, struct plugin *plugin, const char *method, tn_value params, tn_host_handler handler,
                       void *handler_user, uint64_t *request);
    int32_t (*cancel)(void *user, struct plugin *plugin, uint64_t request);
    int32_t (*subscribe)(void *user, struct plugin *plugin, tn_value params, tn_host_handler handler,
                         void *handler_user, uint64_t *subscription);
    int32_t (*pause)(void *user, struct plugin *plugin, uint64_t subscription, bool paused);
    int32_t (*unsubscribe)(void *user, struct plugin *plugin, uint64_t subscription);
    /* Sets NOT_FOUND for a method that does not exist, with the nearest name. Returns TN_NOT_FOUND. */
    int32_t (*refuse_unknown)(const char *method, struct error *error);
    void (*ended)(void *user, struct plugin *plugin); /* no function of the plugin may be called any more */
    /* The process of an isolated plugin has ended. It is started again, but does not know what it has started. */
    void (*left)(void *user, struct plugin *plugin);
    void (*free)(void *user); /* the host ends */
};

extern const tn_host_1 interface_host;
void interface_host_ended(struct plugin *plugin);
void interface_host_left(struct plugin *plugin);
/* [loop] The error of TN_NOT_FOUND for a plugin, which names the method. The host has methods. */
int32_t interface_host_refuse_unknown(const struct plugin *plugin, const char *method, struct error *error);

#endif
