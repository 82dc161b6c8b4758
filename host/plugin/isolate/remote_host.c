/*
 * remote_host.c - the host's side of tenon.host for an isolated plugin: its requests outside of tasks, and its
 * subscriptions. Calls of tasks are in remote_call.c.
 *
 * The rights of the manifest's `plugin` and the limits of tenon.host apply as if the plugin ran in this process. Events
 * are forwarded while the child has credit; without credit the subscription is paused. Messages about an unknown number
 * are ignored, because they may have been sent before the child learned of the end.
 */
#include "adl/value/memory.h"
#include "host/plugin/abi/abi_host.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin.h"
#include <string.h>

struct remote_use {
    struct remote_use *next; /* of the same process */
    struct remote_child *child;
    bool subscription;
    int64_t number; /* the child's number for it */
    uint64_t token; /* number of tenon.host in this process */
    int64_t credit; /* of a subscription: events that the child accepts */
};

static const tn_host_1 *use_methods(const struct remote_use *use) { return use->child->remote->host->methods; }
static const tn_host *use_host(const struct remote_use *use) { return plugin_host(use->child->remote->plugin); }

/* Returns the link that points to it, or to NULL at the end of the list. */
static struct remote_use **remote_use_link(struct remote_child *child, bool subscription, int64_t number) {
    struct remote_use **at = &child->uses;
    while (*at && ((*at)->number != number || (*at)->subscription != subscription)) at = &(*at)->next;
    return at;
}

static void remote_use_free(struct remote_use *use) {
    struct remote_use **at = &use->child->uses;
    while (*at != use) at = &(*at)->next;
    *at = use->next;
    mem_free(use);
}

/* ---- Messages to the child ---- */

static tn_value remote_use_params(const struct remote_use *use, uint32_t more) {
    const char *key = use->subscription ? "subscription" : "request";
    return value_set_take(value_object_reserve(1 + more), key, value_int(use->number));
}

/* Sends the end, a failure, and frees it. */
static void remote_use_fail_with(struct remote_use *use, const struct error *error) {
    process_notify_take(use->child->process, "host_ended",
                        value_set_take(remote_use_params(use, 1), "error", error_to_value(error)));
    remote_use_free(use);
}

static void remote_use_fail(struct remote_use *use, int32_t status, const char *code, const char *message) {
    struct error error = ERROR_INIT;
    error_set(&error, status, code, "%s", message);
    remote_use_fail_with(use, &error);
    error_finish(&error);
}

static void remote_use_fail_limit(struct remote_use *use, const char *what, enum frame_fit fit) {
    tn_value why = value_format("%s is %s that can be sent", what, frame_fit_text(fit));
    remote_use_fail(use, TN_LIMIT, "LIMIT", value_chars(why, NULL));
    value_unref(why);
}

static void remote_use_send_event(struct remote_use *use, tn_value event) {
    tn_value params = value_ref(value_get(event, "params")), message = remote_use_params(use, 2);
    params = value_set_take(params, "subscription", value_int(use->number));
    message = value_set_take(message, "event", value_ref(value_get(event, "event")));
    enum frame_fit fit =
        process_notify_take(use->child->process, "host_event", value_set_take(message, "params", params));
    if (fit != FRAME_FITS) {
        (void)use_methods(use)->unsubscribe(use_host(use), use->token);
        remote_use_fail_limit(use, "an event", fit);
    } else if (--use->credit == 0) {
        (void)use_methods(use)->pause(use_host(use), use->token);
    }
}

static void remote_use_end(struct remote_use *use, int32_t status, tn_value value) {
    tn_value params = remote_use_params(use, 1);
    if (status != TN_OK)
        params = value_set_take(params, "error", value_ref(value));
    else if (!use->subscription)
        params = value_set_take(params, "result", value_ref(value));
    enum frame_fit fit = process_notify_take(use->child->process, "host_ended", params);
    if (fit == FRAME_FITS)
        remote_use_free(use);
    else
        remote_use_fail_limit(use, status == TN_OK ? "the result" : "the error", fit);
}

/* tn_host_handler of both. */
static void remote_use_handle(void *user, int32_t status, tn_value value) {
    if (status == TN_CHUNK)
        remote_use_send_event(user, value);
    else
        remote_use_end(user, status, value);
}

/* ---- Messages of the child ---- */

static void remote_use_fail_unknown(struct remote_use *use, tn_value method) {
    struct error error = ERROR_INIT;
    (void)interface_host_refuse_unknown(use->child->remote->plugin, value_chars(method, NULL), &error);
    remote_use_fail_with(use, &error);
    error_finish(&error);
}

static void remote_use_explain(struct remote_use *use, int32_t status, tn_value method) {
    if (status == TN_LIMIT)
        remote_use_fail(use, status, "LIMIT",
                        use->subscription ? "the plugin has 1,024 subscriptions, which is the limit"
                                          : "the plugin has 1,024 open requests, which is the limit");
    else if (status == TN_NOT_FOUND)
        remote_use_fail_unknown(use, method);
    else if (status == TN_INVALID)
        remote_use_fail(use, status, "INVALID_INPUT", "`method` must be the name of a method");
    else
        remote_use_fail(use, status, "UNSUPPORTED",
                        status == TN_UNSUPPORTED ? "the host has no methods"
                                                 : "the host is shutting down and accepts no more requests");
}

/* For a caller of tenon.server. */
static int32_t remote_use_begin_as(struct remote_use *use, tn_value as, tn_value params) {
    const tn_server_draft *server = use->child->remote->host->server;
    tn_value method = value_get(params, "method"), given = value_get(params, "params");
    uint64_t caller = value_is(as, TN_INT) ? (uint64_t)value_to_int(as) : 0;
    size_t length = 0;
    if (!server || !plugin_may_use_drafts(use->child->remote->plugin)) return TN_STALE;
    if (use->subscription)
        return server->subscribe_as(use_host(use), caller, given, remote_use_handle, use, &use->token);
    if (!value_is(method, TN_STRING)) return TN_INVALID;
    const char *name = value_chars(method, &length);
    return server->request_as(use_host(use), caller, name, length, given, remote_use_handle, use, &use->token);
}

static int32_t remote_use_begin(struct remote_use *use, tn_value params) {
    tn_value method = value_get(params, "method"), given = value_get(params, "params");
    tn_value as = value_get(params, "caller");
    if (as) return remote_use_begin_as(use, as, params);
    if (use->subscription)
        return use_methods(use)->subscribe(use_host(use), given, remote_use_handle, use, &use->token);
    if (!value_is(method, TN_STRING)) return TN_INVALID;
    size_t length;
    const char *name = value_chars(method, &length);
    return use_methods(use)->request(use_host(use), name, length, given, remote_use_handle, use, &use->token);
}

/* `host_request` and `host_subscribe`. */
static void remote_use_start(struct remote_child *child, bool subscription, int64_t number, tn_value message) {
    tn_value params = value_get(message, "params");
    if (number < 1) {
        process_kill(child->process, subscription
                                         ? "it sent a subscription whose number is not an integer from 1 to 2^63-1"
                                         : "it sent a request whose number is not an integer from 1 to 2^63-1");
        return;
    }
    if (*remote_use_link(child, subscription, number)) {
        process_kill(child->process, subscription ? "it sent two subscriptions with the same number"
                                                  : "it sent two requests with the same number");
        return;
    }
    struct remote_use *use = mem_zalloc(sizeof *use);
    *use = (struct remote_use){child->uses, child, subscription, number, 0, PROTOCOL_EVENTS};
    child->uses = use;
    if (frame_is_pruned(message)) {
        remote_use_fail_limit(use, "what it sent", FRAME_TOO_DEEP);
        return;
    }
    int32_t status = remote_use_begin(use, params);
    if (status == TN_STALE && value_get(params, "caller"))
        remote_use_fail(use, status, "NOT_FOUND", "there is no such caller, or not any more");
    else if (status != TN_OK)
        remote_use_explain(use, status, value_get(params, "method"));
}

static void remote_use_add_credit(struct remote_use *use, tn_value params) {
    int64_t more = remote_int_member(params, "events", 0);
    if (more < 1 || more > PROTOCOL_EVENTS - use->credit) {
        process_kill(use->child->process, "it sent more credit for the events of a subscription than it had received");
        return;
    }
    bool paused = use->credit == 0;
    use->credit += more;
    if (paused) (void)use_methods(use)->resume(use_host(use), use->token);
}

/* It ends without a report. */
static void remote_use_drop(struct remote_use *use) {
    if (use->subscription)
        (void)use_methods(use)->unsubscribe(use_host(use), use->token);
    else
        (void)use_methods(use)->cancel(use_host(use), use->token);
    remote_use_free(use);
}

bool remote_host_on_message(struct remote_child *child, const char *method, tn_value message) {
    tn_value params = value_get(message, "params");
    if (strncmp(method, "host_", 5) != 0) return false;
    bool request = strcmp(method, "host_request") == 0 || strcmp(method, "host_cancel") == 0;
    int64_t number = remote_int_member(params, request ? "request" : "subscription", 0);
    if (strcmp(method, "host_request") == 0 || strcmp(method, "host_subscribe") == 0) {
        remote_use_start(child, !request, number, message);
        return true;
    }
    struct remote_use *use = *remote_use_link(child, !request, number);
    if (!use) return true;
    if (strcmp(method, "host_credit") == 0)
        remote_use_add_credit(use, params);
    else if (strcmp(method, "host_cancel") == 0 || strcmp(method, "host_unsubscribe") == 0)
        remote_use_drop(use);
    return true;
}

void remote_host_end_all(struct remote_child *child) {
    while (child->uses) remote_use_drop(child->uses);
    if (child->shared) interface_host_left(child->remote->plugin); /* it has the requests of tenon.server */
}
