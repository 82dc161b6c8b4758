/*
 * tools.c - `tools`: executes the tool calls of the last ai message.
 *
 * Calls are started in the order of the message, at most `max_parallel` at the same time, and their results are written
 * in the same order. A call that already has an answer in the conversation is skipped. If one call needs an approval,
 * the others are still started, so that all approvals are requested together. After the answers, the host restarts the
 * task from the beginning; calls that had ended return their recorded results.
 */
#include "conversation.h"
#include "search.h"

#define TOOLS_CALLS_MAX 128u /* calls of one message; each further call receives an error */

struct tools {
    uint32_t read, write, set, approve;
    uint64_t parallel;
    struct search search;
    tn_value auto_approve, ends; /* borrowed from the configuration; may be NULL */
    const char *messages_name, *approve_name;
};

struct tools_task;

struct tools_call {
    struct tools_task *owner;
    tn_value call;   /* borrowed from the conversation */
    tn_value result; /* the result, or the error */
    bool failed;
    const char *id; /* of the call, borrowed from the conversation, or `made_id` */
    char made_id[32];
};

struct tools_task {
    const struct tools *tools;
    tn_task task;
    tn_value messages; /* the conversation */
    tn_value grants;   /* borrowed from `messages`: `approve` of the last user's message; NULL with `approve_key` */
    tn_value approved; /* the patterns in the channel of `approve_key`; may be NULL */
    uint64_t count, started, open;
    tn_value interrupted, fatal; /* the first error of a call that needs an approval; the first fatal error */
    bool cancelled;
    int32_t host_status; /* of a call that could not be started, or TN_OK */
    struct tools_call calls[];
};

static int32_t tools_create(tn_value config, tn_binder *binder, void **self) {
    struct tools *tools = agents_alloc_zeroed(sizeof(*tools));
    if (tools == NULL) return TN_NO_MEMORY;
    tools->auto_approve = tn_get(config, "auto_approve");
    tools->ends = tn_get(config, "ends");
    tools->parallel = (uint64_t)tn_get_int(config, "max_parallel", 8);
    tools->messages_name = tn_get_text(config, "messages_key", "messages");
    tools->approve_name = tn_get_text(config, "approve_key", "");
    int32_t status = tn.task->bind_read(binder, tools->messages_name, TN_Z, &tools->read);
    if (status == TN_OK) status = tn.task->bind_write(binder, tools->messages_name, TN_Z, &tools->write);
    if (status == TN_OK) status = agents_bind_read(config, "approve_key", binder, &tools->approve);
    search_read(config, &tools->search);
    tn_value names = search_names(&tools->search);
    if (status == TN_OK) status = agents_tool->bind_tools(binder, names, &tools->set);
    tn_release(names);
    if (status == TN_OK)
        *self = tools;
    else
        agents_release(tools);
    return status;
}

static void tools_task_free(struct tools_task *state) {
    for (uint64_t i = 0; i < state->count; i++) tn_release(state->calls[i].result);
    tn_release(state->messages);
    tn_release(state->approved);
    tn_release(state->interrupted);
    tn_release(state->fatal);
    agents_release(state);
}

/* ---- Results for the model ---- */

static bool tools_is_content_part(tn_value part) {
    static const char *const types[] = {"text", "image", "file", "audio", "source"};
    const char *type = tn_get_text(part, "type", "");
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(type, types[i]) == 0) return true;
    return false;
}

/* Returns a text or a list of parts unchanged, any other value as JSON. */
static tn_value tools_result_content(tn_value result) {
    bool parts = tn.value->kind(result) == TN_ARRAY && tn.value->count(result) > 0;
    for (uint64_t i = 0, count = tn.value->count(result); parts && i < count; i++)
        parts = tools_is_content_part(tn.value->at(result, i));
    if (parts || tn.value->kind(result) == TN_STRING) return tn_retain(result);
    return result != NULL ? tn_to_json(result) : tn_text("null");
}

static tn_value tools_error_content(tn_value error) {
    struct tn_text_buffer out = {0};
    tn_text_append_format(&out, "%s: %s", tn_get_text(error, "code", "ERROR"),
                          tn_get_text(error, "message", "the tool failed without a message"));
    return tn_text_finish(&out);
}

static tn_value tools_call_message(const struct tools_call *call) {
    tn_value content = call->failed ? tools_error_content(call->result) : tools_result_content(call->result);
    tn_value message = content != NULL
                           ? tn_message_tool(content, call->id, tn_get_text(call->call, "name", NULL), call->failed)
                           : NULL;
    tn_release(content);
    return message;
}

/* ---- The end ---- */

/* True if a call of a tool in `ends` succeeded. */
static bool tools_ends_graph(const struct tools_task *state) {
    for (uint64_t i = 0; i < state->count; i++)
        if (!state->calls[i].failed && names_match(state->tools->ends, tn_get_text(state->calls[i].call, "name", "")))
            return true;
    return false;
}

static int32_t tools_write_results(struct tools_task *state) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0; i < state->count; i++) tn_put_take(builder, NULL, tools_call_message(&state->calls[i]));
    tn.value->end(builder);
    return tn_write_take(state->task, state->tools->write, tn_finish(builder));
}

static int32_t tools_finish(struct tools_task *state) {
    tn_task task = state->task;
    int32_t status = TN_OK;
    tn_value output = NULL;
    if (state->host_status != TN_OK)
        status = agents_fail(task, state->host_status == TN_NO_MEMORY ? "NO_MEMORY" : "TOOLS", NULL,
                             "a tool could not be called (status %d)", (int)state->host_status);
    else if (state->cancelled)
        status = tn_fail(task, "CANCELLED", "cancelled");
    else if (state->fatal != NULL || state->interrupted != NULL)
        status = agents_fail_with(task, TN_FAILED, state->fatal != NULL ? state->fatal : state->interrupted);
    else
        status = tools_write_results(state);
    if (status == TN_OK && tools_ends_graph(state)) output = tn_build("{s:V}", "goto", tn_text("END"));
    tools_task_free(state);
    if (status == TN_OK) (void)tn_done_value(task, output);
    tn_release(output);
    return status;
}

/* ---- Calls ---- */

static int32_t tools_on_result(void *user, int32_t status, tn_value result);

static bool tools_is_fatal(tn_value error) {
    int32_t fatal = 0;
    (void)tn.value->as_bool(tn_get(tn_get(error, "detail"), "fatal"), &fatal);
    return fatal != 0;
}

/* Returns {name, arguments, id, approved?}. NULL if the arguments are not JSON; the call then has an error as its
 * result. */
static tn_value tools_build_invocation(struct tools_call *call) {
    const struct tools_task *state = call->owner;
    tn_value arguments = tn_call_arguments(call->call);
    const char *name = tn_get_text(call->call, "name", "");
    if (arguments == NULL) {
        call->failed = true;
        call->result = tn_error("INVALID_INPUT", "the arguments are not JSON; write an object as JSON");
        return NULL;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "name", name);
    tn_put_take(builder, "arguments", arguments);
    tn_put_text(builder, "id", call->id);
    if (names_match(state->tools->auto_approve, name) || names_match(state->grants, name) ||
        names_match(state->approved, name))
        tn_put_bool(builder, "approved", 1);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* Answers a call of `tool.search` here. Returns false if it is a call of another tool. */
static bool tools_search(struct tools_call *call) {
    struct tools_task *state = call->owner;
    if (!state->tools->search.on || strcmp(tn_get_text(call->call, "name", ""), SEARCH_TOOL) != 0) return false;
    tn_value arguments = tn_call_arguments(call->call), definitions = NULL;
    state->host_status = agents_tool->describe(state->task, state->tools->set, &definitions);
    if (state->host_status == TN_OK)
        call->result = search_run(&state->tools->search, definitions, arguments, &call->failed);
    if (state->host_status == TN_OK && call->result == NULL) state->host_status = TN_NO_MEMORY;
    tn_release(definitions);
    tn_release(arguments);
    return true;
}

/* Starts calls until `max_parallel` are open. */
static void tools_start_calls(struct tools_task *state) {
    while (state->started < state->count && state->open < state->tools->parallel && state->host_status == TN_OK &&
           !state->cancelled) {
        struct tools_call *call = &state->calls[state->started++];
        if (call->result != NULL || tools_search(call)) continue;
        tn_value invocation = tools_build_invocation(call);
        if (invocation == NULL && call->result != NULL) continue;
        state->host_status = invocation != NULL ? agents_tool->invoke(state->task, state->tools->set, invocation, NULL,
                                                                      tools_on_result, call, NULL)
                                                : TN_NO_MEMORY;
        state->open += state->host_status == TN_OK;
        tn_release(invocation);
    }
}

static int32_t tools_on_result(void *user, int32_t status, tn_value result) {
    struct tools_call *call = user;
    struct tools_task *state = call->owner;
    state->open--;
    call->result = tn_retain(result);
    call->failed = status != TN_OK;
    state->cancelled |= status == TN_CANCELLED;
    if (status == TN_FAILED) {
        tn_value *slot = strcmp(tn_get_text(result, "code", ""), "INTERRUPTED") == 0 ? &state->interrupted
                         : tools_is_fatal(result)                                    ? &state->fatal
                                                                                     : NULL;
        if (slot != NULL && *slot == NULL) *slot = tn_retain(result);
    }
    tools_start_calls(state);
    if (state->open == 0) (void)tools_finish(state);
    return TN_OK;
}

/* Adds the calls of message `at` that have no answer yet. */
static int32_t tools_collect_calls(struct tools_task *state, tn_value calls, uint64_t at) {
    uint64_t count = tn.value->count(calls);
    for (uint64_t i = 0; i < count; i++) {
        tn_value tool_call = tn.value->at(calls, i);
        struct tools_call *call = &state->calls[state->count];
        const char *id = tn_get_text(tool_call, "id", NULL);
        if (id != NULL && conversation_has_answer(state->messages, at + 1, id)) continue;
        (void)snprintf(call->made_id, sizeof(call->made_id), "call_%llu", (unsigned long long)i + 1);
        call->id = id != NULL ? id : call->made_id;
        call->owner = state;
        call->call = tool_call;
        state->count++;
        if (state->count <= TOOLS_CALLS_MAX) continue;
        call->failed = true;
        call->result = tn_error("LIMIT", "one message may call at most 128 tools; call this tool in the next message");
        if (call->result == NULL) return TN_NO_MEMORY;
    }
    return TN_OK;
}

/* Returns in *out the patterns in the channel of `approve_key`: a new reference, or NULL if there are none. Another
 * value must not be read as "nothing is approved", because the author has confused the channel. */
static int32_t tools_read_approved(const struct tools *tools, tn_task task, tn_value *out) {
    *out = NULL;
    if (tools->approve == TN_UNBOUND) return TN_OK;
    tn_value patterns = tn_read(task, tools->approve);
    bool empty = tn.value->kind(patterns) <= TN_NULL, texts = tn.value->kind(patterns) == TN_ARRAY;
    for (uint64_t i = 0, count = tn.value->count(patterns); texts && i < count; i++)
        texts = tn.value->kind(tn.value->at(patterns, i)) == TN_STRING;
    if (texts) {
        *out = patterns;
        return TN_OK;
    }
    if (!empty)
        (void)agents_fail(
            task, "TYPE", NULL, "the channel `%.80s` is %s, expected a list of names of tools", tools->approve_name,
            tn.value->kind(patterns) == TN_ARRAY ? "a list with other values than texts" : tn_kind_name(patterns));
    tn_release(patterns);
    return empty ? TN_OK : TN_FAILED;
}

static int32_t tools_start(void *self, tn_task task, tn_value input) {
    const struct tools *tools = self;
    tn_value approved;
    (void)input;
    if (tools_read_approved(tools, task, &approved) != TN_OK) return TN_FAILED;
    tn_value messages = conversation_read(task, tools->read, tools->messages_name);
    if (messages == NULL) {
        tn_release(approved);
        return TN_FAILED;
    }
    int64_t at = conversation_find_last(messages, "ai"), user = conversation_find_last(messages, "user");
    tn_value calls = at >= 0 ? tn_message_calls(tn.value->at(messages, (uint64_t)at)) : NULL;
    struct tools_task *state = agents_alloc_zeroed(sizeof(*state) + tn.value->count(calls) * sizeof(state->calls[0]));
    if (state == NULL) {
        tn_release(approved);
        tn_release(messages);
        return TN_NO_MEMORY;
    }
    state->tools = tools;
    state->task = task;
    state->approved = approved;
    state->messages = messages;
    if (user >= 0 && tools->approve == TN_UNBOUND)
        state->grants = tn_get(tn.value->at(messages, (uint64_t)user), "approve");
    state->host_status = tools_collect_calls(state, calls, at >= 0 ? (uint64_t)at : 0);
    if (state->count == 0) { /* no calls */
        tools_task_free(state);
        return tn_done(task);
    }
    tools_start_calls(state);
    return state->open == 0 ? tools_finish(state) : TN_OK;
}

TN_COMPONENT(tools, "tools", tools_create, tools_start, NULL, NULL, agents_release)
