/*
 * chat_answer.c - reads answers of Chat Completions, streamed or in one piece, of OpenAI and of compatible servers.
 *
 * A finish_reason completes the answer. "[DONE]" is not required; if a server sends no finish_reason, it completes the
 * answer instead. Usage may follow later, or be missing. Extensions of some servers (reasoning_content or reasoning,
 * images, annotations, function_call, completions of plain text) are accepted from all of them. Unknown members are
 * ignored. Only the first choice is used.
 */
#include "dialect.h"
#include "openai.h"

#define FUNCTION_CALL_INDEX (-1) /* of a legacy function_call, of which there is at most one */

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

/* The number at `a.b`, or `a`; -1 if there is none. */
static int64_t chat_count_at(tn_value usage, const char *path) {
    char first[64];
    const char *dot = strchr(path, '.');
    uint64_t length = dot != NULL ? (uint64_t)(dot - path) : 0;
    if (dot == NULL || length >= sizeof first) return tn_answer_get_count(usage, path);
    memcpy(first, path, length);
    first[length] = '\0';
    return tn_answer_get_count(tn_get(usage, first), dot + 1);
}

/* The first number that is there: at the path of the dialect, then at the usual ones, which end with NULL. */
static int64_t chat_count(tn_value usage, const char *path, const char *const *usual) {
    int64_t count = path != NULL ? chat_count_at(usage, path) : -1;
    for (; count < 0 && *usual != NULL; usual++) count = chat_count_at(usage, *usual);
    return count;
}

/*
 * Most servers count reasoning as output. Others count it separately: their total is the sum of input, output and
 * reasoning.
 */
static void chat_read_usage(struct model_call *call, tn_value usage) {
    static const char *const cached[] = {"prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens",
                                         "cached_tokens", "num_cached_tokens", NULL};
    static const char *const cache_write[] = {"prompt_tokens_details.cache_write_tokens", NULL};
    static const char *const reasoning[] = {"completion_tokens_details.reasoning_tokens", "reasoning_tokens", NULL};
    struct tn_answer_usage counts = TN_ANSWER_USAGE;
    if (tn.value->kind(usage) != TN_OBJECT) return;
    counts.input = tn_answer_get_count(usage, "prompt_tokens");
    counts.output = tn_answer_get_count(usage, "completion_tokens");
    counts.total = tn_answer_get_count(usage, "total_tokens");
    counts.cached = chat_count(usage, openai_dialect(call)->cached, cached);
    counts.cache_write = chat_count(usage, openai_dialect(call)->cache_write, cache_write);
    counts.reasoning = chat_count(usage, openai_dialect(call)->reasoning, reasoning);
    if (counts.reasoning > 0 && counts.input >= 0 && counts.output >= 0 &&
        counts.total - counts.input > counts.output && counts.total - counts.input - counts.output == counts.reasoning)
        counts.output += counts.reasoning;
    model_set_usage(call, &counts);
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
        tn_value more = tn_get(tool_call, "extra_content"); /* Gemini's thought signature */
        if (tn.value->kind(more) == TN_OBJECT) model_set_tool_call_extra(call, index, "extra_content", more);
    }
}

/* The form of calls before there were tools: at most one, without an id. */
static void chat_read_function_call(struct model_call *call, tn_value function) {
    if (tn.value->kind(function) != TN_OBJECT) return;
    model_add_tool_call(call, FUNCTION_CALL_INDEX, NULL, tn_get(function, "name"), tn_get(function, "arguments"));
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
    const char *member = openai_dialect(call)->reasoning_in;
    tn_value reasoning = member != NULL ? tn_get(message, member) : NULL, content = tn_get(message, "content");
    if (!openai_is_text(reasoning)) reasoning = tn_get(message, "reasoning_content");
    if (!openai_is_text(reasoning)) reasoning = tn_get(message, "reasoning");
    tn_value calls = tn_get(message, "tool_calls"), function = tn_get(message, "function_call");
    bool more = openai_is_text(reasoning) || openai_is_text(content) || tn.value->count(calls) > 0 ||
                tn.value->kind(function) == TN_OBJECT;
    if (more && model_is_finished(call)) {
        model_fail_response(call, "more data after the end of the answer");
        return;
    }
    model_add_reasoning(call, reasoning);
    openai_extras_read_message(call, message, openai_is_text(reasoning));
    openai_read_content(call, content);
    model_add_refusal(call, tn_get(message, "refusal"));
    chat_read_images(call, tn_get(message, "images"));
    if (tn.value->kind(calls) == TN_ARRAY) chat_read_calls(call, calls, whole);
    chat_read_function_call(call, function);
    if (tn.value->kind(tn_get(message, "annotations")) == TN_ARRAY)
        chat_read_annotations(call, tn_get(message, "annotations"));
}

static tn_value chat_first_choice(tn_value json) {
    tn_value choices = tn_get(json, "choices");
    for (uint64_t i = 0, count = tn.value->kind(choices) == TN_ARRAY ? tn.value->count(choices) : 0; i < count; i++)
        if (tn_get_int(tn.value->at(choices, i), "index", 0) == 0) return tn.value->at(choices, i);
    return NULL;
}

static void chat_finish(struct model_call *call, const char *reason) {
    openai_think_end(call);
    openai_extras_finish(call);
    model_finish(call, reason);
}

static void chat_read_choice(struct model_call *call, tn_value json, const char *member) {
    struct openai_call *state = call->provider_data;
    tn_value choice = chat_first_choice(json), message = tn_get(choice, member);
    model_set_model_name(call, tn_get(json, "model"));
    openai_extras_read_answer(call, json); /* also without a choice: in the last event */
    if (choice != NULL) {
        const char *word = tn_get_text(choice, "finish_reason", NULL);
        state->received = true;
        if (tn.value->kind(message) == TN_OBJECT)
            chat_read_message(call, message, strcmp(member, "message") == 0);
        else
            openai_think_add(call, tn_get(choice, "text"));
        openai_append_all(&state->logprobs, tn_get(tn_get(choice, "logprobs"), "content"));
        if (word != NULL && strcmp(word, "error") == 0)
            model_fail_service(call, choice);
        else if (word != NULL) {
            chat_finish(call, chat_finish_reason(word));
            model_set_extra(call, "logprobs", state->logprobs);
        }
    }
    chat_read_usage(call, tn_get(choice, "usage"));                 /* Moonshot, in streams */
    chat_read_usage(call, tn_get(tn_get(json, "x_groq"), "usage")); /* Groq, in streams */
    chat_read_usage(call, tn_get(json, "usage"));
}

void openai_chat_event(struct model_call *call, const char *name, tn_value json) {
    const struct openai_call *state = call->provider_data;
    (void)name;
    if (json == NULL) {
        if (!model_is_finished(call) && state->received) chat_finish(call, "other");
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
    if (!model_is_finished(call) && state->received) chat_finish(call, "other");
}
