/*
 * abi_graph.c - tenon.graph: binds documents. A document is bound like a component, with the kind "graph", and called
 * through tn_task_1.call.
 *
 * A document on disk is bound by its path and has no config. A document that the component has built is bound by a
 * name, with the document as its config.
 */
#include "adl/value/value.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/call/binder.h"
#include <string.h>

#define NAME_MAX_LENGTH 256u /* bytes of the name of a document that a component builds (DOCUMENT_NAME_MAX) */

static int32_t graph_bind_document(tn_binder *binder, const char *document, uint32_t *callee) {
    return binder_call(binder, "graph", document, NULL, callee);
}

static int32_t graph_bind_value(tn_binder *binder, tn_value document, const char *name, uint32_t *callee) {
    if (!binder || !document || !name || !callee) return TN_INVALID;
    size_t length = strlen(name);
    if (length == 0 || length > NAME_MAX_LENGTH)
        return binder_fail(binder, TN_INVALID, "INVALID_GRAPH",
                           "the name of a document built by a component has %zu bytes; expected 1 to %u", length,
                           NAME_MAX_LENGTH);
    if (!value_is(document, TN_OBJECT))
        return binder_fail(binder, TN_INVALID, "INVALID_GRAPH", "the document `%s` is %s, expected an object", name,
                           value_kind_name(value_kind(document)));
    return binder_call(binder, "graph", name, document, callee);
}

const tn_graph_draft interface_graph = {sizeof(tn_graph_draft), 0, graph_bind_document};
const tn_graph_draft_2 interface_graph_2 = {sizeof(tn_graph_draft_2), 0, graph_bind_document, graph_bind_value};
