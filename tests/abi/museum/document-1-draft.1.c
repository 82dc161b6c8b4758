/*
 * document-1-draft.1.c - the exhibit of tenon.document/1-draft.1: a text that is checked, and one that is run.
 */
#include "exhibit.h"
#include <tenon/document-1-draft.1.h>

MANIFEST("document", "Uses everything of a draft of document", TN_DOCUMENT_DRAFT, "")

#define ASKS(name, id, style)                                                                                          \
    TN_NOTE_AS(name, "{\"component\":{\"kind\":\"node\",\"id\":\"" id "\",\"title\":\"The exhibit of a draft\","       \
                     "\"documentation\":\"See its source.\",\"style\":\"" style "\",\"effects\":[\"document.run\"],"   \
                     "\"config\":{\"type\":\"object\",\"properties\":{" PROPERTY(                                      \
                         "out", "channel-write") "},\"additionalProperties\":false}}}");
ASKS(calls, "museum.calls", "async")
ASKS(waits, "museum.waits", "blocking")

static const tn_document_draft *draft;

#define GOOD                                                                                                           \
    "\"{version: '1.0', channels: [{name: n, type: last_value, default: 1}], nodes: [{id: a, type: set, config: {"     \
    "values: {n: state.n + 1}}}], edges: [{from: START, to: a}, {from: a, to: END}]}\""

/* What is asked in turn. Of each answer its status is said, and `say` of it. */
static const struct {
    const char *what, *operation, *arguments, *say;
} asked[] = {
    {"a good one", "document.check", "{\"text\":" GOOD "}", "valid"},
    {"a bad one", "document.check", "{\"text\":\"version: 1.0\",\"name\":\"bad.yaml\"}", "valid"},
    {"run", "document.run", "{\"text\":" GOOD ",\"input\":{\"n\":20}}", "n"},
    {"run without input", "document.run", "{\"text\":" GOOD "}", "n"},
    {"run the bad one", "document.run", "{\"text\":\"version: 1.0\"}", "code"},
    {"no text", "document.check", "{\"txt\":1}", "code"},
};
#define ASKED (sizeof(asked) / sizeof(asked[0]))

struct instance {
    uint32_t out;
    int waits;
    size_t next;
    tn_task task;
    tn_value said;
};

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    struct instance made = {0, strcmp(id, "museum.waits") == 0, 0, 0, NULL};
    (void)self;
    int32_t status = tasks->bind_write(binder, text_of(config, "out"), &made.out);
    return keep_instance(status, &made, sizeof(made), instance);
}

static void answered(struct instance *self, int32_t status, tn_value result) {
    tn_value told = from_json("{}");
    say_int(&told, "status", status);
    say(&told, asked[self->next].say, values->retain(values->get(result, asked[self->next].say)));
    say(&self->said, asked[self->next].what, told);
    self->next++;
}

static void go_on(struct instance *self);

static void done(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    answered(self, status, result);
    go_on(self);
}

static void go_on(struct instance *self) {
    if (self->next == ASKED) {
        say_int(&self->said, "no operation", draft->invoke(self->task, "museum.none", NULL, done, self));
        tn_value nothing = NULL;
        say_int(&self->said, "waits on the loop", draft->invoke_wait(self->task, "document.check", NULL, &nothing));
        (void)end_said(self->task, self->out, self->said);
        return;
    }
    tn_value arguments = from_json(asked[self->next].arguments);
    int32_t status = draft->invoke(self->task, asked[self->next].operation, arguments, done, self);
    values->release(arguments);
    if (status != TN_OK) (void)tasks->fail(self->task, "INVOKE", "an operation was not taken", NULL);
}

static int32_t wait_for_all(struct instance *self) {
    while (self->next < ASKED) {
        tn_value arguments = from_json(asked[self->next].arguments), result = NULL;
        int32_t status = draft->invoke_wait(self->task, asked[self->next].operation, arguments, &result);
        answered(self, status, result);
        values->release(arguments);
        values->release(result);
    }
    tn_value nothing = NULL;
    say_int(&self->said, "no operation", draft->invoke_wait(self->task, "museum.none", NULL, &nothing));
    say_int(&self->said, "calls on a worker", draft->invoke(self->task, "document.check", NULL, done, self));
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

EXHIBIT(TN_DOCUMENT_DRAFT, tn_document_draft, NULL)
