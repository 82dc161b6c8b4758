/*
 * web_path.c - the path of a request as decoded segments.
 *
 * A path is compared after each segment was decoded, so "%2e%2e" is seen as what it is, and an encoded slash stays
 * inside its segment. A path with a segment "." or ".." is refused: no client sends one, and proxies read it in
 * different ways.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/server/web/web_route.h"
#include <string.h>

static int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

/* Decodes one segment to `to`, and ends it with NUL. Returns its length, or SIZE_MAX if it is malformed. */
static size_t segment_decode(const char *text, size_t length, char *to) {
    size_t written = 0;
    for (size_t i = 0; i < length; i++) {
        int high = text[i] == '%' && i + 2 < length ? hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
        if (text[i] != '%') {
            to[written++] = text[i];
        } else if (low < 0 || (high == 0 && low == 0)) {
            return SIZE_MAX;
        } else {
            to[written++] = (char)(high << 4 | low);
            i += 2;
        }
    }
    to[written] = '\0';
    return utf8_valid(to, written) ? written : SIZE_MAX;
}

static bool is_dots(const char *segment) { return strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0; }

bool web_path_read(struct web_path *path, const char *text) {
    *path = (struct web_path){.text = mem_alloc(strlen(text) + 2)};
    char *to = path->text;
    if (*text != '/') return false;
    for (const char *at = text; *at == '/';) {
        size_t length = strcspn(++at, "/"), decoded = segment_decode(at, length, to);
        if (decoded == SIZE_MAX || is_dots(to)) return false;
        if (path->count == WEB_SEGMENTS_MAX) {
            path->count = 0;
            return true;
        }
        path->segments[path->count++] = to;
        to += decoded + 1;
        at += length;
    }
    return true;
}

void web_path_finish(struct web_path *path) {
    mem_free(path->text);
    path->text = NULL;
}
