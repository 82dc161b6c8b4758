/*
 * chat_answer.c - answers of Chat Completions, in pieces or whole, of OpenAI's and of compatible servers.
 *
 * The answer is whole with a finish_reason; "[DONE]" is not waited for, but does for one where a server that never says
 * why it stopped sends it. Usage may follow, or never come. What only some servers have (reasoning_content or
 * reasoning, images, annotations, completions of mere text) is understood of all of them; members that are not known
 * are left alone. Of several choices the first is taken.
 */
#include "openai.h"

static const char *reason_of(const char *word) {
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
 * Reasoning is a part of the output, except where a server counts it beside: there the total tells, being the sum of
 * all three.
 */
static void read_usage(struct model_call *call, tn_value usage) {
    struct model_usage counts = MODEL_USAGE_NONE;
    if (tn.value->kind(usage) != TN_OBJECT) return;
    counts.input = model_count(usage, "prompt_tokens");
    counts.output = model_count(usage, "completion_tokens");
    counts.total = model_count(usage, "total_tokens");
    counts.cached = model_count(tn.value->get(usage, "prompt_tokens_details"), "cached_tokens");
    if (counts.cached < 0) counts.cached = model_count(usage, "prompt_cache_hit_tokens");
    counts.cache_write = model_count(tn.value->get(usage, "prompt_tokens_details"), "cache_write_tokens");
    counts.reasoning = model_count(tn.value->get(usage, "completion_tokens_details"), "reasoning_tokens");
    if (counts.reasoning > 0 && counts.input >= 0 && counts.output >= 0 &&
        counts.total - counts.input > counts.output && counts.total - counts.input - counts.output == counts.reasoning)
        counts.output += counts.reasoning;
    model_usage(call, &counts);
}

/* A content of parts, as some servers have it: texts, and what was thought, which is texts again. */
static void read_content(struct model_call *call, tn_value content) {
    model_text(call, content);
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        tn_value thinking = tn.value->get(tn.value->at(content, i), "thinking");
        for (uint64_t k = 0; k < (tn.value->kind(thinking) == TN_ARRAY ? tn.value->count(thinking) : 0); k++)
            model_reasoning(call, tn.value->get(tn.value->at(thinking, k), "text"));
        model_text(call, tn.value->get(tn.value->at(content, i), "text"));
    }
}

static void read_images(struct model_call *call, tn_value images) {
    for (uint64_t i = 0, count = tn.value->count(images); i < count; i++) {
        tn_value url = tn.value->get(tn.value->get(tn.value->at(images, i), "image_url"), "url");
        if (!openai_is_text(url)) continue;
        tn_builder *builder = tn.value->builder();
        openai_begin(builder, NULL, "image");
        tn_put(builder, "url", url);
        tn.value->end(builder);
        tn_value given = tn.value->finish(builder);
        struct model_media media;
        if (model_media_init(&media, given)) {
            builder = tn.value->builder();
            openai_begin(builder, NULL, "image");
            if (media.media_type != NULL) tn_put_text(builder, "media_type", media.media_type);
            tn_put(builder, media.data != NULL ? "data" : "url", media.data != NULL ? media.data : url);
            tn.value->end(builder);
            tn_value part = tn.value->finish(builder);
            model_part(call, part);
            tn_release(part);
            model_media_finish(&media);
        }
        tn_release(given);
    }
}

static void read_calls(struct model_call *call, tn_value calls, bool whole) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value made = tn.value->at(calls, i), function = tn.value->get(made, "function");
        tn_value custom = tn.value->get(made, "custom");
        int64_t index = whole ? (int64_t)i : tn_get_int(made, "index", (int64_t)i);
        tn_value id = tn.value->get(made, "id");
        if (tn.value->kind(custom) == TN_OBJECT) { /* of a tool that takes a text, whole only */
            tn_builder *builder = tn.value->builder();
            tn.value->begin(builder, TN_OBJECT);
            tn_put_text(builder, "input", tn_get_text(custom, "input", ""));
            tn.value->end(builder);
            tn_value arguments = tn.value->finish(builder);
            model_tool_call(call, index, id, tn.value->get(custom, "name"), arguments);
            tn_release(arguments);
        } else
            model_tool_call(call, index, id, tn.value->get(function, "name"), tn.value->get(function, "arguments"));
    }
}

static void read_annotations(struct model_call *call, tn_value annotations) {
    for (uint64_t i = 0, count = tn.value->count(annotations); i < count; i++) {
        tn_value source = openai_source(tn.value->at(annotations, i));
        model_part(call, source);
        tn_release(source);
    }
}

/* A message, or the piece of one. */
static void read_message(struct model_call *call, tn_value message, bool whole) {
    tn_value reasoning = tn.value->get(message, "reasoning_content"), content = tn.value->get(message, "content");
    if (!openai_is_text(reasoning)) reasoning = tn.value->get(message, "reasoning");
    tn_value calls = tn.value->get(message, "tool_calls");
    bool more = openai_is_text(reasoning) || openai_is_text(content) || tn.value->count(calls) > 0;
    if (more && model_finished(call)) {
        model_invalid(call, "more of an answer that had come to its end");
        return;
    }
    model_reasoning(call, reasoning);
    read_content(call, content);
    model_refusal(call, tn.value->get(message, "refusal"));
    read_images(call, tn.value->get(message, "images"));
    if (tn.value->kind(calls) == TN_ARRAY) read_calls(call, calls, whole);
    if (tn.value->kind(tn.value->get(message, "annotations")) == TN_ARRAY)
        read_annotations(call, tn.value->get(message, "annotations"));
}

static tn_value first_choice(tn_value json) {
    tn_value choices = tn.value->get(json, "choices");
    for (uint64_t i = 0, count = tn.value->kind(choices) == TN_ARRAY ? tn.value->count(choices) : 0; i < count; i++)
        if (tn_get_int(tn.value->at(choices, i), "index", 0) == 0) return tn.value->at(choices, i);
    return NULL;
}

static void read_choice(struct model_call *call, tn_value json, const char *member) {
    struct openai_call *own = call->own;
    tn_value choice = first_choice(json), message = tn.value->get(choice, member);
    model_model(call, tn.value->get(json, "model"));
    if (choice != NULL) {
        const char *word = tn_get_text(choice, "finish_reason", NULL);
        own->said = true;
        if (tn.value->kind(message) == TN_OBJECT)
            read_message(call, message, strcmp(member, "message") == 0);
        else
            model_text(call, tn.value->get(choice, "text"));
        openai_append_all(&own->logprobs, tn.value->get(tn.value->get(choice, "logprobs"), "content"));
        if (word != NULL && strcmp(word, "error") == 0)
            model_error(call, choice);
        else if (word != NULL) {
            model_finish(call, reason_of(word));
            model_extra(call, "logprobs", own->logprobs);
        }
    }
    read_usage(call, tn.value->get(json, "usage"));
}

void chat_event(struct model_call *call, const char *name, tn_value json) {
    const struct openai_call *own = call->own;
    (void)name;
    if (json == NULL) {
        if (!model_finished(call) && own->said) model_finish(call, "other");
        model_done(call);
    } else if (tn.value->kind(json) != TN_OBJECT)
        model_invalid(call, "an event that is %s; expected an object with `choices`", tn_kind_name(json));
    else if (tn.value->kind(tn.value->get(json, "error")) > TN_NULL)
        model_error(call, json);
    else
        read_choice(call, json, "delta");
}

void chat_answer(struct model_call *call, tn_value json) {
    const struct openai_call *own = call->own;
    if (tn.value->kind(tn.value->get(json, "error")) > TN_NULL) {
        model_error(call, json);
        return;
    }
    read_choice(call, json, "message");
    if (!model_finished(call) && own->said) model_finish(call, "other");
}
