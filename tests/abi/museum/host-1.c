/*
 * host-1.c - the exhibit of tenon.host/1: methods that tasks call, a request, and subscriptions. Of results and events
 * it shows only what no later host may change.
 */
#include "exhibit.h"
#include <tenon/host.h>

#define RIGHTS "[\"host.method:run/*\",\"host.method:event/subscribe\"]"
MANIFEST("host", "Uses everything of tenon.host/1", TN_HOST_1, ",\"effects\":" RIGHTS)
NODE_WITH(asks, "museum.asks", "async", RIGHTS, PROPERTY("out", "channel-write"))
NODE_WITH(waits, "museum.waits", "blocking", RIGHTS, PROPERTY("out", "channel-write"))

#define DOCUMENT                                                                                                       \
    "\"version: '1.0'\\nchannels: [{name: said, type: last_value}]\\nnodes: [{id: say, type: prompt, config: "         \
    "{template: Hello, output_key: said}}]\\nedges: [{from: START, to: say}, {from: say, to: END}]\\n\""

static const tn_host_1 *subject;

struct instance {
    uint32_t out;
    int waits, step;
    tn_task task;
    uint64_t number;
    tn_value said;
};

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    struct instance made = {0, is_id(id, length, "museum.waits"), 0, 0, 0, NULL};
    (void)self;
    int32_t status = bind_out(binder, config, &made.out);
    return keep_instance(status, &made, sizeof(made), instance);
}

static void say_text(struct instance *self, const char *key, tn_value text) {
    say(&self->said, key, text != NULL ? values->retain(text) : NULL);
}

/* How a run has ended, or the code of an error. */
static void say_run(struct instance *self, const char *key, int32_t status, tn_value value) {
    say_text(self, key, get(value, status == TN_FAILED ? "code" : "status"));
}

/* ---- The calls of museum.waits ---- */

static int32_t call_and_wait(struct instance *self, const char *key, const char *method, const char *json) {
    tn_value params = from_json(json), out = NULL, error = NULL;
    int32_t status = subject->call_wait(self->task, method, TN_Z, params, NULL, &out, &error);
    if (status == TN_OK || status == TN_FAILED)
        say_run(self, key, status, status == TN_OK ? out : error);
    else
        say_int(&self->said, key, status);
    values->release(params);
    values->release(out);
    values->release(error);
    return status;
}

static void TN_ABI never(void *user, int32_t status, tn_value value) { (void)user, (void)status, (void)value; }

static int32_t wait_for_all(struct instance *self) {
    uint64_t number = 7;
    (void)call_and_wait(self, "started", "run/start", "{\"text\":" DOCUMENT ",\"config\":{\"run_id\":\"museum-2\"}}");
    (void)call_and_wait(self, "ended", "run/wait", "{\"run_id\":\"museum-2\"}");
    (void)call_and_wait(self, "not found", "run/wait", "{\"run_id\":\"museum-3\"}");
    (void)call_and_wait(self, "not declared", "host/info", "{}");
    (void)call_and_wait(self, "not valid", "run/wait", "{\"run_id\":7}");
    (void)call_and_wait(self, "no method", "no/such", "{}");
    say_int(&self->said, "requests on a worker", subject->request(host, "run/list", TN_Z, NULL, never, NULL, &number));
    say_int(&self->said, "subscribes on a worker", subject->subscribe(host, NULL, never, NULL, &number));
    say_int(&self->said, "untouched", (int64_t)number);
    return end_said(self->task, self->out, self->said);
}

/* ---- The steps of museum.asks ---- */

static void go_on(struct instance *self);

static int32_t TN_ABI on_started(void *user, int32_t status, tn_value value) {
    struct instance *self = (struct instance *)user;
    say_int(&self->said, "start", status);
    say_text(self, "started", get(value, "run_id"));
    go_on(self);
    return TN_OK;
}

static void TN_ABI on_run(void *user, int32_t status, tn_value value) {
    struct instance *self = (struct instance *)user;
    if (status == TN_CHUNK) {
        say_text(self, "event", get(value, "event"));
        say_text(self, "of", get(get(value, "params"), "run_id"));
        say_text(self, "with", get(get(value, "params"), "status"));
        return;
    }
    say_int(&self->said, "subscription ended", status);
    say_int(&self->said, "pause at its end", subject->pause(host, self->number));
    go_on(self);
}

static void TN_ABI on_waited(void *user, int32_t status, tn_value value) {
    struct instance *self = (struct instance *)user;
    say_int(&self->said, "request", status);
    say_run(self, "waited", status, value);
    go_on(self);
}

static void TN_ABI on_refused(void *user, int32_t status, tn_value value) {
    struct instance *self = (struct instance *)user;
    say_int(&self->said, self->step == 4 ? "refused" : "not declared", status);
    say_run(self, self->step == 4 ? "why" : "for", status, value);
    go_on(self);
}

static int32_t request(struct instance *self, const char *method, const char *json, tn_host_handler handler) {
    tn_value params = from_json(json);
    int32_t status = subject->request(host, method, TN_Z, params, handler, self, &self->number);
    values->release(params);
    return status;
}

static int32_t subscribe(struct instance *self, const char *json, tn_host_handler handler) {
    tn_value params = from_json(json);
    int32_t status = subject->subscribe(host, params, handler, self, &self->number);
    values->release(params);
    return status;
}

static void say_rest(struct instance *self) {
    uint64_t number = 7;
    tn_value nothing = NULL;
    say_int(&self->said, "request again", request(self, "run/wait", "{\"run_id\":\"museum-1\"}", never));
    say_int(&self->said, "cancel", subject->cancel(host, self->number));
    say_int(&self->said, "cancel again", subject->cancel(host, self->number));
    say_int(&self->said, "subscribe", subscribe(self, "{\"events\":[\"run/ended\"]}", never));
    say_int(&self->said, "a number", self->number != 0);
    say_int(&self->said, "unsubscribe", subject->unsubscribe(host, self->number));
    say_int(&self->said, "unsubscribe again", subject->unsubscribe(host, self->number));
    say_int(&self->said, "resume what is gone", subject->resume(host, self->number));
    say_int(&self->said, "no method", request(self, "no/such", "{}", never));
    say_int(&self->said, "part of a method", subject->request(host, "run/listing", 7, NULL, never, NULL, &number));
    say_int(&self->said, "no handler", subject->subscribe(host, NULL, NULL, NULL, &number));
    say_int(&self->said, "waits on the loop",
            subject->call_wait(self->task, "run/list", TN_Z, NULL, NULL, &nothing, NULL));
    say_int(&self->said, "calls no method",
            subject->call(self->task, "no/such", TN_Z, NULL, NULL, on_started, self, NULL));
    say_int(&self->said, "untouched", number == 7 && nothing == NULL);
    (void)end_said(self->task, self->out, self->said);
}

static void go_on(struct instance *self) {
    int32_t status = TN_OK;
    tn_value params;
    switch (++self->step) {
    case 1:
        params = from_json("{\"text\":" DOCUMENT ",\"config\":{\"run_id\":\"museum-1\"}}");
        status = subject->call(self->task, "run/start", TN_Z, params, NULL, on_started, self, NULL);
        values->release(params);
        break;
    case 2:
        status = subscribe(self, "{\"run_id\":\"museum-1\",\"after\":0,\"modes\":[]}", on_run);
        say_int(&self->said, "pause", subject->pause(host, self->number));
        say_int(&self->said, "resume", subject->resume(host, self->number));
        break;
    case 3: status = request(self, "run/wait", "{\"run_id\":\"museum-1\"}", on_waited); break;
    case 4: status = subscribe(self, "{\"run_id\":\"museum-3\"}", on_refused); break;
    case 5: status = request(self, "host/info", "{}", on_refused); break;
    default: say_rest(self);
    }
    if (status != TN_OK) (void)fail_task(self->task, "a request was not taken");
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    (void)input;
    self->task = task;
    self->step = 0;
    self->said = from_json("{}");
    if (self->waits) return wait_for_all(self);
    go_on(self);
    return TN_OK;
}

static void TN_ABI destroy(void *instance) { core->release(host, instance); }

EXHIBIT(TN_HOST_1, tn_host_1, NULL)
