/*
 * tool.c - tenon.tool: sets of tools, bound in create, described and called in a task.
 *
 * A set is a callable, and calling a tool is calling it: so a use is journalled, cancelled and resumed as every call of
 * a task is. On a worker the description is asked of the loop, as the registry is the loop's.
 */
#include "host/call/slot.h"
#include "host/interface/interface.h"
#include "host/interface/view.h"
#include "host/tool/set.h"

static struct callable *set_of(const struct view *view, uint32_t set) {
    const struct bindings *bindings = &view->instance->bindings;
    return set < bindings->set_count ? bindings->sets[set].set : NULL;
}

static int32_t bind_tools(tn_binder *binder, tn_value names, uint32_t *set) { return binder_tools(binder, names, set); }

static tn_value describe(tn_task task, uint32_t set) {
    struct view view;
    tn_value described = NULL;
    if (!view_open(&view, task)) return NULL;
    struct callable *callable = set_of(&view, set);
    if (!callable) return NULL;
    struct job *job = job_of(task);
    if (!job) return tool_set_describe(callable);
    struct callable *describer = tool_set_describer(callable);
    if (worker_call(job, describer, false, NULL, &described) != TN_OK) {
        value_unref(described);
        described = NULL;
    }
    callable_unref(describer);
    return described;
}

static int32_t invoke(tn_task task, uint32_t set, tn_value call, tn_call_done done, void *user) {
    struct view view;
    if (!done || !call) return TN_INVALID;
    int32_t status = view_open_to_start(&view, task);
    if (status != TN_OK) return status;
    struct callable *callable = set_of(&view, set);
    return callable ? call_child(task, callable, false, call, done, user) : TN_NOT_FOUND;
}

static int32_t invoke_wait(tn_task task, uint32_t set, tn_value call, tn_value *result) {
    struct view view;
    struct job *job;
    if (!result || !call) return TN_INVALID;
    int32_t status = view_open_to_wait(&view, task, &job);
    if (status != TN_OK) return status;
    struct callable *callable = set_of(&view, set);
    return callable ? view_wait(job, callable, false, call, result) : TN_NOT_FOUND;
}

const tn_tool_draft interface_tool = {sizeof(tn_tool_draft), 0, bind_tools, describe, invoke, invoke_wait};
