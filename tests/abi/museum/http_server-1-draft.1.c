/*
 * http_server-1-draft.1.c - the exhibit of tenon.http_server/1-draft.1: a server without a network. When it listens, it
 * reports five requests one after the other, writes what the host answers to the log, and ends the host.
 */
#define _POSIX_C_SOURCE 200809L
#include "exhibit.h"
#include <signal.h>
#include <stdio.h>
#include <tenon/http_server-1-draft.1.h>
#include <tenon/poll.h>
#include <unistd.h>

MANIFEST("http", "An HTTP server without a network", TN_POLL_1, ",\"provides\":[\"" TN_HTTP_SERVER_DRAFT "\"]")
NODE(nothing, "museum.nothing", PROPERTY("out", "channel-write"))

static const tn_poll_1 *subject; /* unused */

static struct {
    tn_http_server_handler handler;
    void *user;
    uint64_t request; /* the last one that was reported */
    int drained;
} server;

#define REQUEST(method, path, headers, body)                                                                           \
    "{\"method\":\"" method "\",\"target\":\"" path "\",\"path\":\"" path "\",\"query\":\"\",\"headers\":{\"host\":"   \
    "\"localhost\"" headers "},\"address\":\"127.0.0.1:4711\",\"secure\":false,\"body\":" body "}"
static const char *const requests[] = {
    REQUEST("GET", "/museum/stream", ",\"x-request-id\":\"museum-1\"", "0"),
    REQUEST("POST", "/museum/body", ",\"content-type\":\"application/json\"", "12"),
    REQUEST("GET", "/museum/socket", ",\"upgrade\":\"websocket\",\"connection\":\"Upgrade\"", "0"),
    REQUEST("GET", "/museum/abort", "", "0"),
    REQUEST("DELETE", "/museum/stream", "", "0"),
};
#define COUNT (sizeof(requests) / sizeof(requests[0]))

static void say_line(const char *what, int number, const char *data, uint64_t length) {
    char line[256];
    (void)snprintf(line, sizeof(line), "a server %.40s %d %.*s", what, number, (int)(length > 150 ? 150 : length),
                   data);
    core->log(host, TN_LOG_INFO, line, TN_Z);
}

static void report(int32_t event, const char *json) {
    tn_value value = json != NULL ? from_json(json) : NULL;
    server.handler(server.user, server.request, event, value);
    values->release(value);
}

static void TN_ABI next(void *argument) {
    (void)argument;
    if (server.drained) return;
    if (server.request == COUNT) {
        (void)kill(getpid(), SIGTERM);
        return;
    }
    server.request++;
    report(TN_HTTP_SERVER_REQUEST, requests[server.request - 1]);
}

static void TN_ABI is_done(void *argument) {
    (void)argument;
    report(TN_HTTP_SERVER_CLOSED, "{\"reason\":\"done\",\"sent\":0}");
    (void)core->post(host, 0, next, NULL, NULL, NULL);
}
static void TN_ABI is_cut(void *argument) {
    (void)argument;
    report(TN_HTTP_SERVER_CLOSED, "{\"reason\":\"closed\",\"sent\":0}");
    (void)core->post(host, 0, next, NULL, NULL, NULL);
}
static void TN_ABI has_body(void *argument) {
    (void)argument;
    report(TN_HTTP_SERVER_BODY, "{\"$bytes\":\"eyJzYXkiOiAiaGkifQ==\"}");
    report(TN_HTTP_SERVER_BODY_END, NULL);
}
static void TN_ABI has_message(void *argument) {
    (void)argument;
    report(TN_HTTP_SERVER_MESSAGE, "\"hello\"");
}

/* ---- The interface ---- */

static int32_t TN_ABI server_listen(void *self, tn_value options, tn_http_server_handler handler, void *user,
                                    uint64_t *listener, tn_value *address, tn_value *error) {
    (void)self, (void)error;
    server.handler = handler;
    server.user = user;
    *listener = 1;
    *address = from_json("{\"address\":\"127.0.0.1\",\"port\":8700}");
    say_line("listens", get(get(options, "limits"), "connections") != NULL, text_of(options, "address"), 20);
    return core->post(host, 0, next, NULL, NULL, NULL);
}
static int32_t TN_ABI server_drain(void *self, uint64_t listener) {
    (void)self;
    server.drained = 1;
    say_line("drains", (int)listener, "", 0);
    return TN_OK;
}
static int32_t TN_ABI server_unlisten(void *self, uint64_t listener) {
    (void)self;
    say_line("ends", (int)listener, "", 0);
    return TN_OK;
}
static int32_t TN_ABI server_receive(void *self, uint64_t request, uint64_t limit) {
    (void)self, (void)limit;
    say_line("receives", (int)request, "", 0);
    return core->post(host, 0, has_body, NULL, NULL, NULL);
}
static int32_t TN_ABI server_hold(void *self, uint64_t request) {
    (void)self, (void)request;
    return TN_OK;
}
static int32_t TN_ABI server_respond(void *self, uint64_t request, int32_t status, tn_value headers, const void *data,
                                     uint64_t length, int32_t more) {
    (void)self, (void)request;
    say_line(more ? "streams" : "responds", (int)status, (const char *)data,
             status < 300 && headers != NULL ? length : 0);
    return more ? TN_OK : core->post(host, 0, is_done, NULL, NULL, NULL);
}
static int32_t TN_ABI server_write(void *self, uint64_t request, const void *data, uint64_t length) {
    (void)self;
    say_line("writes", (int)request, (const char *)data, length);
    return TN_OK;
}
static int32_t TN_ABI server_finish(void *self, uint64_t request) {
    (void)self;
    say_line("finishes", (int)request, "", 0);
    return core->post(host, 0, is_done, NULL, NULL, NULL);
}
static int32_t TN_ABI server_accept(void *self, uint64_t request, tn_value headers) {
    (void)self, (void)headers;
    say_line("accepts", (int)request, "", 0);
    return core->post(host, 0, has_message, NULL, NULL, NULL);
}
static int32_t TN_ABI server_send(void *self, uint64_t request, const void *data, uint64_t length, int32_t text) {
    (void)self, (void)request;
    say_line("sends", (int)text, (const char *)data, length);
    return TN_OK;
}
static int32_t TN_ABI server_close(void *self, uint64_t request, int32_t code, const char *reason, uint64_t length) {
    (void)self, (void)request;
    say_line("closes", (int)code, reason, length);
    return core->post(host, 0, is_done, NULL, NULL, NULL);
}
static int32_t TN_ABI server_abort(void *self, uint64_t request) {
    (void)self;
    say_line("aborts", (int)request, "", 0);
    return core->post(host, 0, is_cut, NULL, NULL, NULL);
}

static const tn_http_server_draft offered = {sizeof(tn_http_server_draft),
                                             server_listen,
                                             server_drain,
                                             server_unlisten,
                                             server_receive,
                                             server_hold,
                                             server_hold,
                                             server_respond,
                                             server_write,
                                             server_finish,
                                             server_accept,
                                             server_send,
                                             server_close,
                                             server_abort};

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    uint32_t out = 0;
    (void)self, (void)id, (void)length;
    int32_t status = bind_out(binder, config, &out);
    return keep_instance(status, &out, sizeof(out), instance);
}
static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    (void)input;
    return end_said(task, *(const uint32_t *)instance, from_json("{}"));
}
static void TN_ABI destroy(void *instance) { core->release(host, instance); }

/* ---- The entry ---- */

static const void *TN_ABI offer(void *self, const char *id) {
    static const tn_component_1 components = {sizeof(tn_component_1), create, start, NULL, NULL, destroy};
    (void)self;
    if (strcmp(id, TN_HTTP_SERVER_DRAFT) == 0) return &offered;
    return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
}

static const tn_plugin plugin = {sizeof(tn_plugin), NULL, offer};

TN_EXPORT const tn_plugin *TN_ABI tn_plugin_entry_1(const tn_host *given) {
    host = given;
    core = (const tn_core_1 *)host->get(host->self, TN_CORE_1);
    values = (const tn_value_1 *)host->get(host->self, TN_VALUE_1);
    tasks = (const tn_task_1 *)host->get(host->self, TN_TASK_1);
    subject = (const tn_poll_1 *)host->get(host->self, TN_POLL_1);
    return core != NULL && values != NULL && tasks != NULL && subject != NULL ? &plugin : NULL;
}
