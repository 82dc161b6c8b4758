/*
 * agent.c - `agent`: the first seed's ReAct graph as one node.
 *
 * It makes a document of the nodes `llm` and `tools` and runs it inside: START → agent; agent → tools where the last
 * message calls tools, else END; tools → agent. What the configuration says of the model and of the tools goes into the
 * two nodes as it stands. Templates are filled in out here, where their channels are, and go in as channels.
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
    tn_value added; /* what this node says */
    uint64_t given; /* messages that went in */
};

/* ---- The document ---- */

static void put_channel(tn_builder *out, const char *name, const char *type, const char *reducer) {
    tn_put_begin(out, NULL, TN_OBJECT);
    tn_put_text(out, "name", name);
    tn_put_text(out, "type", type);
    if (reducer != NULL) tn_put_text(out, "reducer", reducer);
    tn.value->end(out);
}

static void put_members(tn_builder *out, tn_value config, const char *const *names) {
    for (; *names != NULL; names++) {
        tn_value value = tn.value->get(config, *names);
        if (value != NULL) tn_put(out, *names, value);
    }
}

/* The tools of the configuration; those of the session as well where they are written into texts. */
static void put_tools(tn_builder *out, tn_value config, bool text_tools) {
    tn_value tools = tn.value->get(config, "tools");
    tn_put_begin(out, "tools", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++) tn_put(out, NULL, tn.value->at(tools, i));
    if (text_tools && !names_have(tools, "rethink")) tn_put_text(out, NULL, "rethink");
    if (text_tools && !names_have(tools, "finish")) tn_put_text(out, NULL, "finish");
    tn.value->end(out);
}

static void put_llm(tn_builder *out, tn_value config, bool text_tools) {
    static const char *const passed[] = {"model",    "options", "output_schema", "text_tools", "api_key",
                                         "base_url", "headers", "timeout_ms",    NULL};
    tn_put_begin(out, NULL, TN_OBJECT);
    tn_put_text(out, "id", "agent");
    tn_put_text(out, "type", "llm");
    tn_put_begin(out, "config", TN_OBJECT);
    put_members(out, config, passed);
    tn_put_text(out, "system_prompt", "{system_prompt}");
    tn_put_text(out, "messages_key", "messages");
    tn_put_text(out, "output_key", "output");
    tn_put_text(out, "usage_key", "usage");
    tn_put_int(out, "max_turns", tn_get_int(config, "max_turns", AGENT_TURNS));
    put_tools(out, config, text_tools);
    tn.value->end(out);
    if (tn.value->get(config, "retry") != NULL) tn_put(out, "retry", tn.value->get(config, "retry"));
    tn.value->end(out);
}

static void put_tools_node(tn_builder *out, tn_value config, bool text_tools) {
    static const char *const passed[] = {"auto_approve", "max_parallel", NULL};
    tn_put_begin(out, NULL, TN_OBJECT);
    tn_put_text(out, "id", "tools");
    tn_put_text(out, "type", "tools");
    tn_put_begin(out, "config", TN_OBJECT);
    tn_put_text(out, "messages_key", "messages");
    put_members(out, config, passed);
    put_tools(out, config, text_tools);
    tn_put_begin(out, "ends", TN_ARRAY);
    tn_put_text(out, NULL, "finish");
    tn.value->end(out);
    tn.value->end(out);
    tn.value->end(out);
}

static void put_edges(tn_builder *out) {
    static const char edges[] =
        "[{\"from\": \"START\", \"to\": \"agent\"},"
        " {\"from\": \"agent\", \"type\": \"conditional\", \"conditions\": ["
        "{\"expression\": \"state.messages.size() > 0"
        " && has(state.messages[state.messages.size() - 1].tool_calls)"
        " && state.messages[state.messages.size() - 1].tool_calls.size() > 0\", \"to\": \"tools\"},"
        " {\"expression\": \"default\", \"to\": \"END\"}]},"
        " {\"from\": \"tools\", \"to\": \"agent\"}]";
    tn_value value = NULL;
    (void)tn.value->from_json(edges, sizeof(edges) - 1, &value);
    tn_put_take(out, "edges", value);
}

static tn_value document_of(tn_value config) {
    int32_t truth = 0;
    (void)tn.value->as_bool(tn.value->get(config, "text_tools"), &truth);
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "version", "1.0");
    tn_put_begin(out, "agent", TN_OBJECT);
    tn_put_text(out, "name", "react");
    /* Every turn is two steps, and the last has no tools. */
    tn_put_int(out, "recursion_limit", 2 * tn_get_int(config, "max_turns", AGENT_TURNS) + 1);
    tn.value->end(out);
    tn_put_begin(out, "channels", TN_ARRAY);
    put_channel(out, "messages", "reduce", "messages");
    put_channel(out, "system_prompt", "last_value", NULL);
    put_channel(out, "output", "last_value", NULL);
    put_channel(out, "usage", "append", NULL);
    tn.value->end(out);
    tn_put_begin(out, "nodes", TN_ARRAY);
    put_llm(out, config, truth != 0);
    put_tools_node(out, config, truth != 0);
    tn.value->end(out);
    put_edges(out);
    tn.value->end(out);
    return tn.value->finish(out);
}

/* ---- The node ---- */

static int32_t bind_all(struct agent *agent, tn_value config, tn_binder *binder) {
    int32_t status = agents_needs(tn.eval, binder, TN_EVAL_DRAFT);
    if (status == TN_OK) status = agents_needs(agents_graph, binder, TN_GRAPH_DRAFT_2);
    if (status == TN_OK) status = agents_template(config, "system_prompt", binder, &agent->system);
    if (status == TN_OK) status = agents_template(config, "prompt", binder, &agent->prompt);
    if (status == TN_OK) status = agents_read(config, "input_key", binder, &agent->input);
    if (status == TN_OK) status = agents_read(config, "messages_key", binder, &agent->messages);
    if (status == TN_OK) status = agents_write(config, "messages_key", binder, &agent->history);
    if (status == TN_OK) status = agents_write(config, "output_key", binder, &agent->output);
    if (status == TN_OK) status = agents_write(config, "usage_key", binder, &agent->usage);
    if (status != TN_OK) return status;
    tn_value document = document_of(config);
    status = document != NULL ? agents_graph->bind_value(binder, document, "react", &agent->callee) : TN_NO_MEMORY;
    tn_release(document);
    return status;
}

static int32_t agent_create(tn_value config, tn_binder *binder, void **self) {
    struct agent *agent = agents_alloc(sizeof(*agent));
    if (agent == NULL) return TN_NO_MEMORY;
    agent->input_name = tn_get_text(config, "input_key", "prompt");
    agent->messages_name = tn_get_text(config, "messages_key", "");
    int32_t status = bind_all(agent, config, binder);
    if (status == TN_OK)
        *self = agent;
    else
        agents_free(agent);
    return status;
}

static void agent_free(struct agent_task *it) {
    tn_release(it->added);
    agents_free(it);
}

/* The reason of a call of `finish`, where the agent ended with one: what it has to say. A new reference. */
static tn_value finished_with(tn_value messages) {
    int64_t at = conversation_last(messages, "ai");
    tn_value message = at >= 0 ? tn.value->at(messages, (uint64_t)at) : NULL, calls = tn_message_calls(message);
    tn_value content = message != NULL ? tn_content_text(tn.value->get(message, "content")) : NULL;
    uint64_t length = 0;
    (void)tn_chars(content, &length);
    if (length > 0) return content;
    for (uint64_t i = (uint64_t)at + 1, count = tn.value->count(messages); calls != NULL && i < count; i++) {
        tn_value answer = tn.value->at(messages, i);
        if (strcmp(tn_get_text(answer, "name", ""), "finish") != 0) continue;
        tn_release(content);
        return tn_content_text(tn.value->get(answer, "content"));
    }
    return content;
}

static int32_t write_output(const struct agent_task *it, tn_value result) {
    tn_value output = tn.value->get(result, "output");
    if (tn.value->kind(output) > TN_NULL) return tn_write(it->task, it->agent->output, output);
    tn_value said = finished_with(tn.value->get(result, "messages"));
    if (said == NULL) return TN_OK;
    return tn_write_take(it->task, it->agent->output, said);
}

static int32_t write_all(const struct agent_task *it, tn_value result) {
    const struct agent *agent = it->agent;
    int32_t status = TN_OK;
    if (agent->output != TN_UNBOUND) status = write_output(it, result);
    if (status == TN_OK && agent->history != TN_UNBOUND) {
        tn_value fresh = conversation_from(tn.value->get(result, "messages"), it->given);
        status = tn_write_take(it->task, agent->history, conversation_join_take(tn_retain(it->added), fresh));
        tn_release(fresh);
    }
    if (status == TN_OK && agent->usage != TN_UNBOUND)
        status = tn_write_take(it->task, agent->usage, usage_sum(tn.value->get(result, "usage")));
    return status;
}

static void agent_done(void *user, int32_t status, tn_value result) {
    struct agent_task *it = user;
    tn_task task = it->task;
    if (status == TN_OK) {
        status = write_all(it, result);
        if (status == TN_OK)
            (void)tn_done(task);
        else
            (void)agents_fail(task, "CHANNEL", NULL, "a channel did not take what the agent gave (status %d)",
                              (int)status);
    } else {
        (void)agents_fail_with(task, status, result);
    }
    agent_free(it);
}

/* What this node says itself, and the conversation with it. TN_OK, or the task has been failed. */
static int32_t gather(struct agent_task *it, tn_value *messages) {
    const struct agent *agent = it->agent;
    tn_value said = NULL, history = NULL;
    if (agent->prompt != TN_UNBOUND) {
        said = tn_render(it->task, agent->prompt, NULL);
        if (said == NULL) return TN_FAILED;
    } else if (agent->input != TN_UNBOUND) {
        said = tn_read(it->task, agent->input);
    }
    it->added = conversation_of(it->task, said, agent->input_name);
    tn_release(said);
    if (it->added == NULL) return TN_FAILED;
    if (agent->messages != TN_UNBOUND) {
        history = conversation_read(it->task, agent->messages, agent->messages_name);
        if (history == NULL) return TN_FAILED;
    }
    *messages = history != NULL ? conversation_join_take(history, it->added) : tn_retain(it->added);
    if (*messages == NULL) return TN_NO_MEMORY;
    it->given = tn.value->count(*messages);
    if (it->given > 0) return TN_OK;
    return agents_fail(it->task, "INVALID_INPUT", NULL,
                       "there is nothing to say to the agent: `%.80s` is empty; write it before this node, or give the "
                       "run an input",
                       agent->messages != TN_UNBOUND ? agent->messages_name : agent->input_name);
}

static int32_t agent_start(void *self, tn_task task, tn_value input) {
    const struct agent *agent = self;
    tn_value messages = NULL, system = NULL;
    (void)input;
    struct agent_task *it = agents_alloc(sizeof(*it));
    if (it == NULL) return TN_NO_MEMORY;
    it->agent = agent;
    it->task = task;
    int32_t status = gather(it, &messages);
    if (status == TN_OK) {
        system = agent->system != TN_UNBOUND ? tn_render(task, agent->system, NULL) : tn_text("");
        if (system == NULL) status = TN_FAILED;
    }
    if (status == TN_OK) {
        tn_builder *inner = tn.value->builder();
        tn.value->begin(inner, TN_OBJECT);
        tn_put(inner, "messages", messages);
        tn_put(inner, "system_prompt", system);
        tn.value->end(inner);
        tn_value given = tn.value->finish(inner);
        status = given != NULL ? tn.task->call(task, agent->callee, given, agent_done, it) : TN_NO_MEMORY;
        tn_release(given);
    }
    tn_release(messages);
    tn_release(system);
    if (status != TN_OK) agent_free(it);
    return status;
}

TN_COMPONENT(agent, "agent", agent_create, agent_start, NULL, NULL, agents_free)
