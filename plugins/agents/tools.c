/*
 * tools.c - `tools`: executes the tool calls of the last ai message.
 *
 * Calls begin in their order, at most `max_parallel` at once; results are told in that order, whichever ended first. A
 * call that was answered already is not made again, so a conversation that was edited by hand can go on. All are begun
 * though one must be approved: whoever approves is asked for all of them together, and when the answers have come the
 * task is started again from the top, where those that had ended end as they did.
 */
#include "conversation.h"

#define TOOLS_CALLS_MAX 128u /* of one message; the model is told of the others that they were too many */

struct tools {
    uint32_t read, write, set;
    uint64_t parallel;
    tn_value auto_approve, ends; /* borrowed from the configuration; NULL */
    const char *messages_name;
};

struct tools_task;

struct tools_call {
    struct tools_task *of;
    tn_value call;   /* borrowed from the conversation */
    tn_value result; /* or the error */
    bool failed;
    char id[80];
};

struct tools_task {
    const struct tools *tools;
    tn_task task;
    tn_value messages; /* the conversation */
    tn_value grants;   /* borrowed from it: `approve` of the last user's message; NULL */
    uint64_t count, begun, open;
    tn_value waits, fatal; /* the first error of each kind */
    bool cancelled;
    int32_t broken; /* a status of the host's; TN_OK */
    struct tools_call calls[];
};

static int32_t tools_create(tn_value config, tn_binder *binder, void **self) {
    int32_t status = agents_needs(tn.eval, binder, TN_EVAL_DRAFT);
    if (status == TN_OK) status = agents_needs(agents_tool, binder, TN_TOOL_DRAFT);
    if (status != TN_OK) return status;
    struct tools *tools = agents_alloc(sizeof(*tools));
    if (tools == NULL) return TN_NO_MEMORY;
    tools->auto_approve = tn.value->get(config, "auto_approve");
    tools->ends = tn.value->get(config, "ends");
    tools->parallel = (uint64_t)tn_get_int(config, "max_parallel", 8);
    tools->messages_name = tn_get_text(config, "messages_key", "messages");
    status = tn.task->bind_read(binder, tools->messages_name, &tools->read);
    if (status == TN_OK) status = tn.task->bind_write(binder, tools->messages_name, &tools->write);
    if (status == TN_OK) status = agents_tool->bind_tools(binder, tn.value->get(config, "tools"), &tools->set);
    if (status == TN_OK)
        *self = tools;
    else
        agents_free(tools);
    return status;
}

static void tools_free(struct tools_task *it) {
    for (uint64_t i = 0; i < it->count; i++) tn_release(it->calls[i].result);
    tn_release(it->messages);
    tn_release(it->waits);
    tn_release(it->fatal);
    agents_free(it);
}

/* ---- What the model is told ---- */

static bool is_part(tn_value part) {
    static const char *const types[] = {"text", "image", "file", "audio", "source"};
    const char *type = tn_get_text(part, "type", "");
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(type, types[i]) == 0) return true;
    return false;
}

/* A text or parts as they are, anything else as JSON. */
static tn_value content_of(tn_value result) {
    bool parts = tn.value->kind(result) == TN_ARRAY && tn.value->count(result) > 0;
    for (uint64_t i = 0, count = tn.value->count(result); parts && i < count; i++)
        parts = is_part(tn.value->at(result, i));
    if (parts || tn.value->kind(result) == TN_STRING) return tn_retain(result);
    return result != NULL ? tn.value->to_json(result) : tn_text("null");
}

static tn_value error_content(tn_value error) {
    struct text out = {0};
    text_format(&out, "%s: %s", tn_get_text(error, "code", "ERROR"),
                tn_get_text(error, "message", "the tool failed, and does not say why"));
    return text_take(&out);
}

static tn_value message_of(const struct tools_call *it) {
    tn_value content = it->failed ? error_content(it->result) : content_of(it->result);
    tn_value message =
        content != NULL ? tn_message_tool(content, it->id, tn_get_text(it->call, "name", NULL), it->failed) : NULL;
    tn_release(content);
    return message;
}

/* {code, message}, as an error is. */
static tn_value error_value(const char *code, const char *message) {
    return agents_set_take(agents_set_take(NULL, "code", tn_text(code)), "message", tn_text(message));
}

/* ---- The end ---- */

/* Whether a call that ends the conversation has gone well. */
static bool has_ended(const struct tools_task *it) {
    for (uint64_t i = 0; i < it->count; i++)
        if (!it->calls[i].failed && names_have(it->tools->ends, tn_get_text(it->calls[i].call, "name", "")))
            return true;
    return false;
}

static int32_t write_results(struct tools_task *it) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0; i < it->count; i++) tn_put_take(builder, NULL, message_of(&it->calls[i]));
    tn.value->end(builder);
    return tn_write_take(it->task, it->tools->write, tn.value->finish(builder));
}

static int32_t finish(struct tools_task *it) {
    tn_task task = it->task;
    int32_t status = TN_OK;
    tn_value output = NULL;
    if (it->broken != TN_OK)
        status = agents_fail(task, it->broken == TN_NO_MEMORY ? "NO_MEMORY" : "TOOLS", NULL,
                             "a tool could not be called (status %d)", (int)it->broken);
    else if (it->cancelled)
        status = tn_fail(task, "CANCELLED", "cancelled");
    else if (it->fatal != NULL || it->waits != NULL)
        status = agents_fail_with(task, TN_FAILED, it->fatal != NULL ? it->fatal : it->waits);
    else
        status = write_results(it);
    if (status == TN_OK && has_ended(it)) output = agents_set_take(NULL, "goto", tn_text("END"));
    tools_free(it);
    if (status == TN_OK) (void)tn_done_value(task, output);
    tn_release(output);
    return status;
}

/* ---- Calls ---- */

static void called(void *user, int32_t status, tn_value result);

static bool is_fatal(tn_value error) {
    int32_t fatal = 0;
    (void)tn.value->as_bool(tn.value->get(tn.value->get(error, "detail"), "fatal"), &fatal);
    return fatal != 0;
}

/* {name, arguments, id, approved?}; NULL: the arguments are no JSON, and that is its result. */
static tn_value invocation(struct tools_call *call) {
    const struct tools_task *it = call->of;
    tn_value arguments = tn_call_arguments(call->call);
    const char *name = tn_get_text(call->call, "name", "");
    if (arguments == NULL) {
        call->failed = true;
        call->result = error_value("INVALID_INPUT", "the arguments are no JSON; give an object as JSON");
        return NULL;
    }
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "name", name);
    tn_put_take(builder, "arguments", arguments);
    tn_put_text(builder, "id", call->id);
    if (names_have(it->tools->auto_approve, name) || names_have(it->grants, name)) tn_put_bool(builder, "approved", 1);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* Begins as many as may be open. */
static void begin(struct tools_task *it) {
    while (it->begun < it->count && it->open < it->tools->parallel && it->broken == TN_OK && !it->cancelled) {
        struct tools_call *call = &it->calls[it->begun++];
        if (call->result != NULL) continue;
        tn_value given = invocation(call);
        if (given == NULL && call->result != NULL) continue;
        it->broken = given != NULL ? agents_tool->invoke(it->task, it->tools->set, given, called, call) : TN_NO_MEMORY;
        it->open += it->broken == TN_OK;
        tn_release(given);
    }
}

static void called(void *user, int32_t status, tn_value result) {
    struct tools_call *call = user;
    struct tools_task *it = call->of;
    it->open--;
    call->result = tn_retain(result);
    call->failed = status != TN_OK;
    it->cancelled |= status == TN_CANCELLED;
    if (status == TN_FAILED) {
        tn_value *kept = strcmp(tn_get_text(result, "code", ""), "INTERRUPTED") == 0 ? &it->waits
                         : is_fatal(result)                                          ? &it->fatal
                                                                                     : NULL;
        if (kept != NULL && *kept == NULL) *kept = tn_retain(result);
    }
    begin(it);
    if (it->open == 0) (void)finish(it);
}

/* The calls of the message at `at` that have no answer yet. */
static int32_t gather(struct tools_task *it, tn_value calls, uint64_t at) {
    uint64_t count = tn.value->count(calls);
    for (uint64_t i = 0; i < count; i++) {
        tn_value given = tn.value->at(calls, i);
        struct tools_call *call = &it->calls[it->count];
        const char *id = tn_get_text(given, "id", NULL);
        if (id != NULL && conversation_answered(it->messages, at + 1, id)) continue;
        if (id != NULL)
            (void)snprintf(call->id, sizeof(call->id), "%s", id);
        else
            (void)snprintf(call->id, sizeof(call->id), "call_%llu", (unsigned long long)i + 1);
        call->of = it;
        call->call = given;
        it->count++;
        if (it->count <= TOOLS_CALLS_MAX) continue;
        call->failed = true;
        call->result = error_value("LIMIT", "one message may call at most 128 tools; call this one in the next");
        if (call->result == NULL) return TN_NO_MEMORY;
    }
    return TN_OK;
}

static int32_t tools_start(void *self, tn_task task, tn_value input) {
    const struct tools *tools = self;
    (void)input;
    tn_value messages = conversation_read(task, tools->read, tools->messages_name);
    if (messages == NULL) return TN_FAILED;
    int64_t at = conversation_last(messages, "ai"), user = conversation_last(messages, "user");
    tn_value calls = at >= 0 ? tn_message_calls(tn.value->at(messages, (uint64_t)at)) : NULL;
    struct tools_task *it = agents_alloc(sizeof(*it) + tn.value->count(calls) * sizeof(it->calls[0]));
    if (it == NULL) {
        tn_release(messages);
        return TN_NO_MEMORY;
    }
    it->tools = tools;
    it->task = task;
    it->messages = messages;
    if (user >= 0) it->grants = tn.value->get(tn.value->at(messages, (uint64_t)user), "approve");
    it->broken = gather(it, calls, at >= 0 ? (uint64_t)at : 0);
    if (it->count == 0) { /* nothing was asked for */
        tools_free(it);
        return tn_done(task);
    }
    begin(it);
    return it->open == 0 ? finish(it) : TN_OK;
}

TN_COMPONENT(tools, "tools", tools_create, tools_start, NULL, NULL, agents_free)
