/*
 * lines.h - cuts a stream of bytes into lines, of bounded length.
 *
 *     struct lines lines = {.partial = TN_TEXT_BUFFER(MCP_MESSAGE_MAX)};
 *     if (!lines_feed(&lines, bytes, length, on_line, user)) return;     // on_line stopped it, and may have freed it
 *     lines_free(&lines);
 */
#ifndef MCP_LINES_H
#define MCP_LINES_H

#include "base.h"
#include <tenon/util/text.h>

/*
 * Cuts a stream of bytes into lines that end with \n or \r\n. Each line is passed without its end and is valid only
 * during the call. A line that is too long is passed once, as NULL, at its end. If `line` returns false, the rest of
 * the bytes is discarded.
 */
struct lines {
    struct tn_text_buffer partial;
    bool skipping; /* until the end of a line that is too long */
};

typedef bool (*lines_line)(void *user, const char *line, uint64_t length);

/* Returns false if it was stopped; `lines`, which may be freed by then, was not touched afterwards. */
bool lines_feed(struct lines *lines, const char *bytes, uint64_t length, lines_line line, void *user);
void lines_free(struct lines *lines);

#endif
