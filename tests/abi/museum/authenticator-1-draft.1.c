/*
 * authenticator-1-draft.1.c - the exhibit of tenon.authenticator/1-draft.1: it knows one token. It is a server without
 * a network, too, which reports four requests with tokens, writes what the host does to the log, and ends the host.
 */
#define _POSIX_C_SOURCE 200809L
#include "exhibit.h"
#include <signal.h>
#include <stdio.h>
#include <tenon/authenticator-1-draft.1.h>
#include <tenon/http_server-1-draft.1.h>
#include <tenon/poll.h>
#include <unistd.h>

MANIFEST("authenticator", "Users without a directory", TN_POLL_1,
         ",\"provides\":[\"" TN_AUTHENTICATOR_DRAFT "\",\"" TN_HTTP_SERVER_DRAFT "\"]")
NODE(nothing, "museum.nothing", PROPERTY("out", "channel-write"))

static const tn_poll_1 *subject; /* unused */

static struct {
    tn_http_server_handler handler;
    void *user;
    uint64_t request; /* the last one that was reported */
    int drained;
} server;

static struct {
    tn_authenticator_handler handler;
    void *user;
    uint64_t number;
} check;

/* Answered at once, refused at once, answered later, and never: then its client leaves. */
static const char *const tokens[] = {"known", "wrong", "later", "never"};
#define COUNT (sizeof(tokens) / sizeof(tokens[0]))

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
    char json[512];
    (void)argument;
    if (server.drained) return;
    if (server.request == COUNT) {
        (void)kill(getpid(), SIGTERM);
        return;
    }
    (void)snprintf(json, sizeof json,
                   "{\"method\":\"GET\",\"target\":\"/museum/abort\",\"path\":\"/museum/abort\",\"query\":\"\","
                   "\"headers\":{\"host\":\"localhost\",\"authorization\":\"Bearer %s\"},\"address\":"
                   "\"127.0.0.1:4711\",\"secure\":false,\"body\":0}",
                   tokens[server.request]);
    server.request++;
    report(TN_HTTP_SERVER_REQUEST, json);
}

static void TN_ABI is_cut(void *argument) {
    (void)argument;
    report(TN_HTTP_SERVER_CLOSED, "{\"reason\":\"closed\",\"sent\":0}");
    (void)core->post(host, 0, next, NULL, NULL, NULL);
}

/* ---- The authenticator ---- */

static void report_user(tn_authenticator_handler handler, void *user, uint64_t number) {
    tn_value identity = from_json("{\"owner\":\"museum\",\"scope\":\"read\",\"expires_at\":4102444800}");
    handler(user, number, identity, NULL);
    values->release(identity);
}

static void TN_ABI answer(void *argument) {
    (void)argument;
    report_user(check.handler, check.user, check.number);
}

static int32_t TN_ABI check_token(void *self, const char *token, uint64_t length, tn_authenticator_handler handler,
                                  void *user, uint64_t *number) {
    (void)self;
    *number = server.request;
    say_line("checks", (int)server.request, token, length);
    check.handler = handler;
    check.user = user;
    check.number = *number;
    if (memcmp(token, "later", 5) == 0) return core->post(host, 0, answer, NULL, NULL, NULL);
    if (memcmp(token, "never", 5) == 0) return core->post(host, 0, is_cut, NULL, NULL, NULL);
    if (memcmp(token, "known", 5) == 0) {
        report_user(handler, user, *number);
        return TN_OK;
    }
    tn_value error = from_json("{\"code\":\"AUTH\",\"message\":\"not known\"}");
    handler(user, *number, NULL, error);
    values->release(error);
    return TN_OK;
}
static int32_t TN_ABI check_cancel(void *self, uint64_t number) {
    (void)self;
    say_line("cancels", (int)number, "", 0);
    return TN_OK;
}

static tn_value TN_ABI issuers(void *self) {
    (void)self;
    say_line("names issuers", 2, "", 0);
    return from_json("[\"https://museum.example\",\"https://other.example\"]");
}

static const tn_authenticator_draft authenticator = {sizeof(tn_authenticator_draft), check_token, check_cancel,
                                                     issuers};

/* ---- The server ---- */

static int32_t TN_ABI server_listen(void *self, tn_value options, tn_http_server_handler handler, void *user,
                                    uint64_t *listener, tn_value *address, tn_value *error) {
    (void)self, (void)options, (void)error;
    server.handler = handler;
    server.user = user;
    *listener = 1;
    *address = from_json("{\"address\":\"127.0.0.1\",\"port\":8700}");
    return core->post(host, 0, next, NULL, NULL, NULL);
}
static int32_t TN_ABI server_drain(void *self, uint64_t listener) {
    (void)self, (void)listener;
    server.drained = 1;
    return TN_OK;
}
static int32_t TN_ABI server_one(void *self, uint64_t number) {
    (void)self, (void)number;
    return TN_OK;
}
static int32_t TN_ABI server_receive(void *self, uint64_t request, uint64_t limit) {
    (void)self, (void)request, (void)limit;
    return TN_OK;
}
static int32_t TN_ABI server_respond(void *self, uint64_t request, int32_t status, tn_value headers, const void *data,
                                     uint64_t length, int32_t more) {
    (void)self, (void)request, (void)headers, (void)data, (void)length, (void)more;
    say_line("responds", (int)status, "", 0);
    return core->post(host, 0, is_cut, NULL, NULL, NULL);
}
static int32_t TN_ABI server_write(void *self, uint64_t request, const void *data, uint64_t length) {
    (void)self, (void)request, (void)data, (void)length;
    return TN_OK;
}
static int32_t TN_ABI server_accept(void *self, uint64_t request, tn_value headers) {
    (void)self, (void)request, (void)headers;
    return TN_OK;
}
static int32_t TN_ABI server_send(void *self, uint64_t request, const void *data, uint64_t length, int32_t text) {
    (void)self, (void)request, (void)data, (void)length, (void)text;
    return TN_OK;
}
static int32_t TN_ABI server_close(void *self, uint64_t request, int32_t code, const char *reason, uint64_t length) {
    (void)self, (void)request, (void)code, (void)reason, (void)length;
    return TN_OK;
}
static int32_t TN_ABI server_abort(void *self, uint64_t request) {
    (void)self;
    say_line("aborts", (int)request, "", 0);
    return core->post(host, 0, is_cut, NULL, NULL, NULL);
}

static const tn_http_server_draft offered = {sizeof(tn_http_server_draft),
                                             server_listen,
                                             server_drain,
                                             server_one,
                                             server_receive,
                                             server_one,
                                             server_one,
                                             server_respond,
                                             server_write,
                                             server_one,
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
    if (strcmp(id, TN_AUTHENTICATOR_DRAFT) == 0) return &authenticator;
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
