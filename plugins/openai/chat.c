/*
 * chat.c - builds requests of Chat Completions.
 *
 * Compatible servers accept fewer features, or have other names for them: dialect.h says which. A content that has only
 * texts is sent as one text. A tool's result may only be text with most servers, so media in results is sent in a
 * user's message after the results.
 */
#include "dialect.h"
#include "openai.h"

#define CALL_ID_LENGTH 9 /* of `call_ids: nine` */
#define MEDIA_NOTE     "(The result also has media, which you cannot receive.)"

/* Writes a part of a user's message. Parts that only models produce are left out. */
static void chat_put_part(struct model_call *call, tn_builder *builder, tn_value part) {
    const char *type = tn_get_text(part, "type", "");
    if (strcmp(type, "text") == 0) {
        openai_begin_item(builder, NULL, "text");
        tn_put_text(builder, "text", tn_get_text(part, "text", ""));
        tn.value->end(builder);
    } else if (strcmp(type, "image") == 0 || strcmp(type, "file") == 0 || strcmp(type, "audio") == 0)
        openai_put_media(call, builder, part, type);
    else if (strcmp(type, "reasoning") != 0 && strcmp(type, "source") != 0 && strcmp(type, "refusal") != 0)
        model_fail_request(call, "a part of type `%.40s`: expected text, image, file or audio", type);
}

static bool chat_has_only_text(tn_value content) {
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(content, i), "type", ""), "text") != 0) return false;
    return true;
}

static void chat_put_content(struct model_call *call, tn_builder *builder, tn_value content) {
    if (chat_has_only_text(content)) {
        tn_put_take(builder, "content", openai_join_text(content));
        return;
    }
    tn_put_begin(builder, "content", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(content); i < count && !call->ended; i++)
        chat_put_part(call, builder, tn.value->at(content, i));
    tn.value->end(builder);
}

/*
 * Writes the id of a call. Mistral refuses ids with other characters or another length, as other services make them:
 * the history of a conversation has these after its model was changed. The same id becomes the same hash.
 */
static void chat_put_call_id(const struct model_call *call, tn_builder *builder, const char *key, const char *id) {
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const char *accepted = openai_dialect(call)->call_ids;
    char hashed[CALL_ID_LENGTH + 1];
    bool nine = accepted != NULL && strcmp(accepted, "nine") == 0;
    if (!nine || (strlen(id) == CALL_ID_LENGTH && strspn(id, digits) == CALL_ID_LENGTH)) {
        tn_put_text(builder, key, id);
        return;
    }
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (const char *at = id; *at != '\0'; at++) hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    for (size_t i = 0; i < CALL_ID_LENGTH; i++, hash /= 62) hashed[i] = digits[hash % 62];
    hashed[CALL_ID_LENGTH] = '\0';
    tn_put_text(builder, key, hashed);
}

static void chat_put_calls(struct model_call *call, tn_builder *builder, tn_value message) {
    tn_value calls = tn_message_calls(message);
    if (calls == NULL) return;
    tn_put_begin(builder, "tool_calls", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value tool_call = tn.value->at(calls, i);
        tn_value content = tn_get(model_get_extra(call, tool_call), "extra_content");
        openai_begin_item(builder, NULL, "function");
        chat_put_call_id(call, builder, "id", tn_get_text(tool_call, "id", ""));
        tn_put_begin(builder, "function", TN_OBJECT);
        tn_put_text(builder, "name", model_tool_name_to_service(call, tn_get_text(tool_call, "name", "")));
        tn_put_take(builder, "arguments", model_arguments_text(tool_call));
        tn.value->end(builder);
        /* Gemini's thought signature, without which it refuses the next request. */
        if (content != NULL && openai_dialect(call)->extra_content) tn_put(builder, "extra_content", content);
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

/* Writes the model's reasoning as a member of its message, if the server needs it. */
static void chat_put_reasoning(struct model_call *call, tn_builder *builder, tn_value message) {
    const struct openai_dialect *dialect = openai_dialect(call);
    tn_value details = tn_get(model_get_extra(call, message), "reasoning_details"),
             content = tn_get(message, "content");
    if (dialect->details_back && tn.value->kind(details) == TN_ARRAY) tn_put(builder, "reasoning_details", details);
    const char *name = dialect->reasoning_out;
    if (name == NULL || strncmp(name, "reasoning", 9) != 0 || strcmp(name, "reasoning_details") == 0) return;
    tn_value reasoning = tn.value->kind(content) == TN_ARRAY ? openai_join_parts(content, "reasoning", NULL) : NULL;
    if (openai_is_text(reasoning)) tn_put(builder, name, reasoning);
    tn_release(reasoning);
}

static bool chat_tool_media_goes(const struct model_call *call, const char *place) {
    const char *tool_media = openai_dialect(call)->tool_media;
    return tool_media != NULL && strcmp(tool_media, place) == 0;
}

static bool chat_is_media(tn_value part) {
    const char *type = tn_get_text(part, "type", "");
    return strcmp(type, "image") == 0 || strcmp(type, "file") == 0 || strcmp(type, "audio") == 0;
}

static bool chat_has_media(tn_value content) {
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++)
        if (chat_is_media(tn.value->at(content, i))) return true;
    return false;
}

/* The result of a tool for a server that accepts no media: its text says that they are missing. */
static void chat_put_text_of_media(tn_builder *builder, tn_value content) {
    static const char note[] = MEDIA_NOTE;
    tn_value text = openai_join_text(content);
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    char *joined = chars != NULL ? tn.core->alloc(tn.host, length + sizeof note) : NULL;
    tn_value both = NULL;
    if (joined != NULL) {
        memcpy(joined, chars, length);
        if (length > 0) joined[length++] = '\n';
        memcpy(joined + length, note, sizeof note - 1);
        both = tn_text_n(joined, length + sizeof note - 1);
        tn.core->release(tn.host, joined);
    }
    tn_put_take(builder, "content", both);
    tn_release(text);
}

/* `last`: an answer as the last message is the start of the next answer. */
static void chat_put_message(struct model_call *call, tn_builder *builder, tn_value message, bool last) {
    const char *type = tn_message_type(message), *name = tn_get_text(message, "name", NULL);
    tn_value content = tn_get(message, "content");
    bool ai = strcmp(type, "ai") == 0, tool = strcmp(type, "tool") == 0;
    bool developer = strcmp(type, "developer") == 0 && !openai_dialect(call)->developer;
    if (!openai_dialect(call)->names) name = NULL;
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "role", ai ? "assistant" : developer ? "system" : type);
    if (name != NULL && !tool) tn_put_text(builder, "name", name);
    if (tool) chat_put_call_id(call, builder, "tool_call_id", tn_get_text(message, "tool_call_id", ""));
    if (strcmp(type, "user") == 0 || (tool && chat_tool_media_goes(call, "tool")))
        chat_put_content(call, builder, content);
    else if (tool && openai_dialect(call)->tool_media == NULL && chat_has_media(content))
        chat_put_text_of_media(builder, content);
    else if (!ai || (!openai_put_audio_id(call, builder, message) && !openai_put_thinking(call, builder, content)))
        tn_put_take(builder, "content", openai_join_text(content));
    if (ai) chat_put_reasoning(call, builder, message);
    if (ai) chat_put_calls(call, builder, message);
    if (ai && last && openai_dialect(call)->prefix && tn_message_calls(message) == NULL)
        tn_put_bool(builder, "prefix", 1);
    tn.value->end(builder);
}

/* Writes a user's message with the media of the tool messages in [first, end), if they have any. */
static void chat_put_tool_media(struct model_call *call, tn_builder *builder, uint64_t first, uint64_t end) {
    bool started = false;
    for (uint64_t i = first; i < end; i++) {
        tn_value content = tn_get(tn.value->at(call->messages, i), "content");
        for (uint64_t k = 0, count = tn.value->count(content); k < count && !call->ended; k++) {
            tn_value part = tn.value->at(content, k);
            if (tn.value->kind(content) != TN_ARRAY || !chat_is_media(part)) continue;
            if (!started) {
                tn.value->begin(builder, TN_OBJECT);
                tn_put_text(builder, "role", "user");
                tn_put_begin(builder, "content", TN_ARRAY);
                openai_begin_item(builder, NULL, "text");
                tn_put_text(builder, "text", "The tools' answers above came with this:");
                tn.value->end(builder);
            }
            started = true;
            if (openai_accepts_media(call, tn_get_text(part, "type", "")))
                chat_put_part(call, builder, part);
            else
                tn_put_take(builder, NULL, tn_build("{s:s,s:s}", "type", "text", "text", MEDIA_NOTE));
        }
    }
    if (!started) return;
    tn.value->end(builder);
    tn.value->end(builder);
}

static bool chat_requires_call(const struct model_call *call) {
    const char *choice = tn_chars(model_get_option(call, "tool_choice"), NULL);
    return call->tools != NULL && choice != NULL && strcmp(choice, "required") == 0;
}

/* True if a message must ask for a call of a tool, because the server has no tool_choice for it. */
static bool chat_asks_for_call(const struct model_call *call) {
    const char *required = openai_dialect(call)->required;
    return chat_requires_call(call) && (required == NULL || strcmp(required, "message") == 0);
}

/* Writes a message that is only for this request. */
static void chat_put_note_take(tn_builder *builder, const char *role, tn_value text) {
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "role", role);
    tn_put_take(builder, "content", text);
    tn.value->end(builder);
}

/*
 * With `strict_order` the server refuses a message of a user after the result of a tool, and a system message after an
 * answer. Writes what must be between them. Returns true if that has replaced the message.
 */
static bool chat_keep_order(const struct model_call *call, tn_builder *builder, tn_value message,
                            const char *previous) {
    const char *type = tn_message_type(message);
    bool system = strcmp(type, "system") == 0 || strcmp(type, "developer") == 0;
    bool after_tool = strcmp(previous, "tool") == 0 && (system || strcmp(type, "user") == 0);
    if (!openai_dialect(call)->strict_order) return false;
    if (after_tool) chat_put_note_take(builder, "assistant", tn_text("OK."));
    if (!system || (!after_tool && strcmp(previous, "ai") != 0)) return false;
    tn_value text = openai_join_text(tn_get(message, "content"));
    chat_put_note_take(builder, "user", model_late_system_text(text));
    tn_release(text);
    return true;
}

static void chat_put_messages(struct model_call *call, tn_builder *builder) {
    uint64_t count = tn.value->count(call->messages), tools = 0; /* number of consecutive tool messages */
    bool in_user = chat_tool_media_goes(call, "user");
    const char *previous = "";
    tn_put_begin(builder, "messages", TN_ARRAY);
    if (openai_schema_in_prompt(call)) chat_put_note_take(builder, "system", model_schema_instruction(call));
    for (uint64_t i = 0; i < count && !call->ended; i++) {
        tn_value message = tn.value->at(call->messages, i);
        bool tool = tn_message_is(message, "tool") != 0;
        if (!tool && tools > 0 && in_user) chat_put_tool_media(call, builder, i - tools, i);
        tools = tool ? tools + 1 : 0;
        bool replaced = chat_keep_order(call, builder, message, previous);
        if (!replaced) chat_put_message(call, builder, message, i + 1 == count);
        previous = replaced ? "user" : tn_message_type(message);
    }
    if (tools > 0 && in_user) chat_put_tool_media(call, builder, count - tools, count);
    if (chat_asks_for_call(call))
        chat_put_note_take(builder, "user", tn_text("Answer with a call of one of the tools."));
    tn.value->end(builder);
}

static void chat_put_tools(struct model_call *call, tn_builder *builder) {
    const struct openai_dialect *dialect = openai_dialect(call);
    tn_value choice = model_get_option(call, "tool_choice");
    if (call->tools == NULL) return;
    if (!dialect->tools) {
        model_fail(call, "UNSUPPORTED", "this service has no tools: use another model for a node with tools");
        return;
    }
    tn_put_begin(builder, "tools", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(call->tools); i < count; i++) {
        tn_value tool = tn.value->at(call->tools, i);
        const char *about = tn_get_text(tool, "description", NULL);
        openai_begin_item(builder, NULL, "function");
        tn_put_begin(builder, "function", TN_OBJECT);
        tn_put_text(builder, "name", model_tool_name_to_service(call, tn_get_text(tool, "name", "")));
        if (about != NULL) tn_put_text(builder, "description", about);
        tn_put_take(builder, "parameters", openai_get_parameters(tool));
        tn.value->end(builder);
        tn.value->end(builder);
    }
    tn.value->end(builder);
    if (dialect->parallel_tool_calls) model_put_option(call, builder, "parallel_tool_calls", "parallel_tool_calls");
    if (!dialect->tool_choice || chat_asks_for_call(call)) return;
    if (chat_requires_call(call))
        tn_put_text(builder, "tool_choice", dialect->required);
    else if (tn.value->kind(choice) == TN_STRING)
        tn_put(builder, "tool_choice", choice);
    else if (choice != NULL) {
        openai_begin_item(builder, "tool_choice", "function");
        tn_put_begin(builder, "function", TN_OBJECT);
        tn_put_text(builder, "name", model_tool_name_to_service(call, tn_get_text(choice, "name", "")));
        tn.value->end(builder);
        tn.value->end(builder);
    }
}

static void chat_put_reasoning_effort(const struct model_call *call, tn_builder *builder) {
    const char *name = openai_dialect(call)->reasoning_effort;
    tn_value reasoning = model_get_option(call, "reasoning");
    const char *effort = tn_get_text(reasoning, "effort", NULL);
    int64_t tokens = tn_get_int(reasoning, "max_tokens", -1);
    if (name == NULL) return;
    if (strcmp(name, "reasoning") != 0) {
        if (effort != NULL) tn_put_text(builder, name, effort);
    } else if (effort != NULL || tokens >= 0) {
        tn_put_begin(builder, name, TN_OBJECT);
        if (effort != NULL)
            tn_put_text(builder, "effort", effort);
        else
            tn_put_int(builder, "max_tokens", tokens);
        tn.value->end(builder);
    }
}

static void chat_put_format(const struct model_call *call, tn_builder *builder) {
    const char *structured = openai_dialect(call)->structured;
    if (call->schema == NULL || structured == NULL || strcmp(structured, "prompt") == 0) return;
    openai_begin_item(builder, "response_format", structured);
    if (strcmp(structured, "json_schema") == 0) {
        tn_put_begin(builder, "json_schema", TN_OBJECT);
        openai_put_format(call, builder, openai_dialect(call)->format_name, openai_dialect(call)->strict);
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

static void chat_put_options(struct model_call *call, tn_builder *builder) {
    const struct openai_dialect *dialect = openai_dialect(call);
    model_put_option(call, builder, "temperature", "temperature");
    model_put_option(call, builder, "top_p", "top_p");
    if (!dialect->stop && model_get_option(call, "stop") != NULL)
        model_fail(call, "UNSUPPORTED", "this service has no `stop`: remove the option, or use another model");
    model_put_option(call, builder, "stop", "stop");
    if (dialect->seed != NULL) model_put_option(call, builder, "seed", dialect->seed);
    model_put_option(call, builder, "max_tokens", dialect->max_tokens);
    chat_put_reasoning_effort(call, builder);
    openai_put_modalities(call, builder);
    chat_put_format(call, builder);
}

void openai_chat_start(struct model_call *call) {
    bool stream = model_is_streaming(call) && openai_speech_streams(call);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "model", call->model->name);
    chat_put_messages(call, builder);
    chat_put_tools(call, builder);
    chat_put_options(call, builder);
    if (stream) {
        tn_put_bool(builder, "stream", 1);
        if (openai_dialect(call)->stream_options) {
            tn_put_begin(builder, "stream_options", TN_OBJECT);
            tn_put_bool(builder, "include_usage", 1);
            tn.value->end(builder);
        }
    }
    tn.value->end(builder);
    tn_value body = tn_finish(builder);
    model_send(call, &(struct model_request){.path = "/chat/completions", .body = body, .whole = !stream});
    tn_release(body);
}
