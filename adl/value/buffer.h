/*
 * buffer.h - a growing text or byte buffer with a limit.
 *
 *     struct buffer out;
 *     buffer_init(&out, 64 * 1024);
 *     buffer_text(&out, "hello ");
 *     buffer_format(&out, "%d", 42);
 *     if (out.overflow) return TN_LIMIT;          // sticky: nothing was added past the limit
 *     buffer_finish(&out);
 *
 * `data` is NUL-terminated whenever it is not NULL. Use SIZE_MAX for a buffer without a limit.
 */
#ifndef TENON_ADL_BUFFER_H
#define TENON_ADL_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *data;
    size_t length, capacity, limit;
    bool overflow;
};

void buffer_init(struct buffer *buffer, size_t limit);
void buffer_finish(struct buffer *buffer);
void buffer_wipe(struct buffer *buffer);  /* buffer_finish for a secret: overwrites the bytes first */
void buffer_clear(struct buffer *buffer); /* keeps the memory; clears the overflow */
void buffer_append(struct buffer *buffer, const void *bytes, size_t length);
/* Returns room for `length` bytes at the end, which the caller fills at once; NULL if the buffer overflows. */
char *buffer_extend(struct buffer *buffer, size_t length);
void buffer_reserve(struct buffer *buffer, size_t more); /* allocates once for what follows; never overflows */
void buffer_text(struct buffer *buffer, const char *text);
void buffer_char(struct buffer *buffer, char character);
void buffer_format(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_vformat(struct buffer *buffer, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
const char *buffer_cstr(const struct buffer *buffer);       /* "" if empty */
char *buffer_detach(struct buffer *buffer, size_t *length); /* the caller frees it with mem_free */

#endif
