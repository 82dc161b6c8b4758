/*
 * expect-1-draft.1.c - the exhibit of tenon.expect/1-draft.1: a component that comes later, and is waited for.
 */
#include "exhibit.h"
#include <tenon/expect-1-draft.1.h>
#include <tenon/registry-1-draft.1.h>

MANIFEST("expect", "Uses everything of a draft of expect", TN_EXPECT_DRAFT,
         ",\"optional\":[\"" TN_REGISTRY_DRAFT "\"],\"dynamic\":[\"tool\"]")
NODE(waits, "museum.expects", PROPERTY("out", "channel-write"))

static const tn_expect_draft *draft;

struct instance {
    int32_t is_tool;
    uint32_t tool, out;
    tn_task task;
    tn_value said;
};

static int64_t first, wrong, last; /* what expect gave */

static void come(void *argument) {
    const tn_registry_draft *registry = host->get(host->self, TN_REGISTRY_DRAFT);
    tn_value component =
        from_json("{\"kind\":\"tool\",\"id\":\"museum.late\",\"title\":\"Came late\",\"documentation\":\"Says so.\","
                  "\"style\":\"async\",\"effects\":[],\"input\":{\"type\":\"object\",\"properties\":{},"
                  "\"additionalProperties\":false}}");
    (void)argument;
    if (registry != NULL) (void)registry->add(host, component);
    values->release(component);
    last = draft->expect(host, 0);
}

static int32_t init(void *self, tn_value config) {
    (void)self, (void)config;
    first = draft->expect(host, 1);
    wrong = draft->expect(host, 2);
    return core->post(host, 100, come, NULL) != 0 ? TN_OK : TN_NO_MEMORY;
}

static void leave(void *argument) {
    (void)argument;
    core->log(host, TN_LOG_INFO, "it has left");
    (void)draft->expect(host, 0);
}

static void quiesce(void *self) {
    (void)self;
    if (draft->expect(host, 1) == TN_OK) (void)core->post(host, 50, leave, NULL);
}

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    (void)self;
    struct instance made;
    memset(&made, 0, sizeof(made));
    made.is_tool = strcmp(id, "museum.expects") != 0;
    int32_t status = TN_OK;
    if (!made.is_tool) {
        status = tasks->bind_write(binder, text_of(config, "out"), &made.out);
        if (status == TN_OK) status = tasks->bind_call(binder, "tool", "museum.late", NULL, &made.tool);
    }
    return keep_instance(status, &made, sizeof(made), instance);
}

static void called(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    tn_value said = self->said;
    self->said = NULL;
    say_int(&said, "call", status);
    say(&said, "its result", values->retain(result));
    end_said(self->task, self->out, said);
}

static int32_t start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    (void)input;
    if (self->is_tool) {
        tn_value late = values->make_text("late", 4);
        int32_t status = tasks->complete(task, late);
        values->release(late);
        return status;
    }
    self->task = task;
    self->said = from_json("{}");
    say_int(&self->said, "expect more", first);
    say_int(&self->said, "expect what is neither", wrong);
    say_int(&self->said, "expect no more", last);
    tn_value none = from_json("{}");
    int32_t status = tasks->call(task, self->tool, none, called, self);
    values->release(none);
    return status;
}

static void destroy(void *instance) {
    values->release(((struct instance *)instance)->said);
    core->release(host, instance);
}

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), 0, init, quiesce, NULL};

EXHIBIT(TN_EXPECT_DRAFT, tn_expect_draft, &lifecycle)
