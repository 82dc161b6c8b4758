/*
 * chat_answer.c - reads answers of Chat Completions, streamed or in one piece, of OpenAI and of compatible servers.
 *
 * A finish_reason completes the answer. "[DONE]" is not required; if a server sends no finish_reason, it completes the
 * answer instead. Usage may follow later, or be missing. Extensions of some servers (reasoning_content or reasoning,
 * images, annotations, completions of plain text) are accepted from all of them. Unknown members are ignored. Only the
 * first choice is used.
 */
#include "openai.h"

static const char *chat_finish_reason(const char *word) {
    static const char *const words[][2] = {{"stop", "stop"},
                                           {"length", "length"},
                                           {"tool_calls", "tool_calls"},
                                           {"function_call", "tool_calls"},
                                           {"content_filter", "content_filter"},
                                           {"eos", "stop"},
                                           {"end_turn", "stop"},
                                           {"max_tokens", "length"},
                                           {"model_length", "length"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i][0], word) == 0) return words[i][1];
    return "other";
}

/*
 * Most servers count reasoning as output. Others count it separately: their total is the sum of input, output and
 * reasoning.
 */
static void chat_read_usage(struct model_call *call, tn_value usage) {
    struct tn_answer_usage counts = TN_ANSWER_USAGE;
    if (tn.value->kind(usage) != TN_OBJECT) return;
    counts.input = tn_answer_get_count(usage, "prompt_tokens");
    counts.output = tn_answer_get_count(usage, "completion_tokens");
    counts.total = tn_answer_get_count(usage, "total_tokens");
    counts.cached = tn_answer_get_count(tn_get(usage, "prompt_tokens_details"), "cached_tokens");
    if (counts.cached < 0) counts.cached = tn_answer_get_count(usage, "prompt_cache_hit_tokens");
    counts.cache_write = tn_answer_get_count(tn_get(usage, "prompt_tokens_details"), "cache_write_tokens");
    counts.reasoning = tn_answer_get_count(tn_get(usage, "completion_tokens_details"), "reasoning_tokens");
    if (counts.reasoning > 0 && counts.input >= 0 && counts.output >= 0 &&
        counts.total - counts.input > counts.output && counts.total - counts.input - counts.output == counts.reasoning)
        counts.output += counts.reasoning;
    model_set_usage(call, &counts);
}

/* Reads a content that is a text or, on some servers, a list of parts: texts and reasoning. */
static void chat_read_content(struct model_call *call, tn_value content) {
    model_add_text(call, content);
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        tn_value thinking = tn_get(tn.value->at(content, i), "thinking");
        for (uint64_t k = 0; k < (tn.value->kind(thinking) == TN_ARRAY ? tn.value->count(thinking) : 0); k++)
            model_add_reasoning(call, tn_get(tn.value->at(thinking, k), "text"));
        model_add_text(call, tn_get(tn.value->at(content, i), "text"));
    }
}

static void chat_read_images(struct model_call *call, tn_value images) {
    for (uint64_t i = 0, count = tn.value->count(images); i < count; i++) {
        tn_value url = tn_get(tn_get(tn.value->at(images, i), "image_url"), "url");
        if (!openai_is_text(url)) continue;
        tn_builder *builder = tn_builder_new();
        openai_begin_item(builder, NULL, "image");
        tn_put(builder, "url", url);
        tn.value->end(builder);
        tn_value url_part = tn_finish(builder);
        struct model_media media;
        if (model_media_init(&media, url_part)) {
            builder = tn_builder_new();
            openai_begin_item(builder, NULL, "image");
            if (media.media_type != NULL) tn_put_text(builder, "media_type", media.media_type);
            tn_put(builder, media.data != NULL ? "data" : "url", media.data != NULL ? media.data : url);
            tn.value->end(builder);
            tn_value part = tn_finish(builder);
            model_add_part(call, part);
            tn_release(part);
            model_media_finish(&media);
        }
        tn_release(url_part);
    }
}

static void chat_read_calls(struct model_call *call, tn_value calls, bool whole) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value tool_call = tn.value->at(calls, i), function = tn_get(tool_call, "function");
        tn_value custom = tn_get(tool_call, "custom");
        int64_t index = whole ? (int64_t)i : tn_get_int(tool_call, "index", (int64_t)i);
        tn_value id = tn_get(tool_call, "id");
        if (tn.value->kind(custom) == TN_OBJECT) { /* a call of a tool with text input; never streamed */
            tn_value arguments = tn_build("{s:s}", "input", tn_get_text(custom, "input", ""));
            model_add_tool_call(call, index, id, tn_get(custom, "name"), arguments);
            tn_release(arguments);
        } else
            model_add_tool_call(call, index, id, tn_get(function, "name"), tn_get(function, "arguments"));
    }
}

static void chat_read_annotations(struct model_call *call, tn_value annotations) {
    for (uint64_t i = 0, count = tn.value->count(annotations); i < count; i++) {
        tn_value source = openai_build_source(tn.value->at(annotations, i));
        model_add_part(call, source);
        tn_release(source);
    }
}

/* Reads a message or, if `whole` is false, a delta. */
static void chat_read_message(struct model_call *call, tn_value message, bool whole) {
    tn_value reasoning = tn_get(message, "reasoning_content"), content = tn_get(message, "content");
    if (!openai_is_text(reasoning)) reasoning = tn_get(message, "reasoning");
    tn_value calls = tn_get(message, "tool_calls");
    bool more = openai_is_text(reasoning) || openai_is_text(content) || tn.value->count(calls) > 0;
    if (more && model_is_finished(call)) {
        model_fail_response(call, "more data after the end of the answer");
        return;
    }
    model_add_reasoning(call, reasoning);
    chat_read_content(call, content);
    model_add_refusal(call, tn_get(message, "refusal"));
    chat_read_images(call, tn_get(message, "images"));
    if (tn.value->kind(calls) == TN_ARRAY) chat_read_calls(call, calls, whole);
    if (tn.value->kind(tn_get(message, "annotations")) == TN_ARRAY)
        chat_read_annotations(call, tn_get(message, "annotations"));
}

static tn_value chat_first_choice(tn_value json) {
    tn_value choices = tn_get(json, "choices");
    for (uint64_t i = 0, count = tn.value->kind(choices) == TN_ARRAY ? tn.value->count(choices) : 0; i < count; i++)
        if (tn_get_int(tn.value->at(choices, i), "index", 0) == 0) return tn.value->at(choices, i);
    return NULL;
}

static void chat_read_choice(struct model_call *call, tn_value json, const char *member) {
    struct openai_call *state = call->provider_data;
    tn_value choice = chat_first_choice(json), message = tn_get(choice, member);
    model_set_model_name(call, tn_get(json, "model"));
    if (choice != NULL) {
        const char *word = tn_get_text(choice, "finish_reason", NULL);
        state->received = true;
        if (tn.value->kind(message) == TN_OBJECT)
            chat_read_message(call, message, strcmp(member, "message") == 0);
        else
            model_add_text(call, tn_get(choice, "text"));
        openai_append_all(&state->logprobs, tn_get(tn_get(choice, "logprobs"), "content"));
        if (word != NULL && strcmp(word, "error") == 0)
            model_fail_service(call, choice);
        else if (word != NULL) {
            model_finish(call, chat_finish_reason(word));
            model_set_extra(call, "logprobs", state->logprobs);
        }
    }
    chat_read_usage(call, tn_get(json, "usage"));
}

void openai_chat_event(struct model_call *call, const char *name, tn_value json) {
    const struct openai_call *state = call->provider_data;
    (void)name;
    if (json == NULL) {
        if (!model_is_finished(call) && state->received) model_finish(call, "other");
        model_end_stream(call);
    } else if (tn.value->kind(json) != TN_OBJECT)
        model_fail_response(call, "an event that is %s; expected an object with `choices`", tn_kind_name(json));
    else if (tn.value->kind(tn_get(json, "error")) > TN_NULL)
        model_fail_service(call, json);
    else
        chat_read_choice(call, json, "delta");
}

void openai_chat_answer(struct model_call *call, tn_value json) {
    const struct openai_call *state = call->provider_data;
    if (tn.value->kind(tn_get(json, "error")) > TN_NULL) {
        model_fail_service(call, json);
        return;
    }
    chat_read_choice(call, json, "message");
    if (!model_is_finished(call) && state->received) model_finish(call, "other");
}
