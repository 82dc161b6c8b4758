/*
 * listen.c - subscriptions/listen: one long response with notifications that the client has asked for.
 *
 * The first message acknowledges what is sent. A listener ends when the client closes the connection, or when the host
 * ends; then it gets a result.
 */
#include "methods.h"
#include "stream.h"
#include "tasks.h"

#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

struct listener {
    struct listener *next;
    struct stream *stream;
    char owner[256];
    tn_value id, filter; /* filter: {toolsListChanged?: true, …, resourceSubscriptions?: [URI]} */
};

static void send_notification_take(const struct listener *listener, const char *method, tn_value params) {
    params = tn_set_take(params, "_meta", tn_build("{s:v}", META_SUBSCRIPTION, listener->id));
    tn_value message = params != NULL ? reply_notification_take(method, params) : NULL;
    if (message != NULL) stream_send_or_abort(listener->stream, message);
    tn_release(message);
}

static void listener_free(struct plugin *plugin, struct listener *listener) {
    for (struct listener **at = &plugin->listeners; *at != NULL; at = &(*at)->next)
        if (*at == listener) {
            *at = listener->next;
            break;
        }
    plugin->listener_count--;
    tn_release(listener->id);
    tn_release(listener->filter);
    serving_free(listener);
}

/* What of the wanted notifications is sent; NULL and *problem if it is malformed. */
static tn_value read_filter(tn_value wanted, struct problem *problem) {
    static const char *const lists[] = {"toolsListChanged", "promptsListChanged", "resourcesListChanged"};
    tn_value filter = tn_build("{}"), uris = tn_get(wanted, "resourceSubscriptions");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (serving_true(tn_get(wanted, lists[i]))) filter = tn_set_take(filter, lists[i], tn_bool(1));
    bool valid = uris == NULL || value_is_array(uris);
    for (uint64_t i = 0, count = tn.value->count(uris); valid && i < count; i++) {
        uint64_t length = 0;
        valid = tn_chars(tn.value->at(uris, i), &length) != NULL && length > 0 && length <= MCPS_URI_MAX;
    }
    if (valid && tn.value->count(uris) > 0) filter = tn_set_take(filter, "resourceSubscriptions", tn_retain(uris));
    if (valid && tn.value->count(uris) <= MCPS_SUBSCRIPTIONS) return filter;
    tn_release(filter);
    (void)problem_set(problem, 400, MCPS_INVALID_PARAMS, "`resourceSubscriptions` must be an array of at most %d URIs",
                      MCPS_SUBSCRIPTIONS);
    return NULL;
}

static struct listener *listener_new(struct exchange *exchange, tn_value filter) {
    struct plugin *plugin = exchange->plugin;
    struct listener *listener = serving_alloc(sizeof *listener);
    if (listener == NULL) return NULL;
    *listener = (struct listener){.next = plugin->listeners,
                                  .stream = exchange->stream,
                                  .id = tn_retain(exchange->id),
                                  .filter = tn_retain(filter)};
    (void)snprintf(listener->owner, sizeof listener->owner, "%s", exchange->owner);
    plugin->listeners = listener;
    plugin->listener_count++;
    return listener;
}

void listener_open(struct exchange *exchange) {
    struct problem problem = {0};
    tn_value wanted = tn_get(exchange->params, "notifications"), filter = NULL;
    if (!value_is_object(wanted))
        (void)problem_set(&problem, 400, MCPS_INVALID_PARAMS, "`notifications` must be an object");
    else if (tn_get(wanted, "taskIds") != NULL && !task_check_extension(exchange, &problem))
        ; /* the problem says so */
    else if (!exchange->may_stream)
        (void)problem_set(&problem, 406, MCPS_INVALID_REQUEST, "`Accept` must contain text/event-stream");
    else if (exchange->plugin->listener_count >= MCPS_LISTENERS_MAX)
        (void)problem_set(&problem, 429, MCPS_INTERNAL, "too many clients are listening; try again later");
    else
        filter = read_filter(wanted, &problem);
    struct listener *listener =
        filter != NULL && exchange_stream(exchange) != NULL ? listener_new(exchange, filter) : NULL;
    tn_release(filter);
    if (listener == NULL) {
        if (problem.status == 0) (void)problem_set(&problem, 500, MCPS_INTERNAL, "memory ran out");
        exchange_fail(exchange, &problem);
        return;
    }
    send_notification_take(listener, "notifications/subscriptions/acknowledged",
                           tn_build("{s:v}", "notifications", listener->filter));
    exchange_leave_stream(exchange);
}

/* ---- Notifications ---- */

void listeners_list_changed(struct plugin *plugin, const char *caller, const char *list) {
    char member[40], method[60];
    (void)snprintf(member, sizeof member, "%.20sListChanged", list);
    (void)snprintf(method, sizeof method, "notifications/%.20s/list_changed", list);
    for (const struct listener *listener = plugin->listeners; listener != NULL; listener = listener->next)
        if ((caller == NULL || strcmp(listener->owner, caller) == 0) && serving_true(tn_get(listener->filter, member)))
            send_notification_take(listener, method, tn_build("{}"));
}

static bool listener_wants(const struct listener *listener, const char *uri) {
    tn_value uris = tn_get(listener->filter, "resourceSubscriptions");
    for (uint64_t i = 0, count = tn.value->count(uris); i < count; i++)
        if (serving_is(tn.value->at(uris, i), uri)) return true;
    return false;
}

void listeners_resource_updated(struct plugin *plugin, const char *caller, const char *uri) {
    for (const struct listener *listener = plugin->listeners; listener != NULL; listener = listener->next)
        if (strcmp(listener->owner, caller) == 0 && listener_wants(listener, uri))
            send_notification_take(listener, "notifications/resources/updated", tn_build("{s:s}", "uri", uri));
}

/* ---- The end ---- */

bool listener_close(struct plugin *plugin, uint64_t http, bool drain) {
    struct listener *listener = plugin->listeners;
    while (listener != NULL && listener->stream->http != http) listener = listener->next;
    if (listener == NULL) return false;
    if (drain) {
        tn_value result =
            tn_build("{s:s, s:{s:v}}", "resultType", "complete", "_meta", META_SUBSCRIPTION, listener->id);
        tn_value message = result != NULL ? reply_result_take(listener->id, result) : NULL;
        if (message != NULL) (void)stream_send(listener->stream, message);
        tn_release(message);
    } else {
        listener->stream->http = 0;
    }
    stream_finish(listener->stream);
    listener_free(plugin, listener);
    return true;
}

void listeners_free(struct plugin *plugin) {
    while (plugin->listeners != NULL) {
        stream_free(plugin->listeners->stream);
        listener_free(plugin, plugin->listeners);
    }
}
