/*
 * graph.c - tenon.graph: a document is bound like a component, under the kind "graph"; calling it is task_1's affair.
 */
#include "host/call/binder.h"
#include "host/interface/interface.h"

static int32_t bind_document(tn_binder *binder, const char *document, uint32_t *callee) {
    return binder_call(binder, "graph", document, NULL, callee);
}

const tn_graph_draft interface_graph = {sizeof(tn_graph_draft), 0, bind_document};
