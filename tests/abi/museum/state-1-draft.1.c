/*
 * state-1-draft.1.c - the exhibit of tenon.state/1-draft.1: operations of the state kernel, called and waited for.
 */
#include "exhibit.h"
#include <tenon/state-1-draft.1.h>

MANIFEST("state", "Uses everything of a draft of state", TN_STATE_DRAFT, "")

#define ASKS(name, id, style)                                                                                          \
    TN_NOTE_AS(name,                                                                                                   \
               "{\"component\":{\"kind\":\"node\",\"id\":\"" id "\",\"title\":\"The exhibit of a draft\","             \
               "\"documentation\":\"See its source.\",\"style\":\"" style "\",\"effects\":[\"state.memory_put\"],"     \
               "\"config\":{\"type\":\"object\",\"properties\":{" PROPERTY(                                            \
                   "out", "channel-write") "},\"additionalProperties\":false}}}");
ASKS(calls, "museum.calls", "async")
ASKS(waits, "museum.waits", "blocking")

static const tn_state_draft *draft;

/* What is asked in turn. Of each answer its status is said, and `say` of it. */
static const struct {
    const char *what, *operation, *arguments, *say;
} asked[] = {
    {"put", "memory.put", "{\"namespace\":[\"museum\"],\"key\":\"k\",\"value\":{\"kept\":7}}", "value"},
    {"get", "memory.get", "{\"namespace\":[\"museum\"],\"key\":\"k\"}", "value"},
    {"get nothing", "memory.get", "{\"namespace\":[\"museum\"],\"key\":\"none\"}", "value"},
    {"a Task that is not there", "task.get", "{\"task_id\":\"none\"}", "code"},
    {"wrong arguments", "task.get", "{\"id\":\"none\"}", "code"},
    {"what is not declared", "task.create", "{\"task_type\":\"work\"}", "code"},
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
        say_int(&self->said, "waits on the loop", draft->invoke_wait(self->task, "task.list", NULL, &nothing));
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
    say_int(&self->said, "calls on a worker", draft->invoke(self->task, "task.list", NULL, done, self));
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

EXHIBIT(TN_STATE_DRAFT, tn_state_draft, NULL)
