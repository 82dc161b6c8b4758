/*
 * responses.c - requests of the Responses interface.
 *
 * A message of the model's goes back as the items it came as: those that its content and tool calls tell are made of
 * these, so that who edits a message is heard; the others (reasoning, and what the service's own tools did) are in
 * extra.openai.items as they were, and there in the order of all. Nothing is stored at the service, so that reasoning
 * comes back encrypted, which has to be asked for where models reason.
 */
#include "openai.h"

static void put_media(struct model_call *call, tn_builder *builder, tn_value part, bool image) {
    struct model_media media;
    if (!model_media_init(&media, part)) {
        model_refuse(call,
                     "a part of type `%.40s` holds nothing: expected `url`, `data` (base64, or bytes) or `file_id`",
                     tn_get_text(part, "type", ""));
        return;
    }
    openai_begin(builder, NULL, image ? "input_image" : "input_file");
    if (image) tn_put_text(builder, "detail", "auto");
    if (media.file_id != NULL)
        tn_put(builder, "file_id", media.file_id);
    else if (media.url != NULL)
        tn_put(builder, image ? "image_url" : "file_url", media.url);
    else {
        if (!image) tn_put_text(builder, "filename", tn_get_text(part, "name", "file"));
        tn_put_take(builder, image ? "image_url" : "file_data", model_media_url(&media));
    }
    tn.value->end(builder);
    model_media_finish(&media);
}

static void put_part(struct model_call *call, tn_builder *builder, tn_value part) {
    const char *type = tn_get_text(part, "type", "");
    bool image = strcmp(type, "image") == 0;
    if (strcmp(type, "text") == 0) {
        openai_begin(builder, NULL, "input_text");
        tn_put_text(builder, "text", tn_get_text(part, "text", ""));
        tn.value->end(builder);
    } else if (image || strcmp(type, "file") == 0)
        put_media(call, builder, part, image);
    else if (strcmp(type, "audio") == 0)
        model_fail(call, "UNSUPPORTED", "`api: responses` takes no audio: say `api: chat`, with a model that hears");
    else if (strcmp(type, "reasoning") != 0 && strcmp(type, "source") != 0 && strcmp(type, "refusal") != 0)
        model_refuse(call, "a part of type `%.40s`: expected text, image or file", type);
}

static void put_content(struct model_call *call, tn_builder *builder, const char *key, tn_value content) {
    if (tn.value->kind(content) != TN_ARRAY) {
        tn_put_take(builder, key, openai_text(content));
        return;
    }
    tn_put_begin(builder, key, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(content); i < count && !call->over; i++)
        put_part(call, builder, tn.value->at(content, i));
    tn.value->end(builder);
}

/* ---- What the model said ---- */

/* One message of the model's, walked through as it is put back together. */
struct putting {
    struct model_call *call;
    tn_builder *builder;
    tn_value content, calls, items;
    uint64_t next_part; /* of content, from here on not sent */
};

static void put_assistant(tn_builder *builder, tn_value text, const char *phase) {
    if (openai_is_text(text)) {
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "role", "assistant");
        tn_put(builder, "content", text);
        if (phase != NULL) tn_put_text(builder, "phase", phase);
        tn.value->end(builder);
    }
}

static bool speaks(tn_value part) {
    const char *type = tn_get_text(part, "type", "");
    return strcmp(type, "text") == 0 || strcmp(type, "refusal") == 0;
}

/* The next text, or with `all` every one that is left. */
static void put_texts(struct putting *putting, const char *phase, bool all) {
    uint64_t count = tn.value->kind(putting->content) == TN_ARRAY ? tn.value->count(putting->content) : 1;
    for (bool more = true; more && putting->next_part < count; putting->next_part++) {
        tn_value part =
            tn.value->kind(putting->content) == TN_ARRAY ? tn.value->at(putting->content, putting->next_part) : NULL;
        if (part == NULL)
            put_assistant(putting->builder, putting->content, phase);
        else if (speaks(part)) {
            put_assistant(putting->builder, tn.value->get(part, "text"), phase);
            more = all;
        }
    }
}

static void put_call(struct putting *putting, tn_value made) {
    static const char *const members[] = {"namespace", "caller"};
    tn_value extra = model_extra_of(putting->call, made);
    bool custom = strcmp(tn_get_text(extra, "type", ""), "custom") == 0;
    openai_begin(putting->builder, NULL, custom ? "custom_tool_call" : "function_call");
    tn_put_text(putting->builder, "call_id", tn_get_text(made, "id", ""));
    tn_put_text(putting->builder, "name", model_tool_name(putting->call, tn_get_text(made, "name", "")));
    if (custom)
        tn_put_text(putting->builder, "input", tn_get_text(tn.value->get(made, "arguments"), "input", ""));
    else
        tn_put_take(putting->builder, "arguments", model_arguments_text(made));
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (tn.value->kind(tn.value->get(extra, members[i])) > TN_NULL)
            tn_put(putting->builder, members[i], tn.value->get(extra, members[i]));
    tn.value->end(putting->builder);
}

static tn_value call_of(tn_value calls, const char *id) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(calls, i), "id", ""), id) == 0) return tn.value->at(calls, i);
    return NULL;
}

static bool listed(tn_value items, const char *id) {
    for (uint64_t i = 0, count = tn.value->count(items); i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(items, i), "call_id", ""), id) == 0) return true;
    return false;
}

/* An image that was made goes back with its data, which is in the content alone. */
static void put_image(struct putting *putting, tn_value item) {
    const char *id = tn_get_text(item, "id", "");
    for (uint64_t i = 0, count = tn.value->count(putting->content); i < count; i++) {
        tn_value part = tn.value->at(putting->content, i);
        if (strcmp(tn_get_text(model_extra_of(putting->call, part), "id", ""), id) != 0) continue;
        tn_value whole = tn.value->set(item, "result", tn.value->get(part, "data"));
        if (whole != NULL) tn.value->add(putting->builder, whole);
        tn_release(whole);
        return;
    }
}

static void put_item(struct putting *putting, tn_value item, bool last_message) {
    const char *type = tn_get_text(item, "type", "");
    if (strcmp(type, "message") == 0)
        put_texts(putting, tn_get_text(item, "phase", NULL), last_message);
    else if (strcmp(type, "function_call") == 0 || strcmp(type, "custom_tool_call") == 0) {
        tn_value made = call_of(putting->calls, tn_get_text(item, "call_id", ""));
        if (made != NULL) put_call(putting, made);
    } else if (strcmp(type, "image_generation_call") == 0)
        put_image(putting, item);
    else
        tn.value->add(putting->builder, item);
}

static void put_ai(struct model_call *call, tn_builder *builder, tn_value message) {
    struct putting putting = {call,
                              builder,
                              tn.value->get(message, "content"),
                              tn_message_calls(message),
                              tn.value->get(model_extra_of(call, message), "items"),
                              0};
    uint64_t count = tn.value->kind(putting.items) == TN_ARRAY ? tn.value->count(putting.items) : 0, last = count;
    for (uint64_t i = 0; i < count; i++)
        if (strcmp(tn_get_text(tn.value->at(putting.items, i), "type", ""), "message") == 0) last = i;
    for (uint64_t i = 0; i < count; i++) put_item(&putting, tn.value->at(putting.items, i), i == last);
    put_texts(&putting, NULL, true);
    for (uint64_t i = 0; i < tn.value->count(putting.calls); i++)
        if (count == 0 || !listed(putting.items, tn_get_text(tn.value->at(putting.calls, i), "id", "")))
            put_call(&putting, tn.value->at(putting.calls, i));
}

/* ---- The rest of the input ---- */

/* What the service said about the call that this answers: its last one of that id before message `before`. */
static tn_value asked_by(const struct model_call *call, const char *id, uint64_t before) {
    for (uint64_t i = before; i > 0; i--) {
        tn_value made = call_of(tn_message_calls(tn.value->at(call->messages, i - 1)), id);
        if (made != NULL) return model_extra_of(call, made);
    }
    return NULL;
}

static void put_output(struct model_call *call, tn_builder *builder, tn_value message, uint64_t place) {
    const char *id = tn_get_text(message, "tool_call_id", "");
    tn_value extra = asked_by(call, id, place), caller = tn.value->get(extra, "caller");
    bool custom = strcmp(tn_get_text(extra, "type", ""), "custom") == 0;
    openai_begin(builder, NULL, custom ? "custom_tool_call_output" : "function_call_output");
    tn_put_text(builder, "call_id", id);
    put_content(call, builder, "output", tn.value->get(message, "content"));
    if (tn.value->kind(caller) == TN_OBJECT) tn_put(builder, "caller", caller);
    tn.value->end(builder);
}

static void put_input(struct model_call *call, tn_builder *builder) {
    tn_put_begin(builder, "input", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(call->messages); i < count && !call->over; i++) {
        tn_value message = tn.value->at(call->messages, i);
        if (tn_message_is(message, "ai"))
            put_ai(call, builder, message);
        else if (tn_message_is(message, "tool"))
            put_output(call, builder, message, i);
        else {
            tn.value->begin(builder, TN_OBJECT);
            tn_put_text(builder, "role", tn_message_type(message));
            put_content(call, builder, "content", tn.value->get(message, "content"));
            tn.value->end(builder);
        }
    }
    tn.value->end(builder);
}

/* Images are made by a tool of the service's. */
static bool wants_images(const struct model_call *call) {
    tn_value modalities = model_option(call, "modalities");
    for (uint64_t i = 0, count = tn.value->count(modalities); i < count; i++) {
        const char *word = tn_chars(tn.value->at(modalities, i), NULL);
        if (word != NULL && strcmp(word, "image") == 0) return true;
    }
    return false;
}

static void put_tools(struct model_call *call, tn_builder *builder) {
    tn_value choice = model_option(call, "tool_choice");
    if (call->tools == NULL && !wants_images(call)) return;
    tn_put_begin(builder, "tools", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(call->tools); i < count; i++) {
        tn_value tool = tn.value->at(call->tools, i);
        const char *about = tn_get_text(tool, "description", NULL);
        openai_begin(builder, NULL, "function");
        tn_put_text(builder, "name", model_tool_name(call, tn_get_text(tool, "name", "")));
        if (about != NULL) tn_put_text(builder, "description", about);
        tn_put_take(builder, "parameters", openai_parameters(tool));
        tn_put_bool(builder, "strict", 0);
        tn.value->end(builder);
    }
    if (wants_images(call)) {
        openai_begin(builder, NULL, "image_generation");
        tn.value->end(builder);
    }
    tn.value->end(builder);
    model_put_option(call, builder, "parallel_tool_calls", "parallel_tool_calls");
    if (tn.value->kind(choice) == TN_STRING)
        tn_put(builder, "tool_choice", choice);
    else if (choice != NULL) {
        openai_begin(builder, "tool_choice", "function");
        tn_put_text(builder, "name", model_tool_name(call, tn_get_text(choice, "name", "")));
        tn.value->end(builder);
    }
}

/* By their names: others refuse to be asked for encrypted reasoning. `extra: {include: []}` takes it back. */
static bool reasons(const struct model_call *call) {
    const char *name = call->model->name;
    if (model_option(call, "reasoning") != NULL) return true;
    if (name[0] == 'o' && name[1] >= '1' && name[1] <= '9') return true;
    return (strncmp(name, "gpt-5", 5) == 0 && strstr(name, "chat") == NULL) || strstr(name, "codex") != NULL;
}

static void put_options(struct model_call *call, tn_builder *builder) {
    const char *effort = tn_get_text(model_option(call, "reasoning"), "effort", NULL);
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
        openai_begin(builder, "format", "json_schema");
        openai_put_format(call, builder);
        tn.value->end(builder);
        tn.value->end(builder);
    }
    tn_put_bool(builder, "store", 0);
    if (!reasons(call)) return;
    tn_value include = tn_text("reasoning.encrypted_content");
    tn_put_begin(builder, "include", TN_ARRAY);
    tn.value->add(builder, include);
    tn.value->end(builder);
    tn_release(include);
}

void responses_start(struct model_call *call) {
    bool stream = model_streams(call);
    if (model_option(call, "stop") != NULL) {
        model_fail(call, "UNSUPPORTED", "`api: responses` knows no `stop`: say `api: chat`, or leave it out");
        return;
    }
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "model", call->model->name);
    put_input(call, builder);
    put_tools(call, builder);
    put_options(call, builder);
    if (stream) tn_put_bool(builder, "stream", 1);
    tn.value->end(builder);
    tn_value body = tn.value->finish(builder);
    model_send(call, &(struct model_request){.path = "/responses", .body = body, .whole = !stream});
    tn_release(body);
}
