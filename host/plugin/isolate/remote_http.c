/*
 * remote_http.c - the host's side of tenon.http for an isolated plugin: performs the child's HTTP exchanges.
 *
 * The manifest's permissions and the limit of open exchanges apply as if the plugin ran in this process. Data is
 * forwarded while the child has credit; without credit the exchange is paused. Messages about an unknown exchange are
 * ignored, because they may have been sent before the child learned of its end.
 */
#include "adl/value/memory.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin.h"
#include <string.h>

struct remote_exchange {
    struct remote_exchange *next;
    struct remote_child *child;
    int64_t number; /* the child's number for it */
    uint64_t token; /* token of tenon.http in this process */
    int64_t credit; /* data events that the child accepts */
};

/* Returns the link that points to the exchange, or to NULL at the end of its list. */
static struct remote_exchange **remote_exchange_lookup(struct remote_child *child, int64_t number) {
    struct remote_exchange **at = &child->exchanges[(uint64_t)number % TASK_BUCKETS];
    while (*at && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void remote_exchange_free(struct remote_exchange *exchange) {
    *remote_exchange_lookup(exchange->child, exchange->number) = exchange->next;
    exchange->child->exchange_count--;
    mem_free(exchange);
}

/* Sends an event to the child. Returns why it was not sent, or FRAME_FITS. */
static enum frame_fit remote_exchange_notify(const struct remote_exchange *exchange, const char *event,
                                             tn_value value) {
    tn_value params = value_set_take(value_object_reserve(3), "exchange", value_int(exchange->number));
    params = value_set_take(params, "event", value_text(event));
    return process_notify_take(exchange->child->process, "http", value_set_take(params, "value", value_ref(value)));
}

/* Sends the last event, a failure, and frees the exchange. */
static void remote_exchange_fail(struct remote_exchange *exchange, int32_t status, const char *code,
                                 const char *message) {
    struct error error = ERROR_INIT;
    error_set(&error, status, code, "%s", message);
    tn_value value = error_to_value(&error);
    remote_exchange_notify(exchange, "failed", value);
    value_unref(value);
    error_finish(&error);
    remote_exchange_free(exchange);
}

static void remote_exchange_fail_limit(struct remote_exchange *exchange, const char *what, enum frame_fit fit) {
    tn_value why = value_format("%s is %s that can be sent", what, frame_fit_text(fit));
    remote_exchange_fail(exchange, TN_LIMIT, "LIMIT", value_chars(why, NULL));
    value_unref(why);
}

static void remote_exchange_on_event(void *user, int32_t event, tn_value value) {
    static const char *const names[] = {
        [TN_HTTP_HEAD] = "head", [TN_HTTP_DATA] = "data", [TN_HTTP_END] = "end", [TN_HTTP_FAILED] = "failed"};
    struct remote_exchange *exchange = user;
    const struct remote *remote = exchange->child->remote;
    enum frame_fit fit = remote_exchange_notify(exchange, names[event], value);
    if (fit != FRAME_FITS) {
        if (event != TN_HTTP_END && event != TN_HTTP_FAILED)
            remote->host->http->cancel(plugin_host(remote->plugin), exchange->token);
        remote_exchange_fail_limit(exchange, "the response", fit);
    } else if (event == TN_HTTP_END || event == TN_HTTP_FAILED) {
        remote_exchange_free(exchange);
    } else if (event == TN_HTTP_DATA && --exchange->credit == 0) {
        remote->host->http->pause(plugin_host(remote->plugin), exchange->token);
    }
}

static void remote_http_send(struct remote_child *child, int64_t number, tn_value message) {
    const struct remote *remote = child->remote;
    tn_value request = value_get(value_get(message, "params"), "request");
    if (!child->exchanges) child->exchanges = mem_zalloc(TASK_BUCKETS * sizeof(struct remote_exchange *));
    struct remote_exchange **place = remote_exchange_lookup(child, number), *exchange;
    if (*place) {
        process_kill(child->process, "it sent two requests with the same number");
        return;
    }
    *place = exchange = mem_zalloc(sizeof *exchange);
    *exchange = (struct remote_exchange){NULL, child, number, 0, PROTOCOL_EVENTS};
    child->exchange_count++;
    if (frame_is_pruned(message)) {
        remote_exchange_fail_limit(exchange, "a request", FRAME_TOO_DEEP);
        return;
    }
    int32_t status = remote->host->http->send(plugin_host(remote->plugin), request ? request : value_null(),
                                              remote_exchange_on_event, exchange, &exchange->token);
    if (status == TN_LIMIT)
        remote_exchange_fail(exchange, status, "LIMIT", "the plugin has 65,536 open requests, which is the limit");
    else if (status != TN_OK)
        remote_exchange_fail(exchange, status, "UNSUPPORTED", "the host is shutting down and sends no more requests");
}

static void remote_http_add_credit(struct remote_child *child, struct remote_exchange *exchange, tn_value params) {
    const struct remote *remote = child->remote;
    tn_value events = value_get(params, "events");
    int64_t more = value_is(events, TN_INT) ? value_to_int(events) : 0;
    if (more < 1 || more > PROTOCOL_EVENTS - exchange->credit) {
        process_kill(child->process, "it sent more credit for the data of a request than it had received");
        return;
    }
    bool paused = exchange->credit == 0;
    exchange->credit += more;
    if (paused) remote->host->http->resume(plugin_host(remote->plugin), exchange->token);
}

bool remote_http_on_message(struct remote_child *child, const char *method, tn_value message) {
    const struct remote *remote = child->remote;
    tn_value params = value_get(message, "params"), which = value_get(params, "exchange");
    int64_t number = value_is(which, TN_INT) ? value_to_int(which) : 0;
    if (strncmp(method, "http_", 5) != 0) return false;
    if (strcmp(method, "http_send") == 0) {
        remote_http_send(child, number, message);
        return true;
    }
    struct remote_exchange *exchange = child->exchanges ? *remote_exchange_lookup(child, number) : NULL;
    if (!exchange) return true;
    if (strcmp(method, "http_credit") == 0) {
        remote_http_add_credit(child, exchange, params);
    } else if (strcmp(method, "http_cancel") == 0) {
        remote->host->http->cancel(plugin_host(remote->plugin), exchange->token);
        remote_exchange_free(exchange);
    }
    return true;
}

void remote_http_cancel_all(struct remote_child *child) {
    const struct remote *remote = child->remote;
    for (uint32_t i = 0; child->exchanges && i < TASK_BUCKETS; i++) {
        while (child->exchanges[i]) {
            remote->host->http->cancel(plugin_host(remote->plugin), child->exchanges[i]->token);
            remote_exchange_free(child->exchanges[i]);
        }
    }
}
