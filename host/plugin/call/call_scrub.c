/*
 * call_scrub.c - the results of calls, and the texts that calls stream.
 *
 * Chunks that continue each other, for example the deltas of a model, are one text: {content: TEXT}, {reasoning: TEXT},
 * {tool_call_delta: {index, arguments: TEXT}}, a string, or any other object whose only member leads to a string. A
 * chunk of another form ends that text.
 */
#include "host/plugin/call/call_scrub.h"
#include "host/base/secrets/secrets.h"
#include "host/base/secrets/secrets_stream.h"
#include <string.h>

#define SHAPE_DEPTH_MAX 4 /* of the text in a chunk */

/* ---- Chunks ---- */

/* Returns the text that the chunk continues, or NULL. */
static tn_value chunk_text(tn_value chunk, int depth) {
    if (value_is(chunk, TN_STRING)) return chunk;
    if (!value_is(chunk, TN_OBJECT) || depth == SHAPE_DEPTH_MAX) return NULL;
    if (value_count(chunk) == 1) return chunk_text(value_value_at(chunk, 0), depth + 1);
    tn_value arguments = value_get(chunk, "arguments");
    return value_is(arguments, TN_STRING) ? arguments : NULL;
}

/* The chunk with another text, a new reference. Of a tool call's delta, only `index` is kept beside the text. */
static tn_value chunk_with_text_take(tn_value chunk, tn_value text, bool whole) {
    if (value_is(chunk, TN_STRING)) return text;
    if (value_count(chunk) == 1) {
        tn_value inner = chunk_with_text_take(value_value_at(chunk, 0), text, whole);
        return value_set_key_take(value_object_reserve(1), value_ref(value_key_at(chunk, 0)), inner);
    }
    if (whole) return value_set_take(value_ref(chunk), "arguments", text);
    tn_value index = value_get(chunk, "index"), made = value_object_reserve(2);
    if (index) made = value_set_take(made, "index", value_ref(index));
    return value_set_take(made, "arguments", text);
}

/* True if both chunks are parts of the same text. Both have one. */
static bool chunk_continues(tn_value chunk, tn_value last) {
    if (value_kind(chunk) != value_kind(last)) return false;
    if (value_is(chunk, TN_STRING)) return true;
    bool single = value_count(chunk) == 1, last_single = value_count(last) == 1;
    if (single && last_single)
        return value_equal(value_key_at(chunk, 0), value_key_at(last, 0)) &&
               chunk_continues(value_value_at(chunk, 0), value_value_at(last, 0));
    tn_value index = value_get(chunk, "index"), last_index = value_get(last, "index");
    return single == last_single && index && last_index ? value_equal(index, last_index) : index == last_index;
}

static bool deliver_take(struct call *call, tn_value chunk) {
    bool more = call->ops->chunk(call, chunk);
    value_unref(chunk);
    return more;
}

static tn_value text_of_buffer(const struct buffer *buffer) {
    return value_string_lossy(buffer_cstr(buffer), buffer->length);
}

/* Passes on what the stream holds back. */
static bool deliver_rest(struct call *call, struct secrets_stream *stream) {
    struct buffer rest;
    bool more = true;
    buffer_init(&rest, SIZE_MAX);
    secrets_stream_rest(stream, &rest);
    if (rest.length && stream->last)
        more = deliver_take(call, chunk_with_text_take(stream->last, text_of_buffer(&rest), false));
    buffer_wipe(&rest);
    value_unref(stream->last);
    stream->last = NULL;
    return more;
}

/* Passes on a chunk that continues a text, unless all of it is held back. */
static bool deliver_text(struct call *call, struct secrets_stream *stream, tn_value chunk, tn_value text) {
    struct buffer out;
    size_t length;
    const char *chars = value_chars(text, &length);
    bool more = true;
    value_ref(chunk);
    value_unref(stream->last);
    stream->last = chunk;
    buffer_init(&out, SIZE_MAX);
    secrets_stream_next(stream, loop_secrets(call->loop), chars, length, &out);
    bool same = out.length == length && memcmp(buffer_cstr(&out), chars, length) == 0;
    if (same)
        more = call->ops->chunk(call, chunk);
    else if (out.length || !value_is(chunk, TN_STRING))
        more = deliver_take(call, chunk_with_text_take(chunk, text_of_buffer(&out), true));
    buffer_finish(&out);
    return more;
}

bool call_scrub_chunk(struct call *call, tn_value chunk) {
    struct secrets *secrets = loop_secrets(call->loop);
    tn_value safe = secrets_scrub(secrets, chunk, SECRETS_RESULT_MIN); /* also keys, and members beside the text */
    tn_value text = chunk_text(safe, 0);
    struct secrets_stream *stream = secrets_stream_of(secrets, call, text != NULL);
    bool more = true;
    if (stream && stream->last && !(text && chunk_continues(safe, stream->last))) more = deliver_rest(call, stream);
    if (text && stream)
        more = deliver_text(call, stream, safe, text) && more;
    else
        more = call->ops->chunk(call, safe) && more;
    value_unref(safe);
    return more;
}

/* ---- The end ---- */

static void scrub_reference(struct secrets *secrets, tn_value *value) {
    if (!*value) return;
    tn_value before = *value;
    *value = secrets_scrub(secrets, before, SECRETS_RESULT_MIN);
    value_unref(before);
}

void call_scrub_end(struct call *call) {
    struct secrets *secrets = loop_secrets(call->loop);
    struct secrets_stream *stream = secrets_stream_of(secrets, call, false);
    if (stream && call->ops->chunk && call->outcome != CALL_CANCELLED) (void)deliver_rest(call, stream);
    if (stream) secrets_stream_remove(secrets, call);
    scrub_reference(secrets, &call->output);
    struct call_write *writes = call->writes ? call->writes : call->inline_writes;
    for (uint32_t i = 0; i < call->write_count; i++) scrub_reference(secrets, &writes[i].value);
    if (slot_extent(call) == EXTENT_ALL) secrets_scrub_error(secrets, &call->error);
}
