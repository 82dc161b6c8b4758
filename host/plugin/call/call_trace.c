/*
 * call_trace.c - see call_trace.h.
 */
#include "host/plugin/call/call_trace.h"
#include "host/base/secrets/secrets.h"
#include "host/base/trace.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

const char *call_trace_outcome(const struct call *call) {
    switch (call_outcome(call)) {
    case CALL_COMPLETED: return "done";
    case CALL_CANCELLED: return "cancelled";
    case CALL_INTERRUPTED: return "interrupted";
    default: return "failed";
    }
}

bool call_trace_is_tool(const struct callable *callee) {
    const struct component *component = callee->ops->is_wrapper ? NULL : instance_component(callee);
    return component && strcmp(component->info->kind, "tool") == 0;
}

/* The id of the nearest span around the call: a new reference, or NULL. */
static tn_value parent_of(const struct call *call) {
    struct call *at = call_parent(call);
    for (; at && call_parent(at); at = call_parent(at)) {
        if (!call_trace_is_tool(call_callable(at))) continue;
        tn_value context = call_context(at), span = trace_add_id(value_object(), context);
        tn_value id = value_get(span, "id");
        if (id) value_ref(id);
        value_unref(span);
        value_unref(context);
        return id;
    }
    return at && call_ops_of(at)->trace_id ? call_ops_of(at)->trace_id(at) : NULL;
}

tn_value call_trace_add_place(tn_value span, struct call *call) {
    tn_value context = call_context(call), parent = parent_of(call);
    /* That of the root, because the traceparent of the call's own context names this span. */
    tn_value around = call_context(call_root(call)), task = value_get(context, "task_id");
    span = trace_add_id(span, context);
    if (parent) span = value_set_take(span, "parent", parent);
    if (task) around = value_set_take(around, "task_id", value_ref(task));
    span = trace_add_context(span, around);
    value_unref(context);
    value_unref(around);
    return span;
}

tn_value call_trace_context_take(tn_value context, const struct call *call, bool model) {
    const struct callable *callee = call_callable(call);
    bool own = model || callee->ops->is_wrapper || call_trace_is_tool(callee);
    tn_value span = own ? trace_add_id(value_object(), context) : NULL;
    tn_value id = own ? value_ref(value_get(span, "id")) : parent_of(call);
    value_unref(span);
    if (id) context = trace_context_take(context, value_chars(id, NULL));
    value_unref(id);
    return context;
}

tn_value call_trace_add_content(tn_value span, const struct call *call, const char *member, tn_value content) {
    struct loop *loop = call_loop(call);
    struct secrets *secrets = loop_secrets(loop);
    if (!content || !trace_wanted(loop) || !loop_trace(loop)->contents) return span;
    tn_value safe = secrets ? secrets_scrub(secrets, content, SECRETS_RESULT_MIN) : value_ref(content);
    return value_set_take(span, member, safe);
}

void call_trace_tool(struct call *call, int64_t started_us) {
    const struct component_info *info = instance_component(call_callable(call))->info;
    const struct error *error = call_error(call);
    if (call_outcome(call) == CALL_INTERRUPTED || !trace_wanted(call_loop(call))) return;
    tn_value name = value_text(info->id);
    tn_value span = trace_span("tool", name, call_trace_outcome(call), error ? error->code : NULL);
    value_unref(name);
    span = value_set_take(span, "plugin", value_text(info->plugin_id));
    span = call_trace_add_content(span, call, "input", call_input(call));
    span = call_trace_add_content(span, call, "output", call_output(call));
    trace_end_take(call_loop(call), started_us, call_trace_add_place(span, call));
}
