/*
 * speech.c - the deltas of a message.
 *
 * First the content, part by part: texts and reasoning in chunks, anything else whole. Then the tool calls: a delta
 * with the id and the name, then the arguments' JSON in chunks. At last {done}. A call's arguments that are a text are
 * said as they stand: a script may make a model give what is no JSON.
 */
#include "speech.h"

void speech_init(struct speech *speech, tn_value message, const char *finish_reason, tn_value usage, uint64_t chunk) {
    *speech = (struct speech){.message = tn_retain(message), .usage = tn_retain(usage), .chunk = chunk};
    if (finish_reason != NULL) speech->finish_reason = tn_text(finish_reason);
    if (finish_reason == NULL) speech->done = true;
}

void speech_finish(struct speech *speech) {
    tn_release(speech->message);
    tn_release(speech->usage);
    tn_release(speech->finish_reason);
    tn_release(speech->arguments);
}

/* The next chunk's length in bytes. */
static uint64_t chunk_length(const char *text, uint64_t length, uint64_t characters) {
    uint64_t at = 0;
    while (at < length && characters > 0) {
        at++;
        while (at < length && ((unsigned char)text[at] & 0xc0) == 0x80) at++;
        characters--;
    }
    return at;
}

static tn_value chunk_of(struct speech *speech, const char *text, uint64_t length) {
    uint64_t size = chunk_length(text + speech->offset, length - speech->offset, speech->chunk);
    tn_value chunk = tn_text_n(text + speech->offset, size);
    if (chunk != NULL) speech->offset += size;
    return chunk;
}

static tn_value member_take(const char *name, tn_value value) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, name, value);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* ---- Content ---- */

/* The next delta of the content; NULL with *over where there is none left. */
static tn_value next_content(struct speech *speech, bool *over) {
    tn_value content = tn.value->get(speech->message, "content");
    bool plain = tn.value->kind(content) == TN_STRING;
    for (uint64_t count = plain ? 1 : tn.value->count(content); speech->part < count; speech->part++) {
        tn_value part = plain ? content : tn.value->at(content, speech->part);
        const char *type = plain ? "text" : tn_get_text(part, "type", "");
        bool reasoning = strcmp(type, "reasoning") == 0;
        uint64_t length = 0;
        const char *text = tn_chars(plain ? part : tn.value->get(part, "text"), &length);
        /* A part that is more than its text is told whole. */
        bool whole = !plain && tn.value->count(part) > 2;
        if (text != NULL && !whole && (reasoning || strcmp(type, "text") == 0)) {
            if (speech->offset < length)
                return member_take(reasoning ? "reasoning" : "content", chunk_of(speech, text, length));
            speech->offset = 0;
            continue;
        }
        speech->part++;
        return member_take("part", tn_retain(part));
    }
    *over = true;
    return NULL;
}

/* ---- Tool calls ---- */

/* A call's arguments as text: one reference. */
static tn_value arguments_text(tn_value call) {
    tn_value arguments = tn.value->get(call, "arguments");
    if (tn.value->kind(arguments) == TN_STRING) return tn_retain(arguments);
    return arguments != NULL ? tn.value->to_json(arguments) : tn_text("{}");
}

static tn_value call_delta(const struct speech *speech, tn_value call, tn_value piece) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "tool_call_delta", TN_OBJECT);
    tn_put_int(builder, "index", (int64_t)speech->call);
    if (piece == NULL) {
        tn_put(builder, "id", tn.value->get(call, "id"));
        tn_put(builder, "name", tn.value->get(call, "name"));
    } else {
        tn_put(builder, "arguments", piece);
    }
    tn.value->end(builder);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static tn_value next_call(struct speech *speech, bool *over) {
    tn_value calls = tn_message_calls(speech->message);
    for (uint64_t count = tn.value->count(calls); speech->call < count; speech->call++) {
        tn_value call = tn.value->at(calls, speech->call);
        if (!speech->began) {
            if (speech->arguments == NULL) speech->arguments = arguments_text(call);
            if (speech->arguments == NULL) return NULL;
            tn_value delta = call_delta(speech, call, NULL);
            speech->began = delta != NULL;
            return delta;
        }
        uint64_t length = 0;
        const char *text = tn_chars(speech->arguments, &length);
        if (speech->offset < length) {
            tn_value piece = chunk_of(speech, text, length);
            tn_value delta = piece != NULL ? call_delta(speech, call, piece) : NULL;
            tn_release(piece);
            return delta;
        }
        tn_release(speech->arguments);
        speech->arguments = NULL;
        speech->began = false;
        speech->offset = 0;
    }
    *over = true;
    return NULL;
}

/* ---- All ---- */

tn_value speech_next(struct speech *speech) {
    bool over = false;
    tn_value delta = next_content(speech, &over);
    if (delta != NULL || !over) return delta;
    over = false;
    delta = next_call(speech, &over);
    if (delta != NULL || !over || speech->done) return delta;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "done", TN_OBJECT);
    tn_put(builder, "finish_reason", speech->finish_reason);
    tn_put(builder, "usage", speech->usage);
    tn.value->end(builder);
    tn.value->end(builder);
    delta = tn.value->finish(builder);
    speech->done = delta != NULL;
    return delta;
}

bool speech_said(const struct speech *speech) {
    tn_value content = tn.value->get(speech->message, "content");
    uint64_t parts = tn.value->kind(content) == TN_STRING ? 1 : tn.value->count(content);
    return speech->done && speech->part >= parts && speech->call >= tn.value->count(tn_message_calls(speech->message));
}
