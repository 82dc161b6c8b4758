/*
 * tenon/document.h - draft: checks and runs documents that are texts, for example texts that a model wrote.
 *
 * One function takes an operation's name and an object of arguments, as in tenon/state.h:
 *
 *   document.check  text name?          -> {valid, errors, warnings, diagnostics, report}
 *   document.run    text name? input?   -> the run's output
 *   document.run_file  document input? offered?  -> the run's output
 *
 * `text` is YAML, or JSON if `name` ends in .json. Messages show `name`. The document reads files (`{file: …}`,
 * subgraphs) only below the folders that the operator lists in `files.roots` of tenon.yaml; by default it reads none.
 * Diagnostics show no text of these files. `diagnostics` are those of `tenon check --json`; `report` is what `tenon
 * check` prints, with the affected lines, so that a model can correct its text. An invalid document is not run: the
 * error is INVALID_GRAPH, with `report` as the message and the diagnostics in detail. The events of the inner run carry
 * the task's path. The inner run is cancelled and resumed with the task, and its approvals and answers go through the
 * outer run.
 *
 * `document` is the name of a file that is known only at run time: a path, which starts at the folder of tenon.yaml
 * (or, without one, of the document around the task), `pack:NAME/FILE` or `tenon:NAME`. The component must declare that
 * it may call this document ("calls.document"). The file is found below the root of the document around the task, in
 * the project, below `files.roots` and in packs; for a document of a pack, only in its pack; for a text, only below
 * `files.roots`. `offered` is added to `input`, except for members that the document has no channel for.
 *
 * A document can call everything that the host has. A component that runs documents must declare the effect
 * "document.run"; otherwise the result is PERMISSION_DENIED. Checking needs no effect.
 */
#ifndef TENON_DOCUMENT_H
#define TENON_DOCUMENT_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_DOCUMENT_DRAFT "tenon.document/1-draft.2"
/* From the host. `options` and `call` are as for task_1.call. */
typedef struct tn_document_draft {
    uint64_t size;
    /*
     * [loop] As task_1.call. TN_NOT_FOUND: the operation is unknown, and the handler is not called.
     */
    int32_t TN_FN(invoke)(tn_task task, const char *operation, uint64_t length, tn_value arguments, tn_value options,
                          tn_call_handler handler, void *user, tn_call *call);
    /* [worker] As task_1.call_wait. */
    int32_t TN_FN(invoke_wait)(tn_task task, const char *operation, uint64_t length, tn_value arguments,
                               tn_value options, tn_value *out, tn_value *error);
} tn_document_draft;

#ifdef __cplusplus
}
#endif
#endif
