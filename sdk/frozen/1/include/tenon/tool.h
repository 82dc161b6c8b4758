/*
 * tenon/tool.h - tools by name, for components that let a model choose among them.
 *
 * A component binds a tool set in create: names and patterns, limited to what the document's `tools` allow. It asks for
 * the contents of the set in a task, because plugins can add tools at any time (for example those of an MCP server).
 * The host validates the arguments and the result of a call, enforces the policy (auto, ask, deny; max_calls;
 * concurrency; timeout), and writes a record to the audit log. Calls are cancelled, journalled and resumed like those
 * of task_1.call. A call that needs approval waits like an interrupt: end the task with INTERRUPTED.
 *
 * A definition: {tool_name, description, input_schema, output_schema?, effects: [text], implementation_ref, approval?}.
 * A use:        {name, arguments, id?, approved?}: `approved` is the permission of the person whom the component acts
 *               for. It replaces the answer to `ask`, but no rule of the operator and not `deny`. It counts only
 *               if the component declares `calls.approved`, or if its configuration names the tool in a member
 *               annotated `x-tenon: approval`.
 * A result: the tool's output. Errors are as for task_1.call: TOOL_NOT_FOUND (the message has the nearest name),
 * TOOL_DENIED (by the policy or by the person), INVALID_INPUT and INVALID_OUTPUT (detail lists every violation), LIMIT
 * (max_calls), TIMEOUT, and the tool's own. An error whose detail is {fatal: true} must not go to the model: fail the
 * task with it.
 */
#ifndef TENON_TOOL_H
#define TENON_TOOL_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_TOOL_SET_MAX 1024 /* tools of one set; beyond it LIMIT */

#define TN_TOOL_1 "tenon.tool/1"
/* tenon.tool/1, from the host. `call` and `options` are as for task_1.call. */
typedef struct tn_tool_1 {
    uint64_t size;
    /*
     * [create] `names`: an array of ids and patterns ("files.*"), or NULL for all tools that the document allows. An
     * unknown name is refused here, with the nearest name; a pattern may match nothing yet.
     */
    int32_t TN_FN(bind_tools)(tn_binder *binder, tn_value names, uint32_t *set);
    /* [loop, worker] An array of definitions, ordered by name. The same value until the set changes. */
    int32_t TN_FN(describe)(tn_task task, uint32_t set, tn_value *out);
    /* [loop] As task_1.call. */
    int32_t TN_FN(invoke)(tn_task task, uint32_t set, tn_value use, tn_value options, tn_call_handler handler,
                          void *user, tn_call *call);
    /* [worker] As task_1.call_wait. */
    int32_t TN_FN(invoke_wait)(tn_task task, uint32_t set, tn_value use, tn_value options, tn_value *out,
                               tn_value *error);
} tn_tool_1;

#ifdef __cplusplus
}
#endif
#endif
