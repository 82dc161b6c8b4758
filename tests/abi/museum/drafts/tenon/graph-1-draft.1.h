/*
 * tenon/graph.h - draft: running another graph inside a task.
 *
 * A bound document is called with task_1.call (or call_wait) like any component: its input becomes the inner graph's
 * channels, its output is the inner run's result. The inner run's events carry the task's path, it is cancelled with
 * the task, and its recursion is bounded by the host.
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

#ifdef __cplusplus
}
#endif
#endif
