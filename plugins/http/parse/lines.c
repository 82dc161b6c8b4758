/*
 * lines.c - a line that is whole within what has come is given where it is; only one that is cut is kept.
 */
#include "lines.h"
#include <string.h>

static enum parse give(struct lines *lines, const char *text, size_t length) {
    lines->text = text;
    lines->length = length > 0 && text[length - 1] == '\r' ? length - 1 : length;
    lines->found = true;
    return PARSE_FOUND;
}

enum parse lines_next(struct lines *lines, const char **at, const char *end) {
    if (lines->found) bytes_clear(&lines->kept, SSE_KEEP);
    lines->found = false;
    if (*at == end) return PARSE_MORE;
    const char *from = *at, *stop = memchr(from, '\n', (size_t)(end - from));
    size_t length = (size_t)((stop != NULL ? stop : end) - from);
    if (length > LINE_MAX_BYTES - lines->kept.length) return PARSE_LIMIT;
    bool kept = lines->kept.length > 0;
    if ((kept || stop == NULL) && !bytes_add(&lines->kept, from, length)) return PARSE_MEMORY;
    *at = stop != NULL ? stop + 1 : end;
    if (stop == NULL) return PARSE_MORE;
    return kept ? give(lines, lines->kept.data, lines->kept.length) : give(lines, from, length);
}

bool lines_last(struct lines *lines) {
    if (lines->found) bytes_clear(&lines->kept, SSE_KEEP);
    lines->found = false;
    return lines->kept.length > 0 && give(lines, lines->kept.data, lines->kept.length) == PARSE_FOUND;
}

void lines_finish(struct lines *lines) { bytes_finish(&lines->kept); }
