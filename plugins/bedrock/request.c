/*
 * request.c - builds the body of a request from the call's options.
 *
 * What Converse has a member for is sent there. What only some models have (thinking) is sent in
 * additionalModelRequestFields, in the form of the model's family. `extra` is merged over the result, and its
 * additionalModelRequestFields member by member.
 */
#include "bedrock.h"

#define REQUEST_FIELDS "additionalModelRequestFields"

/* ---- Tools ---- */

bool bedrock_uses_answer_tool(const struct model_call *call) {
    tn_value mode = model_get_config(call, "structured_output");
    return call->schema != NULL && (mode == NULL || strcmp(tn_chars(mode, NULL), "tool") == 0);
}

/* Writes a schema of arguments. The service requires an object. */
static void request_put_schema(tn_builder *builder, tn_value schema) {
    tn_put_begin(builder, "inputSchema", TN_OBJECT);
    tn_put_begin(builder, "json", TN_OBJECT);
    if (tn_get(schema, "type") == NULL) tn_put_text(builder, "type", "object");
    for (uint64_t i = 0, count = tn.value->kind(schema) == TN_OBJECT ? tn.value->count(schema) : 0; i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(schema, i, &key, &value) == TN_OK) tn_put_key(builder, key, value);
    }
    tn.value->end(builder);
    tn.value->end(builder);
}

static void request_put_tool(struct model_call *call, tn_builder *builder, const char *name, tn_value tool,
                             tn_value schema) {
    uint64_t length = 0;
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "toolSpec", TN_OBJECT);
    tn_put_text(builder, "name", name);
    if (tn_chars(tn_get(tool, "description"), &length) != NULL && length > 0)
        tn_put(builder, "description", tn_get(tool, "description"));
    request_put_schema(builder, schema);
    bedrock_put(builder, "strict", tn_get(model_get_extra(call, tool), "strict"));
    tn.value->end(builder);
    tn.value->end(builder);
    if (tn.value->kind(tn_get(model_get_extra(call, tool), "cachePoint")) == TN_OBJECT) {
        tn.value->begin(builder, TN_OBJECT);
        tn_put(builder, "cachePoint", tn_get(model_get_extra(call, tool), "cachePoint"));
        tn.value->end(builder);
    }
}

static bool request_offers(const struct model_call *call, const char *name) {
    for (uint64_t i = 0, count = tn.value->count(call->tools); i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(call->tools, i), "name", ""), name) == 0) return true;
    return false;
}

/* True if a message before number `most` calls the tool. */
static bool request_has_called(const struct model_call *call, const char *name, uint64_t most, uint64_t most_call) {
    for (uint64_t i = 0; i <= most; i++) {
        tn_value calls = tn_message_calls(tn.value->at(call->messages, i));
        uint64_t count = i < most ? tn.value->count(calls) : most_call;
        for (uint64_t k = 0; k < count; k++)
            if (strcmp(tn_get_text(tn.value->at(calls, k), "name", ""), name) == 0) return true;
    }
    return false;
}

/*
 * The service refuses calls in the history without a list of tools. Writes the tools of the history that are not
 * offered, without their schemas, which are not known. Returns their number; `builder` may be NULL, to count.
 */
static uint64_t request_put_past_tools(struct model_call *call, tn_builder *builder) {
    uint64_t written = 0;
    for (uint64_t i = 0, count = tn.value->count(call->messages); i < count; i++) {
        tn_value calls = tn_message_calls(tn.value->at(call->messages, i));
        for (uint64_t k = 0, total = tn.value->count(calls); k < total; k++) {
            const char *name = tn_get_text(tn.value->at(calls, k), "name", "");
            if (request_offers(call, name) || request_has_called(call, name, i, k)) continue;
            written++;
            if (builder != NULL) request_put_tool(call, builder, model_tool_name_to_service(call, name), NULL, NULL);
        }
    }
    return written;
}

static bool request_choice_is(tn_value choice, const char *word) {
    const char *text = tn_chars(choice, NULL);
    return text != NULL && strcmp(text, word) == 0;
}

static void request_put_choice(struct model_call *call, tn_builder *builder) {
    tn_value choice = model_get_option(call, "tool_choice");
    const char *name = tn_get_text(choice, "name", NULL);
    bool answers = bedrock_uses_answer_tool(call) && name == NULL;
    bool any =
        request_choice_is(choice, "required") || (answers && call->tools != NULL && !request_choice_is(choice, "none"));
    if (choice != NULL && name == NULL && !request_choice_is(choice, "auto") && !request_choice_is(choice, "none") &&
        !any) {
        model_fail_request(call, "`tool_choice` is %s; expected \"auto\", \"none\", \"required\" or {name: TOOL}",
                           tn.value->kind(choice) == TN_STRING ? tn_chars(choice, NULL) : tn_kind_name(choice));
        return;
    }
    if (!any && !answers && name == NULL && !request_choice_is(choice, "auto")) return;
    tn_put_begin(builder, "toolChoice", TN_OBJECT);
    if (name != NULL || (answers && !any)) {
        tn_put_begin(builder, "tool", TN_OBJECT);
        tn_put_text(builder, "name", name != NULL ? model_tool_name_to_service(call, name) : BEDROCK_ANSWER_TOOL);
    } else
        tn_put_begin(builder, any ? "any" : "auto", TN_OBJECT);
    tn.value->end(builder);
    tn.value->end(builder);
}

/* With tool_choice "none", which the service does not have, no tools are offered unless the history needs them. */
static void request_put_tools(struct model_call *call, tn_builder *builder) {
    const struct bedrock *bedrock = call->model->provider_data;
    tn_value choice = model_get_option(call, "tool_choice");
    bool answers = bedrock_uses_answer_tool(call), offers = call->tools != NULL;
    uint64_t past = request_put_past_tools(call, NULL);
    if (request_choice_is(choice, "none") && past == 0 && offers) {
        offers = false;
        for (uint64_t i = 0, count = tn.value->count(call->messages); i < count && !offers; i++)
            offers = tn_message_calls(tn.value->at(call->messages, i)) != NULL;
    }
    if (!offers && !answers && past == 0) return;
    tn_put_begin(builder, "toolConfig", TN_OBJECT);
    tn_put_begin(builder, "tools", TN_ARRAY);
    for (uint64_t i = 0, count = offers ? tn.value->count(call->tools) : 0; i < count; i++) {
        tn_value tool = tn.value->at(call->tools, i);
        request_put_tool(call, builder, model_tool_name_to_service(call, tn_get_text(tool, "name", "")), tool,
                         tn_get(tool, "input_schema"));
    }
    (void)request_put_past_tools(call, builder);
    if (answers) {
        tn_value tool =
            tn_build("{s:s}", "description", "Gives the answer. Call it once, with the whole answer as its input.");
        request_put_tool(call, builder, BEDROCK_ANSWER_TOOL, tool, call->schema);
        tn_release(tool);
    }
    if (bedrock_cache(call) != NULL && bedrock->family == FAMILY_ANTHROPIC) /* other models refuse it here */
        bedrock_put_cache_point(builder, bedrock_cache(call));
    tn.value->end(builder);
    request_put_choice(call, builder);
    tn.value->end(builder);
}

/* ---- Options ---- */

static int64_t request_budget(const struct model_call *call) {
    int64_t budget = tn_get_int(model_get_option(call, "reasoning"), "max_tokens", 0);
    return budget > 0 && budget < INT32_MAX ? budget : 0;
}

static const char *request_effort(const struct model_call *call) {
    const char *effort = tn_get_text(model_get_option(call, "reasoning"), "effort", NULL);
    return effort != NULL && strcmp(effort, "none") != 0 ? effort : NULL;
}

static void request_put_inference(const struct model_call *call, tn_builder *builder) {
    static const char *const names[] = {"max_tokens", "temperature", "top_p", "stop"};
    tn_value stop = model_get_option(call, "stop");
    bool any = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) any = any || model_get_option(call, names[i]) != NULL;
    if (!any) return;
    tn_put_begin(builder, "inferenceConfig", TN_OBJECT);
    model_put_option(call, builder, "max_tokens", "maxTokens");
    model_put_option(call, builder, "temperature", "temperature");
    model_put_option(call, builder, "top_p", "topP");
    if (stop != NULL) {
        tn_put_begin(builder, "stopSequences", TN_ARRAY);
        if (tn.value->kind(stop) == TN_STRING) tn_put(builder, NULL, stop);
        for (uint64_t i = 0, count = tn.value->count(stop); i < count; i++)
            tn_put(builder, NULL, tn.value->at(stop, i));
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

static void request_put_anthropic(tn_builder *builder, const char *effort, int64_t budget) {
    tn_put_begin(builder, "thinking", TN_OBJECT);
    tn_put_text(builder, "type", budget > 0 ? "enabled" : "adaptive");
    if (budget > 0) tn_put_int(builder, "budget_tokens", budget);
    tn.value->end(builder);
    if (effort == NULL) return;
    tn_put_begin(builder, "output_config", TN_OBJECT);
    tn_put_text(builder, "effort", effort);
    tn.value->end(builder);
}

static void request_put_reasoning(const struct model_call *call, tn_builder *builder) {
    const struct bedrock *bedrock = call->model->provider_data;
    const char *effort = request_effort(call);
    int64_t budget = request_budget(call);
    if (effort == NULL && budget == 0) return;
    if (bedrock->family == FAMILY_ANTHROPIC) {
        request_put_anthropic(builder, effort, budget);
    } else if (bedrock->family == FAMILY_OPENAI) {
        if (effort != NULL) tn_put_text(builder, "reasoning_effort", effort);
    } else if (bedrock->family == FAMILY_NOVA) {
        tn_put_begin(builder, "reasoningConfig", TN_OBJECT);
        tn_put_text(builder, "type", "enabled");
        if (effort != NULL) tn_put_text(builder, "maxReasoningEffort", effort);
        tn.value->end(builder);
    }
}

/* Writes the fields that only some models have, and those of `extra`. */
static void request_put_fields(const struct model_call *call, tn_builder *builder) {
    tn_value given = tn_get(model_get_option(call, "extra"), REQUEST_FIELDS), key, value;
    tn_builder *fields = tn_builder_new();
    tn.value->begin(fields, TN_OBJECT);
    request_put_reasoning(call, fields);
    tn.value->end(fields);
    tn_value made = tn_finish(fields);
    for (uint64_t i = 0; tn.value->kind(given) == TN_OBJECT && tn.value->entry(given, i, &key, &value) == TN_OK; i++) {
        uint64_t length;
        const char *name = tn_chars(key, &length);
        (void)tn.value->set(&made, name, length, value);
    }
    if (tn.value->count(made) > 0) tn_put(builder, REQUEST_FIELDS, made);
    tn_release(made);
}

static void request_put_format(const struct model_call *call, tn_builder *builder) {
    if (call->schema == NULL || bedrock_uses_answer_tool(call)) return;
    tn_value text = tn_to_json(call->schema);
    tn_put_begin(builder, "outputConfig", TN_OBJECT);
    tn_put_begin(builder, "textFormat", TN_OBJECT);
    tn_put_text(builder, "type", "json_schema");
    tn_put_begin(builder, "structure", TN_OBJECT);
    tn_put_begin(builder, "jsonSchema", TN_OBJECT);
    tn_put_take(builder, "schema", text);
    tn_put_text(builder, "name", "answer");
    tn.value->end(builder);
    tn.value->end(builder);
    tn.value->end(builder);
    tn.value->end(builder);
}

static void request_put_guardrail(const struct model_call *call, tn_builder *builder) {
    tn_value guardrail = model_get_config(call, "guardrail");
    if (guardrail == NULL) return;
    tn_put_begin(builder, "guardrailConfig", TN_OBJECT);
    bedrock_put(builder, "guardrailIdentifier", tn_get(guardrail, "id"));
    bedrock_put(builder, "guardrailVersion", tn_get(guardrail, "version"));
    bedrock_put(builder, "trace", tn_get(guardrail, "trace"));
    if (model_is_streaming(call)) bedrock_put(builder, "streamProcessingMode", tn_get(guardrail, "stream_mode"));
    tn.value->end(builder);
}

/* ---- The request ---- */

static void request_refuse_unsupported(struct model_call *call) {
    model_refuse_modalities(call, true, "text and images");
    if (bedrock_uses_answer_tool(call) && !bedrock_has_type(call->schema, "object"))
        model_fail(
            call, "UNSUPPORTED",
            "a response_schema that is not of type \"object\" cannot be the arguments of a tool; wrap the schema in "
            "an object, or set `structured_output: format` if the model supports it");
}

/* Merges `extra`, except the fields that request_put_fields has merged. Takes `body`. */
static tn_value request_merge_extra_take(const struct model_call *call, tn_value body) {
    tn_value extra = model_get_option(call, "extra"), key, value;
    for (uint64_t i = 0; body != NULL && tn.value->entry(extra, i, &key, &value) == TN_OK; i++) {
        uint64_t length;
        const char *name = tn_chars(key, &length);
        if (strcmp(name, REQUEST_FIELDS) == 0 || tn.value->set(&body, name, length, value) == TN_OK) continue;
        tn_release(body);
        return NULL;
    }
    return body;
}

tn_value bedrock_request(struct model_call *call) {
    request_refuse_unsupported(call);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    bedrock_put_messages(call, builder);
    request_put_inference(call, builder);
    request_put_tools(call, builder);
    request_put_guardrail(call, builder);
    request_put_fields(call, builder);
    request_put_format(call, builder);
    bedrock_put(builder, "requestMetadata", model_get_config(call, "metadata"));
    tn.value->end(builder);
    return request_merge_extra_take(call, tn_finish(builder));
}
