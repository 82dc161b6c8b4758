/*
 * http-1-draft.1.c - the exhibit of tenon.http/1-draft.1: requests piece by piece, and one that is waited for. What
 * they are answered with is in http-1-draft.1.replay.
 */
#include "exhibit.h"
#include <tenon/http-1-draft.1.h>

MANIFEST("http", "Uses everything of a draft of HTTP", TN_HTTP_DRAFT, "")

#define ASKS(name, id, style)                                                                                          \
    TN_NOTE_AS(name, "{\"component\":{\"kind\":\"node\",\"id\":\"" id "\",\"title\":\"The exhibit of a draft\","       \
                     "\"documentation\":\"See its source.\",\"style\":\"" style                                        \
                     "\",\"effects\":[\"network.http:museum.example\"],"                                               \
                     "\"config\":{\"type\":\"object\",\"properties\":{" PROPERTY(                                      \
                         "out", "channel-write") "},\"additionalProperties\":false}}}");
ASKS(streams, "museum.streams", "async")
ASKS(waits, "museum.waits", "blocking")

static const tn_http_draft *draft;

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

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    struct instance made = {0, strcmp(id, "museum.waits") == 0, 0, 0, 0, NULL, NULL};
    (void)self;
    int32_t status = tasks->bind_write(binder, text_of(config, "out"), &made.out);
    return keep_instance(status, &made, sizeof(made), instance);
}

static void go_on(struct instance *self);

static void over(void *argument) {
    struct instance *self = (struct instance *)argument;
    say(&self->said, asked[self->next].what, self->told);
    self->told = NULL;
    self->next++;
    go_on(self);
}

static void resumes(void *argument) {
    struct instance *self = (struct instance *)argument;
    say_int(&self->said, "resume", draft->resume(host, self->exchange));
}

/* Messages are for people, and may change. */
static tn_value shown(int32_t event, tn_value value) {
    return values->retain(event == TN_HTTP_FAILED ? values->get(value, "code") : value);
}

static void on_event(void *user, int32_t event, tn_value value) {
    static const char *const names[] = {"", "head", "data", "end", "failed"};
    struct instance *self = (struct instance *)user;
    if (event == TN_HTTP_DATA) {
        tn_value before = values->get(self->told, "data"), none = from_json("[]");
        say(&self->told, "data", values->append(before != NULL ? before : none, value));
        values->release(none);
    } else {
        say(&self->told, names[event], shown(event, value));
    }
    if (event == TN_HTTP_HEAD && asked[self->next].pauses) {
        say_int(&self->said, "pause", draft->pause(host, self->exchange));
        (void)core->post(host, 1, resumes, self);
    }
    if (event == TN_HTTP_DATA && asked[self->next].leaves) {
        say_int(&self->said, "cancel", draft->cancel(host, self->exchange));
        say_int(&self->said, "cancel again", draft->cancel(host, self->exchange));
        (void)core->post(host, 0, over, self);
    }
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return;
    say_int(&self->told, "pause at its end", draft->pause(host, self->exchange));
    over(self);
}

static void go_on(struct instance *self) {
    if (self->next == ASKED) {
        tn_value nothing = NULL;
        say_int(&self->said, "no request at all", draft->send(host, NULL, on_event, self, &self->exchange));
        say_int(&self->said, "waits on the loop", draft->send_wait(host, self->task, self->said, &nothing));
        say_int(&self->said, "another's", draft->resume(host, 0));
        (void)end_said(self->task, self->out, self->said);
        return;
    }
    tn_value request = from_json(asked[self->next].request);
    self->told = from_json("{}");
    int32_t status = draft->send(host, request, on_event, self, &self->exchange);
    values->release(request);
    if (status != TN_OK) (void)tasks->fail(self->task, "SEND", "a request was not taken", NULL);
}

static int32_t wait_for_all(struct instance *self) {
    for (self->next = 2; self->next < ASKED; self->next++) {
        tn_value request = from_json(asked[self->next].request), result = NULL, told = from_json("{}");
        int32_t status = draft->send_wait(host, self->task, request, &result);
        say_int(&told, "status", status);
        say(&told, "result", result ? shown(status == TN_OK ? TN_HTTP_END : TN_HTTP_FAILED, result) : NULL);
        say(&self->said, asked[self->next].what, told);
        values->release(request);
        values->release(result);
    }
    tn_value request = from_json("{}");
    say_int(&self->said, "sends on a worker", draft->send(host, request, on_event, self, &self->exchange));
    values->release(request);
    return end_said(self->task, self->out, self->said);
}

static int32_t start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    (void)input;
    self->task = task;
    self->next = 0;
    self->said = from_json("{}");
    if (self->waits) return wait_for_all(self);
    go_on(self);
    return TN_OK;
}

static void destroy(void *instance) { core->release(host, instance); }

EXHIBIT(TN_HTTP_DRAFT, tn_http_draft, NULL)
