/*
 * tenon/graph.h - draft: running another graph inside a task.
 *
 * A bound document is called with task_1.call (or call_wait) like any component: its input becomes the inner graph's
 * channels, its output is the inner run's result. The inner run's events carry the task's path, it is cancelled with
 * the task, and its recursion is bounded by the host.
 *
 * draft.2 binds a document that a component makes, as well: how a node type is a graph of other nodes. Its runs are
 * shown under the node, step by step, like those of a document of the user's.
 */
#ifndef TENON_GRAPH_H
#define TENON_GRAPH_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_GRAPH_DRAFT "tenon.graph/1-draft.1"
/* From the host. */
typedef struct tn_graph_draft {
    uint32_t size;
    uint32_t reserved;
    /* [create] `document` is a path, resolved from the folder of the document that is being built. */
    int32_t (*bind_document)(tn_binder *binder, const char *document, uint32_t *callee);
} tn_graph_draft;

#define TN_GRAPH_DRAFT_2 "tenon.graph/1-draft.2"
/* From the host. */
typedef struct tn_graph_draft_2 {
    uint32_t size;
    uint32_t reserved;
    /* [create] As of draft.1. */
    int32_t (*bind_document)(tn_binder *binder, const char *document, uint32_t *callee);
    /*
     * [create] `document` is one as its JSON is. It is checked like a file; what is wrong with it is refused, as of
     * `name`. Files that it names are found from the folder of the document that is being built, and its roles and
     * tools are that document's too where it has no `models` and `tools` of its own. Recursion: an equal document
     * inside itself is refused.
     */
    int32_t (*bind_value)(tn_binder *binder, tn_value document, const char *name, uint32_t *callee);
} tn_graph_draft_2;

#ifdef __cplusplus
}
#endif
#endif
