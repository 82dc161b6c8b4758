/*
 * graph.c - tenon.graph: a document is bound like a component, under the kind "graph"; calling it is task_1's affair.
 *
 * A path has no config; a document that the component has made is bound by a name, with itself as the config.
 */
#include "adl/value/value.h"
#include "host/call/binder.h"
#include "host/interface/interface.h"
#include <string.h>

#define NAME_MAX_LENGTH 256u /* bytes of a made document's name, as of any name (DOCUMENT_NAME_MAX) */

static int32_t bind_document(tn_binder *binder, const char *document, uint32_t *callee) {
    return binder_call(binder, "graph", document, NULL, callee);
}

static int32_t bind_value(tn_binder *binder, tn_value document, const char *name, uint32_t *callee) {
    if (!binder || !document || !name || !callee) return TN_INVALID;
    size_t length = strlen(name);
    if (length == 0 || length > NAME_MAX_LENGTH)
        return binder_fail(binder, TN_INVALID, "INVALID_GRAPH",
                           "the name of a document that is made has %zu bytes; expected 1 to %u", length,
                           NAME_MAX_LENGTH);
    if (!value_is(document, TN_OBJECT))
        return binder_fail(binder, TN_INVALID, "INVALID_GRAPH", "the document `%s` is %s, expected an object", name,
                           value_kind_name(value_kind(document)));
    return binder_call(binder, "graph", name, document, callee);
}

const tn_graph_draft interface_graph = {sizeof(tn_graph_draft), 0, bind_document};
const tn_graph_draft_2 interface_graph_2 = {sizeof(tn_graph_draft_2), 0, bind_document, bind_value};
