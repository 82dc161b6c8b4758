/*
 * registry-1.c - the exhibit of tenon.registry/1: components that come, late too, and go, at run time.
 */
#include "exhibit.h"
#include <tenon/registry.h>

MANIFEST("registry", "Uses everything of tenon.registry/1", TN_REGISTRY_1, ",\"dynamic\":[\"tool\"]")
NODE(lists, "museum.lists", PROPERTY("out", "channel-write"))

static const tn_registry_1 *subject;

struct instance {
    int32_t is_tool;
    uint32_t came, late, out;
    tn_task task;
    tn_value said;
};

static int64_t first, wrong, last; /* the results of expect */

static int32_t add(const char *kind, const char *id, tn_value *error) {
    tn_value component = from_json("{\"title\":\"Came at run time\",\"documentation\":\"Says so.\",\"style\":\"async\","
                                   "\"effects\":[],\"input\":{\"type\":\"object\",\"properties\":{},"
                                   "\"additionalProperties\":false}}");
    tn_value what = NULL, name = NULL;
    int32_t status = values->make_text(host, kind, TN_Z, &what);
    if (status == TN_OK) status = values->make_text(host, id, TN_Z, &name);
    if (status == TN_OK) status = values->set(&component, "kind", TN_Z, what);
    if (status == TN_OK) status = values->set(&component, "id", TN_Z, name);
    if (status == TN_OK) status = subject->add(host, component, error);
    values->release(component);
    values->release(what);
    values->release(name);
    return status;
}

static void TN_ABI come(void *argument) {
    (void)argument;
    (void)add("tool", "museum.late", NULL);
    last = subject->expect(host, 0);
}

static int32_t TN_ABI init(void *self, tn_value config) {
    (void)self, (void)config;
    first = subject->expect(host, 1);
    wrong = subject->expect(host, 2);
    int32_t status = add("tool", "museum.came", NULL);
    if (status == TN_OK) status = add("tool", "museum.goes", NULL);
    return status == TN_OK ? core->post(host, 100, come, NULL, NULL, NULL) : status;
}

static void TN_ABI leave(void *argument) {
    (void)argument;
    (void)subject->expect(host, 0);
}

static void TN_ABI quiesce(void *self) {
    (void)self;
    if (subject->expect(host, 1) == TN_OK) (void)core->post(host, 50, leave, NULL, NULL, NULL);
}

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    struct instance made;
    int32_t status = TN_OK;
    (void)self;
    memset(&made, 0, sizeof(made));
    made.is_tool = !is_id(id, length, "museum.lists");
    if (!made.is_tool) {
        status = bind_out(binder, config, &made.out);
        if (status == TN_OK) status = tasks->bind_call(binder, "tool", TN_Z, "museum.came", TN_Z, NULL, &made.came);
        if (status == TN_OK) status = tasks->bind_call(binder, "tool", TN_Z, "museum.late", TN_Z, NULL, &made.late);
    }
    return keep_instance(status, &made, sizeof(made), instance);
}

static int32_t TN_ABI called_late(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    tn_value said = self->said;
    self->said = NULL;
    say_int(&said, "call of the late one", status);
    say(&said, "its result", values->retain(result));
    (void)end_said(self->task, self->out, said);
    return TN_OK;
}

static int32_t TN_ABI called(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    tn_value none = from_json("{}");
    say_int(&self->said, "call", status);
    say(&self->said, "a result", values->retain(result));
    if (tasks->call(self->task, self->late, none, NULL, called_late, self, NULL) != TN_OK)
        (void)fail_task(self->task, "a call was not accepted");
    values->release(none);
    return TN_OK;
}

static void say_refused(tn_value *said, const char *what, const char *kind, const char *id) {
    tn_value error = NULL, told = from_json("{}");
    say_int(&told, "status", add(kind, id, &error));
    say(&told, "code", values->retain(get(error, "code")));
    say(said, what, told);
    values->release(error);
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    (void)input;
    if (self->is_tool) {
        tn_value here = from_json("\"here\"");
        int32_t status = tasks->complete(task, here);
        values->release(here);
        return status;
    }
    self->task = task;
    self->said = from_json("{}");
    say_int(&self->said, "expect more", first);
    say_int(&self->said, "expect neither", wrong);
    say_int(&self->said, "expect no more", last);
    say_refused(&self->said, "add an id that is taken", "tool", "museum.came");
    say_refused(&self->said, "add what is not declared", "node", "museum.node");
    say_int(&self->said, "remove", subject->remove(host, "tool", TN_Z, "museum.goes", TN_Z));
    say_int(&self->said, "remove again", subject->remove(host, "tools", 4, "museum.goes", 11));
    say_int(&self->said, "add it again", add("tool", "museum.goes", NULL));
    tn_value none = from_json("{}");
    int32_t status = tasks->call(task, self->came, none, NULL, called, self, NULL);
    values->release(none);
    return status;
}

static void TN_ABI destroy(void *instance) {
    values->release(((struct instance *)instance)->said);
    core->release(host, instance);
}

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), init, quiesce, NULL};

EXHIBIT(TN_REGISTRY_1, tn_registry_1, &lifecycle)
