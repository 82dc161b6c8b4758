/*
 * tenon/document.h - draft: documents as texts, checked and run: for components that are given one, or have a model
 * write one.
 *
 * One call, with an operation's name and an object of arguments, as of tenon/state.h:
 *
 *   document.check  text name?          -> {valid, errors, warnings, diagnostics, report}
 *   document.run    text name? input?   -> what the run gives
 *
 * `text` is YAML, or JSON where `name`, which it is called in messages, ends in .json; files that it names are found
 * from the host's working directory. `diagnostics` are those of `tenon check --json`, `report` is what `tenon check`
 * prints, each with its line: what a model can mend its text by. A document that is not valid is not run:
 * INVALID_GRAPH, with `report` as the message and the diagnostics in detail. The inner run's events carry the task's
 * path, it is cancelled with the task, its approvals and answers are the outer run's, and it is gone on with where the
 * task is.
 *
 * A document may call whatever the host has. Who runs one declares the effect "document.run", or gets
 * PERMISSION_DENIED; checking is free to all.
 */
#ifndef TENON_DOCUMENT_H
#define TENON_DOCUMENT_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_DOCUMENT_DRAFT "tenon.document/1-draft.1"
/* From the host. */
typedef struct tn_document_draft {
    uint32_t size;
    uint32_t reserved;
    /* [loop] done is called exactly once, never inside, as of task_1.call. TN_NOT_FOUND: there is no such operation. */
    int32_t (*invoke)(tn_task task, const char *operation, tn_value arguments, tn_call_done done, void *user);
    /* [worker] The same, waiting. *result as for tn_call_done, but owned. On the loop: TN_WRONG_THREAD. */
    int32_t (*invoke_wait)(tn_task task, const char *operation, tn_value arguments, tn_value *result);
} tn_document_draft;

#ifdef __cplusplus
}
#endif
#endif
