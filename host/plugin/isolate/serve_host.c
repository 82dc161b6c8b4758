/*
 * serve_host.c - tenon.host in a child process: the host calls the methods, and sends results and events back.
 *
 * A call of a task is an operation of the host. Requests and subscriptions have numbers of this process. The host sends
 * events while it has credit. A paused subscription returns no credit, and stores the events that still arrive.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/trace.h"
#include "host/plugin/abi/abi_name.h"
#include "host/plugin/abi/abi_operation.h"
#include "host/plugin/isolate/serve.h"
#include "host/plugin/isolate/serve_internal.h"

/* A request or a subscription. */
struct served_use {
    struct served_use *next;
    bool subscription;
    int64_t number;
    tn_host_handler handler;
    void *user;
    tn_value trace;     /* serve_set_trace, when it was made; or NULL */
    tn_value pending;   /* what is not delivered yet: an array of status, value, status, value, … */
    size_t first;       /* index of the first pending status that is not delivered */
    int64_t uncredited; /* events delivered since the last credit */
    bool paused;
    struct loop_work work; /* delivers what is pending */
};

/* Returns the link that points to it, or to NULL at the end of the list. A number is of one kind only. */
static struct served_use **served_use_link(bool subscription, int64_t number) {
    struct served_use **at = &server.uses;
    while (*at && ((*at)->number != number || (*at)->subscription != subscription)) at = &(*at)->next;
    return at;
}

static void served_use_free(struct served_use *use) {
    *served_use_link(use->subscription, use->number) = use->next;
    server.use_counts[use->subscription]--;
    loop_undefer(server.loop, &use->work);
    value_unref(use->pending);
    value_unref(use->trace);
    mem_free(use);
}

static tn_value served_use_params(const struct served_use *use) {
    const char *key = use->subscription ? "subscription" : "request";
    return value_set_take(value_object_reserve(3), key, value_int(use->number));
}

/* ---- Delivering ---- */

static void served_use_credit(struct served_use *use) {
    if (++use->uncredited < PROTOCOL_EVENTS / 4) return;
    serve_notify_take("host_credit", value_set_take(served_use_params(use), "events", value_int(use->uncredited)));
    use->uncredited = 0;
}

/* Calls the handler. The request or subscription may be freed when this returns. */
static void served_use_deliver(struct served_use *use, int32_t status, tn_value value) {
    tn_host_handler handler = use->handler;
    void *user = use->user;
    tn_value trace = value_ref(use->trace), before = serve_set_trace(trace);
    if (status == TN_CHUNK)
        served_use_credit(use);
    else
        served_use_free(use);
    handler(user, status, value);
    (void)serve_set_trace(before);
    value_unref(trace);
}

static void served_use_deliver_work(struct loop_work *work) {
    struct served_use *use = CONTAINER_OF(work, struct served_use, work);
    const bool subscription = use->subscription;
    const int64_t number = use->number;
    while (*served_use_link(subscription, number) && !use->paused && use->first < value_count(use->pending)) {
        int32_t status = (int32_t)value_to_int(value_at(use->pending, use->first));
        tn_value value = value_ref(value_at(use->pending, use->first + 1));
        use->first += 2;
        if (use->first == value_count(use->pending)) {
            value_unref(use->pending);
            use->pending = value_array();
            use->first = 0;
        }
        served_use_deliver(use, status, status == TN_OK && subscription ? NULL : value);
        value_unref(value);
    }
}

static void served_use_queue(struct served_use *use, int32_t status, tn_value value) {
    use->pending = value_push_take(use->pending, value_int(status));
    use->pending = value_push_take(use->pending, value ? value_ref(value) : value_null());
    if (!use->paused) loop_defer(server.loop, &use->work);
}

void serve_on_host_event(tn_value params) {
    struct served_use *use = *served_use_link(true, value_to_int(value_get(params, "subscription")));
    if (!use) return; /* it was ended after the host sent the event */
    tn_value event = value_set_take(value_object_reserve(2), "event", value_ref(value_get(params, "event")));
    event = value_set_take(event, "params", value_ref(value_get(params, "params")));
    served_use_queue(use, TN_CHUNK, event);
    value_unref(event);
}

void serve_on_host_ended(tn_value params) {
    tn_value request = value_get(params, "request"), error = value_get(params, "error");
    tn_value number = request ? request : value_get(params, "subscription");
    struct served_use *use = *served_use_link(!request, value_to_int(number));
    if (use) served_use_queue(use, error ? TN_FAILED : TN_OK, error ? error : value_get(params, "result"));
}

void serve_discard_host_uses(void) {
    while (server.uses) served_use_free(server.uses);
}

/* ---- Calls of tasks ---- */

static int32_t serve_make_method_call(const struct view *view, const char *name, struct callable **out) {
    (void)view;
    if (!server.options->is_method(name)) return TN_NOT_FOUND;
    tn_value operation = value_format(PROTOCOL_METHOD "%s", name);
    *out = serve_operation(value_chars(operation, NULL));
    value_unref(operation);
    return TN_OK;
}

static int32_t serve_host_call(tn_task task, const char *method, uint64_t length, tn_value params, tn_value options,
                               tn_call_handler handler, void *user, tn_call *call) {
    const struct operation_use use = {task, method, length, params, options};
    return operation_invoke(serve_make_method_call, &use, handler, user, call);
}

static int32_t serve_host_call_wait(tn_task task, const char *method, uint64_t length, tn_value params,
                                    tn_value options, tn_value *out, tn_value *error) {
    const struct operation_use use = {task, method, length, params, options};
    return operation_invoke_wait(serve_make_method_call, &use, out, error);
}

/* ---- Requests and subscriptions ---- */

static struct served_use *served_use_new(bool subscription, tn_host_handler handler, void *user) {
    struct served_use *use = mem_zalloc(sizeof *use);
    *use = (struct served_use){.next = server.uses,
                               .subscription = subscription,
                               .number = ++server.last_use,
                               .handler = handler,
                               .user = user,
                               .trace = value_ref(server.trace),
                               .pending = value_array(),
                               .work = {.run = served_use_deliver_work}};
    server.uses = use;
    server.use_counts[subscription]++;
    return use;
}

/* Sends the message that starts it. */
static void served_use_send_take(struct served_use *use, const char *message, tn_value params) {
    enum frame_fit fit = serve_notify_take(message, params);
    struct error error = ERROR_INIT;
    if (fit == FRAME_FITS) return;
    serve_set_unsendable(&error, use->subscription ? "a subscription" : "a request", fit);
    tn_value why = error_to_value(&error);
    served_use_queue(use, TN_FAILED, why);
    value_unref(why);
    error_finish(&error);
}

/* `caller` is 0 for the plugin itself. */
static int32_t use_request(const tn_host *self, uint64_t caller, const char *method, uint64_t length, tn_value params,
                           tn_host_handler handler, void *user, uint64_t *request) {
    int32_t status = serve_check_loop(self);
    if (status != TN_OK) return status;
    if (!method || !handler || !request) return TN_INVALID;
    char *name = abi_name(method, length);
    if (!server.options->is_method(name)) status = TN_NOT_FOUND;
    if (status == TN_OK && server.use_counts[false] == TN_HOST_REQUESTS_MAX) status = TN_LIMIT;
    if (status == TN_OK) {
        struct served_use *use = served_use_new(false, handler, user);
        *request = (uint64_t)use->number;
        tn_value message = value_set_take(served_use_params(use), "method", value_text(name));
        tn_value sent = value_ref(params);
        if (caller) sent = trace_run_params_take(name, sent, server.trace);
        if (sent) message = value_set_take(message, "params", sent);
        if (caller) message = value_set_take(message, "caller", value_int((int64_t)caller));
        served_use_send_take(use, "host_request", message);
    }
    mem_free(name);
    return status;
}

static int32_t serve_host_request(const tn_host *self, const char *method, uint64_t length, tn_value params,
                                  tn_host_handler handler, void *user, uint64_t *request) {
    return use_request(self, 0, method, length, params, handler, user, request);
}

int32_t serve_host_request_as(const tn_host *self, uint64_t caller, const char *method, uint64_t length,
                              tn_value params, tn_host_handler handler, void *user, uint64_t *request) {
    if (!server.serves) return TN_UNSUPPORTED;
    if (!caller || caller > INT64_MAX) return TN_STALE;
    return use_request(self, caller, method, length, params, handler, user, request);
}

static int32_t use_subscribe(const tn_host *self, uint64_t caller, tn_value params, tn_host_handler handler, void *user,
                             uint64_t *subscription) {
    int32_t status = serve_check_loop(self);
    if (status != TN_OK) return status;
    if (!handler || !subscription) return TN_INVALID;
    if (server.use_counts[true] == TN_HOST_SUBSCRIPTIONS_MAX) return TN_LIMIT;
    struct served_use *use = served_use_new(true, handler, user);
    *subscription = (uint64_t)use->number;
    tn_value message = served_use_params(use);
    if (params) message = value_set_take(message, "params", value_ref(params));
    if (caller) message = value_set_take(message, "caller", value_int((int64_t)caller));
    served_use_send_take(use, "host_subscribe", message);
    return TN_OK;
}

static int32_t serve_host_subscribe(const tn_host *self, tn_value params, tn_host_handler handler, void *user,
                                    uint64_t *subscription) {
    return use_subscribe(self, 0, params, handler, user, subscription);
}

int32_t serve_host_subscribe_as(const tn_host *self, uint64_t caller, tn_value params, tn_host_handler handler,
                                void *user, uint64_t *subscription) {
    if (!server.serves) return TN_UNSUPPORTED;
    if (!caller || caller > INT64_MAX) return TN_STALE;
    return use_subscribe(self, caller, params, handler, user, subscription);
}

/* TN_OK with *out; TN_STALE: there is none with this number. */
static int32_t served_use_lookup(const tn_host *self, bool subscription, uint64_t number, struct served_use **out) {
    int32_t status = serve_check_loop(self);
    if (status != TN_OK) return status;
    *out = number <= (uint64_t)server.last_use ? *served_use_link(subscription, (int64_t)number) : NULL;
    return *out ? TN_OK : TN_STALE;
}

static int32_t serve_host_cancel(const tn_host *self, uint64_t request) {
    struct served_use *use;
    int32_t status = served_use_lookup(self, false, request, &use);
    if (status != TN_OK) return status;
    serve_notify_take("host_cancel", served_use_params(use));
    served_use_free(use);
    return TN_OK;
}

static int32_t serve_host_pause(const tn_host *self, uint64_t subscription) {
    struct served_use *use;
    int32_t status = served_use_lookup(self, true, subscription, &use);
    if (status == TN_OK) use->paused = true;
    return status;
}

static int32_t serve_host_resume(const tn_host *self, uint64_t subscription) {
    struct served_use *use;
    int32_t status = served_use_lookup(self, true, subscription, &use);
    if (status != TN_OK) return status;
    use->paused = false;
    if (value_count(use->pending)) loop_defer(server.loop, &use->work);
    return TN_OK;
}

static int32_t serve_host_unsubscribe(const tn_host *self, uint64_t subscription) {
    struct served_use *use;
    int32_t status = served_use_lookup(self, true, subscription, &use);
    if (status != TN_OK) return status;
    serve_notify_take("host_unsubscribe", served_use_params(use));
    served_use_free(use);
    return TN_OK;
}

const tn_host_1 serve_host = {.size = sizeof(tn_host_1),
                              .call = serve_host_call,
                              .call_wait = serve_host_call_wait,
                              .request = serve_host_request,
                              .cancel = serve_host_cancel,
                              .subscribe = serve_host_subscribe,
                              .pause = serve_host_pause,
                              .resume = serve_host_resume,
                              .unsubscribe = serve_host_unsubscribe};
