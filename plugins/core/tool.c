/*
 * tool.c - `tool`: calls one tool with arguments from expressions.
 *
 * Here the document chooses the tool; the node `tools` runs the tools that a model chose. The host checks the
 * arguments, applies the document's policy for the tool, and requests approvals.
 */
#include "core.h"
#include <stdbool.h>

struct tool {
    uint32_t callee, output;
    uint64_t count;
    struct tool_argument {
        tn_value name;       /* borrowed from the configuration, which outlives the instance */
        uint32_t expression; /* TN_UNBOUND: literal */
        tn_value literal;    /* borrowed, as `name` */
    } arguments[];
};

/* One call. */
struct tool_call {
    const struct tool *tool;
    tn_task task;
};

static int32_t tool_bind_argument(struct tool_argument *argument, tn_value name, tn_value from, tn_binder *binder) {
    uint64_t length;
    const char *text = tn_chars(from, &length);
    *argument = (struct tool_argument){name, TN_UNBOUND, from};
    return text != NULL ? tn.eval->bind_expression(binder, text, length, &argument->expression) : TN_OK;
}

static int32_t tool_create(tn_value config, tn_binder *binder, void **self) {
    tn_value arguments = tn_get(config, "arguments");
    const char *output = tn_get_text(config, "output_key", NULL);
    uint64_t count = tn.value->count(arguments);
    struct tool *tool = core_alloc_zeroed(sizeof(*tool) + count * sizeof(tool->arguments[0]));
    if (tool == NULL) return TN_NO_MEMORY;
    tool->count = count;
    tool->output = TN_UNBOUND;
    int32_t status =
        tn.task->bind_call(binder, "tool", TN_Z, tn_get_text(config, "tool", ""), TN_Z, NULL, &tool->callee);
    if (status == TN_OK && output != NULL) status = tn.task->bind_write(binder, output, TN_Z, &tool->output);
    for (uint64_t i = 0; i < count && status == TN_OK; i++) {
        tn_value name, from;
        status = tn.value->entry(arguments, i, &name, &from);
        if (status == TN_OK) status = tool_bind_argument(&tool->arguments[i], name, from, binder);
    }
    if (status == TN_OK)
        *self = tool;
    else
        core_release(tool);
    return status;
}

static int32_t tool_on_result(void *user, int32_t status, tn_value result) {
    struct tool_call *call = user;
    const struct tool *tool = call->tool;
    tn_task task = call->task;
    core_release(call);
    if (status == TN_CANCELLED) {
        (void)core_fail_cancelled(task);
    } else if (status != TN_OK) {
        (void)tn_fail_with(task, result);
    } else {
        status = tool->output != TN_UNBOUND ? tn.task->write(task, tool->output, result) : TN_OK;
        if (status == TN_OK)
            (void)tn_done(task);
        else
            (void)tn_fail(task, "CHANNEL", "the channel did not accept the tool's result");
    }
    return TN_OK;
}

/* Returns NULL if the task has failed. */
static tn_value tool_build_arguments(const struct tool *tool, tn_task task) {
    tn_builder *arguments = tn_builder_new();
    bool ok = true;
    tn.value->begin(arguments, TN_OBJECT);
    for (uint64_t i = 0; i < tool->count && ok; i++) {
        const struct tool_argument *argument = &tool->arguments[i];
        tn_value value =
            argument->expression == TN_UNBOUND ? tn_retain(argument->literal) : tn_evaluate(task, argument->expression);
        ok = value != NULL;
        if (ok) tn_put_key_take(arguments, argument->name, value);
    }
    tn.value->end(arguments);
    tn_value result = tn_finish(arguments);
    if (ok) return result;
    tn_release(result);
    return NULL;
}

static int32_t tool_start(void *self, tn_task task, tn_value input) {
    const struct tool *tool = self;
    (void)input;
    tn_value arguments = tool_build_arguments(tool, task);
    if (arguments == NULL) return TN_FAILED;
    struct tool_call *call = core_alloc_zeroed(sizeof(*call));
    int32_t status = TN_NO_MEMORY;
    if (call != NULL) {
        *call = (struct tool_call){tool, task};
        status = tn.task->call(task, tool->callee, arguments, NULL, tool_on_result, call, NULL);
    }
    tn_release(arguments);
    if (status != TN_OK && call != NULL) core_release(call);
    return status;
}

TN_COMPONENT(tool, "tool", tool_create, tool_start, NULL, NULL, core_release)
