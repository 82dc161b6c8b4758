/*
 * plugin_request.c - calls of methods outside of tasks, by a plugin or for a caller.
 *
 * A request for a caller has the scope and the owner of the caller, and what it starts has the rights of a client
 * of the operator. The plugin's own effects only decide whether it may call the method.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/trace.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/call/call.h"
#include "host/server/method_call.h"
#include "host/server/plugin_client_internal.h"
#include "host/server/server.h"
#include <assert.h>
#include <string.h>

struct plugin_request {
    struct plugin_request *next;
    struct plugin_client *client; /* NULL after its end for the plugin */
    struct plugin_caller *caller; /* NULL: the plugin itself */
    struct plugin_clients *clients;
    const struct method *method;
    uint64_t number;
    struct call *call;
    tn_value params, trace;  /* trace: plugin_clients_set_trace, when it was made */
    tn_host_handler handler; /* NULL after cancel */
    void *user;
    bool allowed;          /* by plugin_caller_options.check; its `done` is due */
    struct loop_work work; /* starts it */
};

static struct plugin_share *share_of(struct plugin_client *client, struct plugin_caller *caller) {
    return caller ? &caller->share : &client->share;
}

static void request_free(struct plugin_request *request) {
    request->clients->open--;
    call_free(request->call);
    value_unref(request->params);
    value_unref(request->trace);
    mem_free(request);
}

/* Removes it from its client. */
static void request_unlink(struct plugin_request *request) {
    assert(request->client);
    struct plugin_request **at = &request->client->requests[request->number % PLUGIN_BUCKETS];
    while (*at != request) at = &(*at)->next;
    *at = request->next;
    share_of(request->client, request->caller)->requests--;
    request->client = NULL;
    request->caller = NULL;
}

static void request_report(struct plugin_request *request, int32_t status, tn_value result) {
    if (!request->handler) return;
    struct plugin *plugin = request->client->plugin;
    tn_host_handler handler = request->handler;
    request_unlink(request); /* the handler may end the plugin's use of tenon.host */
    request->handler = NULL;
    void *before = interface_enter(plugin);
    tn_value trace = plugin_clients_set_trace(request->clients, request->trace);
    handler(request->user, status, result);
    (void)plugin_clients_set_trace(request->clients, trace);
    interface_leave(plugin, before);
}

static void request_fail(struct plugin_request *request, const struct error *error) {
    tn_value why = error_to_value(error);
    request_report(request, TN_FAILED, why);
    value_unref(why);
}

/* Before the plugin gets the result. */
static void request_note_end(struct plugin_request *request, tn_value result) {
    const struct plugin_caller *caller = request->caller;
    if (request->allowed && caller->options.done)
        caller->options.done(caller->options.user, request->method, request->params, result);
    request->allowed = false;
}

static void request_finish(struct plugin_request *request) {
    if (call_outcome(request->call) == CALL_COMPLETED) {
        tn_value output = call_output(request->call);
        request_note_end(request, output ? output : value_null());
        request_report(request, TN_OK, output ? output : value_null());
    } else {
        request_note_end(request, NULL);
        request_fail(request, call_error(request->call));
    }
    request_free(request);
}

static void request_on_ended(struct call *call) { request_finish(call_owner(call)); }

static void request_start(struct loop_work *work) {
    struct plugin_request *request = CONTAINER_OF(work, struct plugin_request, work);
    struct error error = ERROR_INIT;
    int32_t status = TN_OK;
    if (request->caller) status = plugin_client_check(request->client, request->caller, request->method, &error);
    request->allowed = request->caller && status == TN_OK;
    if (status != TN_OK) {
        request_fail(request, &error);
        request_free(request);
    } else if (call_start(request->call, request->params)) {
        request_finish(request);
    }
    error_finish(&error);
}

tn_value plugin_clients_set_trace(struct plugin_clients *clients, tn_value trace) {
    tn_value before = clients->trace;
    clients->trace = trace;
    return before;
}

int32_t plugin_client_request(struct plugin_client *client, struct plugin_caller *caller, const char *name,
                              tn_value params, tn_host_handler handler, void *handler_user, uint64_t *out) {
    static const struct call_ops ops = {.ended = request_on_ended};
    struct plugin_clients *clients = client->clients;
    const struct method *method = method_find(name);
    struct plugin_share *share = share_of(client, caller);
    if (!method) return TN_NOT_FOUND;
    if (share->requests == TN_HOST_REQUESTS_MAX) return TN_LIMIT;
    struct callable *callable =
        caller ? method_call_new(caller->user, method, NULL) : method_call_new(client->client, method, &client->rights);
    struct plugin_request *request = mem_zalloc(sizeof *request);
    *request = (struct plugin_request){.client = client,
                                       .caller = caller,
                                       .clients = clients,
                                       .method = method,
                                       .number = ++client->last_request,
                                       .params = params ? value_ref(params) : NULL,
                                       .trace = clients->trace ? value_ref(clients->trace) : NULL,
                                       .handler = handler,
                                       .user = handler_user,
                                       .work = {.run = request_start}};
    if (caller) request->params = trace_run_params_take(method->name, request->params, request->trace);
    request->call = call_new(server_loop(clients->server), callable, &ops, request);
    callable_unref(callable);
    struct plugin_request **bucket = &client->requests[request->number % PLUGIN_BUCKETS];
    request->next = *bucket;
    *bucket = request;
    share->requests++;
    clients->open++;
    loop_defer(server_loop(clients->server), &request->work);
    *out = request->number;
    return TN_OK;
}

/* It ends without a report. */
static void request_drop(struct plugin_request *request) {
    struct loop *loop = server_loop(request->clients->server);
    request->handler = NULL;
    request_note_end(request, NULL);
    request_unlink(request);
    if (!request->work.queued) {
        call_cancel(request->call);
        return;
    }
    loop_undefer(loop, &request->work);
    request_free(request);
}

int32_t plugin_client_cancel(struct plugin_client *client, uint64_t number) {
    struct plugin_request *request = client ? client->requests[number % PLUGIN_BUCKETS] : NULL;
    while (request && request->number != number) request = request->next;
    if (!request) return TN_STALE;
    request_drop(request);
    return TN_OK;
}

/* Dropping one can end others, so each search starts again. */
static struct plugin_request *first_of(struct plugin_client *client, size_t bucket,
                                       const struct plugin_caller *caller) {
    struct plugin_request *request = client->requests[bucket];
    while (request && caller && request->caller != caller) request = request->next;
    return request;
}

void plugin_client_drop_requests(struct plugin_client *client, const struct plugin_caller *caller) {
    struct plugin_request *request;
    for (size_t i = 0; i < PLUGIN_BUCKETS; i++)
        while ((request = first_of(client, i, caller)) != NULL) request_drop(request);
}
