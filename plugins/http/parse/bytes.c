/*
 * bytes.c - bytes that grow, by half of what they are.
 */
#include "bytes.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 64

static bool reserve(struct bytes *bytes, size_t more) {
    if (bytes->capacity - bytes->length >= more) return true;
    if (more > SIZE_MAX / 2 - bytes->length) return false;
    size_t needed = bytes->length + more, wanted = bytes->capacity + bytes->capacity / 2;
    if (wanted < needed) wanted = needed;
    if (wanted < LEAST) wanted = LEAST;
    char *grown = realloc(bytes->data, wanted);
    if (grown == NULL) return false;
    bytes->data = grown;
    bytes->capacity = wanted;
    return true;
}

bool bytes_add(struct bytes *bytes, const void *data, size_t length) {
    if (length == 0) return true;
    if (!reserve(bytes, length)) return false;
    memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
    return true;
}

bool bytes_text(struct bytes *bytes, const char *text) { return bytes_add(bytes, text, strlen(text)); }

const char *bytes_cstr(struct bytes *bytes) {
    if (!reserve(bytes, 1)) return NULL;
    bytes->data[bytes->length] = '\0';
    return bytes->data;
}

void bytes_clear(struct bytes *bytes, size_t keep) {
    bytes->length = 0;
    if (bytes->capacity > keep) bytes_finish(bytes);
}

void bytes_finish(struct bytes *bytes) {
    free(bytes->data);
    *bytes = (struct bytes)BYTES_INIT;
}
