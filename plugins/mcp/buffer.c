/*
 * buffer.c - a bounded buffer that grows by doubling, and the lines of a stream.
 *
 * A whole line that arrives in one piece is given from where it is, without a copy. The bytes of a partial one are
 * looked at once: only what is new can hold its end.
 */
#include "buffer.h"

int32_t buffer_add(struct buffer *buffer, const char *bytes, uint64_t length) {
    if (length > buffer->limit || buffer->length > buffer->limit - length) return TN_LIMIT;
    if (buffer->length + length > buffer->capacity) {
        uint64_t capacity = buffer->capacity > 0 ? buffer->capacity : 256;
        while (capacity < buffer->length + length) capacity *= 2;
        char *larger = tn.core->resize(tn.host, buffer->bytes, capacity);
        if (larger == NULL) return TN_NO_MEMORY;
        buffer->bytes = larger;
        buffer->capacity = capacity;
    }
    if (length > 0) memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    return TN_OK;
}

void buffer_drop(struct buffer *buffer, uint64_t length) {
    if (length == 0) return;
    buffer->length -= length;
    memmove(buffer->bytes, buffer->bytes + length, buffer->length);
}

void buffer_free(struct buffer *buffer) {
    tn.core->release(tn.host, buffer->bytes);
    buffer->bytes = NULL;
    buffer->length = buffer->capacity = 0;
}

void lines_free(struct lines *lines) {
    buffer_free(&lines->partial);
    lines->skipping = false;
}

static bool give_line(const char *text, uint64_t length, lines_line line, void *user) {
    if (length > 0 && text[length - 1] == '\r') length--;
    return line(user, text, length);
}

/* The end of a line of which something was kept before. */
static bool end_partial(struct lines *lines, const char *bytes, uint64_t length, lines_line line, void *user) {
    bool too_long = lines->skipping || buffer_add(&lines->partial, bytes, length) != TN_OK;
    struct buffer whole = lines->partial;
    lines->partial = (struct buffer){.limit = whole.limit};
    lines->skipping = false;
    bool go_on = too_long ? line(user, NULL, 0) : give_line(whole.bytes, whole.length, line, user);
    buffer_free(&whole);
    return go_on;
}

bool lines_feed(struct lines *lines, const char *bytes, uint64_t length, lines_line line, void *user) {
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        uint64_t size = end != NULL ? (uint64_t)(end - bytes) : length;
        if (end == NULL) {
            if (!lines->skipping && buffer_add(&lines->partial, bytes, size) != TN_OK) {
                buffer_free(&lines->partial);
                lines->skipping = true;
            }
            return true;
        }
        bool whole = lines->partial.length == 0 && !lines->skipping && size <= lines->partial.limit;
        if (!(whole ? give_line(bytes, size, line, user) : end_partial(lines, bytes, size, line, user))) return false;
        bytes += size + 1;
        length -= size + 1;
    }
    return true;
}
