/*
 * secrets_stream.c - searches what was passed on last, what is held back and the new piece as one text.
 */
#include "host/base/secrets/secrets_stream.h"
#include "adl/value/memory.h"
#include "host/base/secrets/secrets.h"
#include <string.h>

static struct secrets_stream **stream_place(struct secrets *secrets, const void *owner) {
    struct secrets_stream **at = secrets_streams(secrets);
    while (*at && (*at)->owner != owner) at = &(*at)->next;
    return at;
}

struct secrets_stream *secrets_stream_of(struct secrets *secrets, const void *owner, bool add) {
    struct secrets_stream **at = stream_place(secrets, owner);
    if (*at || !add) return *at;
    *at = mem_zalloc(sizeof **at);
    (*at)->owner = owner;
    buffer_init(&(*at)->held, SIZE_MAX);
    return *at;
}

void secrets_stream_remove(struct secrets *secrets, const void *owner) {
    struct secrets_stream **at = stream_place(secrets, owner), *stream = *at;
    if (!stream) return;
    *at = stream->next;
    buffer_wipe(&stream->held);
    explicit_bzero(stream->passed, sizeof stream->passed);
    value_unref(stream->last);
    mem_free(stream);
}

/* Remembers the end of `text`, which was passed on. */
static void stream_remember(struct secrets_stream *stream, const char *text, size_t length) {
    size_t most = SECRETS_STREAM_HELD_MIN - 1;
    stream->passed_length = length < most ? length : most;
    memcpy(stream->passed, text + length - stream->passed_length, stream->passed_length);
}

void secrets_stream_next(struct secrets_stream *stream, struct secrets *secrets, const char *piece, size_t length,
                         struct buffer *out) {
    struct buffer whole;
    size_t done = stream->passed_length, at = 0, size, clean = 0;
    const char *name;
    if (!length) return;
    buffer_init(&whole, SIZE_MAX);
    buffer_append(&whole, stream->passed, stream->passed_length);
    if (stream->held.length) buffer_append(&whole, stream->held.data, stream->held.length);
    buffer_append(&whole, piece, length);
    buffer_wipe(&stream->held);
    buffer_init(&stream->held, SIZE_MAX);
    while (secrets_next(secrets, whole.data, whole.length, SECRETS_RESULT_MIN, &at, &size, &name)) {
        if (at > done) buffer_append(out, whole.data + done, at - done);
        secrets_put_name(out, name);
        clean = done = at += size;
    }
    size_t end = secrets_open_end(secrets, whole.data + clean, whole.length - clean, SECRETS_RESULT_MIN);
    if (end >= SECRETS_STREAM_HELD_MIN) {
        size_t from = whole.length - end;
        if (from < done) from = done;
        buffer_append(&stream->held, whole.data + from, whole.length - from);
    }
    size_t stop = whole.length - stream->held.length;
    if (stop > done) buffer_append(out, whole.data + done, stop - done);
    stream_remember(stream, whole.data + clean, stop > clean ? stop - clean : 0);
    buffer_wipe(&whole);
}

void secrets_stream_rest(struct secrets_stream *stream, struct buffer *out) {
    if (stream->held.length) buffer_append(out, stream->held.data, stream->held.length);
    buffer_wipe(&stream->held);
    buffer_init(&stream->held, SIZE_MAX);
    stream->passed_length = 0;
}
