/*
 * parallel.c - replaces a call of the tool "parallel", which does not exist, by the calls inside of it.
 *
 *     {"tool_uses": [{"recipient_name": "functions.weather", "parameters": {"city": "Kyoto"}}, …]}
 *
 * Each inner call gets an id derived from the id of the outer call. In the next request they are ordinary calls.
 */
#include "openai.h"

#define PARALLEL_USES_MAX 128 /* inner calls; a call with more of them stays unchanged */

static bool parallel_is_offered(struct model_call *call, const char *service_name) {
    for (uint64_t i = 0, count = tn.value->count(call->tools); i < count; i++) {
        const char *name = tn_get_text(tn.value->at(call->tools, i), "name", "");
        if (strcmp(model_tool_name_to_service(call, name), service_name) == 0) return true;
    }
    return false;
}

/* Returns the tool's name for the service. NULL if it was not offered. */
static const char *parallel_get_tool_name(struct model_call *call, tn_value use) {
    static const char space[] = "functions.";
    const char *name = tn_get_text(use, "recipient_name", "");
    if (strncmp(name, space, sizeof space - 1) == 0) name += sizeof space - 1;
    return parallel_is_offered(call, name) ? name : NULL;
}

bool openai_is_parallel_call(struct model_call *call, tn_value item) {
    const char *name = tn_get_text(item, "name", "");
    if (strcmp(name, "parallel") != 0 && strcmp(name, "multi_tool_use.parallel") != 0) return false;
    return call->tools != NULL && !parallel_is_offered(call, name);
}

static bool parallel_all_offered(struct model_call *call, tn_value uses) {
    uint64_t count = tn.value->kind(uses) == TN_ARRAY ? tn.value->count(uses) : 0;
    bool all = count > 0 && count <= PARALLEL_USES_MAX;
    for (uint64_t i = 0; i < count && all; i++) all = parallel_get_tool_name(call, tn.value->at(uses, i)) != NULL;
    return all;
}

void openai_expand_parallel_call(struct model_call *call, int64_t index, tn_value item) {
    tn_value arguments = tn_call_arguments(item), uses = tn_get(arguments, "tool_uses");
    tn_value id = tn_get(item, "call_id");
    if (!parallel_all_offered(call, uses))
        model_add_tool_call(call, index, id, tn_get(item, "name"), tn_get(item, "arguments"));
    else
        for (uint64_t i = 0, count = tn.value->count(uses); i < count; i++) {
            tn_value use = tn.value->at(uses, i), parameters = tn_get(use, "parameters");
            char text[160];
            (void)snprintf(text, sizeof text, "%.120s_%llu", tn_get_text(item, "call_id", "call"),
                           (unsigned long long)i);
            tn_value use_id = tn_text(text), name = tn_text(parallel_get_tool_name(call, use));
            /* Negative indexes do not collide with items of the service. */
            model_add_tool_call(call, -1 - index * PARALLEL_USES_MAX - (int64_t)i, use_id, name, parameters);
            tn_release(use_id);
            tn_release(name);
        }
    tn_release(arguments);
}
