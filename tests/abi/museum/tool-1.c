/*
 * tool-1.c - the exhibit of tenon.tool/1: a set of tools, described, used, and waited for.
 */
#include "exhibit.h"
#include <tenon/tool.h>

MANIFEST("tool", "Uses everything of tenon.tool/1", TN_TOOL_1, "")

#define RIGHTS "[\"calls.any\",\"calls.approved\"]"
NODE_WITH(uses, "museum.uses", "async", RIGHTS, PROPERTY("out", "channel-write"))
NODE_WITH(uses_waiting, "museum.uses_waiting", "blocking", RIGHTS, PROPERTY("out", "channel-write"))
#define TOOL(name, id, effects)                                                                                        \
    TN_NOTE_AS(name, "{\"component\":{\"kind\":\"tool\",\"id\":\"" id "\",\"title\":\"Doubles\","                      \
                     "\"documentation\":\"Gives what it is given, twice.\",\"style\":\"async\",\"effects\":" effects   \
                     ",\"input\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"description\":"    \
                     "\"a number\"}},\"required\":[\"n\"],\"additionalProperties\":false},\"output\":{\"type\":"       \
                     "\"array\"}}}");
TOOL(twice, "museum.twice", "[]")
TOOL(dearly, "museum.dearly", "[\"destructive\"]")

static const tn_tool_1 *subject;

/* What is used in turn. Of each its status is said, and what it gave, or the code. */
static const struct {
    const char *what, *call;
} asked[] = {
    {"twice", "{\"name\":\"museum.twice\",\"arguments\":{\"n\":7},\"id\":\"c1\"}"},
    {"granted", "{\"name\":\"museum.dearly\",\"arguments\":{\"n\":8},\"approved\":true}"},
    {"wrong arguments", "{\"name\":\"museum.twice\",\"arguments\":{\"n\":\"7\"}}"},
    {"no such tool", "{\"name\":\"museum.thrice\",\"arguments\":{}}"},
    {"no name", "{\"arguments\":{}}"},
};
#define ASKED (sizeof(asked) / sizeof(asked[0]))

struct instance {
    int is_tool, waits;
    uint32_t out, set, all;
    size_t next;
    tn_task task;
    tn_value said;
};

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    struct instance made;
    int32_t status = TN_OK;
    (void)self;
    memset(&made, 0, sizeof(made));
    made.is_tool = is_id(id, length, "museum.twice") || is_id(id, length, "museum.dearly");
    made.waits = is_id(id, length, "museum.uses_waiting");
    if (!made.is_tool) {
        tn_value names = from_json("[\"museum.twice\",\"museum.d*\"]"), none = from_json("[\"museum.none.*\"]");
        uint32_t again = 0, nothing = 0;
        status = bind_out(binder, config, &made.out);
        if (status == TN_OK) status = subject->bind_tools(binder, names, &made.set);
        if (status == TN_OK) status = subject->bind_tools(binder, names, &again);
        if (status == TN_OK && again != made.set) status = TN_ERROR;
        if (status == TN_OK) status = subject->bind_tools(binder, none, &nothing);
        if (status == TN_OK) status = subject->bind_tools(binder, NULL, &made.all);
        values->release(names);
        values->release(none);
    }
    return keep_instance(status, &made, sizeof(made), instance);
}

static void describe(struct instance *self, tn_task task) {
    tn_value described = NULL, again = NULL, all = NULL, none = NULL;
    say_int(&self->said, "describe", subject->describe(task, self->set, &described));
    (void)subject->describe(task, self->set, &again);
    (void)subject->describe(task, self->all, &all);
    say_int(&self->said, "the same", described == again);
    say(&self->said, "described", described);
    say_int(&self->said, "of all at least", values->count(all) >= 2);
    say_int(&self->said, "no set", subject->describe(task, 77, &none));
    values->release(again);
    values->release(all);
}

static void answered(struct instance *self, int32_t status, tn_value result) {
    tn_value told = from_json("{}");
    tn_value code = get(result, "code");
    say_int(&told, "status", status);
    say(&told, code != NULL ? "code" : "gave", values->retain(code != NULL ? code : result));
    say(&self->said, asked[self->next].what, told);
    self->next++;
}

static void go_on(struct instance *self);

static int32_t TN_ABI done(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    answered(self, status, result);
    go_on(self);
    return TN_OK;
}

static void go_on(struct instance *self) {
    tn_value call;
    tn_call number = 0;
    int32_t status;
    if (self->next == ASKED) {
        tn_value nothing = NULL;
        call = from_json(asked[0].call);
        say_int(&self->said, "use of no set", subject->invoke(self->task, 77, call, NULL, done, self, NULL));
        say_int(&self->said, "waits on the loop",
                subject->invoke_wait(self->task, self->set, call, NULL, &nothing, NULL));
        values->release(call);
        (void)end_said(self->task, self->out, self->said);
        return;
    }
    call = from_json(asked[self->next].call);
    status = subject->invoke(self->task, self->set, call, NULL, done, self, &number);
    values->release(call);
    if (status != TN_OK || number == 0) (void)fail_task(self->task, "a use was not taken");
}

static int32_t wait_for_all(struct instance *self) {
    tn_value call = NULL, nothing = NULL;
    tn_call number = 0;
    while (self->next < ASKED) {
        tn_value result = NULL, error = NULL;
        int32_t status;
        call = from_json(asked[self->next].call);
        status = subject->invoke_wait(self->task, self->set, call, NULL, &result, &error);
        if (status == TN_FAILED) result = error;
        answered(self, status, result);
        values->release(call);
        values->release(result);
    }
    call = from_json(asked[0].call);
    say_int(&self->said, "use of no set", subject->invoke_wait(self->task, 77, call, NULL, &nothing, NULL));
    say_int(&self->said, "uses on a worker", subject->invoke(self->task, self->set, call, NULL, done, self, &number));
    values->release(call);
    return end_said(self->task, self->out, self->said);
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    if (self->is_tool) {
        tn_value twice = from_json("[]");
        (void)values->append(&twice, get(input, "n"));
        (void)values->append(&twice, get(input, "n"));
        int32_t status = tasks->complete(task, twice);
        values->release(twice);
        return status;
    }
    self->task = task;
    self->next = 0;
    self->said = from_json("{}");
    describe(self, task);
    if (self->waits) return wait_for_all(self);
    go_on(self);
    return TN_OK;
}

static void TN_ABI destroy(void *instance) { core->release(host, instance); }

EXHIBIT(TN_TOOL_1, tn_tool_1, NULL)
