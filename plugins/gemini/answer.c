/*
 * answer.c - reads the service's answer: the chunks of a stream, or the whole answer, which is a single chunk.
 *
 * A chunk has candidates (we request one), usage, and metadata. Its parts are pieces of text, thoughts, images, pieces
 * of speech, function calls (whole or in pieces), and results of the service's own tools. The end is a finishReason; it
 * is STOP also for function calls. If the service blocks the prompt, there is no candidate. The answer is then a
 * refusal with the finish reason content_filter, not an error, because a retry would not help and the graph may
 * continue.
 */
#include "gemini.h"
#include <tenon/util/wav.h>

/* ---- Reasons ---- */

/*
 * Finish reasons of the service, and those of tenon/message.h. NULL: the model wrote a malformed call, which is an
 * error that a retry may fix. Reasons that are not listed become "other".
 */
static const struct reason {
    const char *service, *tenon;
} reasons[] = {{"STOP", "stop"},
               {"MAX_TOKENS", "length"},
               {"SAFETY", "content_filter"},
               {"RECITATION", "content_filter"},
               {"BLOCKLIST", "content_filter"},
               {"PROHIBITED_CONTENT", "content_filter"},
               {"SPII", "content_filter"},
               {"MODEL_ARMOR", "content_filter"},
               {"IMAGE_SAFETY", "content_filter"},
               {"IMAGE_PROHIBITED_CONTENT", "content_filter"},
               {"IMAGE_RECITATION", "content_filter"},
               {"MALFORMED_FUNCTION_CALL", NULL},
               {"UNEXPECTED_TOOL_CALL", NULL}};

static void gemini_finish(struct model_call *call, tn_value candidate, const char *reason) {
    const struct reason *found = NULL;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons && found == NULL; i++)
        if (strcmp(reason, reasons[i].service) == 0) found = &reasons[i];
    if (found != NULL && found->tenon == NULL) {
        model_fail(call, "INVALID_RESPONSE",
                   "gemini ended with %s: %s; the model's function call was malformed: try again, "
                   "or simplify the tool's schema",
                   reason, tn_get_text(candidate, "finishMessage", "no details"));
        return;
    }
    if (found == NULL || strcmp(found->service, "STOP") != 0) {
        model_set_extra(call, "finishReason", tn_get(candidate, "finishReason"));
        model_set_extra(call, "finishMessage", tn_get(candidate, "finishMessage"));
    }
    model_finish(call, found != NULL ? found->tenon : "other");
}

static void gemini_prompt_blocked(struct model_call *call, tn_value feedback, const char *reason) {
    char default_text[160];
    tn_value message = tn_get(feedback, "blockReasonMessage"), text = NULL;
    (void)snprintf(default_text, sizeof default_text, "The prompt was blocked by the service (%.*s).",
                   GEMINI_REASON_MAX, reason);
    text = tn.value->kind(message) == TN_STRING ? tn_retain(message) : tn_text(default_text);
    model_add_refusal(call, text);
    model_set_extra(call, "promptFeedback", feedback);
    model_finish(call, "content_filter");
    tn_release(text);
}

/* ---- Function calls ---- */

static void gemini_fail_no_memory(struct model_call *call) {
    model_fail(call, "LIMIT", "not enough memory for a call's arguments");
}

static void gemini_fail_arguments(struct model_call *call, const char *reason) {
    model_fail_response(call, "a function call with invalid arguments: %s", reason);
}

/* Emits the text that the pieces added to the arguments. Fails if text was emitted that is now invalid. */
static void gemini_emit_arguments(struct model_call *call) {
    struct gemini_call *state = call->provider_data;
    tn_value text = partial_take_text(state->partial);
    if (text != NULL)
        model_add_tool_call(call, state->call_index, NULL, NULL, text);
    else if (partial_text_is_invalid(state->partial) && model_get_arguments_length(call, state->call_index) > 0)
        gemini_fail_arguments(call, "a value that was already complete was sent again");
    tn_release(text);
}

/* Ends the call whose arguments are streamed, if there is one. `arguments_sent` may be NULL or {}, or have the complete
 * arguments. */
static void gemini_end_streamed_call(struct model_call *call, tn_value arguments_sent) {
    struct gemini_call *state = call->provider_data;
    if (state->partial == NULL || call->ended) return;
    if (model_get_arguments_length(call, state->call_index) > 0) {
        partial_end(state->partial, arguments_sent);
        gemini_emit_arguments(call);
    } else {
        tn_value arguments =
            tn.value->count(arguments_sent) > 0 ? tn_retain(arguments_sent) : partial_build_value(state->partial);
        if (arguments == NULL)
            gemini_fail_no_memory(call);
        else
            model_add_tool_call(call, state->call_index, NULL, NULL, arguments);
        tn_release(arguments);
    }
    partial_free(state->partial);
    state->partial = NULL;
}

static void gemini_start_call(struct model_call *call, tn_value function, tn_value signature, tn_value arguments) {
    struct gemini_call *state = call->provider_data;
    tn_value id = tn_get(function, "id");
    gemini_end_streamed_call(call, NULL);
    state->call_index = state->calls++;
    state->awaits_signature = false;
    model_add_tool_call(call, state->call_index, id, tn_get(function, "name"), arguments);
    if (tn.value->kind(id) == TN_STRING) model_set_tool_call_extra(call, state->call_index, "id", id);
    if (signature != NULL) model_set_tool_call_extra(call, state->call_index, "thoughtSignature", signature);
}

/* A piece with a name starts a call. A piece without a name belongs to the open call. */
static void gemini_on_function_call(struct model_call *call, tn_value function, tn_value signature) {
    struct gemini_call *state = call->provider_data;
    tn_value pieces = tn_get(function, "partialArgs"), arguments = tn_get(function, "args");
    uint64_t count = tn.value->kind(pieces) == TN_ARRAY ? tn.value->count(pieces) : 0;
    int32_t will_continue = 0;
    (void)tn.value->as_bool(tn_get(function, "willContinue"), &will_continue);
    bool has_name = tn_get_text(function, "name", "")[0] != '\0', complete = has_name && !will_continue && count == 0;
    if (has_name) gemini_start_call(call, function, signature, complete ? arguments : NULL);
    if (complete) return;
    if (!has_name && state->partial == NULL) {
        if (count > 0 || will_continue || tn.value->count(arguments) > 0)
            model_fail_response(call, "arguments of a function call without a name");
        return;
    }
    if (state->partial == NULL) state->partial = partial_new();
    if (state->partial == NULL) {
        gemini_fail_no_memory(call);
        return;
    }
    const char *reason = NULL;
    for (uint64_t i = 0; i < count; i++) {
        if (partial_add_piece(state->partial, tn.value->at(pieces, i), &reason)) continue;
        gemini_fail_arguments(call, reason);
        return;
    }
    if (will_continue)
        gemini_emit_arguments(call);
    else
        gemini_end_streamed_call(call, arguments);
}

/* ---- Parts ---- */

/* A part of type `audio` has data, so audio at an address is a file. */
static const char *gemini_part_type(const char *media_type, bool has_data) {
    if (strncmp(media_type, "image/", 6) == 0) return "image";
    return has_data && strncmp(media_type, "audio/", 6) == 0 ? "audio" : "file";
}

static tn_value gemini_text_member(tn_value object, const char *key) {
    tn_value member = tn_get(object, key);
    return tn.value->kind(member) == TN_STRING ? member : NULL;
}

/* Reads inlineData {mimeType, data} or fileData {mimeType, fileUri}. */
static void gemini_on_media(struct model_call *call, tn_value media, tn_value signature) {
    const char *type = tn_get_text(media, "mimeType", "application/octet-stream");
    tn_value data = gemini_text_member(media, "data"), uri = gemini_text_member(media, "fileUri");
    if (data == NULL && uri == NULL) {
        model_fail_response(call, "a file part without `data` and without `fileUri`");
        return;
    }
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "type", gemini_part_type(type, data != NULL));
    tn_put_text(out, "media_type", type);
    tn_put(out, data != NULL ? "data" : "url", data != NULL ? data : uri);
    if (signature != NULL) {
        tn_put_begin(out, "extra", TN_OBJECT);
        tn_put_begin(out, call->model->provider->name, TN_OBJECT);
        tn_put(out, "thoughtSignature", signature);
        tn.value->end(out);
        tn.value->end(out);
    }
    tn.value->end(out);
    tn_value part = tn_finish(out);
    model_add_part(call, part);
    tn_release(part);
}

static void gemini_end_audio(struct model_call *call) {
    struct gemini_call *state = call->provider_data;
    model_audio_finish(call, &state->audio, tn_chars(state->audio_type, NULL), NULL);
    tn_release(state->audio_type);
    state->audio_type = NULL;
}

/* Reads a piece of raw PCM. Any other part ends the audio. */
static bool gemini_on_samples(struct model_call *call, tn_value media) {
    struct gemini_call *state = call->provider_data;
    tn_value type = tn_get(media, "mimeType"), data = tn_get(media, "data");
    struct tn_pcm pcm, last;
    bool samples = tn_pcm_read(tn_chars(type, NULL), &pcm) && tn.value->kind(data) == TN_STRING;
    bool continues = samples && tn_pcm_read(tn_chars(state->audio_type, NULL), &last) && last.rate == pcm.rate &&
                     last.channels == pcm.channels;
    if (!continues) gemini_end_audio(call);
    if (!samples) return false;
    if (!continues) state->audio_type = tn_retain(type);
    model_audio_add(call, &state->audio, data);
    return true;
}

/* Adds a reasoning part without text whose `extra` has data that the next request must send back. */
static void gemini_add_extra_part(struct model_call *call, const char *name, tn_value value) {
    tn_value part =
        tn_build("{s:s,s:{s:{s:v}}}", "type", "reasoning", "extra", call->model->provider->name, name, value);
    model_add_part(call, part);
    tn_release(part);
}

/*
 * A signature belongs to the part that contains it. In a stream that is the last piece of a text, or an additional
 * empty piece. The signature ends the part.
 */
static void gemini_on_text_part(struct model_call *call, tn_value part, tn_value signature, bool thought) {
    struct gemini_call *state = call->provider_data;
    tn_value text = tn_get(part, "text");
    uint64_t length = 0;
    bool empty = tn_chars(text, &length) == NULL || length == 0;
    if (empty && signature == NULL) return;
    if (thought)
        model_add_reasoning(call, text);
    else
        model_add_text(call, text);
    if (signature != NULL && empty && !state->awaits_signature) {
        gemini_add_extra_part(call, "thoughtSignature", signature);
    } else if (signature != NULL) {
        model_set_part_extra(call, "thoughtSignature", signature);
        model_end_part(call);
    }
    state->awaits_signature = signature == NULL;
}

static void gemini_on_part(struct model_call *call, tn_value part) {
    struct gemini_call *state = call->provider_data;
    tn_value signature = tn_get(part, "thoughtSignature"), function = tn_get(part, "functionCall");
    tn_value media = tn_get(part, "inlineData");
    int32_t thought = 0;
    if (tn.value->kind(signature) != TN_STRING) signature = NULL;
    (void)tn.value->as_bool(tn_get(part, "thought"), &thought);
    if (gemini_on_samples(call, media)) return;
    if (media == NULL) media = tn_get(part, "fileData");
    if (tn.value->kind(function) == TN_OBJECT) {
        gemini_on_function_call(call, function, signature);
        return;
    }
    if (tn_get(part, "text") != NULL || (signature != NULL && tn.value->count(part) == 1)) {
        gemini_on_text_part(call, part, signature, thought != 0);
        return;
    }
    if (thought) return; /* a draft of the final image */
    if (media != NULL)
        gemini_on_media(call, media, signature);
    else if (tn.value->count(part) > 0)
        gemini_add_extra_part(call, "part", part); /* code that the service ran, its result, and similar parts */
    state->awaits_signature = false;
}

/* ---- Sources ---- */

static void grounding_put_source(struct model_call *call, tn_value url, tn_value title, tn_value from) {
    if (tn.value->kind(url) != TN_STRING && tn.value->kind(title) != TN_STRING) return;
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "type", "source");
    if (tn.value->kind(url) == TN_STRING) tn_put(out, "url", url);
    if (tn.value->kind(title) == TN_STRING) tn_put(out, "title", title);
    tn_put_begin(out, "extra", TN_OBJECT);
    tn_put(out, call->model->provider->name, from);
    tn.value->end(out);
    tn.value->end(out);
    tn_value part = tn_finish(out);
    model_add_part(call, part);
    tn_release(part);
}

/* groundingChunks: each {web | maps | retrievedContext | image: {uri, title}}. */
static void grounding_put_chunks(struct model_call *call, tn_value chunks) {
    for (uint64_t i = 0, count = tn.value->kind(chunks) == TN_ARRAY ? tn.value->count(chunks) : 0; i < count; i++) {
        tn_value chunk = tn.value->at(chunks, i), kind, source, url;
        if (tn.value->entry(chunk, 0, &kind, &source) != TN_OK) continue;
        url = tn_get(source, "uri");
        if (url == NULL) url = tn_get(source, "sourceUri");
        grounding_put_source(call, url, tn_get(source, "title"), chunk);
    }
}

/* Vertex uses `citations`, AI Studio `citationSources`. */
static void grounding_put_citations(struct model_call *call, tn_value metadata) {
    tn_value list = tn_get(metadata, "citations");
    if (list == NULL) list = tn_get(metadata, "citationSources");
    for (uint64_t i = 0, count = tn.value->kind(list) == TN_ARRAY ? tn.value->count(list) : 0; i < count; i++) {
        tn_value citation = tn.value->at(list, i);
        grounding_put_source(call, tn_get(citation, "uri"), tn_get(citation, "title"), citation);
    }
}

static void grounding_put_urls(struct model_call *call, tn_value metadata) {
    tn_value list = tn_get(metadata, "urlMetadata");
    for (uint64_t i = 0, count = tn.value->kind(list) == TN_ARRAY ? tn.value->count(list) : 0; i < count; i++) {
        tn_value url = tn.value->at(list, i);
        if (strcmp(tn_get_text(url, "urlRetrievalStatus", ""), "URL_RETRIEVAL_STATUS_SUCCESS") == 0)
            grounding_put_source(call, tn_get(url, "retrievedUrl"), NULL, url);
    }
}

/* Adds the sources once, after the text. Chunks of a stream may repeat them; the last chunk has all. */
static void grounding_put_sources(struct model_call *call) {
    struct gemini_call *state = call->provider_data;
    bool any = state->grounding != NULL || state->citations != NULL || state->url_context != NULL;
    if (state->sources_added || !any || call->ended) return;
    state->sources_added = true;
    grounding_put_chunks(call, tn_get(state->grounding, "groundingChunks"));
    grounding_put_citations(call, state->citations);
    grounding_put_urls(call, state->url_context);
    model_set_extra(call, "groundingMetadata", state->grounding);
    model_set_extra(call, "citationMetadata", state->citations);
    model_set_extra(call, "urlContextMetadata", state->url_context);
}

static void gemini_replace_metadata(tn_value *slot, tn_value value) {
    if (tn.value->kind(value) != TN_OBJECT || tn.value->count(value) == 0) return;
    tn_release(*slot);
    *slot = tn_retain(value);
}

/* ---- Chunks ---- */

/* Tokens of the service's own tools are added to the input, thoughts to the output. */
static void gemini_on_usage(struct model_call *call, tn_value from) {
    struct tn_answer_usage usage = TN_ANSWER_USAGE;
    int64_t used = tn_answer_get_count(from, "toolUsePromptTokenCount"),
            written = tn_answer_get_count(from, "candidatesTokenCount");
    usage.input = tn_answer_get_count(from, "promptTokenCount");
    usage.total = tn_answer_get_count(from, "totalTokenCount");
    usage.cached = tn_answer_get_count(from, "cachedContentTokenCount");
    usage.reasoning = tn_answer_get_count(from, "thoughtsTokenCount");
    if (usage.input >= 0 && used > 0) usage.input += used;
    if (written >= 0 || usage.reasoning >= 0)
        usage.output = (written > 0 ? written : 0) + (usage.reasoning > 0 ? usage.reasoning : 0);
    model_set_usage(call, &usage);
}

static void gemini_on_candidate(struct model_call *call, tn_value candidate) {
    struct gemini_call *state = call->provider_data;
    tn_value parts = tn_get(tn_get(candidate, "content"), "parts");
    const char *reason = tn_get_text(candidate, "finishReason", NULL);
    /* Some models send STOP with every chunk. After it, a chunk with parts but without a reason is an error. */
    if (reason == NULL && model_is_finished(call) && tn.value->count(parts) > 0)
        model_fail_response(call, "a part of an answer after its end");
    for (uint64_t i = 0, count = tn.value->count(parts); i < count && !call->ended; i++)
        gemini_on_part(call, tn.value->at(parts, i));
    gemini_replace_metadata(&state->grounding, tn_get(candidate, "groundingMetadata"));
    gemini_replace_metadata(&state->citations, tn_get(candidate, "citationMetadata"));
    gemini_replace_metadata(&state->url_context, tn_get(candidate, "urlContextMetadata"));
    if (reason != NULL) {
        gemini_end_streamed_call(call, NULL);
        gemini_end_audio(call);
        grounding_put_sources(call);
        if (!call->ended) gemini_finish(call, candidate, reason);
    } else if (model_is_finished(call)) {
        grounding_put_sources(call);
    }
}

static void gemini_on_chunk(struct model_call *call, tn_value chunk) {
    tn_value candidates = tn_get(chunk, "candidates"), feedback = tn_get(chunk, "promptFeedback");
    const char *reason = tn_get_text(feedback, "blockReason", NULL);
    bool first = false;
    if (tn_get(chunk, "error") != NULL) {
        model_fail_service(call, chunk);
        return;
    }
    model_set_model_name(call, tn_get(chunk, "modelVersion"));
    model_set_extra(call, "responseId", tn_get(chunk, "responseId"));
    gemini_on_usage(call, tn_get(chunk, "usageMetadata"));
    for (uint64_t i = 0; i < tn.value->count(candidates) && !call->ended && !first; i++) {
        first = tn_get_int(tn.value->at(candidates, i), "index", 0) ==
                0; /* only one candidate is used, even if `extra` requests more */
        if (first) gemini_on_candidate(call, tn.value->at(candidates, i));
    }
    if (reason != NULL && !first && !call->ended) gemini_prompt_blocked(call, feedback, reason);
}

void gemini_event(struct model_call *call, const char *name, tn_value json) {
    (void)name;
    if (json == NULL) { /* "[DONE]", which some proxies send */
        model_end_stream(call);
        return;
    }
    if (tn.value->kind(json) == TN_OBJECT) {
        gemini_on_chunk(call, json);
        return;
    }
    /* An array of chunks: the form without `alt=sse`. Some proxies ignore that parameter. */
    if (tn.value->kind(json) != TN_ARRAY)
        model_fail_response(call, "%s instead of a part of an answer", tn_kind_name(json));
    for (uint64_t i = 0, count = tn.value->kind(json) == TN_ARRAY ? tn.value->count(json) : 0;
         i < count && !call->ended; i++)
        gemini_on_chunk(call, tn.value->at(json, i));
}

void gemini_answer_release(struct gemini_call *state) {
    partial_free(state->partial);
    model_audio_release(&state->audio);
    tn_release(state->audio_type);
    tn_release(state->grounding);
    tn_release(state->citations);
    tn_release(state->url_context);
}
