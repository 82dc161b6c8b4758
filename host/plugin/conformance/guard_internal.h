/*
 * guard_internal.h - shared by the files of check mode: records and findings (guard.c), wrapped interfaces of the host
 * (guard_interfaces.c, guard_calls.c, guard_host.c, guard_server.c), wrapped vtables of plugins (guard_plugin.c),
 * shapes of payloads (guard_payload.c).
 *
 *     struct guarded *before = guard_enter(guarded);                 // the plugin's code runs now
 *     tn_value copy = guard_lend(config);
 *     status = guarded->inner_lifecycle->init(self, copy);
 *     guard_retire_take(copy);
 *     guard_leave(before);
 */
#ifndef TENON_HOST_PLUGIN_CONFORMANCE_GUARD_INTERNAL_H
#define TENON_HOST_PLUGIN_CONFORMANCE_GUARD_INTERNAL_H

#include "host/plugin/registry/registry.h"
#include <tenon/authenticator.h>
#include <tenon/document.h>
#include <tenon/host.h>
#include <tenon/http_client.h>
#include <tenon/http_server.h>
#include <tenon/server.h>
#include <tenon/state.h>
#include <tenon/store.h>
#include <tenon/tool.h>

/* A plugin in check mode: its wrapped vtables, and the vtables behind them. Never freed. */
struct guarded {
    tn_plugin entry;
    struct guarded *next; /* next in guard.plugins; thread: loop */
    struct plugin *plugin;
    const tn_plugin *inner;
    tn_component_1 components;
    tn_lifecycle_1 lifecycle;
    const tn_component_1 *inner_components;
    const tn_lifecycle_1 *inner_lifecycle;
    tn_store_draft stores;
    const tn_store_draft *inner_stores;
    tn_http_client_draft http;
    const tn_http_client_draft *inner_http;
    tn_http_server_draft http_server;
    const tn_http_server_draft *inner_http_server;
    tn_authenticator_draft authenticator;
    const tn_authenticator_draft *inner_authenticator;
    _Atomic int64_t references; /* number of value references that the plugin has taken and not released */
    _Atomic int held;           /* calls on the loop that used more CPU time than GUARD_HOLD_MS */
};

/* ---- guard.c: who runs ---- */

/* The plugin whose code runs on this thread, or, on a plugin's own thread, the plugin that was called last; or NULL. */
struct guarded *guard_current(void);
/* The code of `guarded` runs from now on. Returns what guard_leave needs. */
struct guarded *guard_enter(struct guarded *guarded);
/* Like guard_enter, but other threads are not attributed to the plugin: for stores, which have threads of the host. */
struct guarded *guard_enter_thread(struct guarded *guarded);
void guard_leave(struct guarded *before);
void guard_add_plugin(struct guarded *guarded);

/* ---- guard.c: findings and records ---- */

void guard_report(const struct guarded *guarded, const char *format, ...) __attribute__((format(printf, 2, 3)));
void guard_report_wrong_thread(const char *function);
/* The plugin passes a value to a function: reports a value that was lent for a call that has ended. */
void guard_check_value(tn_value value, const char *function);
/* The plugin takes a reference to `value`, which is returned. */
tn_value guard_take_reference(tn_value value);
/* The plugin releases a reference. */
void guard_drop_reference(tn_value value);
/* Copies a value that a call lends to the plugin, so that it has an identity that no other call uses. */
tn_value guard_lend(tn_value value);
/* The call has ended: remembers the copy unless the plugin has retained it. Takes the copy. */
void guard_retire_take(tn_value copy);
/* The plugin has ended a task with `function`, with this status, which is returned. */
int32_t guard_check_end(tn_task task, int32_t status, const char *function);
/* Counts an allocation; true if it must fail. */
bool guard_allocation_fails(void);

/* ---- guard_payload.c ---- */

/* Report a value that does not have the shape of its kind (payload.h), while the task is open. NULL is the same as
 * null. */
void guard_check_output(tn_task task, tn_value output);
void guard_check_chunk(tn_task task, tn_value chunk);
void guard_check_error(tn_task task, tn_value error);
void guard_check_context(tn_task task, tn_value context);
/* The CPU time that these functions have used on this thread. */
int64_t guard_compared_us(void);

/* ---- guard_interfaces.c, guard_calls.c, guard_host.c ---- */

extern const tn_state_draft *guard_wrapped_state; /* the interface that guard_state calls */
extern const tn_state_draft guard_state;
extern const tn_document_draft *guard_wrapped_document; /* the interface that guard_document calls */
extern const tn_document_draft guard_document;
extern const tn_tool_1 guard_tool;
extern const tn_host_1 *guard_wrapped_host; /* the interface that guard_host calls */
extern const tn_host_1 guard_host;
extern const tn_server_draft *guard_wrapped_server; /* the interface that guard_server calls */
extern const tn_server_draft guard_server;
/* These fill guarded->http_server and ->authenticator, in front of the inner ones. */
void guard_http_server_wrap(struct guarded *guarded);
void guard_authenticator_wrap(struct guarded *guarded);
/*
 * A request or a subscription of the plugin, whose handler runs behind guard_on_host, with the use as its user pointer;
 * NULL if there is no handler. guard_use_started gets the status of the function, which it returns.
 */
struct guard_use *guard_use_new(bool subscription, tn_host_handler handler, void *user);
int32_t guard_use_started(struct guard_use *use, int32_t status, const uint64_t *number, const char *function);
void guard_on_host(void *user, int32_t status, tn_value value);
/*
 * A handler of the plugin, and the user pointer for it, so that the plugin is the current one during the callback.
 * guard_callback_handler returns NULL for NULL. The user pointer is freed at the end of the call, or by
 * guard_check_call if the call was not made.
 */
tn_call_handler guard_callback_handler(tn_call_handler handler);
void *guard_callback_new(tn_call_handler handler, void *user);
/* These check the status of a function, which they return, and count what it has stored. */
int32_t guard_check_call(int32_t status, const char *function, void *callback);
int32_t guard_check_wait(int32_t status, const char *function, const tn_value *out, const tn_value *error);
/* Counts the references of an out value (TN_OK) or an error (TN_FAILED); the pointers may be NULL. */
int32_t guard_take_result(int32_t status, const tn_value *out, const tn_value *error);

#endif
