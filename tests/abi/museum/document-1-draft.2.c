/*
 * document-1-draft.2.c - the exhibit of tenon.document/1-draft.2: a text that is checked, and one that is run.
 */
#include "operations.h"
#include <tenon/document-1-draft.2.h>

MANIFEST("document", "Uses everything of a draft of document", TN_DOCUMENT_DRAFT, "")

NODE_WITH(calls, "museum.calls", "async", "[\"document.run\"]", PROPERTY("out", "channel-write"))
NODE_WITH(waits, "museum.waits", "blocking", "[\"document.run\"]", PROPERTY("out", "channel-write"))

static const tn_document_draft *subject;

#define GOOD                                                                                                           \
    "\"{version: '1.0', channels: [{name: n, type: last_value, default: 1}], nodes: [{id: a, type: set, config: {"     \
    "values: {n: state.n + 1}}}], edges: [{from: START, to: a}, {from: a, to: END}]}\""

/* What is asked in turn. Of each answer its status is said, and `say` of it. */
static const struct asked asked[] = {
    {"a good one", "document.check", "{\"text\":" GOOD "}", "valid"},
    {"a bad one", "document.check", "{\"text\":\"version: 1.0\",\"name\":\"bad.yaml\"}", "valid"},
    {"run", "document.run", "{\"text\":" GOOD ",\"input\":{\"n\":20}}", "n"},
    {"run without input", "document.run", "{\"text\":" GOOD "}", "n"},
    {"run the bad one", "document.run", "{\"text\":\"version: 1.0\"}", "code"},
    {"no text", "document.check", "{\"txt\":1}", "code"},
};
#define ASKED (sizeof(asked) / sizeof(asked[0]))

static void go_on(struct instance *self);

static int32_t TN_ABI done(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    answered(self, &asked[self->next], status, result);
    go_on(self);
    return TN_OK;
}

static int32_t call(struct instance *self, const char *operation, tn_value arguments) {
    tn_call number = 0;
    int32_t status = subject->invoke(self->task, operation, TN_Z, arguments, NULL, done, self, &number);
    return status == TN_OK && number == 0 ? TN_ERROR : status;
}

static int32_t wait_for(struct instance *self, const char *operation, tn_value arguments, tn_value *result) {
    tn_value error = NULL;
    int32_t status = subject->invoke_wait(self->task, operation, strlen(operation), arguments, NULL, result, &error);
    if (status == TN_FAILED) *result = error;
    return status;
}

static void go_on(struct instance *self) {
    if (self->next == ASKED) {
        tn_value nothing = NULL;
        say_int(&self->said, "no operation", call(self, "museum.none", NULL));
        say_int(&self->said, "waits on the loop", wait_for(self, "document.check", NULL, &nothing));
        (void)end_said(self->task, self->out, self->said);
        return;
    }
    tn_value arguments = from_json(asked[self->next].arguments);
    int32_t status = call(self, asked[self->next].operation, arguments);
    values->release(arguments);
    if (status != TN_OK) (void)fail_task(self->task, "an operation was not taken");
}

static int32_t wait_for_all(struct instance *self) {
    tn_value nothing = NULL;
    while (self->next < ASKED) {
        tn_value arguments = from_json(asked[self->next].arguments), result = NULL;
        int32_t status = wait_for(self, asked[self->next].operation, arguments, &result);
        answered(self, &asked[self->next], status, result);
        values->release(arguments);
        values->release(result);
    }
    say_int(&self->said, "no operation", wait_for(self, "museum.none", NULL, &nothing));
    say_int(&self->said, "calls on a worker", call(self, "document.check", NULL));
    return end_said(self->task, self->out, self->said);
}

OPERATIONS

EXHIBIT(TN_DOCUMENT_DRAFT, tn_document_draft, NULL)
