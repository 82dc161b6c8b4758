/*
 * graph-1-draft.3.c - the exhibit of tenon.graph/1-draft.3: a document by its path, and one that is made, inside a
 * task.
 */
#include "exhibit.h"
#include <tenon/graph-1-draft.3.h>

MANIFEST("graph", "Uses everything of a draft of graph", TN_GRAPH_DRAFT, "")
NODE(nests, "museum.makes", PROPERTY("document", "document") "," PROPERTY("out", "channel-write"))

static const tn_graph_draft *subject;

struct instance {
    uint32_t named, made, out;
    tn_task task;
    tn_value said;
};

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    (void)self, (void)id, (void)length;
    struct instance bound = {0, 0, 0, 0, NULL};
    tn_value document = from_json(
        "{\"version\":\"1.0\",\"channels\":[{\"name\":\"word\",\"type\":\"last_value\"},{\"name\":\"said\",\"type\":"
        "\"last_value\"}],\"nodes\":[{\"id\":\"make\",\"type\":\"set\",\"config\":{\"values\":{\"said\":"
        "\"'it was made ' + state.word\"}}}],\"edges\":[{\"from\":\"START\",\"to\":\"make\"},{\"from\":\"make\",\"to\":"
        "\"END\"}]}");
    int32_t status = subject->bind_document(binder, text_of(config, "document"), TN_Z, &bound.named);
    if (status == TN_OK) status = subject->bind_value(binder, document, "made here", 4, &bound.made);
    if (status == TN_OK) status = bind_out(binder, config, &bound.out);
    values->release(document);
    if (status != TN_OK) return status;
    *instance = core->alloc(host, sizeof(bound));
    if (*instance == NULL) return TN_NO_MEMORY;
    memcpy(*instance, &bound, sizeof(bound));
    return TN_OK;
}

static int32_t TN_ABI called_made(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    say_int(&self->said, "the one that was made", status);
    say(&self->said, "its result", values->retain(result));
    end_said(self->task, self->out, self->said);
    return TN_OK;
}

static int32_t TN_ABI called_named(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    say_int(&self->said, "the one by its path", status);
    say(&self->said, "what it gave", values->retain(result));
    tn_value given = from_json("{\"word\":\"here\"}");
    if (tasks->call(self->task, self->made, given, NULL, called_made, self, NULL) != TN_OK)
        (void)fail_task(self->task, "it cannot be called");
    values->release(given);
    return TN_OK;
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    (void)input;
    self->task = task;
    self->said = from_json("{}");
    tn_value given = from_json("{\"word\":\"given\"}");
    int32_t status = tasks->call(task, self->named, given, NULL, called_named, self, NULL);
    values->release(given);
    return status;
}

static void TN_ABI destroy(void *instance) { core->release(host, instance); }

EXHIBIT(TN_GRAPH_DRAFT, tn_graph_draft, NULL)
