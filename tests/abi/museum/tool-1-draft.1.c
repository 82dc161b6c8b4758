/*
 * tool-1-draft.1.c - the exhibit of tenon.tool/1-draft.1: a set of tools, described, used, and waited for.
 */
#include "exhibit.h"
#include <tenon/tool-1-draft.1.h>

MANIFEST("tool", "Uses everything of a draft of tool", TN_TOOL_DRAFT, "")

#define USES(name, id, style)                                                                                          \
    TN_NOTE_AS(name, "{\"component\":{\"kind\":\"node\",\"id\":\"" id "\",\"title\":\"The exhibit of a draft\","       \
                     "\"documentation\":\"See its source.\",\"style\":\"" style                                        \
                     "\",\"effects\":[\"calls.any\",\"calls.approved\"],"                                              \
                     "\"config\":{\"type\":\"object\",\"properties\":{" PROPERTY(                                      \
                         "out", "channel-write") "},\"additionalProperties\":false}}}");
USES(uses, "museum.uses", "async")
USES(uses_waiting, "museum.uses_waiting", "blocking")
#define TOOL(name, id, effects)                                                                                        \
    TN_NOTE_AS(name, "{\"component\":{\"kind\":\"tool\",\"id\":\"" id "\",\"title\":\"Doubles\","                      \
                     "\"documentation\":\"Gives what it is given, twice.\",\"style\":\"async\",\"effects\":" effects   \
                     ",\"input\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"description\":"    \
                     "\"a number\"}},\"required\":[\"n\"],\"additionalProperties\":false},\"output\":{\"type\":"       \
                     "\"array\"}}}");
TOOL(twice, "museum.twice", "[]")
TOOL(dearly, "museum.dearly", "[\"destructive\"]")

static const tn_tool_draft *draft;

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

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    struct instance made;
    int32_t status = TN_OK;
    (void)self;
    memset(&made, 0, sizeof(made));
    made.is_tool = strcmp(id, "museum.twice") == 0 || strcmp(id, "museum.dearly") == 0;
    made.waits = strcmp(id, "museum.uses_waiting") == 0;
    if (!made.is_tool) {
        tn_value names = from_json("[\"museum.twice\",\"museum.d*\"]"), none = from_json("[\"museum.none.*\"]");
        uint32_t again = 0, nothing = 0;
        status = tasks->bind_write(binder, text_of(config, "out"), &made.out);
        if (status == TN_OK) status = draft->bind_tools(binder, names, &made.set);
        if (status == TN_OK) status = draft->bind_tools(binder, names, &again);
        if (status == TN_OK && again != made.set) status = TN_ERROR;
        if (status == TN_OK) status = draft->bind_tools(binder, none, &nothing);
        if (status == TN_OK) status = draft->bind_tools(binder, NULL, &made.all);
        values->release(names);
        values->release(none);
    }
    return keep_instance(status, &made, sizeof(made), instance);
}

static void describe(struct instance *self, tn_task task) {
    tn_value described = draft->describe(task, self->set), again = draft->describe(task, self->set);
    tn_value all = draft->describe(task, self->all);
    say_int(&self->said, "the same", described == again);
    say(&self->said, "described", described);
    say_int(&self->said, "of all at least", values->count(all) >= 2);
    say(&self->said, "no set", draft->describe(task, 77));
    values->release(again);
    values->release(all);
}

static void answered(struct instance *self, int32_t status, tn_value result) {
    tn_value told = from_json("{}");
    tn_value code = values->get(result, "code");
    say_int(&told, "status", status);
    say(&told, code != NULL ? "code" : "gave", values->retain(code != NULL ? code : result));
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
    tn_value call;
    int32_t status;
    if (self->next == ASKED) {
        tn_value nothing = NULL;
        call = from_json(asked[0].call);
        say_int(&self->said, "use of no set", draft->invoke(self->task, 77, call, done, self));
        say_int(&self->said, "waits on the loop", draft->invoke_wait(self->task, self->set, call, &nothing));
        values->release(call);
        (void)end_said(self->task, self->out, self->said);
        return;
    }
    call = from_json(asked[self->next].call);
    status = draft->invoke(self->task, self->set, call, done, self);
    values->release(call);
    if (status != TN_OK) (void)tasks->fail(self->task, "INVOKE", "a use was not taken", NULL);
}

static int32_t wait_for_all(struct instance *self) {
    tn_value call = NULL, nothing = NULL;
    while (self->next < ASKED) {
        tn_value result = NULL;
        int32_t status;
        call = from_json(asked[self->next].call);
        status = draft->invoke_wait(self->task, self->set, call, &result);
        answered(self, status, result);
        values->release(call);
        values->release(result);
    }
    call = from_json(asked[0].call);
    say_int(&self->said, "use of no set", draft->invoke_wait(self->task, 77, call, &nothing));
    say_int(&self->said, "uses on a worker", draft->invoke(self->task, self->set, call, done, self));
    values->release(call);
    return end_said(self->task, self->out, self->said);
}

static int32_t start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    if (self->is_tool) {
        tn_value once = from_json("[]"), number = values->get(input, "n");
        tn_value more = values->append(once, number), twice = values->append(more, number);
        int32_t status = tasks->complete(task, twice);
        values->release(once);
        values->release(more);
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

static void destroy(void *instance) { core->release(host, instance); }

EXHIBIT(TN_TOOL_DRAFT, tn_tool_draft, NULL)
