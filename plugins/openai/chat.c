/*
 * chat.c - requests of Chat Completions.
 *
 * Servers that are compatible differ in what they take: what only OpenAI itself has ("developer",
 * max_completion_tokens) is sent to its own hosts alone, and a content of texts alone goes as one text. Images that a
 * tool gave follow its answers as a message of the user's, as those may only be text.
 */
#include "openai.h"

/* OpenAI's own servers, in its regions and at Azure too: what is new is understood there. */
static bool is_openai(const struct model_call *call) {
    static const char *const hosts[] = {".api.openai.com/", ".openai.azure.com/", ".services.ai.azure.com/"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
        if (strstr(call->model->base_url, hosts[i]) != NULL) return true;
    return call->model->own_host;
}

static void put_media(struct model_call *call, tn_builder *builder, tn_value part, const char *type) {
    struct model_media media;
    if (!model_media_init(&media, part)) {
        model_refuse(call, "a part of type `%s` holds nothing: expected `url`, `data` (base64, or bytes) or `file_id`",
                     type);
        return;
    }
    if (strcmp(type, "image") == 0) {
        if (media.data == NULL && media.url == NULL)
            model_refuse(call, "an image with a `file_id`, which chat does not take: give `url` or `data`, or say "
                               "`api: responses`");
        openai_begin(builder, NULL, "image_url");
        tn_put_begin(builder, "image_url", TN_OBJECT);
        if (media.url != NULL)
            tn_put(builder, "url", media.url);
        else if (media.data != NULL)
            tn_put_take(builder, "url", model_media_url(&media));
        tn.value->end(builder);
    } else if (strcmp(type, "audio") == 0) {
        const char *format = media.media_type != NULL && strstr(media.media_type, "wav") != NULL ? "wav" : "mp3";
        if (media.data == NULL) model_refuse(call, "audio without `data`: expected base64, or bytes");
        openai_begin(builder, NULL, "input_audio");
        tn_put_begin(builder, "input_audio", TN_OBJECT);
        if (media.data != NULL) tn_put(builder, "data", media.data);
        tn_put_text(builder, "format", format);
        tn.value->end(builder);
    } else {
        if (media.data == NULL && media.file_id == NULL)
            model_refuse(call, "a file with a `url`, which chat does not take: give `data` or `file_id`, or say "
                               "`api: responses`");
        openai_begin(builder, NULL, "file");
        tn_put_begin(builder, "file", TN_OBJECT);
        if (media.file_id != NULL)
            tn_put(builder, "file_id", media.file_id);
        else if (media.data != NULL) {
            tn_put_text(builder, "filename", tn_get_text(part, "name", "file"));
            tn_put_take(builder, "file_data", model_media_url(&media));
        }
        tn.value->end(builder);
    }
    tn.value->end(builder);
    model_media_finish(&media);
}

/* A part of a message that is not the model's; what only models say is left out. */
static void put_part(struct model_call *call, tn_builder *builder, tn_value part) {
    const char *type = tn_get_text(part, "type", "");
    if (strcmp(type, "text") == 0) {
        openai_begin(builder, NULL, "text");
        tn_put_text(builder, "text", tn_get_text(part, "text", ""));
        tn.value->end(builder);
    } else if (strcmp(type, "image") == 0 || strcmp(type, "file") == 0 || strcmp(type, "audio") == 0)
        put_media(call, builder, part, type);
    else if (strcmp(type, "reasoning") != 0 && strcmp(type, "source") != 0 && strcmp(type, "refusal") != 0)
        model_refuse(call, "a part of type `%.40s`: expected text, image, file or audio", type);
}

static bool only_text(tn_value content) {
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(content, i), "type", ""), "text") != 0) return false;
    return true;
}

static void put_content(struct model_call *call, tn_builder *builder, tn_value content) {
    if (only_text(content)) {
        tn_put_take(builder, "content", openai_text(content));
        return;
    }
    tn_put_begin(builder, "content", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(content); i < count && !call->over; i++)
        put_part(call, builder, tn.value->at(content, i));
    tn.value->end(builder);
}

static void put_calls(struct model_call *call, tn_builder *builder, tn_value message) {
    tn_value calls = tn_message_calls(message);
    if (calls == NULL) return;
    tn_put_begin(builder, "tool_calls", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value made = tn.value->at(calls, i);
        openai_begin(builder, NULL, "function");
        tn_put_text(builder, "id", tn_get_text(made, "id", ""));
        tn_put_begin(builder, "function", TN_OBJECT);
        tn_put_text(builder, "name", model_tool_name(call, tn_get_text(made, "name", "")));
        tn_put_take(builder, "arguments", model_arguments_text(made));
        tn.value->end(builder);
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

/* What the model thought, for servers that want it back. */
static void put_reasoning(struct model_call *call, tn_builder *builder, tn_value content) {
    int32_t wanted = 0;
    (void)tn.value->as_bool(model_config(call, "send_reasoning"), &wanted);
    if (!wanted || tn.value->kind(content) != TN_ARRAY) return;
    tn_value thought = openai_text_of(content, "reasoning", NULL);
    if (openai_is_text(thought)) tn_put(builder, "reasoning_content", thought);
    tn_release(thought);
}

static void put_message(struct model_call *call, tn_builder *builder, tn_value message) {
    const char *type = tn_message_type(message), *name = tn_get_text(message, "name", NULL);
    tn_value content = tn.value->get(message, "content");
    bool ai = strcmp(type, "ai") == 0, tool = strcmp(type, "tool") == 0;
    bool developer = strcmp(type, "developer") == 0 && !is_openai(call);
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "role", ai ? "assistant" : developer ? "system" : type);
    if (name != NULL && !tool) tn_put_text(builder, "name", name);
    if (tool) tn_put_text(builder, "tool_call_id", tn_get_text(message, "tool_call_id", ""));
    if (strcmp(type, "user") == 0)
        put_content(call, builder, content);
    else
        tn_put_take(builder, "content", openai_text(content));
    if (ai) put_reasoning(call, builder, content);
    if (ai) put_calls(call, builder, message);
    tn.value->end(builder);
}

static bool is_seen(tn_value part) {
    const char *type = tn_get_text(part, "type", "");
    return strcmp(type, "image") == 0 || strcmp(type, "file") == 0 || strcmp(type, "audio") == 0;
}

/* What the tool messages from `first` up to `end` hold besides text. */
static void put_tool_media(struct model_call *call, tn_builder *builder, uint64_t first, uint64_t end) {
    bool begun = false;
    for (uint64_t i = first; i < end; i++) {
        tn_value content = tn.value->get(tn.value->at(call->messages, i), "content");
        for (uint64_t k = 0, count = tn.value->count(content); k < count && !call->over; k++) {
            tn_value part = tn.value->at(content, k);
            if (tn.value->kind(content) != TN_ARRAY || !is_seen(part)) continue;
            if (!begun) {
                tn.value->begin(builder, TN_OBJECT);
                tn_put_text(builder, "role", "user");
                tn_put_begin(builder, "content", TN_ARRAY);
                openai_begin(builder, NULL, "text");
                tn_put_text(builder, "text", "The tools' answers above came with this:");
                tn.value->end(builder);
            }
            begun = true;
            put_part(call, builder, part);
        }
    }
    if (!begun) return;
    tn.value->end(builder);
    tn.value->end(builder);
}

static void put_messages(struct model_call *call, tn_builder *builder) {
    uint64_t count = tn.value->count(call->messages), tools = 0; /* tool messages since the last other one */
    tn_put_begin(builder, "messages", TN_ARRAY);
    for (uint64_t i = 0; i < count && !call->over; i++) {
        tn_value message = tn.value->at(call->messages, i);
        bool tool = tn_message_is(message, "tool") != 0;
        if (!tool && tools > 0) put_tool_media(call, builder, i - tools, i);
        tools = tool ? tools + 1 : 0;
        put_message(call, builder, message);
    }
    if (tools > 0) put_tool_media(call, builder, count - tools, count);
    tn.value->end(builder);
}

static void put_tools(struct model_call *call, tn_builder *builder) {
    tn_value choice = model_option(call, "tool_choice");
    if (call->tools == NULL) return;
    tn_put_begin(builder, "tools", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(call->tools); i < count; i++) {
        tn_value tool = tn.value->at(call->tools, i);
        const char *about = tn_get_text(tool, "description", NULL);
        openai_begin(builder, NULL, "function");
        tn_put_begin(builder, "function", TN_OBJECT);
        tn_put_text(builder, "name", model_tool_name(call, tn_get_text(tool, "name", "")));
        if (about != NULL) tn_put_text(builder, "description", about);
        tn_put_take(builder, "parameters", openai_parameters(tool));
        tn.value->end(builder);
        tn.value->end(builder);
    }
    tn.value->end(builder);
    model_put_option(call, builder, "parallel_tool_calls", "parallel_tool_calls");
    if (tn.value->kind(choice) == TN_STRING)
        tn_put(builder, "tool_choice", choice);
    else if (choice != NULL) {
        openai_begin(builder, "tool_choice", "function");
        tn_put_begin(builder, "function", TN_OBJECT);
        tn_put_text(builder, "name", model_tool_name(call, tn_get_text(choice, "name", "")));
        tn.value->end(builder);
        tn.value->end(builder);
    }
}

static void put_options(struct model_call *call, tn_builder *builder) {
    static const char *const same[] = {"temperature", "top_p", "stop", "seed"};
    tn_value modalities = model_option(call, "modalities");
    const char *effort = tn_get_text(model_option(call, "reasoning"), "effort", NULL);
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) model_put_option(call, builder, same[i], same[i]);
    model_put_option(call, builder, "max_tokens", is_openai(call) ? "max_completion_tokens" : "max_tokens");
    if (effort != NULL) tn_put_text(builder, "reasoning_effort", effort);
    if (tn.value->count(modalities) > 1 && is_openai(call))
        model_fail(call, "UNSUPPORTED", "chat gives no images: say `api: responses`, or leave out `modalities`");
    else if (tn.value->count(modalities) > 1)
        tn_put(builder, "modalities", modalities);
    if (call->schema == NULL) return;
    openai_begin(builder, "response_format", "json_schema");
    tn_put_begin(builder, "json_schema", TN_OBJECT);
    openai_put_format(call, builder);
    tn.value->end(builder);
    tn.value->end(builder);
}

void chat_start(struct model_call *call) {
    bool stream = model_streams(call);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "model", call->model->name);
    put_messages(call, builder);
    put_tools(call, builder);
    put_options(call, builder);
    if (stream) {
        tn_put_bool(builder, "stream", 1);
        tn_put_begin(builder, "stream_options", TN_OBJECT);
        tn_put_bool(builder, "include_usage", 1);
        tn.value->end(builder);
    }
    tn.value->end(builder);
    tn_value body = tn.value->finish(builder);
    model_send(call, &(struct model_request){.path = "/chat/completions", .body = body, .whole = !stream});
    tn_release(body);
}
