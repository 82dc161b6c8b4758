/*
 * made.c - `test.made`: a node that creates a document and runs it, as node types that are graphs do.
 *
 * `document` is bound by value under `name`. The nested run gets `given` as its input, and its result is written.
 */
#include <tenon/easy.h>
#include <tenon/graph.h>

struct made {
    uint32_t callee, out;
    tn_value given;
};

struct made_call {
    const struct made *made;
    tn_task task;
};

static int32_t made_create(tn_value config, tn_binder *binder, void **self) {
    const tn_graph_draft *graph =
        TN_EASY_FROM(const tn_graph_draft *, tn_easy_interface(tn.host, TN_GRAPH_DRAFT, sizeof(tn_graph_draft)));
    struct made *made = tn.core->alloc(tn.host, sizeof(*made));
    int32_t status =
        graph != NULL ? TN_OK : tn_refuse("INTERFACE_MISSING", "the interface " TN_GRAPH_DRAFT " is missing");
    if (made == NULL) return TN_NO_MEMORY;
    made->given = tn_get(config, "given");
    if (status == TN_OK)
        status = graph->bind_value(binder, tn_get(config, "document"), tn_get_text(config, "name", "made"), TN_Z,
                                   &made->callee);
    if (status == TN_OK) status = tn.task->bind_write(binder, tn_get_text(config, "out", ""), TN_Z, &made->out);
    if (status == TN_OK)
        *self = made;
    else
        tn.core->release(tn.host, made);
    return status;
}

static int32_t made_done(void *user, int32_t status, tn_value result) {
    struct made_call *call = user;
    tn_task task = call->task;
    if (status == TN_OK) {
        (void)tn_write(task, call->made->out, result);
        (void)tn_done(task);
    } else if (status == TN_FAILED) {
        (void)tn_fail_with(task, result);
    } else {
        (void)tn_fail(task, "CANCELLED", "cancelled");
    }
    tn.core->release(tn.host, call);
    return TN_OK;
}

static int32_t made_start(void *self, tn_task task, tn_value input) {
    struct made_call *call = tn.core->alloc(tn.host, sizeof(*call));
    (void)input;
    if (call == NULL) return TN_NO_MEMORY;
    call->made = self;
    call->task = task;
    int32_t status = tn.task->call(task, call->made->callee, call->made->given, NULL, made_done, call, NULL);
    if (status != TN_OK) tn.core->release(tn.host, call);
    return status;
}

static void made_destroy(void *self) { tn.core->release(tn.host, self); }

TN_COMPONENT(made, "test.made", made_create, made_start, NULL, NULL, made_destroy)
TN_NOTE("{\"plugin\": {\"optional\": [\"" TN_GRAPH_DRAFT "\"]}}")
TN_NOTE("{\"component\": {\"kind\": \"node\", \"id\": \"test.made\", \"title\": \"Runs a document that it makes.\", "
        "\"style\": \"async\", \"effects\": [\"calls.any\"], \"config\": {\"type\": \"object\", \"properties\": {"
        "\"document\": {\"description\": \"the document\"}, \"name\": {\"type\": \"string\"}, "
        "\"given\": {\"type\": \"object\"}, \"out\": {\"type\": \"string\", \"x-tenon\": \"channel-write\"}}, "
        "\"required\": [\"document\", \"out\"], \"additionalProperties\": false}}}")
