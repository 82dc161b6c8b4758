/*
 * lsp_position.c - positions and URIs.
 */
#include "host/server/lsp/lsp_position.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/server/lsp/lsp_draft.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static uint32_t column_of(const struct source_place *place, enum source_unit unit) {
    return unit == SOURCE_BYTES ? place->byte : unit == SOURCE_POINTS ? place->point : place->utf16;
}

/* The keys of all positions and ranges, of which an answer can have a hundred thousand. They are never freed. */
static struct { tn_value line, character, start, end; } position_keys;

static void make_position_keys(void) {
    position_keys.line = value_text("line");
    position_keys.character = value_text("character");
    position_keys.start = value_text("start");
    position_keys.end = value_text("end");
}

static tn_value pair(tn_value first_key, tn_value first, tn_value second_key, tn_value second) {
    tn_value object = value_set_key_take(value_object_reserve(2), value_ref(first_key), first);
    return value_set_key_take(object, value_ref(second_key), second);
}

tn_value lsp_position(const struct source *source, uint32_t offset, enum source_unit unit) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct source_place place = source_locate(source, offset);
    pthread_once(&once, make_position_keys);
    return pair(position_keys.line, value_int(place.line), position_keys.character, value_int(column_of(&place, unit)));
}

tn_value lsp_range(const struct source *source, struct span span, enum source_unit unit) {
    tn_value start = lsp_position(source, span.start, unit), end = lsp_position(source, span.end, unit);
    return pair(position_keys.start, start, position_keys.end, end);
}

static bool read_uint(tn_value object, const char *name, uint32_t *out) {
    tn_value number = object && value_is(object, TN_OBJECT) ? value_get(object, name) : NULL;
    int64_t found;
    if (!number || !value_as_int(number, &found) || found < 0) return false;
    *out = found > UINT32_MAX ? UINT32_MAX : (uint32_t)found;
    return true;
}

bool lsp_read_place(tn_value position, struct lsp_place *out) {
    return read_uint(position, "line", &out->line) && read_uint(position, "character", &out->column);
}

bool lsp_read_position(const struct source *source, tn_value position, enum source_unit unit, uint32_t *out) {
    struct lsp_place place;
    if (!lsp_read_place(position, &place)) return false;
    *out = source_offset(source, place.line, place.column, unit);
    return true;
}

bool lsp_read_range(const struct source *source, tn_value range, enum source_unit unit, struct span *out) {
    struct span span;
    if (!range || !value_is(range, TN_OBJECT)) return false;
    if (!lsp_read_position(source, value_get(range, "start"), unit, &span.start)) return false;
    if (!lsp_read_position(source, value_get(range, "end"), unit, &span.end)) return false;
    if (span.end < span.start) span = (struct span){span.end, span.start};
    *out = span;
    return true;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

char *lsp_uri_path(const char *uri) {
    static const char scheme[] = "file://";
    struct buffer path;
    if (strncmp(uri, scheme, strlen(scheme)) != 0) return NULL;
    const char *at = uri + strlen(scheme);
    if (strncmp(at, "localhost/", 10) == 0) at += 9;
    if (*at != '/') return NULL; /* a file of another host */
    buffer_init(&path, SIZE_MAX);
    for (; *at && *at != '?' && *at != '#'; at++) {
        int high = *at == '%' ? hex_digit(at[1]) : -1, low = high >= 0 ? hex_digit(at[2]) : -1;
        char byte = low >= 0 ? (char)(high * 16 + low) : *at;
        if (byte == '\0') { /* no path contains it */
            buffer_finish(&path);
            return NULL;
        }
        buffer_char(&path, byte);
        if (low >= 0) at += 2;
    }
    return buffer_detach(&path, NULL);
}

tn_value lsp_path_uri(const char *path) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    struct buffer uri;
    buffer_init(&uri, SIZE_MAX);
    buffer_text(&uri, "file://");
    for (; *path; path++) {
        if (strchr(plain, *path))
            buffer_char(&uri, *path);
        else
            buffer_format(&uri, "%%%02X", (unsigned char)*path);
    }
    tn_value result = value_text_n(uri.data, uri.length);
    buffer_finish(&uri);
    return result;
}
