/*
 * request.c - builds the body of a request from the call's options.
 *
 * The service has no format for an answer together with tools or documents. Then, and for a schema that is not of an
 * object, the schema is sent as an instruction.
 */
#include "cohere.h"

#define THINKING_LOW    1024 /* tokens of the levels: the service has only budgets */
#define THINKING_MEDIUM 8192

/* ---- Tools ---- */

/* Returns the name of the only tool that may be called, or NULL. */
static const char *request_only_tool(const struct model_call *call) {
    return tn_get_text(model_get_option(call, "tool_choice"), "name", NULL);
}

static void request_put_tool(struct model_call *call, tn_builder *builder, tn_value tool) {
    tn_value description = tn_get(tool, "description"), schema = tn_get(tool, "input_schema");
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "function");
    tn_put_begin(builder, "function", TN_OBJECT);
    tn_put_text(builder, "name", model_tool_name_to_service(call, tn_get_text(tool, "name", "")));
    if (cohere_is_text(description)) tn_put(builder, "description", description);
    if (tn.value->kind(schema) != TN_OBJECT)
        tn_put_take(builder, "parameters", tn_build("{s:s, s:{}}", "type", "object", "properties"));
    else if (tn_get(schema, "type") != NULL)
        tn_put(builder, "parameters", schema);
    else
        tn_put_take(builder, "parameters", tn_set_take(tn_retain(schema), "type", tn_text("object")));
    tn.value->end(builder);
    tn.value->end(builder);
}

static void request_put_choice(struct model_call *call, tn_builder *builder, const char *only) {
    tn_value choice = model_get_option(call, "tool_choice");
    const char *word = tn_chars(choice, NULL);
    if (only != NULL || (word != NULL && strcmp(word, "required") == 0))
        tn_put_text(builder, "tool_choice", "REQUIRED");
    else if (word != NULL && strcmp(word, "none") == 0)
        tn_put_text(builder, "tool_choice", "NONE");
    else if (choice != NULL && (word == NULL || strcmp(word, "auto") != 0))
        model_fail_request(call, "`tool_choice` is %.100s; expected \"auto\", \"none\", \"required\" or {name: TOOL}",
                           word != NULL ? word : tn_kind_name(choice));
}

/* The service cannot be asked for one tool: only that one is offered, and a call is required. */
static void request_put_tools(struct model_call *call, tn_builder *builder) {
    const char *only = request_only_tool(call);
    uint64_t written = 0;
    if (call->tools == NULL) return;
    tn_put_begin(builder, "tools", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(call->tools); i < count; i++) {
        tn_value tool = tn.value->at(call->tools, i);
        if (only != NULL && strcmp(tn_get_text(tool, "name", ""), only) != 0) continue;
        request_put_tool(call, builder, tool);
        written++;
    }
    tn.value->end(builder);
    if (written == 0)
        model_fail_request(call, "`tool_choice` names the tool `%.100s`, which is not offered; expected one of `tools`",
                           only);
    request_put_choice(call, builder, only);
    if (model_get_config(call, "strict_tools") != NULL)
        tn_put(builder, "strict_tools", model_get_config(call, "strict_tools"));
}

/* ---- Structured output ---- */

static bool request_has_format(const struct model_call *call) {
    const char *mode = tn_chars(model_get_config(call, "structured_output"), NULL);
    bool object = tn.value->kind(call->schema) == TN_BOOL || cohere_has_type(call->schema, "object");
    return call->schema != NULL && object && call->tools == NULL && (mode == NULL || strcmp(mode, "format") == 0);
}

static bool request_has_files(const struct model_call *call) {
    for (uint64_t i = 0, count = tn.value->count(call->messages); i < count; i++) {
        tn_value content = tn_get(tn.value->at(call->messages, i), "content");
        for (uint64_t k = 0, parts = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; k < parts; k++)
            if (cohere_has_type(tn.value->at(content, k), "file")) return true;
    }
    return tn.value->count(tn_get(model_get_option(call, "extra"), "documents")) > 0;
}

/* The service asks for an instruction also if it has the format: without one a model may never end. */
static void request_put_instruction(const struct model_call *call, tn_builder *builder, bool format) {
    if (call->schema == NULL) return;
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "role", "system");
    tn_put_take(builder, "content",
                format ? tn_text("Answer only with a JSON object.") : model_schema_instruction(call));
    tn.value->end(builder);
}

static void request_put_format(const struct model_call *call, tn_builder *builder) {
    tn_put_begin(builder, "response_format", TN_OBJECT);
    tn_put_text(builder, "type", "json_object");
    if (tn.value->kind(call->schema) == TN_OBJECT) tn_put(builder, "json_schema", call->schema);
    tn.value->end(builder);
}

/* ---- Options ---- */

static void request_put_thinking(const struct model_call *call, tn_builder *builder) {
    tn_value reasoning = model_get_option(call, "reasoning");
    const char *effort = tn_get_text(reasoning, "effort", NULL);
    int64_t budget = tn_get_int(reasoning, "max_tokens", -1);
    if (effort == NULL && budget < 0) return;
    bool off = budget == 0 || (effort != NULL && strcmp(effort, "none") == 0);
    if (budget < 0 && strcmp(effort, "low") == 0) budget = THINKING_LOW;
    if (budget < 0 && strcmp(effort, "medium") == 0) budget = THINKING_MEDIUM;
    tn_put_begin(builder, "thinking", TN_OBJECT);
    tn_put_text(builder, "type", off ? "disabled" : "enabled");
    if (!off && budget > 0) tn_put_int(builder, "token_budget", budget);
    tn.value->end(builder);
}

/* The service refuses 0 and 1. */
static void request_put_top_p(const struct model_call *call, tn_builder *builder) {
    tn_value top_p = model_get_option(call, "top_p");
    double number = tn_get_num(call->options, "top_p", 0);
    if (top_p != NULL) tn_put_num(builder, "p", number < 0.01 ? 0.01 : number > 0.99 ? 0.99 : number);
}

static void request_put_stop(const struct model_call *call, tn_builder *builder) {
    tn_value stop = model_get_option(call, "stop");
    if (tn.value->kind(stop) == TN_STRING)
        tn_put_take(builder, "stop_sequences", tn_build("[v]", stop));
    else if (stop != NULL)
        tn_put(builder, "stop_sequences", stop);
}

/* A word of the configuration, in the service's capitals. */
static void request_put_word(tn_builder *builder, const char *key, const char *word) {
    char text[32];
    size_t length = 0;
    for (; word[length] != '\0' && length + 1 < sizeof text; length++)
        text[length] = word[length] >= 'a' && word[length] <= 'z' ? (char)(word[length] - 32) : word[length];
    text[length] = '\0';
    tn_put_text(builder, key, text);
}

static void request_put_options(const struct model_call *call, tn_builder *builder) {
    const char *citations = tn_chars(model_get_config(call, "citations"), NULL);
    const char *safety = tn_chars(model_get_config(call, "safety_mode"), NULL);
    model_put_option(call, builder, "max_tokens", "max_tokens");
    model_put_option(call, builder, "temperature", "temperature");
    model_put_option(call, builder, "seed", "seed");
    if (model_get_config(call, "top_k") != NULL) tn_put(builder, "k", model_get_config(call, "top_k"));
    request_put_top_p(call, builder);
    request_put_stop(call, builder);
    request_put_thinking(call, builder);
    if (safety != NULL) request_put_word(builder, "safety_mode", safety);
    if (citations == NULL) return;
    tn_put_begin(builder, "citation_options", TN_OBJECT);
    request_put_word(builder, "mode", citations);
    tn.value->end(builder);
}

/* ---- The request ---- */

/* Merges `extra`. Its documents follow those of the messages. Takes `documents`, which may be NULL. */
static void request_put_documents_take(const struct model_call *call, tn_builder *builder, tn_value documents) {
    tn_value more = tn_get(model_get_option(call, "extra"), "documents");
    for (uint64_t i = 0, count = tn.value->kind(more) == TN_ARRAY ? tn.value->count(more) : 0; i < count; i++)
        (void)tn_append_take(&documents, tn_retain(tn.value->at(more, i)));
    if (documents != NULL) tn_put_take(builder, "documents", documents);
}

static tn_value request_merge_extra_take(const struct model_call *call, tn_value body) {
    tn_value extra = model_get_option(call, "extra"), key, value;
    for (uint64_t i = 0; body != NULL && tn.value->entry(extra, i, &key, &value) == TN_OK; i++) {
        uint64_t length;
        const char *name = tn_chars(key, &length);
        if (strcmp(name, "documents") == 0 || tn.value->set(&body, name, length, value) == TN_OK) continue;
        tn_release(body);
        return NULL;
    }
    return body;
}

tn_value cohere_request(struct model_call *call) {
    bool format = request_has_format(call) && !request_has_files(call);
    tn_value documents = NULL;
    model_refuse_modalities(call, false, "text");
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "model", call->model->name);
    tn_put_begin(builder, "messages", TN_ARRAY);
    request_put_instruction(call, builder, format);
    cohere_put_messages(call, builder, &documents);
    tn.value->end(builder);
    request_put_documents_take(call, builder, documents);
    request_put_tools(call, builder);
    request_put_options(call, builder);
    if (format) request_put_format(call, builder);
    if (model_is_streaming(call)) tn_put_bool(builder, "stream", 1);
    tn.value->end(builder);
    return request_merge_extra_take(call, tn_finish(builder));
}
