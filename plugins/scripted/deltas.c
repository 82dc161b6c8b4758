/*
 * deltas.c - builds the deltas of a message, one after the other.
 *
 * First the content, part by part: texts and reasoning in chunks, other parts complete. Then the tool calls: a delta
 * with the id and the name, then the arguments' JSON in chunks. Last {done}. Arguments that are a text are emitted
 * unchanged, so that a script can produce invalid JSON.
 */
#include "deltas.h"
#include <tenon/util/build.h>

void deltas_init(struct deltas *deltas, tn_value message, const char *finish_reason, tn_value usage, uint64_t chunk) {
    *deltas = (struct deltas){.message = tn_retain(message), .usage = tn_retain(usage), .chunk = chunk};
    if (finish_reason != NULL) deltas->finish_reason = tn_text(finish_reason);
    if (finish_reason == NULL) deltas->done = true;
}

void deltas_finish(struct deltas *deltas) {
    tn_release(deltas->message);
    tn_release(deltas->usage);
    tn_release(deltas->finish_reason);
    tn_release(deltas->arguments);
}

/* Returns the length of the next chunk in bytes. */
static uint64_t deltas_chunk_length(const char *text, uint64_t length, uint64_t characters) {
    uint64_t at = 0;
    while (at < length && characters > 0) {
        at++;
        while (at < length && ((unsigned char)text[at] & 0xc0) == 0x80) at++;
        characters--;
    }
    return at;
}

static tn_value deltas_take_chunk(struct deltas *deltas, const char *text, uint64_t length) {
    uint64_t size = deltas_chunk_length(text + deltas->offset, length - deltas->offset, deltas->chunk);
    tn_value chunk = tn_text_n(text + deltas->offset, size);
    if (chunk != NULL) deltas->offset += size;
    return chunk;
}

static tn_value delta_build_take(const char *name, tn_value value) { return tn_build("{s:V}", name, value); }

/* ---- Content ---- */

/* Returns the next delta of the content. At the end, returns NULL and sets *at_end. */
static tn_value deltas_next_content(struct deltas *deltas, bool *at_end) {
    tn_value content = tn_get(deltas->message, "content");
    bool plain = tn.value->kind(content) == TN_STRING;
    for (uint64_t count = plain ? 1 : tn.value->count(content); deltas->part < count; deltas->part++) {
        tn_value part = plain ? content : tn.value->at(content, deltas->part);
        const char *type = plain ? "text" : tn_get_text(part, "type", "");
        bool reasoning = strcmp(type, "reasoning") == 0;
        uint64_t length = 0;
        const char *text = tn_chars(plain ? part : tn_get(part, "text"), &length);
        /* A part that has more members than `type` and `text` is not split. */
        bool complete = !plain && tn.value->count(part) > 2;
        if (text != NULL && !complete && (reasoning || strcmp(type, "text") == 0)) {
            if (deltas->offset < length)
                return delta_build_take(reasoning ? "reasoning" : "content", deltas_take_chunk(deltas, text, length));
            deltas->offset = 0;
            continue;
        }
        deltas->part++;
        return delta_build_take("part", tn_retain(part));
    }
    *at_end = true;
    return NULL;
}

/* ---- Tool calls ---- */

/* Returns a call's arguments as text, a new reference. */
static tn_value deltas_arguments_text(tn_value call) {
    tn_value arguments = tn_get(call, "arguments");
    if (tn.value->kind(arguments) == TN_STRING) return tn_retain(arguments);
    return arguments != NULL ? tn_to_json(arguments) : tn_text("{}");
}

static tn_value delta_build_call(const struct deltas *deltas, tn_value call, tn_value piece) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "tool_call_delta", TN_OBJECT);
    tn_put_int(builder, "index", (int64_t)deltas->call);
    if (piece == NULL) {
        tn_put(builder, "id", tn_get(call, "id"));
        tn_put(builder, "name", tn_get(call, "name"));
    } else {
        tn_put(builder, "arguments", piece);
    }
    tn.value->end(builder);
    tn.value->end(builder);
    return tn_finish(builder);
}

static tn_value deltas_next_call(struct deltas *deltas, bool *at_end) {
    tn_value calls = tn_message_calls(deltas->message);
    for (uint64_t count = tn.value->count(calls); deltas->call < count; deltas->call++) {
        tn_value call = tn.value->at(calls, deltas->call);
        if (!deltas->began) {
            if (deltas->arguments == NULL) deltas->arguments = deltas_arguments_text(call);
            if (deltas->arguments == NULL) return NULL;
            tn_value delta = delta_build_call(deltas, call, NULL);
            deltas->began = delta != NULL;
            return delta;
        }
        uint64_t length = 0;
        const char *text = tn_chars(deltas->arguments, &length);
        if (deltas->offset < length) {
            tn_value piece = deltas_take_chunk(deltas, text, length);
            tn_value delta = piece != NULL ? delta_build_call(deltas, call, piece) : NULL;
            tn_release(piece);
            return delta;
        }
        tn_release(deltas->arguments);
        deltas->arguments = NULL;
        deltas->began = false;
        deltas->offset = 0;
    }
    *at_end = true;
    return NULL;
}

/* ---- All ---- */

tn_value deltas_next(struct deltas *deltas) {
    bool at_end = false;
    tn_value delta = deltas_next_content(deltas, &at_end);
    if (delta != NULL || !at_end) return delta;
    at_end = false;
    delta = deltas_next_call(deltas, &at_end);
    if (delta != NULL || !at_end || deltas->done) return delta;
    delta = tn_build("{s:{s:v,s:v}}", "done", "finish_reason", deltas->finish_reason, "usage", deltas->usage);
    deltas->done = delta != NULL;
    return delta;
}

bool deltas_are_complete(const struct deltas *deltas) {
    tn_value content = tn_get(deltas->message, "content");
    uint64_t parts = tn.value->kind(content) == TN_STRING ? 1 : tn.value->count(content);
    return deltas->done && deltas->part >= parts && deltas->call >= tn.value->count(tn_message_calls(deltas->message));
}
