/*
 * http-1.c - the exhibit of tenon.http/1: requests piece by piece, and one that is waited for. What
 * they are answered with is in http-1.replay.
 */
#include "exhibit.h"
#include <tenon/http.h>

MANIFEST("http", "Uses everything of tenon.http/1", TN_HTTP_1, "")

#define RIGHTS "[\"network.http:museum.example\"]"
NODE_WITH(streams, "museum.streams", "async", RIGHTS, PROPERTY("out", "channel-write"))
NODE_WITH(waits, "museum.waits", "blocking", RIGHTS, PROPERTY("out", "channel-write"))

static const tn_http_1 *subject;

/* What is asked in turn. Of each its events are said. */
static const struct {
    const char *what, *request;
    int pauses, leaves; /* at the head; at the first piece */
} asked[] = {
    {"lines", "{\"url\":\"http://museum.example/lines\",\"receive\":\"lines\"}", 1, 0},
    {"left", "{\"url\":\"http://museum.example/left\",\"receive\":\"events\"}", 0, 1},
    {"bytes", "{\"url\":\"http://museum.example/bytes\",\"receive\":\"bytes\"}", 0, 0},
    {"whole", "{\"url\":\"http://museum.example/whole\",\"json\":{\"a\":[1]}}", 0, 0},
    {"failed", "{\"url\":\"http://museum.example/failed\"}", 0, 0},
    {"not declared", "{\"url\":\"http://elsewhere.example/\"}", 0, 0},
    {"no request", "{}", 0, 0},
};
#define ASKED (sizeof(asked) / sizeof(asked[0]))

struct instance {
    uint32_t out;
    int waits;
    size_t next;
    tn_task task;
    uint64_t exchange;
    tn_value said, told;
};

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    struct instance made = {0, is_id(id, length, "museum.waits"), 0, 0, 0, NULL, NULL};
    (void)self;
    int32_t status = bind_out(binder, config, &made.out);
    return keep_instance(status, &made, sizeof(made), instance);
}

static void go_on(struct instance *self);

static void TN_ABI over(void *argument) {
    struct instance *self = (struct instance *)argument;
    say(&self->said, asked[self->next].what, self->told);
    self->told = NULL;
    self->next++;
    go_on(self);
}

static void TN_ABI resumes(void *argument) {
    struct instance *self = (struct instance *)argument;
    say_int(&self->said, "resume", subject->resume(host, self->exchange));
}

/* Messages are for people, and may change. */
static tn_value shown(int32_t event, tn_value value) {
    return values->retain(event == TN_HTTP_FAILED ? get(value, "code") : value);
}

static void TN_ABI on_event(void *user, int32_t event, tn_value value) {
    static const char *const names[] = {"", "head", "data", "end", "failed"};
    struct instance *self = (struct instance *)user;
    if (event == TN_HTTP_DATA) {
        tn_value before = get(self->told, "data");
        tn_value pieces = before != NULL ? values->retain(before) : from_json("[]");
        (void)values->append(&pieces, value);
        say(&self->told, "data", pieces);
    } else {
        say(&self->told, names[event], shown(event, value));
    }
    if (event == TN_HTTP_HEAD && asked[self->next].pauses) {
        say_int(&self->said, "pause", subject->pause(host, self->exchange));
        (void)core->post(host, 1, resumes, NULL, self, NULL);
    }
    if (event == TN_HTTP_DATA && asked[self->next].leaves) {
        say_int(&self->said, "cancel", subject->cancel(host, self->exchange));
        say_int(&self->said, "cancel again", subject->cancel(host, self->exchange));
        (void)core->post(host, 0, over, NULL, self, NULL);
    }
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return;
    say_int(&self->told, "pause at its end", subject->pause(host, self->exchange));
    over(self);
}

static void go_on(struct instance *self) {
    if (self->next == ASKED) {
        tn_value nothing = NULL;
        say_int(&self->said, "no request at all", subject->send(host, NULL, on_event, self, &self->exchange));
        say_int(&self->said, "waits on the loop", subject->send_wait(host, self->task, self->said, &nothing, NULL));
        say_int(&self->said, "another's", subject->resume(host, 0));
        (void)end_said(self->task, self->out, self->said);
        return;
    }
    tn_value request = from_json(asked[self->next].request);
    self->told = from_json("{}");
    int32_t status = subject->send(host, request, on_event, self, &self->exchange);
    values->release(request);
    if (status != TN_OK) (void)fail_task(self->task, "a request was not taken");
}

static int32_t wait_for_all(struct instance *self) {
    for (self->next = 2; self->next < ASKED; self->next++) {
        tn_value request = from_json(asked[self->next].request), told = from_json("{}");
        tn_value result = NULL, error = NULL;
        int32_t status = subject->send_wait(host, self->task, request, &result, &error);
        say_int(&told, "status", status);
        if (result != NULL) say(&told, "result", shown(TN_HTTP_END, result));
        if (error != NULL) say(&told, "error", shown(TN_HTTP_FAILED, error));
        say(&self->said, asked[self->next].what, told);
        values->release(request);
        values->release(result);
        values->release(error);
    }
    tn_value request = from_json("{}");
    say_int(&self->said, "sends on a worker", subject->send(host, request, on_event, self, &self->exchange));
    values->release(request);
    return end_said(self->task, self->out, self->said);
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    (void)input;
    self->task = task;
    self->next = 0;
    self->said = from_json("{}");
    if (self->waits) return wait_for_all(self);
    go_on(self);
    return TN_OK;
}

static void TN_ABI destroy(void *instance) { core->release(host, instance); }

EXHIBIT(TN_HTTP_1, tn_http_1, NULL)
