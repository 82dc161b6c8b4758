/*
 * responses.c - builds requests of the Responses interface.
 *
 * A message of the model is sent back as the items of the answer that it was read from. Items for content and tool
 * calls are rebuilt from the message, so that edits take effect. Other items (reasoning, and the results of the
 * service's tools) are stored unchanged in extra.openai.items, which also has the order of all items. The service
 * stores nothing, so for models that reason, the request asks for encrypted reasoning.
 */
#include "openai.h"

static void responses_put_media(struct model_call *call, tn_builder *builder, tn_value part, bool image) {
    struct model_media media;
    if (!model_media_init(&media, part)) {
        model_fail_request(call,
                           "a part of type `%.40s` is empty: expected `url`, `data` (base64, or bytes) or `file_id`",
                           tn_get_text(part, "type", ""));
        return;
    }
    openai_begin_item(builder, NULL, image ? "input_image" : "input_file");
    if (image) tn_put_text(builder, "detail", "auto");
    if (media.file_id != NULL)
        tn_put(builder, "file_id", media.file_id);
    else if (media.url != NULL)
        tn_put(builder, image ? "image_url" : "file_url", media.url);
    else {
        if (!image) tn_put_text(builder, "filename", tn_get_text(part, "name", "file"));
        tn_put_take(builder, image ? "image_url" : "file_data", model_media_to_data_url(&media));
    }
    tn.value->end(builder);
    model_media_finish(&media);
}

static void responses_put_part(struct model_call *call, tn_builder *builder, tn_value part) {
    const char *type = tn_get_text(part, "type", "");
    bool image = strcmp(type, "image") == 0;
    if (strcmp(type, "text") == 0) {
        openai_begin_item(builder, NULL, "input_text");
        tn_put_text(builder, "text", tn_get_text(part, "text", ""));
        tn.value->end(builder);
    } else if (image || strcmp(type, "file") == 0)
        responses_put_media(call, builder, part, image);
    else if (strcmp(type, "audio") == 0)
        model_fail(call, "UNSUPPORTED",
                   "`api: responses` does not accept audio: set `api: chat`, with a model for audio");
    else if (strcmp(type, "reasoning") != 0 && strcmp(type, "source") != 0 && strcmp(type, "refusal") != 0)
        model_fail_request(call, "a part of type `%.40s`: expected text, image or file", type);
}

static void responses_put_content(struct model_call *call, tn_builder *builder, const char *key, tn_value content) {
    if (tn.value->kind(content) != TN_ARRAY) {
        tn_put_take(builder, key, openai_join_text(content));
        return;
    }
    tn_put_begin(builder, key, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(content); i < count && !call->ended; i++)
        responses_put_part(call, builder, tn.value->at(content, i));
    tn.value->end(builder);
}

/* ---- Messages of the model ---- */

/* The state of sending one message of the model. */
struct writer {
    struct model_call *call;
    tn_builder *builder;
    tn_value content, calls, items;
    uint64_t next_part; /* of the content: the next part to send */
};

static void responses_put_assistant(tn_builder *builder, tn_value text, const char *phase) {
    if (openai_is_text(text)) {
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "role", "assistant");
        tn_put(builder, "content", text);
        if (phase != NULL) tn_put_text(builder, "phase", phase);
        tn.value->end(builder);
    }
}

static bool responses_is_answer_text(tn_value part) {
    const char *type = tn_get_text(part, "type", "");
    return strcmp(type, "text") == 0 || strcmp(type, "refusal") == 0;
}

/* Writes the next text, or with `all` all remaining texts. */
static void responses_put_texts(struct writer *writer, const char *phase, bool all) {
    uint64_t count = tn.value->kind(writer->content) == TN_ARRAY ? tn.value->count(writer->content) : 1;
    for (bool more = true; more && writer->next_part < count; writer->next_part++) {
        tn_value part =
            tn.value->kind(writer->content) == TN_ARRAY ? tn.value->at(writer->content, writer->next_part) : NULL;
        if (part == NULL)
            responses_put_assistant(writer->builder, writer->content, phase);
        else if (responses_is_answer_text(part)) {
            responses_put_assistant(writer->builder, tn_get(part, "text"), phase);
            more = all;
        }
    }
}

static void responses_put_call(struct writer *writer, tn_value tool_call) {
    static const char *const members[] = {"namespace", "caller"};
    tn_value extra = model_get_extra(writer->call, tool_call);
    bool custom = strcmp(tn_get_text(extra, "type", ""), "custom") == 0;
    openai_begin_item(writer->builder, NULL, custom ? "custom_tool_call" : "function_call");
    tn_put_text(writer->builder, "call_id", tn_get_text(tool_call, "id", ""));
    tn_put_text(writer->builder, "name", model_tool_name_to_service(writer->call, tn_get_text(tool_call, "name", "")));
    if (custom)
        tn_put_text(writer->builder, "input", tn_get_text(tn_get(tool_call, "arguments"), "input", ""));
    else
        tn_put_take(writer->builder, "arguments", model_arguments_text(tool_call));
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (tn.value->kind(tn_get(extra, members[i])) > TN_NULL)
            tn_put(writer->builder, members[i], tn_get(extra, members[i]));
    tn.value->end(writer->builder);
}

static tn_value responses_call_by_id(tn_value calls, const char *id) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(calls, i), "id", ""), id) == 0) return tn.value->at(calls, i);
    return NULL;
}

static bool responses_is_listed(tn_value items, const char *id) {
    for (uint64_t i = 0, count = tn.value->count(items); i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(items, i), "call_id", ""), id) == 0) return true;
    return false;
}

/* Writes the item of a generated image with the data from the image part; the stored item has no data. */
static void responses_put_image(struct writer *writer, tn_value item) {
    const char *id = tn_get_text(item, "id", "");
    for (uint64_t i = 0, count = tn.value->count(writer->content); i < count; i++) {
        tn_value part = tn.value->at(writer->content, i);
        if (strcmp(tn_get_text(model_get_extra(writer->call, part), "id", ""), id) != 0) continue;
        tn_value with_data = tn_set_take(tn_retain(item), "result", tn_retain(tn_get(part, "data")));
        if (with_data != NULL) tn_put_take(writer->builder, NULL, with_data);
        return;
    }
}

static void responses_put_item(struct writer *writer, tn_value item, bool last_message) {
    const char *type = tn_get_text(item, "type", "");
    if (strcmp(type, "message") == 0)
        responses_put_texts(writer, tn_get_text(item, "phase", NULL), last_message);
    else if (strcmp(type, "function_call") == 0 || strcmp(type, "custom_tool_call") == 0) {
        tn_value tool_call = responses_call_by_id(writer->calls, tn_get_text(item, "call_id", ""));
        if (tool_call != NULL) responses_put_call(writer, tool_call);
    } else if (strcmp(type, "image_generation_call") == 0)
        responses_put_image(writer, item);
    else
        tn.value->add(writer->builder, item);
}

static void responses_put_ai(struct model_call *call, tn_builder *builder, tn_value message) {
    struct writer writer = {call,
                            builder,
                            tn_get(message, "content"),
                            tn_message_calls(message),
                            tn_get(model_get_extra(call, message), "items"),
                            0};
    uint64_t count = tn.value->kind(writer.items) == TN_ARRAY ? tn.value->count(writer.items) : 0, last = count;
    for (uint64_t i = 0; i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(writer.items, i), "type", ""), "message") == 0) last = i;
    for (uint64_t i = 0; i < count; i++) responses_put_item(&writer, tn.value->at(writer.items, i), i == last);
    responses_put_texts(&writer, NULL, true);
    for (uint64_t i = 0; i < tn.value->count(writer.calls); i++)
        if (count == 0 || !responses_is_listed(writer.items, tn_get_text(tn.value->at(writer.calls, i), "id", "")))
            responses_put_call(&writer, tn.value->at(writer.calls, i));
}

/* ---- Other messages ---- */

/* Returns the extra.openai of the last tool call with this id before message `before`. NULL if there is no such call.
 */
static tn_value responses_lookup_call_extra(const struct model_call *call, const char *id, uint64_t before) {
    for (uint64_t i = before; i > 0; i--) {
        tn_value tool_call = responses_call_by_id(tn_message_calls(tn.value->at(call->messages, i - 1)), id);
        if (tool_call != NULL) return model_get_extra(call, tool_call);
    }
    return NULL;
}

static void responses_put_output(struct model_call *call, tn_builder *builder, tn_value message, uint64_t index) {
    const char *id = tn_get_text(message, "tool_call_id", "");
    tn_value extra = responses_lookup_call_extra(call, id, index), caller = tn_get(extra, "caller");
    bool custom = strcmp(tn_get_text(extra, "type", ""), "custom") == 0;
    openai_begin_item(builder, NULL, custom ? "custom_tool_call_output" : "function_call_output");
    tn_put_text(builder, "call_id", id);
    responses_put_content(call, builder, "output", tn_get(message, "content"));
    if (tn.value->kind(caller) == TN_OBJECT) tn_put(builder, "caller", caller);
    tn.value->end(builder);
}

static void responses_put_input(struct model_call *call, tn_builder *builder) {
    tn_put_begin(builder, "input", TN_ARRAY);
    uint64_t first = openai_first_message(call);
    for (uint64_t i = first, count = tn.value->count(call->messages); i < count && !call->ended; i++) {
        tn_value message = tn.value->at(call->messages, i);
        if (tn_message_is(message, "ai"))
            responses_put_ai(call, builder, message);
        else if (tn_message_is(message, "tool"))
            responses_put_output(call, builder, message, i);
        else {
            tn.value->begin(builder, TN_OBJECT);
            tn_put_text(builder, "role", tn_message_type(message));
            responses_put_content(call, builder, "content", tn_get(message, "content"));
            tn.value->end(builder);
        }
    }
    tn.value->end(builder);
}

static void responses_put_tools(struct model_call *call, tn_builder *builder) {
    tn_value choice = model_get_option(call, "tool_choice");
    if (call->tools == NULL && !model_wants(call, "image")) return;
    tn_put_begin(builder, "tools", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(call->tools); i < count; i++) {
        tn_value tool = tn.value->at(call->tools, i);
        const char *about = tn_get_text(tool, "description", NULL);
        openai_begin_item(builder, NULL, "function");
        tn_put_text(builder, "name", model_tool_name_to_service(call, tn_get_text(tool, "name", "")));
        if (about != NULL) tn_put_text(builder, "description", about);
        tn_put_take(builder, "parameters", openai_get_parameters(tool));
        tn_put_bool(builder, "strict", 0);
        tn.value->end(builder);
    }
    if (model_wants(call, "image")) { /* a tool of the service generates them */
        openai_begin_item(builder, NULL, "image_generation");
        tn.value->end(builder);
    }
    tn.value->end(builder);
    model_put_option(call, builder, "parallel_tool_calls", "parallel_tool_calls");
    if (tn.value->kind(choice) == TN_STRING)
        tn_put(builder, "tool_choice", choice);
    else if (choice != NULL) {
        openai_begin_item(builder, "tool_choice", "function");
        tn_put_text(builder, "name", model_tool_name_to_service(call, tn_get_text(choice, "name", "")));
        tn.value->end(builder);
    }
}

/* Guesses by its name whether the model reasons. Other models refuse a request for encrypted reasoning; `extra:
 * {include: []}` removes it from the request. */
static bool responses_model_reasons(const struct model_call *call) {
    const char *name = call->model->name;
    if (model_get_option(call, "reasoning") != NULL) return true;
    if (name[0] == 'o' && name[1] >= '1' && name[1] <= '9') return true;
    return (strncmp(name, "gpt-5", 5) == 0 && strstr(name, "chat") == NULL) || strstr(name, "codex") != NULL;
}

static void responses_put_options(struct model_call *call, tn_builder *builder) {
    const char *effort = tn_get_text(model_get_option(call, "reasoning"), "effort", NULL);
    const char *summary = tn_get_text(call->model->config, "reasoning_summary", NULL);
    model_put_option(call, builder, "temperature", "temperature");
    model_put_option(call, builder, "top_p", "top_p");
    model_put_option(call, builder, "max_tokens", "max_output_tokens");
    if (effort != NULL || summary != NULL) {
        tn_put_begin(builder, "reasoning", TN_OBJECT);
        if (effort != NULL) tn_put_text(builder, "effort", effort);
        if (summary != NULL) tn_put_text(builder, "summary", summary);
        tn.value->end(builder);
    }
    if (call->schema != NULL) {
        tn_put_begin(builder, "text", TN_OBJECT);
        openai_begin_item(builder, "format", "json_schema");
        openai_put_format(call, builder, true, true);
        tn.value->end(builder);
        tn.value->end(builder);
    }
    openai_put_stored(call, builder);
    if (!responses_model_reasons(call)) return;
    tn_value include = tn_text("reasoning.encrypted_content");
    tn_put_begin(builder, "include", TN_ARRAY);
    tn.value->add(builder, include);
    tn.value->end(builder);
    tn_release(include);
}

void openai_responses_start(struct model_call *call) {
    bool stream = model_is_streaming(call) && !openai_is_background(call);
    if (model_get_option(call, "stop") != NULL) {
        model_fail(call, "UNSUPPORTED", "`api: responses` does not support `stop`: set `api: chat`, or remove it");
        return;
    }
    if (model_wants(call, "audio")) {
        model_fail(call, "UNSUPPORTED",
                   "`api: responses` returns no speech: set `api: chat` with a model for audio, or remove `speech` and "
                   "\"audio\" of `modalities`");
        return;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "model", call->model->name);
    responses_put_input(call, builder);
    responses_put_tools(call, builder);
    responses_put_options(call, builder);
    if (stream) tn_put_bool(builder, "stream", 1);
    tn.value->end(builder);
    tn_value body = tn_finish(builder);
    model_send(call, &(struct model_request){.path = "/responses", .body = body, .whole = !stream});
    tn_release(body);
}
