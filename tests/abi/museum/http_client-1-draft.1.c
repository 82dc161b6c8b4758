/*
 * http_client-1-draft.1.c - the exhibit of tenon.http_client/1-draft.1: a client that answers each request itself, and
 * a node whose requests the host passes to it.
 */
#include "exhibit.h"
#include <stdio.h>
#include <tenon/http_client-1-draft.1.h>

MANIFEST("client", "An HTTP client without a network", TN_HTTP_1, ",\"provides\":[\"" TN_HTTP_CLIENT_DRAFT "\"]")
NODE_WITH(fetches, "museum.fetches", "async", "[\"network.http:museum.example\"]", PROPERTY("out", "channel-write"))

static const tn_http_1 *subject;

/* ---- The client: one exchange at a time ---- */

static struct {
    tn_http_handler handler;
    void *user;
    uint64_t number; /* of the exchange; the numbers begin with 1 */
    int step, paused;
} exchange;

static void say_line(const char *what, const char *about) {
    char line[256];
    (void)snprintf(line, sizeof(line), "a client %.40s%.200s", what, about);
    core->log(host, TN_LOG_INFO, line, TN_Z);
}

static void TN_ABI answer(void *argument) {
    static const char *const events[] = {"{\"status\":200,\"headers\":{\"content-type\":\"text/plain\"},\"attempt\":1}",
                                         "{\"$bytes\":\"b25l\"}", "{\"$bytes\":\"dHdv\"}",
                                         "{\"status\":200,\"headers\":{},\"attempts\":1,\"ms\":1}"};
    static const int32_t kinds[] = {TN_HTTP_HEAD, TN_HTTP_DATA, TN_HTTP_DATA, TN_HTTP_END};
    uint64_t number = exchange.number;
    (void)argument;
    while (exchange.handler != NULL && exchange.number == number && !exchange.paused) {
        int step = exchange.step++;
        tn_http_handler handler = exchange.handler;
        tn_value value = from_json(events[step]);
        if (step == 3) exchange.handler = NULL;
        handler(exchange.user, kinds[step], value);
        values->release(value);
    }
}

static int32_t TN_ABI client_send(void *self, tn_value request, tn_http_handler handler, void *user, uint64_t *number) {
    (void)self;
    if (request == NULL || handler == NULL || number == NULL) return TN_INVALID;
    say_line("sends to ", text_of(request, "url"));
    exchange.handler = handler;
    exchange.user = user;
    exchange.step = exchange.paused = 0;
    *number = ++exchange.number;
    return core->post(host, 0, answer, NULL, NULL, NULL);
}

static int32_t client_has(uint64_t number) {
    return exchange.handler != NULL && number == exchange.number ? TN_OK : TN_STALE;
}
static int32_t TN_ABI client_pause(void *self, uint64_t number) {
    (void)self;
    if (client_has(number) != TN_OK) return TN_STALE;
    say_line("pauses", "");
    exchange.paused = 1;
    return TN_OK;
}
static int32_t TN_ABI client_resume(void *self, uint64_t number) {
    (void)self;
    if (client_has(number) != TN_OK) return TN_STALE;
    say_line("resumes", "");
    exchange.paused = 0;
    return core->post(host, 0, answer, NULL, NULL, NULL);
}
static int32_t TN_ABI client_cancel(void *self, uint64_t number) {
    (void)self;
    if (client_has(number) != TN_OK) return TN_STALE;
    say_line("cancels", "");
    exchange.handler = NULL;
    return TN_OK;
}

/* ---- The node ---- */

struct instance {
    uint32_t out;
    tn_task task;
    uint64_t exchange;
    int cancels;
    tn_value said;
};

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    struct instance made;
    (void)self, (void)id, (void)length;
    memset(&made, 0, sizeof(made));
    int32_t status = bind_out(binder, config, &made.out);
    return keep_instance(status, &made, sizeof(made), instance);
}

static int32_t fetch(struct instance *self, const char *request_json);

static void TN_ABI resumes(void *argument) {
    struct instance *self = (struct instance *)argument;
    say_int(&self->said, "resume", subject->resume(host, self->exchange));
}

static void TN_ABI ends(void *argument) {
    struct instance *self = (struct instance *)argument;
    (void)end_said(self->task, self->out, self->said);
}

static void TN_ABI on_event(void *user, int32_t event, tn_value value) {
    static const char *const names[] = {"", "head", "data", "end", "failed"};
    struct instance *self = (struct instance *)user;
    if (event == TN_HTTP_END)
        say(&self->said, "end", values->retain(get(value, "status")));
    else
        say(&self->said, names[event], values->retain(event == TN_HTTP_FAILED ? get(value, "code") : value));
    if (event == TN_HTTP_DATA && self->cancels) {
        say_int(&self->said, "cancel", subject->cancel(host, self->exchange));
        (void)core->post(host, 0, ends, NULL, self, NULL);
    } else if (event == TN_HTTP_HEAD && !self->cancels) {
        say_int(&self->said, "pause", subject->pause(host, self->exchange));
        (void)core->post(host, 1, resumes, NULL, self, NULL);
    } else if (event == TN_HTTP_END && !self->cancels) {
        self->cancels = 1;
        (void)fetch(self, "{\"url\":\"http://museum.example/two\",\"receive\":\"bytes\"}");
    } else if (event == TN_HTTP_FAILED) {
        ends(self);
    }
}

static int32_t fetch(struct instance *self, const char *request_json) {
    tn_value request = from_json(request_json);
    int32_t status = subject->send(host, request, on_event, self, &self->exchange);
    values->release(request);
    return status;
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    (void)input;
    self->task = task;
    self->cancels = 0;
    self->said = from_json("{}");
    return fetch(self, "{\"url\":\"http://museum.example/one\",\"receive\":\"bytes\"}");
}

static void TN_ABI destroy(void *instance) { core->release(host, instance); }

/* ---- The entry ---- */

static const void *TN_ABI offer(void *self, const char *id) {
    static const tn_component_1 components = {sizeof(tn_component_1), create, start, NULL, NULL, destroy};
    static const tn_http_client_draft client = {sizeof(tn_http_client_draft), client_send, client_pause, client_resume,
                                                client_cancel};
    (void)self;
    if (strcmp(id, TN_HTTP_CLIENT_DRAFT) == 0) return &client;
    return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
}

static const tn_plugin plugin = {sizeof(tn_plugin), NULL, offer};

TN_EXPORT const tn_plugin *TN_ABI tn_plugin_entry_1(const tn_host *given) {
    host = given;
    core = (const tn_core_1 *)host->get(host->self, TN_CORE_1);
    values = (const tn_value_1 *)host->get(host->self, TN_VALUE_1);
    tasks = (const tn_task_1 *)host->get(host->self, TN_TASK_1);
    subject = (const tn_http_1 *)host->get(host->self, TN_HTTP_1);
    return core != NULL && values != NULL && tasks != NULL && subject != NULL ? &plugin : NULL;
}
