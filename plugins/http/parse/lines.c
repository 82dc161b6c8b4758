/*
 * lines.c - a line that is complete in the input is returned in place; only a line that is split is copied.
 */
#include "lines.h"
#include <string.h>

static enum parse lines_emit(struct lines *lines, const char *text, size_t length) {
    lines->text = text;
    lines->length = length > 0 && text[length - 1] == '\r' ? length - 1 : length;
    lines->found = true;
    return PARSE_FOUND;
}

enum parse lines_next(struct lines *lines, const char **at, const char *end) {
    if (lines->found) tn_text_clear(&lines->partial, SSE_KEEP);
    lines->found = false;
    if (*at == end) return PARSE_MORE;
    const char *from = *at, *stop = memchr(from, '\n', (size_t)(end - from));
    size_t length = (size_t)((stop != NULL ? stop : end) - from);
    if (length > LINE_MAX_BYTES - lines->partial.length) return PARSE_LIMIT;
    bool partial = lines->partial.length > 0;
    if ((partial || stop == NULL) && tn_text_append_n(&lines->partial, from, length) != TN_OK) return PARSE_MEMORY;
    *at = stop != NULL ? stop + 1 : end;
    if (stop == NULL) return PARSE_MORE;
    return partial ? lines_emit(lines, lines->partial.bytes, lines->partial.length) : lines_emit(lines, from, length);
}

bool lines_last(struct lines *lines) {
    if (lines->found) tn_text_clear(&lines->partial, SSE_KEEP);
    lines->found = false;
    return lines->partial.length > 0 && lines_emit(lines, lines->partial.bytes, lines->partial.length) == PARSE_FOUND;
}

void lines_finish(struct lines *lines) { tn_text_free(&lines->partial); }
