/*
 * bytes.h - bytes that grow.
 *
 *     struct bytes body = BYTES_INIT;
 *     if (!bytes_add(&body, chunk, length)) …              // no memory; nothing has changed
 *     bytes_finish(&body);
 */
#ifndef TENON_PLUGINS_HTTP_BYTES_H
#define TENON_PLUGINS_HTTP_BYTES_H

#include <stdbool.h>
#include <stddef.h>

struct bytes {
    char *data; /* NULL where capacity is 0 */
    size_t length, capacity;
};
#define BYTES_INIT                                                                                                     \
    { NULL, 0, 0 }

/* False: there is no memory, and nothing has changed. */
bool bytes_add(struct bytes *bytes, const void *data, size_t length);
bool bytes_text(struct bytes *bytes, const char *text);
/* Ends with a NUL that is not counted; NULL where there is no memory. */
const char *bytes_cstr(struct bytes *bytes);
/* Keeps its memory for the next, unless that is more than `keep` bytes. */
void bytes_clear(struct bytes *bytes, size_t keep);
void bytes_finish(struct bytes *bytes);

#endif
