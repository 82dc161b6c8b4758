/*
 * chat_extras.c - what some servers send beside the texts and calls: reasoning_details (OpenRouter), citations and
 * search results (Perplexity, xAI); and audio (chat_speech.c).
 *
 * They are collected while the answer arrives, because each event of a stream repeats or continues them, and become
 * parts and `extra` when it ends. reasoning_details must be sent back unchanged; the pieces of one text are joined, as
 * OpenRouter asks for.
 */
#include "openai.h"

#define SOURCES_MAX 1000u /* citations of one answer; more are ignored */

/* ---- reasoning_details ---- */

/* The member of a piece that a later piece continues; NULL for pieces that are complete. */
static const char *details_text_member(tn_value piece) {
    const char *type = tn_get_text(piece, "type", "");
    if (strcmp(type, "reasoning.text") == 0) return "text";
    return strcmp(type, "reasoning.summary") == 0 ? "summary" : NULL;
}

static bool details_continue(tn_value piece, tn_value next) {
    const char *member = details_text_member(piece), *other = details_text_member(next);
    return member != NULL && other == member && tn_get_int(piece, "index", 0) == tn_get_int(next, "index", 0);
}

/* Writes the pieces [first, end) as one: their members, of which the first value is kept, and their texts together. */
static void details_put_joined(tn_builder *builder, tn_value pieces, uint64_t first, uint64_t end) {
    const char *member = details_text_member(tn.value->at(pieces, first));
    tn_value joined = tn_retain(tn.value->at(pieces, first));
    struct tn_text_buffer text = TN_TEXT_BUFFER(TN_ANSWER_TEXT_MAX);
    for (uint64_t i = first; i < end; i++) {
        tn_value piece = tn.value->at(pieces, i), key, value;
        uint64_t length = 0;
        const char *chars = tn_chars(tn_get(piece, member), &length);
        if (chars != NULL) (void)tn_text_append_n(&text, chars, length);
        for (uint64_t k = 0, count = tn.value->count(piece); k < count; k++) {
            if (tn.value->entry(piece, k, &key, &value) != TN_OK || tn.value->kind(value) <= TN_NULL) continue;
            const char *name = tn_chars(key, &length);
            if (tn.value->kind(tn_get(joined, name)) <= TN_NULL) (void)tn.value->set(&joined, name, length, value);
        }
    }
    tn_value whole = tn_text_n(tn_text_chars(&text), text.length);
    (void)tn.value->set(&joined, member, strlen(member), whole);
    tn_put(builder, NULL, joined);
    tn_release(whole);
    tn_release(joined);
    tn_text_free(&text);
}

static void details_finish(struct model_call *call, tn_value pieces) {
    uint64_t count = tn.value->count(pieces);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && details_continue(tn.value->at(pieces, i), tn.value->at(pieces, end));) end++;
        if (end - i > 1)
            details_put_joined(builder, pieces, i, end);
        else
            tn_put(builder, NULL, tn.value->at(pieces, i));
    }
    tn.value->end(builder);
    tn_value details = tn_finish(builder);
    model_set_extra(call, "reasoning_details", details);
    tn_release(details);
}

/* ---- Citations ---- */

static bool text_equal(tn_value a, tn_value b) {
    uint64_t first_length = 0, second_length = 0;
    const char *first = tn_chars(a, &first_length), *second = tn_chars(b, &second_length);
    return first != NULL && second != NULL && first_length == second_length && memcmp(first, second, first_length) == 0;
}

static tn_value results_find(tn_value results, tn_value url) {
    for (uint64_t i = 0, count = tn.value->kind(results) == TN_ARRAY ? tn.value->count(results) : 0; i < count; i++)
        if (text_equal(tn_get(tn.value->at(results, i), "url"), url)) return tn.value->at(results, i);
    return NULL;
}

static bool citations_have(tn_value citations, tn_value url) {
    for (uint64_t i = 0, count = tn.value->kind(citations) == TN_ARRAY ? tn.value->count(citations) : 0; i < count; i++)
        if (text_equal(tn.value->at(citations, i), url)) return true;
    return false;
}

/* `result` may be NULL. */
static void citation_add(struct model_call *call, tn_value url, tn_value result) {
    tn_value title = tn_get(result, "title");
    tn_builder *builder = tn_builder_new();
    openai_begin_item(builder, NULL, "source");
    tn_put(builder, "url", url);
    if (openai_is_text(title)) tn_put(builder, "title", title);
    if (result != NULL) {
        tn_put_begin(builder, "extra", TN_OBJECT);
        tn_put(builder, "openai", result);
        tn.value->end(builder);
    }
    tn.value->end(builder);
    tn_value part = tn_finish(builder);
    model_add_part(call, part);
    tn_release(part);
}

/* The text names citations by their number, so their order is kept; other results of the search follow. */
static void citations_finish(struct model_call *call, const struct chat_extras *extras) {
    uint64_t citations = extras->citations != NULL ? tn.value->count(extras->citations) : 0;
    uint64_t results = extras->results != NULL ? tn.value->count(extras->results) : 0;
    for (uint64_t i = 0; i < citations && i < SOURCES_MAX; i++) {
        tn_value url = tn.value->at(extras->citations, i);
        if (openai_is_text(url)) citation_add(call, url, results_find(extras->results, url));
    }
    for (uint64_t i = 0; i < results && i < SOURCES_MAX; i++) {
        tn_value result = tn.value->at(extras->results, i), url = tn_get(result, "url");
        if (openai_is_text(url) && !citations_have(extras->citations, url)) citation_add(call, url, result);
    }
}

/* ---- References of Mistral, to what a tool has returned ---- */

void openai_extras_read_references(struct model_call *call, tn_value ids) {
    struct chat_extras *extras = &((struct openai_call *)call->provider_data)->extras;
    for (uint64_t i = 0; tn.value->kind(ids) == TN_ARRAY && i < tn.value->count(ids); i++) {
        tn_value id = tn.value->at(ids, i);
        uint64_t count = extras->references != NULL ? tn.value->count(extras->references) : 0, known = 0;
        while (known < count && !tn.value->equal(tn.value->at(extras->references, known), id)) known++;
        if (known == count && count < SOURCES_MAX && (openai_is_text(id) || tn.value->kind(id) == TN_INT))
            (void)tn_append_take(&extras->references, tn_retain(id));
    }
}

static void references_finish(struct model_call *call, tn_value references) {
    for (uint64_t i = 0, count = references != NULL ? tn.value->count(references) : 0; i < count; i++) {
        tn_value id = tn.value->at(references, i), title = openai_is_text(id) ? tn_retain(id) : tn_to_json(id);
        tn_value part = tn_build("{s:s, s:V, s:{s:{s:v}}}", "type", "source", "title", title, "extra", "openai",
                                 "reference_id", id);
        model_add_part(call, part);
        tn_release(part);
    }
}

/* ---- All of them ---- */

/* Adds the sources once: as soon as the answer is complete and has some. */
static void extras_add_sources(struct model_call *call, struct chat_extras *extras) {
    if (extras->is_cited || (extras->citations == NULL && extras->results == NULL && extras->references == NULL))
        return;
    extras->is_cited = true;
    citations_finish(call, extras);
    references_finish(call, extras->references);
}

static void keep(tn_value *place, tn_value array) {
    if (tn.value->kind(array) != TN_ARRAY || tn.value->count(array) == 0) return;
    tn_release(*place);
    *place = tn_retain(array);
}

void openai_extras_read_message(struct model_call *call, tn_value message, bool has_reasoning) {
    struct chat_extras *extras = &((struct openai_call *)call->provider_data)->extras;
    tn_value details = tn_get(message, "reasoning_details");
    uint64_t count = tn.value->kind(details) == TN_ARRAY ? tn.value->count(details) : 0;
    for (uint64_t i = 0; i < count && !has_reasoning; i++) {
        const char *member = details_text_member(tn.value->at(details, i));
        if (member != NULL) model_add_reasoning(call, tn_get(tn.value->at(details, i), member));
    }
    openai_append_all(&extras->details, details);
    openai_speech_read(call, tn_get(message, "audio"));
    keep(&extras->citations, tn_get(message, "citations"));
}

void openai_extras_read_answer(struct model_call *call, tn_value json) {
    struct chat_extras *extras = &((struct openai_call *)call->provider_data)->extras;
    keep(&extras->citations, tn_get(json, "citations"));
    keep(&extras->results, tn_get(json, "search_results"));
    if (model_is_finished(call)) extras_add_sources(call, extras); /* xAI's come after the finish_reason */
}

void openai_extras_finish(struct model_call *call) {
    struct chat_extras *extras = &((struct openai_call *)call->provider_data)->extras;
    if (extras->details != NULL) details_finish(call, extras->details);
    openai_speech_finish(call);
    extras_add_sources(call, extras); /* a second finish_reason adds nothing again */
}

void openai_extras_release(struct chat_extras *extras) {
    tn_release(extras->details);
    tn_release(extras->citations);
    tn_release(extras->results);
    tn_release(extras->references);
    tn_release(extras->audio_id);
    model_audio_release(&extras->audio);
}
