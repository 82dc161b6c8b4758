/*
 * buffer.c - growing text with a limit.
 *
 * An append that does not fit below the limit is refused completely, and so is every later one: a buffer that
 * overflowed contains only complete appends, and callers check `overflow` once, at the end. The capacity doubles and
 * never exceeds the limit by more than the NUL.
 */
#include "adl/value/buffer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adl/value/memory.h"

#define CAPACITY_FIRST 64

void buffer_init(struct buffer *buffer, size_t limit) {
    *buffer = (struct buffer){.limit = limit < SIZE_MAX ? limit : SIZE_MAX - 1};
}

void buffer_finish(struct buffer *buffer) {
    mem_free(buffer->data);
    *buffer = (struct buffer){.limit = buffer->limit};
}

void buffer_wipe(struct buffer *buffer) {
    if (buffer->data) explicit_bzero(buffer->data, buffer->length);
    buffer_finish(buffer);
}

void buffer_clear(struct buffer *buffer) {
    buffer->length = 0;
    buffer->overflow = false;
    if (buffer->data != NULL) buffer->data[0] = '\0';
}

/* Makes room for `more` bytes and the NUL. Returns false, now and from then on, if that would exceed the limit. */
static bool reserve(struct buffer *buffer, size_t more) {
    if (buffer->overflow || more > buffer->limit - buffer->length) {
        buffer->overflow = true;
        return false;
    }
    size_t needed = buffer->length + more + 1;
    if (needed <= buffer->capacity) return true;
    size_t capacity = buffer->capacity > 0 ? buffer->capacity : CAPACITY_FIRST;
    while (capacity < needed && capacity <= SIZE_MAX / 2) capacity *= 2;
    if (capacity > buffer->limit) capacity = buffer->limit + 1;
    if (capacity < needed) capacity = needed;
    buffer->data = mem_resize(buffer->data, capacity);
    buffer->capacity = capacity;
    return true;
}

char *buffer_extend(struct buffer *buffer, size_t length) {
    if (!reserve(buffer, length)) return NULL;
    char *room = buffer->data + buffer->length;
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
    return room;
}

void buffer_reserve(struct buffer *buffer, size_t more) {
    if (buffer->overflow || more > buffer->limit - buffer->length) return;
    (void)reserve(buffer, more);
    buffer->data[buffer->length] = '\0';
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t length) {
    if (!reserve(buffer, length)) return;
    if (length > 0) memcpy(buffer->data + buffer->length, bytes, length);
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
}

void buffer_text(struct buffer *buffer, const char *text) { buffer_append(buffer, text, strlen(text)); }

void buffer_char(struct buffer *buffer, char character) {
    if (!reserve(buffer, 1)) return;
    buffer->data[buffer->length++] = character;
    buffer->data[buffer->length] = '\0';
}

void buffer_format(struct buffer *buffer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    buffer_vformat(buffer, format, args);
    va_end(args);
}

void buffer_vformat(struct buffer *buffer, const char *format, va_list args) {
    if (buffer->overflow) return;
    /* Most texts fit into the first allocation and are formatted only once. */
    if (buffer->capacity == 0 && buffer->limit >= CAPACITY_FIRST) reserve(buffer, CAPACITY_FIRST - 1);
    size_t room = buffer->capacity - buffer->length;
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(room > 0 ? buffer->data + buffer->length : NULL, room, format, args);
    if (length < 0) mem_exhausted((size_t)INT32_MAX); /* longer than INT_MAX bytes */
    if ((size_t)length > buffer->limit - buffer->length || (size_t)length >= room) {
        if (room > 0) buffer->data[buffer->length] = '\0';
        if (reserve(buffer, (size_t)length))
            (void)vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, again);
    }
    va_end(again);
    if (!buffer->overflow) buffer->length += (size_t)length;
}

const char *buffer_cstr(const struct buffer *buffer) { return buffer->data != NULL ? buffer->data : ""; }

char *buffer_detach(struct buffer *buffer, size_t *length) {
    if (length != NULL) *length = buffer->length;
    char *data = buffer->data != NULL ? buffer->data : mem_text("");
    *buffer = (struct buffer){.limit = buffer->limit};
    return data;
}
