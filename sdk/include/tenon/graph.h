/*
 * tenon/graph.h - draft: running another graph inside a task.
 *
 * A bound document is called with task_1.call (or call_wait) like any component: its input sets the inner graph's
 * channels, its output is the inner run's output. The inner run's events carry the task's path, it is cancelled with
 * the task, and its recursion is bounded by the host.
 *
 * A component can also bind a document that it makes itself, so that a node type can be a graph of other nodes.
 * Its runs are shown under the node, step by step, like the runs of a user's document.
 */
#ifndef TENON_GRAPH_H
#define TENON_GRAPH_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_GRAPH_DRAFT "tenon.graph/1-draft.3"
/* From the host. */
typedef struct tn_graph_draft {
    uint64_t size;
    /* [create] `document` is a path, resolved from the folder of the document that is being built. */
    int32_t TN_FN(bind_document)(tn_binder *binder, const char *document, uint64_t length, uint32_t *callee);
    /*
     * [create] `document` is the document as a value. It is checked like a file; diagnostics show `name` as the file
     * name. Relative file names are resolved from the folder of the outer document, the one that is being built. If
     * `document` has no `models` or no `tools`, those of the outer document apply. A document that contains an equal
     * document is refused as recursion.
     */
    int32_t TN_FN(bind_value)(tn_binder *binder, tn_value document, const char *name, uint64_t length,
                              uint32_t *callee);
} tn_graph_draft;

#ifdef __cplusplus
}
#endif
#endif
