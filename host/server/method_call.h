/*
 * method_call.h - one call of a method, as a callable: it is started, cancelled and ends like a call of a component.
 *
 *     struct callable *callable = method_call_new(client, method_find("run/list"), NULL);
 *     struct call *call = call_new(server_loop(server), callable, &my_ops, me);
 *     callable_unref(callable);
 *     if (call_start(call, params)) my_ended(call);
 *
 * Thread: [loop]; a reference may be released on any thread when the call has ended.
 */
#ifndef TENON_HOST_SERVER_METHOD_CALL_H
#define TENON_HOST_SERVER_METHOD_CALL_H

#include "host/server/method.h"

struct authority;
struct callable;
struct client;
struct component;
struct component_info;

/*
 * A callable for one call; a new reference. `client` must live until the call has started. If it ends later, a call
 * whose handler waits for plugins (method_wait_for_plugins) fails with CANCELLED.
 *
 * For a plugin, `caller` makes the call, a component or the plugin itself: its effects must allow the method
 * (`host.method:NAME`), methods of scope `admin` also need the operator (plugins.admin), and what the method starts is
 * limited by the caller and its own callers. `caller` must outlive that. NULL for other clients, whose scope decides.
 */
struct callable *method_call_new(struct client *client, const struct method *method,
                                 const struct component_info *caller);
/*
 * [any] The same for a call by a task of `component`, whose plugin is the client. The server is looked up when the call
 * starts: it fails with UNSUPPORTED if it has been freed.
 */
struct callable *method_call_of_component(const struct method *method, const struct component *component);
/* PERMISSION_DENIED if a plugin's effects do not allow the method. */
int32_t method_check_caller(struct server *server, const struct component_info *caller, const struct method *method,
                            struct error *error);

/*
 * True if the caller of `call` may call the method with some parameters. The methods of events are false for a plugin,
 * which subscribes with tenon.host. For handlers.
 */
bool method_is_allowed(const struct method_call *call, const struct method *method);
/* True if the caller may subscribe to events of the host: a plugin with tenon.host. For handlers. */
bool method_may_subscribe(const struct method_call *call);

/* The frame that limits what the call starts, borrowed; NULL: the operator. For handlers, also if the call has ended.
 */
struct authority *method_authority(const struct method_call *call);
/*
 * The path of a file that the parameter names, possibly as `pack:NAME/FILE` or `tenon:NAME`; free it with mem_free.
 * PERMISSION_DENIED if this client may not name files by their path, and it is not such a name.
 */
int32_t method_locate(const struct method_call *call, const char *parameter, const char *name, char **path,
                      struct error *error);
/*
 * For a failure that can be temporary, because plugins are adding components: returns METHOD_RETRY then, else `status`.
 * If a handler returns METHOD_RETRY, it is called again when all components are known, after at most
 * REGISTRY_EXPECT_MS; if they are known, after a moment. So a handler can also wait for what will soon have ended.
 */
#define METHOD_RETRY INT32_MAX
int32_t method_wait_for_plugins(const struct method_call *call, int32_t status);
/*
 * On: what the handler does now does not wait for the process of an isolated plugin (registry_defer_loads), but fails.
 * Turn it off in the same call of the handler; method_wait_for_plugins then waits for these processes, too, however
 * long they take.
 */
void method_defer_loads(const struct method_call *call, bool on);
/* For a handler that starts a child of the call: the error of a status of call_child. Returns the status. */
int32_t method_refuse_child(int32_t status, struct error *error);

#endif
