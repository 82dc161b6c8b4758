/*
 * lines.h - lines of a text (JSON lines, …): each ends with LF or CRLF; the last may end with the text.
 *
 *     struct lines lines = LINES_INIT;
 *     while (lines_next(&lines, &at, end) == PARSE_FOUND) take(lines.text, lines.length);
 *     if (lines_last(&lines)) take(lines.text, lines.length);         // when no more comes
 *     lines_finish(&lines);
 */
#ifndef TENON_PLUGINS_HTTP_LINES_H
#define TENON_PLUGINS_HTTP_LINES_H

#include "sse.h"

#define LINE_MAX_BYTES SSE_MAX

struct lines {
    const char *text; /* the one that was found: in the caller's bytes, or `kept`; until the next call */
    size_t length;
    struct bytes kept;
    bool found;
};
#define LINES_INIT                                                                                                     \
    { NULL, 0, BYTES_INIT, false }

enum parse lines_next(struct lines *lines, const char **at, const char *end);
bool lines_last(struct lines *lines);
void lines_finish(struct lines *lines);

#endif
