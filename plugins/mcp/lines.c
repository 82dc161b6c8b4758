/*
 * lines.c - the lines of a stream.
 *
 * A line that arrives in one piece is passed on without a copy. The bytes of a partial line are scanned once,
 * because only new bytes can hold its end.
 */
#include "lines.h"

void lines_free(struct lines *lines) {
    tn_text_free(&lines->partial);
    lines->skipping = false;
}

static bool lines_deliver(const char *text, uint64_t length, lines_line line, void *user) {
    if (length > 0 && text[length - 1] == '\r') length--;
    return line(user, text, length);
}

/* Handles the end of a line of which a part was stored. */
static bool lines_end_partial(struct lines *lines, const char *bytes, uint64_t length, lines_line line, void *user) {
    bool too_long = lines->skipping || tn_text_append_n(&lines->partial, bytes, length) != TN_OK;
    struct tn_text_buffer full_line = lines->partial;
    lines->partial = (struct tn_text_buffer){.limit = full_line.limit};
    lines->skipping = false;
    bool continues = too_long ? line(user, NULL, 0) : lines_deliver(full_line.bytes, full_line.length, line, user);
    tn_text_free(&full_line);
    return continues;
}

bool lines_feed(struct lines *lines, const char *bytes, uint64_t length, lines_line line, void *user) {
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        uint64_t size = end != NULL ? (uint64_t)(end - bytes) : length;
        if (end == NULL) {
            if (!lines->skipping && tn_text_append_n(&lines->partial, bytes, size) != TN_OK) {
                tn_text_free(&lines->partial);
                lines->skipping = true;
            }
            return true;
        }
        bool complete = lines->partial.length == 0 && !lines->skipping && size <= lines->partial.limit;
        if (!(complete ? lines_deliver(bytes, size, line, user) : lines_end_partial(lines, bytes, size, line, user)))
            return false;
        bytes += size + 1;
        length -= size + 1;
    }
    return true;
}
