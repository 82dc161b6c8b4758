/*
 * methods_host.c - the host itself, and subscriptions: methods/host.yaml.
 */
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/method_document.h"
#include "host/server/method_internal.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"
#include "host/server/server_run.h"
#include <string.h>

/* The methods that the caller may call, and the greatest of their scopes. */
static tn_value allowed_methods(const struct method_call *call, enum method_scope *scope) {
    tn_value names = value_array();
    const struct method *method;
    *scope = METHOD_READ;
    for (size_t i = 0; (method = method_at(i)) != NULL; i++) {
        if (!method_is_allowed(call, method)) continue;
        names = value_push_take(names, value_text(method->name));
        if (method->scope > *scope) *scope = method->scope;
    }
    return names;
}

static tn_value allowed_events(const struct method_call *call) {
    if (!method_may_subscribe(call)) return value_array();
    tn_value params = value_get(method_find("event/subscribe")->row, "params"), reached = value_array();
    tn_value all = value_get(value_get(value_get(value_get(params, "properties"), "events"), "items"), "enum");
    for (size_t i = 0; i < value_count(all); i++)
        if (!call->owner || server_event_has_owner(value_chars(value_at(all, i), NULL)))
            reached = value_push_take(reached, value_ref(value_at(all, i)));
    return reached;
}

static int32_t host_info(const struct method_call *call, struct error *error) {
    (void)error;
    enum method_scope scope;
    tn_value methods = allowed_methods(call, &scope);
    tn_value info = value_set_take(value_object_reserve(5), "version", value_text(TENON_VERSION));
    info = value_set_take(info, "scope", value_text(method_scope_name(scope)));
    info = value_set_take(info, "client", value_text(client_name(call->client)));
    info = value_set_take(info, "methods", methods);
    return method_done_take(call, value_set_take(info, "events", allowed_events(call)));
}

/* The methods of events of a plugin are those that its subscriptions replace. */
static bool may_describe(void *user, const struct method *method) {
    const struct method_call *call = user;
    bool of_events = strncmp(method->name, "event/", 6) == 0 || strcmp(method->name, "run/subscribe") == 0;
    return method_is_allowed(call, method) || (of_events && method_may_subscribe(call));
}

static int32_t host_methods_start(const struct method_call *call, struct error *error) {
    struct method_call shown = *call;
    (void)error;
    return method_done_take(call, method_openrpc_of(may_describe, &shown));
}

/* ---- Subscriptions ---- */

struct subscription *method_subscribe(struct client *client, tn_value params, struct error *error) {
    tn_value sample = value_get(params, "sample");
    const struct subscription_options options = {.events = value_get(params, "events"),
                                                 .credit = method_params_int(params, "credit", -1),
                                                 .contents = value_get(params, "contents") &&
                                                             value_to_bool(value_get(params, "contents")),
                                                 .sample = sample ? value_to_double(sample) : 1};
    tn_value run_id = value_get(params, "run_id");
    if (client_check_owner(client, error) != TN_OK) return NULL;
    if (run_id) {
        struct server_run *run = server_run_find(server_runs_of(client_server(client)), client_owner(client),
                                                 value_chars(run_id, NULL), error);
        return run ? server_run_subscribe(client, run, params, error) : NULL;
    }
    struct subscription *subscription = subscription_new(client, &options, error);
    if (subscription) server_watch_components(client_server(client));
    return subscription;
}

int32_t method_subscribe_start(const struct method_call *call, struct error *error) {
    struct subscription *subscription = method_subscribe(call->client, call->params, error);
    if (!subscription) return TN_INVALID;
    tn_value number = value_int((int64_t)subscription_number(subscription));
    return method_done_take(call, value_set_take(value_object_reserve(1), "subscription", number));
}

static struct subscription *subscription_named(const struct method_call *call, struct error *error) {
    uint64_t number = (uint64_t)method_int(call, "subscription", 0);
    struct subscription *subscription = subscription_find(call->client, number);
    if (!subscription) (void)subscription_refuse_unknown(number, error);
    return subscription;
}

static int32_t event_unsubscribe(const struct method_call *call, struct error *error) {
    struct subscription *subscription = subscription_named(call, error);
    if (!subscription) return TN_NOT_FOUND;
    subscription_end(subscription);
    return method_done_take(call, value_object());
}

static int32_t event_grant(const struct method_call *call, struct error *error) {
    struct subscription *subscription = subscription_named(call, error);
    if (!subscription) return TN_NOT_FOUND;
    int32_t status = subscription_grant(subscription, method_int(call, "credit", 0), error);
    return status == TN_OK ? method_done_take(call, value_object()) : status;
}

const struct method_handler host_methods[] = {
    {"host/info", host_info},
    {"host/metrics", method_metrics_start},
    {"host/methods", host_methods_start},
    {"event/subscribe", method_subscribe_start},
    {"event/unsubscribe", event_unsubscribe},
    {"event/grant", event_grant},
    {NULL, NULL},
};
