/*
 * abi_tool.c - tenon.tool: tool sets, bound in create, described and called in a task.
 *
 * A tool set is a callable, and using a tool is calling the set. A use is therefore journalled, cancelled and resumed
 * like every call of a task. On a worker, the loop makes the description, because the registry belongs to the loop.
 */
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_view.h"
#include "host/plugin/call/call_tools.h"
#include "host/plugin/call/instance_internal.h"
#include "host/plugin/call/slot.h"

static struct callable *tool_set_at(const struct view *view, uint32_t set) {
    const struct bindings *bindings = &view->instance->bindings;
    return set < bindings->set_count ? bindings->sets[set].set : NULL;
}

static int32_t abi_tool_bind(tn_binder *binder, tn_value names, uint32_t *set) {
    return binder_tools(binder, names, set);
}

static tn_value tool_describe(tn_task task, uint32_t set) {
    struct view view;
    tn_value definitions = NULL;
    if (!view_open(&view, task)) return NULL;
    struct callable *callable = tool_set_at(&view, set);
    if (!callable) return NULL;
    struct job *job = job_of(task);
    if (!job) return tool_set_describe(callable);
    struct callable *describer = tool_set_describer(callable);
    if (worker_call(job, describer, false, NULL, &definitions) != TN_OK) {
        value_unref(definitions);
        definitions = NULL;
    }
    callable_unref(describer);
    return definitions;
}

static int32_t tool_invoke(tn_task task, uint32_t set, tn_value call, tn_call_done done, void *user) {
    struct view view;
    if (!done || !call) return TN_INVALID;
    int32_t status = view_open_to_start(&view, task);
    if (status != TN_OK) return status;
    struct callable *callable = tool_set_at(&view, set);
    return callable ? call_child(task, callable, false, call, done, user) : TN_NOT_FOUND;
}

static int32_t tool_invoke_wait(tn_task task, uint32_t set, tn_value call, tn_value *result) {
    struct view view;
    struct job *job;
    if (!result || !call) return TN_INVALID;
    int32_t status = view_open_to_wait(&view, task, &job);
    if (status != TN_OK) return status;
    struct callable *callable = tool_set_at(&view, set);
    return callable ? view_wait(job, callable, false, call, result) : TN_NOT_FOUND;
}

const tn_tool_draft interface_tool = {sizeof(tn_tool_draft), 0,           abi_tool_bind,
                                      tool_describe,         tool_invoke, tool_invoke_wait};
