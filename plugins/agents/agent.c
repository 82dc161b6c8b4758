/*
 * agent.c - `agent`: a ReAct graph as one node.
 *
 * It generates a document of the nodes `llm` and `tools` and runs it as a nested run: START → agent; agent → tools if
 * the last message calls tools, else END; tools → agent. The configuration of the model and of the tools is copied to
 * the two nodes. This node renders the templates, because they read its channels, and passes the results to the nested
 * run as channels.
 */
#include "chat.h"
#include "conversation.h"

#define AGENT_TURNS 10

struct agent {
    uint32_t callee, system, prompt, input, messages;
    uint32_t output, history, usage;
    const char *input_name, *messages_name;
};

struct agent_task {
    const struct agent *agent;
    tn_task task;
    tn_value added;       /* the messages of `prompt` or `input_key` */
    uint64_t input_count; /* number of messages passed to the nested run */
};

/* ---- The document ---- */

static void agent_put_channel(tn_builder *out, const char *name, const char *type, const char *reducer) {
    tn_put_begin(out, NULL, TN_OBJECT);
    tn_put_text(out, "name", name);
    tn_put_text(out, "type", type);
    if (reducer != NULL) tn_put_text(out, "reducer", reducer);
    tn.value->end(out);
}

static void agent_put_members(tn_builder *out, tn_value config, const char *const *names) {
    for (; *names != NULL; names++) {
        tn_value value = tn_get(config, *names);
        if (value != NULL) tn_put(out, *names, value);
    }
}

/* Writes the tools of the configuration and, with `text_tools`, the tools `rethink` and `finish`. */
static void agent_put_tool_list(tn_builder *out, const char *key, tn_value tools, bool text_tools) {
    tn_put_begin(out, key, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++) tn_put(out, NULL, tn.value->at(tools, i));
    if (text_tools && !names_match(tools, "rethink")) tn_put_text(out, NULL, "rethink");
    if (text_tools && !names_match(tools, "finish")) tn_put_text(out, NULL, "finish");
    tn.value->end(out);
}

static void agent_put_tools(tn_builder *out, tn_value config, bool text_tools) {
    static const char *const passed[] = {"search", "names", "max_found", "max_loaded", NULL};
    tn_value tools = tn_get(config, "tools");
    if (tn.value->kind(tools) != TN_OBJECT) {
        agent_put_tool_list(out, "tools", tools, text_tools);
        return;
    }
    tn_put_begin(out, "tools", TN_OBJECT);
    agent_put_members(out, tools, passed);
    agent_put_tool_list(out, "always", tn_get(tools, "always"), text_tools);
    tn.value->end(out);
}

static void agent_put_llm(tn_builder *out, tn_value config, bool text_tools) {
    static const char *const passed[] = {"model",    "options", "output_schema", "text_tools", "api_key",
                                         "base_url", "headers", "timeout_ms",    NULL};
    tn_put_begin(out, NULL, TN_OBJECT);
    tn_put_text(out, "id", "agent");
    tn_put_text(out, "type", "llm");
    tn_put_begin(out, "config", TN_OBJECT);
    agent_put_members(out, config, passed);
    tn_put_text(out, "system_prompt", "{system_prompt}");
    tn_put_text(out, "messages_key", "messages");
    tn_put_text(out, "output_key", "output");
    tn_put_text(out, "usage_key", "usage");
    tn_put_int(out, "max_turns", tn_get_int(config, "max_turns", AGENT_TURNS));
    agent_put_tools(out, config, text_tools);
    tn.value->end(out);
    if (tn_get(config, "retry") != NULL) tn_put(out, "retry", tn_get(config, "retry"));
    tn.value->end(out);
}

static void agent_put_tools_node(tn_builder *out, tn_value config, bool text_tools) {
    static const char *const passed[] = {"auto_approve", "max_parallel", NULL};
    tn_put_begin(out, NULL, TN_OBJECT);
    tn_put_text(out, "id", "tools");
    tn_put_text(out, "type", "tools");
    tn_put_begin(out, "config", TN_OBJECT);
    tn_put_text(out, "messages_key", "messages");
    agent_put_members(out, config, passed);
    agent_put_tools(out, config, text_tools);
    tn_put_begin(out, "ends", TN_ARRAY);
    tn_put_text(out, NULL, "finish");
    tn.value->end(out);
    tn.value->end(out);
    tn.value->end(out);
}

static void agent_put_edges(tn_builder *out) {
    static const char edges[] =
        "[{\"from\": \"START\", \"to\": \"agent\"},"
        " {\"from\": \"agent\", \"type\": \"conditional\", \"conditions\": ["
        "{\"expression\": \"state.messages.size() > 0"
        " && has(state.messages[state.messages.size() - 1].tool_calls)"
        " && state.messages[state.messages.size() - 1].tool_calls.size() > 0\", \"to\": \"tools\"},"
        " {\"expression\": \"default\", \"to\": \"END\"}]},"
        " {\"from\": \"tools\", \"to\": \"agent\"}]";
    tn_value value = tn_from_json(edges, sizeof(edges) - 1);
    tn_put_take(out, "edges", value);
}

static tn_value agent_build_document(tn_value config) {
    int32_t truth = 0;
    (void)tn.value->as_bool(tn_get(config, "text_tools"), &truth);
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "version", "1.0");
    tn_put_begin(out, "agent", TN_OBJECT);
    tn_put_text(out, "name", "react");
    /* Every turn takes two super-steps, and the last turn has no tools. */
    tn_put_int(out, "recursion_limit", 2 * tn_get_int(config, "max_turns", AGENT_TURNS) + 1);
    tn.value->end(out);
    tn_put_begin(out, "channels", TN_ARRAY);
    agent_put_channel(out, "messages", "reduce", "messages");
    agent_put_channel(out, "system_prompt", "last_value", NULL);
    agent_put_channel(out, "output", "last_value", NULL);
    agent_put_channel(out, "usage", "append", NULL);
    tn.value->end(out);
    tn_put_begin(out, "nodes", TN_ARRAY);
    agent_put_llm(out, config, truth != 0);
    agent_put_tools_node(out, config, truth != 0);
    tn.value->end(out);
    agent_put_edges(out);
    tn.value->end(out);
    return tn_finish(out);
}

/* ---- The node ---- */

static int32_t agent_bind(struct agent *agent, tn_value config, tn_binder *binder) {
    int32_t status = agents_require_graph();
    if (status == TN_OK) status = agents_bind_template(config, "system_prompt", binder, &agent->system);
    if (status == TN_OK) status = agents_bind_template(config, "prompt", binder, &agent->prompt);
    if (status == TN_OK) status = agents_bind_read(config, "input_key", binder, &agent->input);
    if (status == TN_OK) status = agents_bind_read(config, "messages_key", binder, &agent->messages);
    if (status == TN_OK) status = agents_bind_write(config, "messages_key", binder, &agent->history);
    if (status == TN_OK) status = agents_bind_write(config, "output_key", binder, &agent->output);
    if (status == TN_OK) status = agents_bind_write(config, "usage_key", binder, &agent->usage);
    if (status != TN_OK) return status;
    tn_value document = agent_build_document(config);
    status =
        document != NULL ? agents_graph->bind_value(binder, document, "react", TN_Z, &agent->callee) : TN_NO_MEMORY;
    tn_release(document);
    return status;
}

static int32_t agent_create(tn_value config, tn_binder *binder, void **self) {
    struct agent *agent = agents_alloc_zeroed(sizeof(*agent));
    if (agent == NULL) return TN_NO_MEMORY;
    agent->input_name = tn_get_text(config, "input_key", "prompt");
    agent->messages_name = tn_get_text(config, "messages_key", "");
    int32_t status = agent_bind(agent, config, binder);
    if (status == TN_OK)
        *self = agent;
    else
        agents_release(agent);
    return status;
}

static void agent_task_free(struct agent_task *state) {
    tn_release(state->added);
    agents_release(state);
}

/* Returns the text of the last answer. If it is empty and the agent ended with a call of `finish`, returns the reason
 * of that call. A new reference, or NULL. */
static tn_value agent_finish_reason(tn_value messages) {
    int64_t at = conversation_find_last(messages, "ai");
    tn_value message = at >= 0 ? tn.value->at(messages, (uint64_t)at) : NULL, calls = tn_message_calls(message);
    tn_value content = message != NULL ? tn_content_text(tn_get(message, "content")) : NULL;
    uint64_t length = 0;
    (void)tn_chars(content, &length);
    if (length > 0) return content;
    for (uint64_t i = (uint64_t)at + 1, count = tn.value->count(messages); calls != NULL && i < count; i++) {
        tn_value answer = tn.value->at(messages, i);
        if (strcmp(tn_get_text(answer, "name", ""), "finish") != 0) continue;
        tn_release(content);
        return tn_content_text(tn_get(answer, "content"));
    }
    return content;
}

static int32_t agent_write_output(const struct agent_task *state, tn_value result) {
    tn_value output = tn_get(result, "output");
    if (tn.value->kind(output) > TN_NULL) return tn_write(state->task, state->agent->output, output);
    tn_value reason = agent_finish_reason(tn_get(result, "messages"));
    if (reason == NULL) return TN_OK;
    return tn_write_take(state->task, state->agent->output, reason);
}

static int32_t agent_write_all(const struct agent_task *state, tn_value result) {
    const struct agent *agent = state->agent;
    int32_t status = TN_OK;
    if (agent->output != TN_UNBOUND) status = agent_write_output(state, result);
    if (status == TN_OK && agent->history != TN_UNBOUND) {
        tn_value new_messages = conversation_slice(tn_get(result, "messages"), state->input_count);
        status =
            tn_write_take(state->task, agent->history, conversation_join_take(tn_retain(state->added), new_messages));
        tn_release(new_messages);
    }
    if (status == TN_OK && agent->usage != TN_UNBOUND)
        status = tn_write_take(state->task, agent->usage, chat_usage_sum(tn_get(result, "usage")));
    return status;
}

static int32_t agent_on_result(void *user, int32_t status, tn_value result) {
    struct agent_task *state = user;
    tn_task task = state->task;
    if (status == TN_OK) {
        status = agent_write_all(state, result);
        if (status == TN_OK)
            (void)tn_done(task);
        else
            (void)agents_fail(task, "CHANNEL", NULL, "a channel did not accept the agent's result (status %d)",
                              (int)status);
    } else {
        (void)agents_fail_with(task, status, result);
    }
    agent_task_free(state);
    return TN_OK;
}

/* Sets `added`, and returns in *messages the conversation with them. If it does not return TN_OK, the task has failed
 * or must fail with the status. */
static int32_t agent_collect_messages(struct agent_task *state, tn_value *messages) {
    const struct agent *agent = state->agent;
    tn_value node_input = NULL, history = NULL;
    if (agent->prompt != TN_UNBOUND) {
        node_input = tn_render(state->task, agent->prompt, NULL);
        if (node_input == NULL) return TN_FAILED;
    } else if (agent->input != TN_UNBOUND) {
        node_input = tn_read(state->task, agent->input);
    }
    state->added = conversation_normalise(state->task, node_input, agent->input_name);
    tn_release(node_input);
    if (state->added == NULL) return TN_FAILED;
    if (agent->messages != TN_UNBOUND) {
        history = conversation_read(state->task, agent->messages, agent->messages_name);
        if (history == NULL) return TN_FAILED;
    }
    *messages = history != NULL ? conversation_join_take(history, state->added) : tn_retain(state->added);
    if (*messages == NULL) return TN_NO_MEMORY;
    state->input_count = tn.value->count(*messages);
    if (state->input_count > 0) return TN_OK;
    return agents_fail(state->task, "INVALID_INPUT", NULL,
                       "the agent has no input: `%.80s` is empty; write to it before this node, or "
                       "start the run with an input",
                       agent->messages != TN_UNBOUND ? agent->messages_name : agent->input_name);
}

static int32_t agent_start(void *self, tn_task task, tn_value input) {
    const struct agent *agent = self;
    tn_value messages = NULL, system = NULL;
    (void)input;
    struct agent_task *state = agents_alloc_zeroed(sizeof(*state));
    if (state == NULL) return TN_NO_MEMORY;
    state->agent = agent;
    state->task = task;
    int32_t status = agent_collect_messages(state, &messages);
    if (status == TN_OK) {
        system = agent->system != TN_UNBOUND ? tn_render(task, agent->system, NULL) : tn_text("");
        if (system == NULL) status = TN_FAILED;
    }
    if (status == TN_OK) {
        tn_value inner_input = tn_build("{s:v,s:v}", "messages", messages, "system_prompt", system);
        status = inner_input != NULL
                     ? tn.task->call(task, agent->callee, inner_input, NULL, agent_on_result, state, NULL)
                     : TN_NO_MEMORY;
        tn_release(inner_input);
    }
    tn_release(messages);
    tn_release(system);
    if (status != TN_OK) agent_task_free(state);
    return status;
}

TN_COMPONENT(agent, "agent", agent_create, agent_start, NULL, NULL, agents_release)
