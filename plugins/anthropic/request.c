/*
 * request.c - builds the body of a request from the call's options.
 *
 * Options that are not set are not sent, so the service's defaults apply; only max_tokens is required. The library
 * merges `extra` of the options over the result.
 */
#include "anthropic.h"

/* ---- Tools ---- */

/* Writes a schema of arguments. The service requires an object. */
static void anthropic_put_input_schema(tn_builder *builder, tn_value schema) {
    if (tn.value->kind(schema) == TN_OBJECT && tn_get(schema, "type") != NULL) {
        tn_put(builder, "input_schema", schema);
        return;
    }
    tn_put_begin(builder, "input_schema", TN_OBJECT);
    tn_put_text(builder, "type", "object");
    for (uint64_t i = 0, count = tn.value->count(schema); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(schema, i, &key, &value) == TN_OK) tn_put_key(builder, key, value);
    }
    tn.value->end(builder);
}

/* Copies the members of a tool's extra.anthropic: cache_control, strict, defer_loading, input_examples and so on. */
static void anthropic_put_tool_extra(const struct model_call *call, tn_builder *builder, tn_value tool) {
    tn_value extra = model_get_extra(call, tool), key, value;
    for (uint64_t i = 0; tn.value->entry(extra, i, &key, &value) == TN_OK; i++) {
        const char *name = tn_chars(key, NULL);
        if (strcmp(name, "name") != 0 && strcmp(name, "description") != 0 && strcmp(name, "input_schema") != 0)
            tn_put_key(builder, key, value);
    }
}

static bool anthropic_uses_answer_tool(const struct model_call *call) {
    tn_value mode = model_get_config(call, "structured_output");
    return call->schema != NULL && strcmp(mode != NULL ? tn_chars(mode, NULL) : "", "tool") == 0;
}

static bool anthropic_has_tools(const struct model_call *call) {
    return call->tools != NULL || anthropic_uses_answer_tool(call) ||
           tn.value->count(model_get_config(call, "server_tools")) > 0;
}

static void anthropic_put_tools(struct model_call *call, tn_builder *builder) {
    tn_value server_tools = model_get_config(call, "server_tools");
    tn_put_begin(builder, "tools", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(call->tools); i < count; i++) {
        tn_value tool = tn.value->at(call->tools, i);
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "name", model_tool_name_to_service(call, tn_get_text(tool, "name", "")));
        anthropic_put(builder, "description", tn_get(tool, "description"));
        anthropic_put_input_schema(builder, tn_get(tool, "input_schema"));
        anthropic_put_tool_extra(call, builder, tool);
        tn.value->end(builder);
    }
    for (uint64_t i = 0, count = tn.value->count(server_tools); i < count; i++)
        tn_put(builder, NULL, tn.value->at(server_tools, i));
    if (anthropic_uses_answer_tool(call)) {
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "name", ANTHROPIC_ANSWER_TOOL);
        tn_put_text(builder, "description", "Gives the answer. Call it once, with the whole answer as its input.");
        anthropic_put_input_schema(builder, call->schema);
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

static void anthropic_put_tool_choice(struct model_call *call, tn_builder *builder) {
    static const char *const words[][2] = {{"auto", "auto"}, {"none", "none"}, {"required", "any"}};
    tn_value choice = model_get_option(call, "tool_choice"), parallel = model_get_option(call, "parallel_tool_calls");
    const char *tool_name = tn_get_text(choice, "name", NULL), *type = tool_name != NULL ? "tool" : NULL;
    int32_t parallel_allowed = 1;
    (void)tn.value->as_bool(parallel, &parallel_allowed);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tn_chars(choice, NULL) != NULL && strcmp(tn_chars(choice, NULL), words[i][0]) == 0) type = words[i][1];
    if (choice != NULL && type == NULL) {
        model_fail_request(call, "`tool_choice` is %s; expected \"auto\", \"none\", \"required\" or {name: TOOL}",
                           tn.value->kind(choice) == TN_STRING ? tn_chars(choice, NULL) : tn_kind_name(choice));
        return;
    }
    /* The answer is the input of the answer tool, so the model must call a tool. Without other tools, it must call this
     * one. */
    if (anthropic_uses_answer_tool(call) && tool_name == NULL) {
        type = call->tools != NULL && (type == NULL || strcmp(type, "none") != 0) ? "any" : "tool";
        tool_name = ANTHROPIC_ANSWER_TOOL;
    }
    if (type == NULL && parallel_allowed) return;
    if (type == NULL) type = "auto";
    tn_put_begin(builder, "tool_choice", TN_OBJECT);
    tn_put_text(builder, "type", type);
    if (strcmp(type, "tool") == 0)
        tn_put_text(builder, "name",
                    strcmp(tool_name, ANTHROPIC_ANSWER_TOOL) != 0 ? model_tool_name_to_service(call, tool_name)
                                                                  : tool_name);
    if (!parallel_allowed && strcmp(type, "none") != 0) tn_put_bool(builder, "disable_parallel_tool_use", 1);
    tn.value->end(builder);
}

/* ---- Output ---- */

/* Writes {effort?, format?}: the effort and the schema of the answer. */
static void anthropic_put_output(const struct model_call *call, tn_builder *builder) {
    tn_value effort = tn_get(model_get_option(call, "reasoning"), "effort");
    bool has_format =
        call->schema != NULL && !anthropic_uses_answer_tool(call) && tn.value->kind(call->schema) == TN_OBJECT;
    bool has_effort =
        effort != NULL && strcmp(tn_chars(effort, NULL) != NULL ? tn_chars(effort, NULL) : "", "none") != 0;
    if (!has_format && !has_effort) return;
    tn_put_begin(builder, "output_config", TN_OBJECT);
    if (has_effort) tn_put(builder, "effort", effort);
    if (has_format) {
        tn_put_begin(builder, "format", TN_OBJECT);
        tn_put_text(builder, "type", "json_schema");
        tn_put_take(builder, "schema", anthropic_convert_schema(call->schema));
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

static void anthropic_put_thinking(const struct model_call *call, tn_builder *builder) {
    tn_value reasoning = model_get_option(call, "reasoning");
    const char *effort = tn_get_text(reasoning, "effort", NULL);
    int64_t budget = tn_get_int(reasoning, "max_tokens", 0);
    if (effort == NULL && budget <= 0) return;
    bool none = effort != NULL && strcmp(effort, "none") == 0;
    tn_put_begin(builder, "thinking", TN_OBJECT);
    tn_put_text(builder, "type", none ? "disabled" : budget > 0 ? "enabled" : "adaptive");
    if (!none && budget > 0) tn_put_int(builder, "budget_tokens", budget);
    tn.value->end(builder);
}

/* max_tokens includes thinking, so a thinking budget is added to the default. */
static int64_t anthropic_max_tokens(const struct model_call *call) {
    tn_value reasoning = model_get_option(call, "reasoning");
    int64_t budget = tn_get_int(reasoning, "max_tokens", 0), given;
    if (tn.value->as_int(model_get_option(call, "max_tokens"), &given) == TN_OK) return given;
    return ANTHROPIC_MAX_TOKENS + (budget > 0 && budget < INT32_MAX ? budget : 0);
}

static void anthropic_put_stop(const struct model_call *call, tn_builder *builder) {
    tn_value stop = model_get_option(call, "stop");
    if (stop == NULL) return;
    tn_put_begin(builder, "stop_sequences", TN_ARRAY);
    if (tn.value->kind(stop) == TN_STRING) tn_put(builder, NULL, stop);
    for (uint64_t i = 0, count = tn.value->count(stop); i < count; i++) tn_put(builder, NULL, tn.value->at(stop, i));
    tn.value->end(builder);
}

/* `cache` is a boolean, or a duration: "5m", "1h". */
static void anthropic_put_cache(const struct model_call *call, tn_builder *builder) {
    tn_value cache = model_get_config(call, "cache");
    const char *ttl = tn_chars(cache, NULL);
    int32_t enabled = ttl != NULL;
    (void)tn.value->as_bool(cache, &enabled);
    if (!enabled) return;
    tn_put_begin(builder, "cache_control", TN_OBJECT);
    tn_put_text(builder, "type", "ephemeral");
    if (ttl != NULL) tn_put_text(builder, "ttl", ttl);
    tn.value->end(builder);
}

/*
 * The service's code runs in a container that belongs to a turn: a request with the results of tools must name it
 * again. After the turn the service may delete it, so it is not sent with a user's message. A document that needs it
 * sets it in `extra`.
 */
static void anthropic_put_container(const struct model_call *call, tn_builder *builder) {
    uint64_t count = tn.value->count(call->messages);
    if (count == 0 || tn_message_is(tn.value->at(call->messages, count - 1), "user")) return;
    while (count > 0 && !tn_message_is(tn.value->at(call->messages, count - 1), "ai")) count--;
    if (count == 0) return;
    tn_value container = tn_get(model_get_extra(call, tn.value->at(call->messages, count - 1)), "container");
    anthropic_put(builder, "container", tn_get(container, "id"));
}

static void anthropic_refuse_unsupported(struct model_call *call) {
    model_refuse_modalities(call, false, "text");
    if (anthropic_uses_answer_tool(call) && !anthropic_has_type(call->schema, "object"))
        model_fail(
            call, "UNSUPPORTED",
            "`structured_output: tool` needs a response_schema of type \"object\"; wrap the schema in an object, "
            "or remove the option");
    if (call->model->name[0] == '\0')
        model_fail_request(call, "`model` is not set; set it to a model, such as anthropic:claude-opus-5");
}

tn_value anthropic_request(struct model_call *call) {
    anthropic_refuse_unsupported(call);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    if (anthropic_is_on_vertex(call))
        tn_put_text(builder, "anthropic_version", ANTHROPIC_VERTEX_VERSION);
    else
        tn_put_text(builder, "model", call->model->name);
    tn_put_int(builder, "max_tokens", anthropic_max_tokens(call));
    if (model_is_streaming(call)) tn_put_bool(builder, "stream", 1);
    anthropic_put_messages(call, builder);
    model_put_option(call, builder, "temperature", "temperature");
    model_put_option(call, builder, "top_p", "top_p");
    anthropic_put_stop(call, builder);
    anthropic_put_thinking(call, builder);
    anthropic_put_output(call, builder);
    if (anthropic_has_tools(call)) {
        anthropic_put_tools(call, builder);
        anthropic_put_tool_choice(call, builder);
    }
    anthropic_put_cache(call, builder);
    anthropic_put_container(call, builder);
    anthropic_put(builder, "metadata", model_get_config(call, "metadata"));
    tn.value->end(builder);
    return tn_finish(builder);
}
