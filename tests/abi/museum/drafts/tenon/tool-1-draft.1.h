/*
 * tenon/tool.h - draft: tools by name, for components that let a model choose among them.
 *
 * A component binds a *set* in create: names and patterns, narrowed to what the document's `tools` allow. What the set
 * holds is asked for in a task, as plugins may add tools at any time (an MCP server's). A call by name goes through the
 * host's tool kernel: arguments validated before, result after, the policy heeded (auto, ask, deny; max_calls;
 * concurrency; timeout), and a line written to the audit log. It is called, cancelled, journalled and resumed as
 * task_1.call's are; a call that must be approved waits as an interrupt does: let the task end with INTERRUPTED.
 *
 * A definition: {tool_name, description, input_schema, output_schema?, effects: [text], implementation_ref, approval?}.
 * A call:       {name, arguments, id?, approved?}: `approved` is a grant by the person whom the component acts for; it
 *               stands for the answer to `ask`, and lifts no `deny`.
 * A result: whatever the tool gives. An error, as of task_1.call: TOOL_NOT_FOUND (the message has the nearest name),
 * TOOL_DENIED (by the policy, or by whoever was asked), INVALID_INPUT and INVALID_OUTPUT (every violation in detail),
 * LIMIT (max_calls), TIMEOUT, and the tool's own. One whose detail is {fatal: true} is not for the model: let the task
 * fail with it.
 */
#ifndef TENON_TOOL_H
#define TENON_TOOL_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_TOOL_SET_MAX 1024 /* tools that one set describes: more is LIMIT */

#define TN_TOOL_DRAFT "tenon.tool/1-draft.1"
/* From the host. */
typedef struct tn_tool_draft {
    uint32_t size;
    uint32_t reserved;
    /*
     * [create] `names`: an array of ids and patterns ("files.*"), or NULL for all that the document allows. A name
     * without
     * `*` that leads nowhere is refused here, with the nearest one; a pattern may fit nothing, yet.
     */
    int32_t (*bind_tools)(tn_binder *binder, tn_value names, uint32_t *set);
    /* [loop, worker] An array of definitions, ordered by name; a new reference, the same value until tools come or go.
     */
    tn_value (*describe)(tn_task task, uint32_t set);
    /* [loop] As task_1.call: done is called exactly once, never inside. */
    int32_t (*invoke)(tn_task task, uint32_t set, tn_value call, tn_call_done done, void *user);
    /* [worker] The same, waiting. */
    int32_t (*invoke_wait)(tn_task task, uint32_t set, tn_value call, tn_value *result);
} tn_tool_draft;

#ifdef __cplusplus
}
#endif
#endif
