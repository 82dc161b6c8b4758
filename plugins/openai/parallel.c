/*
 * parallel.c - several tool calls inside one of a tool that does not exist, taken out of it.
 *
 *     {"tool_uses": [{"recipient_name": "functions.weather", "parameters": {"city": "Kyoto"}}, …]}
 *
 * Each gets an id of its own, made from the wrapper's: what goes back is calls and their outputs, as of any others.
 */
#include "openai.h"

#define USES_MAX 128 /* of one wrapper; one with more is left as it is */

static bool offered(struct model_call *call, const char *theirs) {
    for (uint64_t i = 0, count = tn.value->count(call->tools); i < count; i++) {
        const char *name = tn_get_text(tn.value->at(call->tools, i), "name", "");
        if (strcmp(model_tool_name(call, name), theirs) == 0) return true;
    }
    return false;
}

/* The tool's name as the service has it; NULL where it is none that was offered. */
static const char *recipient(struct model_call *call, tn_value use) {
    static const char space[] = "functions.";
    const char *name = tn_get_text(use, "recipient_name", "");
    if (strncmp(name, space, sizeof space - 1) == 0) name += sizeof space - 1;
    return offered(call, name) ? name : NULL;
}

bool openai_is_wrapper(struct model_call *call, tn_value item) {
    const char *name = tn_get_text(item, "name", "");
    if (strcmp(name, "parallel") != 0 && strcmp(name, "multi_tool_use.parallel") != 0) return false;
    return call->tools != NULL && !offered(call, name);
}

static bool all_offered(struct model_call *call, tn_value uses) {
    uint64_t count = tn.value->kind(uses) == TN_ARRAY ? tn.value->count(uses) : 0;
    bool all = count > 0 && count <= USES_MAX;
    for (uint64_t i = 0; i < count && all; i++) all = recipient(call, tn.value->at(uses, i)) != NULL;
    return all;
}

void openai_unwrap(struct model_call *call, int64_t place, tn_value item) {
    tn_value read = tn_call_arguments(item), uses = tn.value->get(read, "tool_uses");
    tn_value id = tn.value->get(item, "call_id");
    if (!all_offered(call, uses))
        model_tool_call(call, place, id, tn.value->get(item, "name"), tn.value->get(item, "arguments"));
    else
        for (uint64_t i = 0, count = tn.value->count(uses); i < count; i++) {
            tn_value use = tn.value->at(uses, i), parameters = tn.value->get(use, "parameters");
            char text[160];
            (void)snprintf(text, sizeof text, "%.120s_%llu", tn_get_text(item, "call_id", "call"),
                           (unsigned long long)i);
            tn_value made = tn_text(text), name = tn_text(recipient(call, use));
            /* Below 0, where no item of the service is. */
            model_tool_call(call, -1 - place * USES_MAX - (int64_t)i, made, name, parameters);
            tn_release(made);
            tn_release(name);
        }
    tn_release(read);
}
