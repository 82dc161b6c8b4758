/*
 * buffer.h - bytes that have come in or wait to go out, bounded; and lines out of them.
 *
 * Invariant: a buffer never holds more than its limit; what does not fit is refused, and nothing of it taken.
 *
 *     struct buffer line = {.limit = MCP_MESSAGE_MAX};
 *     if (buffer_add(&line, bytes, length) != TN_OK) return too_long(server);
 *     buffer_free(&line);
 */
#ifndef MCP_BUFFER_H
#define MCP_BUFFER_H

#include "base.h"

struct buffer {
    char *bytes; /* not NUL-terminated */
    uint64_t length, capacity, limit;
};

int32_t buffer_add(struct buffer *buffer, const char *bytes, uint64_t length); /* TN_LIMIT, TN_NO_MEMORY */
void buffer_drop(struct buffer *buffer, uint64_t length);                      /* that many bytes from its front */
void buffer_free(struct buffer *buffer);                                       /* empty again; its limit stays */

/*
 * Cuts a stream of bytes into lines, ending with \n or \r\n; each is given without its end, and only for the call. A
 * line that is too long is given as NULL, once, when its end has come. `line` returns false to stop: the rest is lost.
 */
struct lines {
    struct buffer partial;
    bool skipping; /* until the end of a line that is too long */
};

typedef bool (*lines_line)(void *user, const char *line, uint64_t length);

/* False: it was stopped, and `lines` (which may be freed by then) was not touched any more. */
bool lines_feed(struct lines *lines, const char *bytes, uint64_t length, lines_line line, void *user);
void lines_free(struct lines *lines);

#endif
