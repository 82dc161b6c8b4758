/*
 * abi_graph.c - tenon.graph: binds documents. A document is bound like a component, with the kind "graph", and called
 * through tn_task_1.call.
 *
 * A document on disk is bound by its path and has no config. A document that the component has built is bound by a
 * name, with the document as its config.
 */
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_builder.h"
#include "host/plugin/abi/abi_name.h"
#include "host/plugin/call/binder.h"
#include <string.h>

#define NAME_MAX_LENGTH 256u /* bytes of the name of a document that a component builds (DOCUMENT_NAME_MAX) */

static int32_t graph_bind_path(tn_binder *binder, const char *document, uint32_t *callee) {
    return binder_call(binder, "graph", document, NULL, callee);
}

static int32_t graph_bind_document(tn_binder *binder, const char *document, uint64_t length, uint32_t *callee) {
    return abi_bind_name(graph_bind_path, binder, document, length, callee);
}

static int32_t graph_bind_value(tn_binder *binder, tn_value document, const char *name, uint64_t given,
                                uint32_t *callee) {
    if (!binder || !document || !name || !callee) return TN_INVALID;
    size_t length = abi_text_length(name, given);
    if (length == 0 || length > NAME_MAX_LENGTH)
        return binder_fail(binder, TN_INVALID, "INVALID_GRAPH",
                           "the name of a document built by a component has %zu bytes; expected 1 to %u", length,
                           NAME_MAX_LENGTH);
    char *text = abi_name(name, given);
    int32_t status = value_is(document, TN_OBJECT) ? binder_call(binder, "graph", text, document, callee)
                                                   : binder_fail(binder, TN_INVALID, "INVALID_GRAPH",
                                                                 "the document `%s` is %s, expected an object", text,
                                                                 value_kind_name(value_kind(document)));
    mem_free(text);
    return status;
}

const tn_graph_draft interface_graph = {
    .size = sizeof(tn_graph_draft), .bind_document = graph_bind_document, .bind_value = graph_bind_value};
