/*
 * state-1-draft.2.c - the exhibit of tenon.state/1-draft.2: operations of the state kernel, called and waited for.
 */
#include "operations.h"
#include <tenon/state-1-draft.2.h>

MANIFEST("state", "Uses everything of a draft of state", TN_STATE_DRAFT, "")

NODE_WITH(calls, "museum.calls", "async", "[\"state.memory_put\"]", PROPERTY("out", "channel-write"))
NODE_WITH(waits, "museum.waits", "blocking", "[\"state.memory_put\"]", PROPERTY("out", "channel-write"))

static const tn_state_draft *subject;

/* What is asked in turn. Of each answer its status is said, and `say` of it. */
static const struct asked asked[] = {
    {"put", "memory.put", "{\"namespace\":[\"museum\"],\"key\":\"k\",\"value\":{\"kept\":7}}", "value"},
    {"get", "memory.get", "{\"namespace\":[\"museum\"],\"key\":\"k\"}", "value"},
    {"get nothing", "memory.get", "{\"namespace\":[\"museum\"],\"key\":\"none\"}", "value"},
    {"a Task that is not there", "task.get", "{\"task_id\":\"none\"}", "code"},
    {"wrong arguments", "task.get", "{\"id\":\"none\"}", "code"},
    {"what is not declared", "task.create", "{\"task_type\":\"work\"}", "code"},
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
        say_int(&self->said, "waits on the loop", wait_for(self, "task.list", NULL, &nothing));
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
    say_int(&self->said, "calls on a worker", call(self, "task.list", NULL));
    return end_said(self->task, self->out, self->said);
}

OPERATIONS

EXHIBIT(TN_STATE_DRAFT, tn_state_draft, NULL)
