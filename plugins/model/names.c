/*
 * names.c - the names of a call's tools for the service (tenon/util/tool_names.h).
 */
#include "internal.h"

bool model_names_init(struct model_call *call) {
    tn_value tools = tn_get(call->input, "tools");
    uint64_t count = tn.value->kind(tools) == TN_ARRAY ? tn.value->count(tools) : 0;
    if (count > MODEL_TOOLS_MAX) return true; /* model_call_read_tools refuses the request */
    return tn_tool_names_add(&call->names, tools) == TN_OK;
}

const char *model_tool_name_to_service(struct model_call *call, const char *name) {
    const char *found = tn_tool_names_to_service(&call->names, name);
    if (found != NULL) return found;
    model_fail(call, "LIMIT", "not enough memory for the names of the tools");
    return "";
}
