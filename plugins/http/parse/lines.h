/*
 * lines.h - splits a text into lines (JSON lines, …). LF or CRLF ends a line; the end of the text ends the last one.
 *
 *     struct lines lines = LINES_INIT;
 *     while (lines_next(&lines, &at, end) == PARSE_FOUND) take(lines.text, lines.length);
 *     if (lines_last(&lines)) take(lines.text, lines.length);         // at the end of the input
 *     lines_finish(&lines);
 */
#ifndef TENON_PLUGINS_HTTP_LINES_H
#define TENON_PLUGINS_HTTP_LINES_H

#include "sse.h"

#define LINE_MAX_BYTES SSE_MAX

struct lines {
    const char *text; /* the line: in the caller's bytes or in `partial`, valid until the next call */
    size_t length;
    struct tn_text_buffer partial;
    bool found;
};
#define LINES_INIT                                                                                                     \
    { NULL, 0, TN_TEXT_BUFFER(0), false }

enum parse lines_next(struct lines *lines, const char **at, const char *end);
bool lines_last(struct lines *lines);
void lines_finish(struct lines *lines);

#endif
