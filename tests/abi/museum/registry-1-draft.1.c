/*
 * registry-1-draft.1.c - the exhibit of tenon.registry/1-draft.1: components that come, and go, at run time.
 */
#include "exhibit.h"
#include <tenon/registry-1-draft.1.h>

MANIFEST("registry", "Uses everything of a draft of registry", TN_REGISTRY_DRAFT, ",\"dynamic\":[\"tool\"]")
NODE(lists, "museum.lists", PROPERTY("out", "channel-write"))

static const tn_registry_draft *draft;

struct instance {
    int32_t is_tool;
    uint32_t tool, out;
    tn_task task;
    tn_value said;
};

static int32_t add(const char *id) {
    tn_value component =
        from_json("{\"kind\":\"tool\",\"title\":\"Came at run time\",\"documentation\":\"Says so.\","
                  "\"style\":\"async\",\"effects\":[],\"input\":{\"type\":\"object\",\"properties\":{},"
                  "\"additionalProperties\":false}}");
    tn_value name = values->make_text(id, strlen(id));
    tn_value whole = values->set(component, "id", name);
    int32_t status = draft->add(host, whole);
    values->release(component);
    values->release(name);
    values->release(whole);
    return status;
}

static int32_t init(void *self, tn_value config) {
    (void)self, (void)config;
    int32_t status = add("museum.came");
    return status == TN_OK ? add("museum.goes") : status;
}

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    (void)self;
    struct instance made;
    memset(&made, 0, sizeof(made));
    made.is_tool = strcmp(id, "museum.lists") != 0;
    int32_t status = TN_OK;
    if (!made.is_tool) {
        status = tasks->bind_write(binder, text_of(config, "out"), &made.out);
        if (status == TN_OK) status = tasks->bind_call(binder, "tool", "museum.came", NULL, &made.tool);
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
        tn_value here = values->make_text("here", 4);
        int32_t status = tasks->complete(task, here);
        values->release(here);
        return status;
    }
    self->task = task;
    self->said = from_json("{}");
    say_int(&self->said, "add an id that is taken", add("museum.came"));
    say_int(&self->said, "remove", draft->remove(host, "tool", "museum.goes"));
    say_int(&self->said, "remove what is gone", draft->remove(host, "tool", "museum.goes"));
    say_int(&self->said, "add it again", add("museum.goes"));
    tn_value none = from_json("{}");
    int32_t status = tasks->call(task, self->tool, none, called, self);
    values->release(none);
    return status;
}

static void destroy(void *instance) {
    values->release(((struct instance *)instance)->said);
    core->release(host, instance);
}

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), 0, init, NULL, NULL};

EXHIBIT(TN_REGISTRY_DRAFT, tn_registry_draft, &lifecycle)
