/*
 * remote_http.c - exchanges over HTTP that a plugin in a process of its own has: the host makes them.
 *
 * They are the plugin's, as if it ran here: by its manifest, and up to the same number. Data goes out while the child
 * has room for it, and is held back at its source otherwise. What is said of an exchange that is over is passed over:
 * it may have been on the way.
 */
#include "adl/value/memory.h"
#include "host/host.h"
#include "host/http/http.h"
#include "host/isolate/process.h"
#include "host/isolate/protocol.h"
#include "host/isolate/remote_internal.h"
#include "host/plugin/plugin.h"
#include <string.h>

struct crossing {
    struct crossing *next;
    struct remote *remote;
    int64_t number; /* the child's */
    uint64_t exchange;
    int64_t room; /* data that the child still takes */
};

static struct crossing **find(struct remote *remote, int64_t number) {
    struct crossing **at = &remote->crossings[(uint64_t)number % TASK_BUCKETS];
    while (*at && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void forget(struct crossing *crossing) {
    *find(crossing->remote, crossing->number) = crossing->next;
    mem_free(crossing);
}

/* False: it is too long. */
static bool tell(const struct crossing *crossing, const char *event, tn_value value) {
    tn_value params = value_set_take(value_object_reserve(3), "exchange", value_int(crossing->number));
    params = value_set_take(params, "event", value_text(event));
    return process_notify_take(crossing->remote->process, "http", value_set_take(params, "value", value_ref(value)));
}

/* The last that is told of it. */
static void tell_failed(struct crossing *crossing, int32_t status, const char *code, const char *message) {
    struct error error = ERROR_INIT;
    error_set(&error, status, code, "%s", message);
    tn_value value = error_to_value(&error);
    tell(crossing, "failed", value);
    value_unref(value);
    error_finish(&error);
    forget(crossing);
}

static void on_event(void *user, int32_t event, tn_value value) {
    static const char *const names[] = {
        [TN_HTTP_HEAD] = "head", [TN_HTTP_DATA] = "data", [TN_HTTP_END] = "end", [TN_HTTP_FAILED] = "failed"};
    struct crossing *crossing = user;
    const struct remote *remote = crossing->remote;
    if (!tell(crossing, names[event], value)) {
        http_cancel(remote->host->http, remote->plugin, crossing->exchange);
        tell_failed(crossing, TN_LIMIT, "LIMIT",
                    "what came is longer than the 64 MiB that a process can be told at once");
    } else if (event == TN_HTTP_END || event == TN_HTTP_FAILED) {
        forget(crossing);
    } else if (event == TN_HTTP_DATA && --crossing->room == 0) {
        http_pause(remote->host->http, remote->plugin, crossing->exchange);
    }
}

static void on_send(struct remote *remote, int64_t number, tn_value params) {
    tn_value request = value_get(params, "request");
    if (!remote->crossings) remote->crossings = mem_zalloc(TASK_BUCKETS * sizeof(struct crossing *));
    struct crossing **place = find(remote, number), *crossing;
    if (*place) {
        process_kill(remote->process, "it sent two requests of one number");
        return;
    }
    *place = crossing = mem_zalloc(sizeof *crossing);
    *crossing = (struct crossing){NULL, remote, number, 0, PROTOCOL_EVENTS};
    int32_t status = http_send(remote->host->http, remote->plugin, request ? request : value_null(), on_event, crossing,
                               &crossing->exchange);
    if (status == TN_LIMIT)
        tell_failed(crossing, status, "LIMIT", "the plugin has 65,536 requests open, the most there may be");
    else if (status != TN_OK)
        tell_failed(crossing, status, "UNSUPPORTED", "the host ends, and sends no more requests");
}

static void on_credit(struct remote *remote, struct crossing *crossing, tn_value params) {
    tn_value events = value_get(params, "events");
    int64_t more = value_is(events, TN_INT) ? value_to_int(events) : 0;
    if (more < 1 || more > PROTOCOL_EVENTS - crossing->room) {
        process_kill(remote->process, "it gave back more room for a request's data than was taken");
        return;
    }
    bool full = crossing->room == 0;
    crossing->room += more;
    if (full) http_resume(remote->host->http, remote->plugin, crossing->exchange);
}

bool remote_http_hear(struct remote *remote, const char *method, tn_value params) {
    tn_value which = value_get(params, "exchange");
    int64_t number = value_is(which, TN_INT) ? value_to_int(which) : 0;
    if (strncmp(method, "http_", 5) != 0) return false;
    if (strcmp(method, "http_send") == 0) {
        on_send(remote, number, params);
        return true;
    }
    struct crossing *crossing = remote->crossings ? *find(remote, number) : NULL;
    if (!crossing) return true;
    if (strcmp(method, "http_credit") == 0) {
        on_credit(remote, crossing, params);
    } else if (strcmp(method, "http_cancel") == 0) {
        http_cancel(remote->host->http, remote->plugin, crossing->exchange);
        forget(crossing);
    }
    return true;
}

void remote_http_end(struct remote *remote) {
    for (uint32_t i = 0; remote->crossings && i < TASK_BUCKETS; i++) {
        while (remote->crossings[i]) {
            http_cancel(remote->host->http, remote->plugin, remote->crossings[i]->exchange);
            forget(remote->crossings[i]);
        }
    }
}
