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

static int32_t tool_describe(tn_task task, uint32_t set, tn_value *out) {
    struct view view;
    if (!out) return TN_INVALID;
    if (!view_open(&view, task)) return TN_STALE;
    struct callable *callable = tool_set_at(&view, set);
    if (!callable) return TN_NOT_FOUND;
    struct job *job = job_of(task);
    if (!job) {
        *out = tool_set_describe(callable);
        return TN_OK;
    }
    struct callable *describer = tool_set_describer(callable);
    int32_t status = view_wait(job, describer, false, NULL, NULL, out, NULL);
    callable_unref(describer);
    return status;
}

static int32_t tool_invoke(tn_task task, uint32_t set, tn_value use, tn_value options, tn_call_handler handler,
                           void *user, tn_call *call) {
    struct view view;
    struct call_options read;
    if (!handler || !use || call_options_read(options, &read) != TN_OK) return TN_INVALID;
    int32_t status = view_open_to_start(&view, task);
    if (status != TN_OK) return status;
    struct callable *callable = tool_set_at(&view, set);
    return callable ? call_child_with(task, callable, false, use, &read, handler, user, call) : TN_NOT_FOUND;
}

static int32_t tool_invoke_wait(tn_task task, uint32_t set, tn_value use, tn_value options, tn_value *out,
                                tn_value *error) {
    struct view view;
    struct job *job;
    struct call_options read;
    if (!out || !use || call_options_read_to_wait(options, &read) != TN_OK) return TN_INVALID;
    int32_t status = view_open_to_wait(&view, task, &job);
    if (status != TN_OK) return status;
    struct callable *callable = tool_set_at(&view, set);
    return callable ? view_wait(job, callable, false, &read, use, out, error) : TN_NOT_FOUND;
}

const tn_tool_1 interface_tool = {.size = sizeof(tn_tool_1),
                                  .bind_tools = abi_tool_bind,
                                  .describe = tool_describe,
                                  .invoke = tool_invoke,
                                  .invoke_wait = tool_invoke_wait};
