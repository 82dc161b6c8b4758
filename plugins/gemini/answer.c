/*
 * answer.c - what the service says: chunks of a stream, or the one answer, which is a chunk alone.
 *
 * A chunk has candidates (we ask for one), usage, and metadata; its parts are pieces of text, thoughts, pictures,
 * function calls, whole or piece by piece, and what the service's own tools did. The end is a finishReason; STOP also
 * where functions are called. A prompt that is blocked has no candidate: its answer is a refusal, of the finish reason
 * content_filter, and no error, as trying again is of no use and a graph may want to go on.
 */
#include "gemini.h"

/* ---- Reasons ---- */

/*
 * What our words for it are. NULL: the model wrote a call that cannot be read, which is no answer; it may do better
 * when it is asked again. What is not listed is "other".
 */
static const struct reason {
    const char *theirs, *ours;
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

static void finish(struct model_call *call, tn_value candidate, const char *theirs) {
    const struct reason *found = NULL;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons && found == NULL; i++)
        if (strcmp(theirs, reasons[i].theirs) == 0) found = &reasons[i];
    if (found != NULL && found->ours == NULL) {
        model_fail(call, "INVALID_RESPONSE",
                   "gemini ended with %s: %s; the model called a function in a way that cannot be read: try again, "
                   "or make the tool's schema simpler",
                   theirs, tn_get_text(candidate, "finishMessage", "it says no more"));
        return;
    }
    if (found == NULL || strcmp(found->theirs, "STOP") != 0) {
        model_extra(call, "finishReason", tn.value->get(candidate, "finishReason"));
        model_extra(call, "finishMessage", tn.value->get(candidate, "finishMessage"));
    }
    model_finish(call, found != NULL ? found->ours : "other");
}

static void blocked(struct model_call *call, tn_value feedback, const char *reason) {
    char said[160];
    tn_value message = tn.value->get(feedback, "blockReasonMessage"), text = NULL;
    (void)snprintf(said, sizeof said, "The prompt was blocked by the service (%.*s).", GEMINI_REASON_MAX, reason);
    text = tn.value->kind(message) == TN_STRING ? tn_retain(message) : tn_text(said);
    model_refusal(call, text);
    model_extra(call, "promptFeedback", feedback);
    model_finish(call, "content_filter");
    tn_release(text);
}

/* ---- Function calls ---- */

static void no_memory(struct model_call *call) {
    model_fail(call, "LIMIT", "there is no memory left for a call's arguments");
}

static void not_put_together(struct model_call *call, const char *why) {
    model_invalid(call, "a function call whose arguments cannot be put together: %s", why);
}

/* What the pieces have added to the arguments' text. What has been told of it cannot be taken back. */
static void tell_partial(struct model_call *call) {
    struct gemini_call *own = call->own;
    tn_value text = partial_take(own->partial);
    if (text != NULL)
        model_tool_call(call, own->call_index, NULL, NULL, text);
    else if (partial_lost(own->partial) && model_tool_call_length(call, own->call_index) > 0)
        not_put_together(call, "one place of them comes again, and was complete");
    tn_release(text);
}

/* The call that was streamed is whole. `told`: its arguments in one piece, which count then; or nothing, or {}. */
static void end_partial(struct model_call *call, tn_value told) {
    struct gemini_call *own = call->own;
    if (own->partial == NULL || call->over) return;
    if (model_tool_call_length(call, own->call_index) > 0) {
        partial_end(own->partial, told);
        tell_partial(call);
    } else {
        tn_value arguments = tn.value->count(told) > 0 ? tn_retain(told) : partial_value(own->partial);
        if (arguments == NULL)
            no_memory(call);
        else
            model_tool_call(call, own->call_index, NULL, NULL, arguments);
        tn_release(arguments);
    }
    partial_free(own->partial);
    own->partial = NULL;
}

static void begin_call(struct model_call *call, tn_value function, tn_value signature, tn_value arguments) {
    struct gemini_call *own = call->own;
    tn_value id = tn.value->get(function, "id");
    end_partial(call, NULL);
    own->call_index = own->calls++;
    own->signable = false;
    model_tool_call(call, own->call_index, id, tn.value->get(function, "name"), arguments);
    if (tn.value->kind(id) == TN_STRING) model_tool_call_extra(call, own->call_index, "id", id);
    if (signature != NULL) model_tool_call_extra(call, own->call_index, "thoughtSignature", signature);
}

/* A call is begun by its name; what comes without one belongs to the call that goes on. */
static void got_function(struct model_call *call, tn_value function, tn_value signature) {
    struct gemini_call *own = call->own;
    tn_value pieces = tn.value->get(function, "partialArgs"), arguments = tn.value->get(function, "args");
    uint64_t count = tn.value->kind(pieces) == TN_ARRAY ? tn.value->count(pieces) : 0;
    int32_t goes_on = 0;
    (void)tn.value->as_bool(tn.value->get(function, "willContinue"), &goes_on);
    bool named = tn_get_text(function, "name", "")[0] != '\0', whole = named && !goes_on && count == 0;
    if (named) begin_call(call, function, signature, whole ? arguments : NULL);
    if (whole) return;
    if (!named && own->partial == NULL) {
        if (count > 0 || goes_on || tn.value->count(arguments) > 0)
            model_invalid(call, "arguments of a function call that has no name");
        return;
    }
    if (own->partial == NULL) own->partial = partial_new();
    if (own->partial == NULL) {
        no_memory(call);
        return;
    }
    const char *why = NULL;
    for (uint64_t i = 0; i < count; i++) {
        if (partial_put(own->partial, tn.value->at(pieces, i), &why)) continue;
        not_put_together(call, why);
        return;
    }
    if (goes_on)
        tell_partial(call);
    else
        end_partial(call, arguments);
}

/* ---- Parts ---- */

static const char *part_type(const char *media_type) {
    if (strncmp(media_type, "image/", 6) == 0) return "image";
    return strncmp(media_type, "audio/", 6) == 0 ? "audio" : "file";
}

/* inlineData {mimeType, data}, or fileData {mimeType, fileUri}. */
static void got_media(struct model_call *call, tn_value media, tn_value signature) {
    const char *type = tn_get_text(media, "mimeType", "application/octet-stream");
    tn_value data = tn.value->get(media, "data"), uri = tn.value->get(media, "fileUri");
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "type", part_type(type));
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
    tn_value part = tn.value->finish(out);
    if (part == NULL)
        model_invalid(call, "a part with a file in it that has neither data nor an address");
    else
        model_part(call, part);
    tn_release(part);
}

/* A part that says nothing, and is kept to be sent back. */
static void put_kept(struct model_call *call, const char *name, tn_value value) {
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "type", "reasoning");
    tn_put_begin(out, "extra", TN_OBJECT);
    tn_put_begin(out, call->model->provider->name, TN_OBJECT);
    tn_put(out, name, value);
    tn.value->end(out);
    tn.value->end(out);
    tn.value->end(out);
    tn_value made = tn.value->finish(out);
    model_part(call, made);
    tn_release(made);
}

/*
 * A signature belongs to the part it comes with. In a stream that is the last piece of a text, or one more, which is
 * empty; what follows is another part.
 */
static void got_text(struct model_call *call, tn_value part, tn_value signature, bool thought) {
    struct gemini_call *own = call->own;
    tn_value text = tn.value->get(part, "text");
    uint64_t length = 0;
    bool empty = tn_chars(text, &length) == NULL || length == 0;
    if (empty && signature == NULL) return;
    if (thought)
        model_reasoning(call, text);
    else
        model_text(call, text);
    if (signature != NULL && empty && !own->signable) {
        put_kept(call, "thoughtSignature", signature);
    } else if (signature != NULL) {
        model_part_extra(call, "thoughtSignature", signature);
        model_part_end(call);
    }
    own->signable = signature == NULL;
}

static void got_part(struct model_call *call, tn_value part) {
    struct gemini_call *own = call->own;
    tn_value signature = tn.value->get(part, "thoughtSignature"), function = tn.value->get(part, "functionCall");
    tn_value media = tn.value->get(part, "inlineData");
    int32_t thought = 0;
    if (tn.value->kind(signature) != TN_STRING) signature = NULL;
    (void)tn.value->as_bool(tn.value->get(part, "thought"), &thought);
    if (media == NULL) media = tn.value->get(part, "fileData");
    if (tn.value->kind(function) == TN_OBJECT) {
        got_function(call, function, signature);
        return;
    }
    if (tn.value->get(part, "text") != NULL || (signature != NULL && tn.value->count(part) == 1)) {
        got_text(call, part, signature, thought != 0);
        return;
    }
    if (thought) return; /* pictures on the way to the one that is meant */
    if (media != NULL)
        got_media(call, media, signature);
    else if (tn.value->count(part) > 0)
        put_kept(call, "part", part); /* code that the service ran, what came of it, and the like */
    own->signable = false;
}

/* ---- What an answer is grounded on ---- */

static void put_source(struct model_call *call, tn_value url, tn_value title, tn_value from) {
    if (tn.value->kind(url) != TN_STRING && tn.value->kind(title) != TN_STRING) return;
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "type", "source");
    if (tn.value->kind(url) == TN_STRING) tn_put(out, "url", url);
    if (tn.value->kind(title) == TN_STRING) tn_put(out, "title", title);
    tn_put_begin(out, "extra", TN_OBJECT);
    tn_put(out, call->model->provider->name, from);
    tn.value->end(out);
    tn.value->end(out);
    tn_value part = tn.value->finish(out);
    model_part(call, part);
    tn_release(part);
}

/* groundingChunks: each {web | maps | retrievedContext | image: {uri, title}}. */
static void put_chunks(struct model_call *call, tn_value chunks) {
    for (uint64_t i = 0, count = tn.value->kind(chunks) == TN_ARRAY ? tn.value->count(chunks) : 0; i < count; i++) {
        tn_value chunk = tn.value->at(chunks, i), kind, source, url;
        if (tn.value->entry(chunk, 0, &kind, &source) != TN_OK) continue;
        url = tn.value->get(source, "uri");
        if (url == NULL) url = tn.value->get(source, "sourceUri");
        put_source(call, url, tn.value->get(source, "title"), chunk);
    }
}

/* Vertex calls them citations, AI Studio citationSources. */
static void put_citations(struct model_call *call, tn_value metadata) {
    tn_value list = tn.value->get(metadata, "citations");
    if (list == NULL) list = tn.value->get(metadata, "citationSources");
    for (uint64_t i = 0, count = tn.value->kind(list) == TN_ARRAY ? tn.value->count(list) : 0; i < count; i++) {
        tn_value citation = tn.value->at(list, i);
        put_source(call, tn.value->get(citation, "uri"), tn.value->get(citation, "title"), citation);
    }
}

static void put_urls(struct model_call *call, tn_value metadata) {
    tn_value list = tn.value->get(metadata, "urlMetadata");
    for (uint64_t i = 0, count = tn.value->kind(list) == TN_ARRAY ? tn.value->count(list) : 0; i < count; i++) {
        tn_value url = tn.value->at(list, i);
        if (strcmp(tn_get_text(url, "urlRetrievalStatus", ""), "URL_RETRIEVAL_STATUS_SUCCESS") == 0)
            put_source(call, tn.value->get(url, "retrievedUrl"), NULL, url);
    }
}

/* Once, behind the text: every chunk of a stream may tell it, the last one all of it. */
static void put_sources(struct model_call *call) {
    struct gemini_call *own = call->own;
    bool any = own->grounding != NULL || own->citations != NULL || own->url_context != NULL;
    if (own->sourced || !any || call->over) return;
    own->sourced = true;
    put_chunks(call, tn.value->get(own->grounding, "groundingChunks"));
    put_citations(call, own->citations);
    put_urls(call, own->url_context);
    model_extra(call, "groundingMetadata", own->grounding);
    model_extra(call, "citationMetadata", own->citations);
    model_extra(call, "urlContextMetadata", own->url_context);
}

static void keep(tn_value *place, tn_value found) {
    if (tn.value->kind(found) != TN_OBJECT || tn.value->count(found) == 0) return;
    tn_release(*place);
    *place = tn_retain(found);
}

/* ---- Chunks ---- */

/* What tools of the service's own put in counts as input; thoughts are output. */
static void got_usage(struct model_call *call, tn_value from) {
    struct model_usage usage = MODEL_USAGE_NONE;
    int64_t used = model_count(from, "toolUsePromptTokenCount"), written = model_count(from, "candidatesTokenCount");
    usage.input = model_count(from, "promptTokenCount");
    usage.total = model_count(from, "totalTokenCount");
    usage.cached = model_count(from, "cachedContentTokenCount");
    usage.reasoning = model_count(from, "thoughtsTokenCount");
    if (usage.input >= 0 && used > 0) usage.input += used;
    if (written >= 0 || usage.reasoning >= 0)
        usage.output = (written > 0 ? written : 0) + (usage.reasoning > 0 ? usage.reasoning : 0);
    model_usage(call, &usage);
}

static void got_candidate(struct model_call *call, tn_value candidate) {
    struct gemini_call *own = call->own;
    tn_value parts = tn.value->get(tn.value->get(candidate, "content"), "parts");
    const char *reason = tn_get_text(candidate, "finishReason", NULL);
    /* Some models say STOP with every chunk; a chunk without a reason behind one with it is out of place. */
    if (reason == NULL && model_finished(call) && tn.value->count(parts) > 0)
        model_invalid(call, "a part of an answer behind its end");
    for (uint64_t i = 0, count = tn.value->count(parts); i < count && !call->over; i++)
        got_part(call, tn.value->at(parts, i));
    keep(&own->grounding, tn.value->get(candidate, "groundingMetadata"));
    keep(&own->citations, tn.value->get(candidate, "citationMetadata"));
    keep(&own->url_context, tn.value->get(candidate, "urlContextMetadata"));
    if (reason != NULL) {
        end_partial(call, NULL);
        put_sources(call);
        if (!call->over) finish(call, candidate, reason);
    } else if (model_finished(call)) {
        put_sources(call);
    }
}

static void got_chunk(struct model_call *call, tn_value chunk) {
    tn_value candidates = tn.value->get(chunk, "candidates"), feedback = tn.value->get(chunk, "promptFeedback");
    const char *reason = tn_get_text(feedback, "blockReason", NULL);
    bool first = false;
    if (tn.value->get(chunk, "error") != NULL) {
        model_error(call, chunk);
        return;
    }
    model_model(call, tn.value->get(chunk, "modelVersion"));
    model_extra(call, "responseId", tn.value->get(chunk, "responseId"));
    got_usage(call, tn.value->get(chunk, "usageMetadata"));
    for (uint64_t i = 0; i < tn.value->count(candidates) && !call->over && !first; i++) {
        first = tn_get_int(tn.value->at(candidates, i), "index", 0) == 0; /* we take one, whatever `extra` asks for */
        if (first) got_candidate(call, tn.value->at(candidates, i));
    }
    if (reason != NULL && !first && !call->over) blocked(call, feedback, reason);
}

void gemini_event(struct model_call *call, const char *name, tn_value json) {
    (void)name;
    if (json == NULL) { /* a [DONE], which proxies send */
        model_done(call);
        return;
    }
    if (tn.value->kind(json) == TN_OBJECT) {
        got_chunk(call, json);
        return;
    }
    /* Without `alt=sse` the service sends an array of chunks; proxies that do not know it do. */
    if (tn.value->kind(json) != TN_ARRAY)
        model_invalid(call, "%s where a part of an answer belongs", tn_kind_name(json));
    for (uint64_t i = 0, count = tn.value->kind(json) == TN_ARRAY ? tn.value->count(json) : 0; i < count && !call->over;
         i++)
        got_chunk(call, tn.value->at(json, i));
}

void gemini_answer_release(struct gemini_call *own) {
    partial_free(own->partial);
    tn_release(own->grounding);
    tn_release(own->citations);
    tn_release(own->url_context);
}
