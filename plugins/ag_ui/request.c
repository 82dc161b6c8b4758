/*
 * request.c - RunAgentInput. Members that are not known are ignored; those that are known must have the right type.
 */
#include "ag_ui.h"

bool ag_request_refuse(struct ag_request *request, int32_t status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (request->status == 0) (void)vsnprintf(request->reason, sizeof request->reason, format, arguments);
    va_end(arguments);
    if (request->status == 0) request->status = status;
    return false;
}

static bool id_is_valid(tn_value id) {
    uint64_t length = 0;
    const char *text = tn_chars(id, &length);
    if (text == NULL || length == 0 || length > AG_UI_ID_MAX) return false;
    for (uint64_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f || text[i] == '/') return false;
    return true;
}

/* A list that may be absent or null: *list is NULL then. */
static bool read_list(struct ag_request *request, const char *member, uint64_t most, tn_value *list) {
    tn_value given = tn_get(request->body, member);
    *list = NULL;
    if (tn.value->kind(given) <= TN_NULL) return true;
    if (tn.value->kind(given) != TN_ARRAY) return ag_request_refuse(request, 400, "`%s` must be an array", member);
    if (tn.value->count(given) > most)
        return ag_request_refuse(request, 400, "`%s` has %llu items; at most %llu are accepted", member,
                                 (unsigned long long)tn.value->count(given), (unsigned long long)most);
    *list = given;
    return true;
}

static void note_calls(struct ag_request *request, tn_value message) {
    tn_value calls = tn_get(message, "toolCalls");
    for (uint64_t i = 0, count = tn.value->kind(calls) == TN_ARRAY ? tn.value->count(calls) : 0; i < count; i++) {
        uint64_t length = 0;
        const char *id = tn_chars(tn_get(tn.value->at(calls, i), "id"), &length);
        tn_value yes = tn_bool(1);
        if (id != NULL && request->calls != NULL && yes != NULL) (void)tn.value->set(&request->calls, id, length, yes);
        tn_release(yes);
    }
}

static bool check_calls(struct ag_request *request, tn_value message, uint64_t index) {
    tn_value calls = tn_get(message, "toolCalls");
    if (tn.value->kind(calls) > TN_NULL && tn.value->kind(calls) != TN_ARRAY)
        return ag_request_refuse(request, 400, "`messages[%llu].toolCalls` must be an array",
                                 (unsigned long long)index);
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i), function = tn_get(call, "function");
        if (tn_get_text(call, "id", NULL) == NULL || tn_get_text(function, "name", NULL) == NULL ||
            tn_get_text(function, "arguments", NULL) == NULL)
            return ag_request_refuse(request, 400,
                                     "`messages[%llu].toolCalls[%llu]` needs the texts `id`, `function.name` and "
                                     "`function.arguments`",
                                     (unsigned long long)index, (unsigned long long)i);
    }
    note_calls(request, message);
    return true;
}

static bool check_message(struct ag_request *request, tn_value message, uint64_t index) {
    static const char *const roles[] = {"user", "assistant", "system", "developer", "tool", "reasoning", "activity"};
    const char *role = tn_get_text(message, "role", "");
    bool wrong = false, known = false;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) known = known || strcmp(roles[i], role) == 0;
    if (!known)
        return ag_request_refuse(request, 400,
                                 "`messages[%llu].role` is `%.40s`: expected user, assistant, system, developer, tool, "
                                 "reasoning or activity",
                                 (unsigned long long)index, role);
    if (!id_is_valid(tn_get(message, "id")))
        return ag_request_refuse(request, 400, "`messages[%llu].id` must be a text of 1 to %d bytes without `/`",
                                 (unsigned long long)index, AG_UI_ID_MAX);
    if (!check_calls(request, message, index)) return false;
    tn_release(ag_message(request, message, index, &wrong));
    return !wrong;
}

static bool read_tools(struct ag_request *request) {
    tn_value tools = NULL;
    if (!read_list(request, "tools", AG_UI_TOOLS_MAX, &tools)) return false;
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++) {
        tn_value tool = tn.value->at(tools, i), name = tn_get(tool, "name"), schema = tn_get(tool, "parameters");
        uint64_t length = 0;
        if (tn_chars(name, &length) == NULL || length == 0)
            return ag_request_refuse(request, 400, "`tools[%llu]` has no name", (unsigned long long)i);
        tn_value made = tn_build(
            "{s:v, s:s*, s:V}", "name", name, "description", tn_get_text(tool, "description", NULL), "input_schema",
            tn.value->kind(schema) == TN_OBJECT ? tn_retain(schema) : tn_build("{s:s}", "type", "object"));
        (void)tn_append_take(&request->tools, made);
        (void)tn_append_take(&request->tool_names, tn_retain(name));
    }
    return true;
}

static bool read_context(struct ag_request *request) {
    tn_value context = NULL;
    if (!read_list(request, "context", AG_UI_MESSAGES_MAX, &context)) return false;
    for (uint64_t i = 0, count = tn.value->count(context); i < count; i++)
        if (tn_get_text(tn.value->at(context, i), "description", NULL) == NULL ||
            tn_get_text(tn.value->at(context, i), "value", NULL) == NULL)
            return ag_request_refuse(request, 400, "`context[%llu]` needs the texts `description` and `value`",
                                     (unsigned long long)i);
    request->context = tn_retain(context);
    return true;
}

static bool read_resume(struct ag_request *request) {
    if (!read_list(request, "resume", AG_UI_RESUME_MAX, &request->resume)) return false;
    for (uint64_t i = 0, count = tn.value->count(request->resume); i < count; i++) {
        tn_value entry = tn.value->at(request->resume, i), status = tn_get(entry, "status");
        if (tn_get_text(entry, "interruptId", NULL) == NULL ||
            (!serving_is(status, "resolved") && !serving_is(status, "cancelled")))
            return ag_request_refuse(request, 400,
                                     "`resume[%llu]` needs `interruptId`, and `status` resolved or cancelled",
                                     (unsigned long long)i);
    }
    if (tn.value->count(request->resume) == 0) request->resume = NULL;
    return true;
}

bool ag_request_read(struct ag_request *request, tn_value body) {
    *request = (struct ag_request){.body = tn_retain(body), .calls = tn_build("{}")};
    if (tn.value->kind(body) != TN_OBJECT)
        return ag_request_refuse(request, 400, "the body must be a RunAgentInput: a JSON object");
    static const char *const ids[] = {"threadId", "runId"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (!id_is_valid(tn_get(body, ids[i])))
            return ag_request_refuse(request, 400, "`%s` must be a text of 1 to %d bytes without `/`", ids[i],
                                     AG_UI_ID_MAX);
    request->thread_id = tn_chars(tn_get(body, "threadId"), NULL);
    request->run_id = tn_chars(tn_get(body, "runId"), NULL);
    if (tn.value->kind(tn_get(body, "messages")) != TN_ARRAY)
        return ag_request_refuse(request, 400, "`messages` must be an array");
    if (!read_list(request, "messages", AG_UI_MESSAGES_MAX, &request->messages)) return false;
    for (uint64_t i = 0, count = tn.value->count(request->messages); i < count; i++)
        if (!check_message(request, tn.value->at(request->messages, i), i)) return false;
    request->state = tn_get(body, "state");
    if (tn.value->kind(request->state) != TN_OBJECT) request->state = NULL;
    return read_tools(request) && read_context(request) && read_resume(request);
}

void ag_request_finish(struct ag_request *request) {
    const tn_value values[] = {request->body, request->tools, request->tool_names, request->context, request->calls};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) tn_release(values[i]);
    *request = (struct ag_request){0};
}
