/*
 * graph-1-draft.1.c - the exhibit of tenon.graph/1-draft.1: a document inside a task.
 */
#include "exhibit.h"
#include <tenon/graph-1-draft.1.h>

MANIFEST("graph", "Uses everything of a draft of graph", TN_GRAPH_DRAFT, "")
NODE(nests, "museum.nests", PROPERTY("document", "document") "," PROPERTY("out", "channel-write"))

static const tn_graph_draft *draft;

struct instance {
    uint32_t inner, out;
    tn_task task;
};

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    (void)self, (void)id;
    struct instance made = {0, 0, 0};
    int32_t status = draft->bind_document(binder, text_of(config, "document"), &made.inner);
    if (status == TN_OK) status = tasks->bind_write(binder, text_of(config, "out"), &made.out);
    return keep_instance(status, &made, sizeof(made), instance);
}

static void called(void *user, int32_t status, tn_value result) {
    const struct instance *self = (const struct instance *)user;
    tn_value said = from_json("{}");
    say_int(&said, "call", status);
    say(&said, "its result", values->retain(result));
    end_said(self->task, self->out, said);
}

static int32_t start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    (void)input;
    self->task = task;
    tn_value given = from_json("{\"word\":\"given\"}");
    int32_t status = tasks->call(task, self->inner, given, called, self);
    values->release(given);
    return status;
}

static void destroy(void *instance) { core->release(host, instance); }

EXHIBIT(TN_GRAPH_DRAFT, tn_graph_draft, NULL)
