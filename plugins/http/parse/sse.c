/*
 * sse.c - lines, then fields of lines, then events.
 *
 * A line that is whole within what has come is read where it is; only one that is cut is kept. A CR that ends what has
 * come has ended its line; if an LF is the next to come it belongs to that CR. Comments and unknown fields go.
 */
#include "sse.h"
#include <string.h>

static const char mark[3] = {'\xef', '\xbb', '\xbf'};

static bool is_field(const char *line, size_t length, const char *name) {
    return length == strlen(name) && memcmp(line, name, length) == 0;
}

static bool replace(struct bytes *bytes, const char *value, size_t length) {
    bytes->length = 0;
    return bytes_add(bytes, value, length);
}

static void take_retry(struct sse *sse, const char *value, size_t length) {
    int64_t number = 0;
    if (length == 0) return;
    for (size_t i = 0; i < length; i++) {
        if (value[i] < '0' || value[i] > '9') return;
        number = number * 10 + (value[i] - '0');
        if (number > RETRY_MAX) number = RETRY_MAX;
    }
    sse->retry = number;
}

static enum parse take_data(struct sse *sse, const char *value, size_t length) {
    if (sse->data.length + length >= SSE_MAX) return PARSE_LIMIT;
    if (sse->has_data && !bytes_add(&sse->data, "\n", 1)) return PARSE_MEMORY;
    sse->has_data = true;
    return bytes_add(&sse->data, value, length) ? PARSE_MORE : PARSE_MEMORY;
}

static enum parse take_field(struct sse *sse, const char *line, size_t length) {
    const char *colon = memchr(line, ':', length);
    size_t name = colon != NULL ? (size_t)(colon - line) : length;
    const char *value = colon != NULL ? colon + 1 : line + length;
    if (value < line + length && *value == ' ') value++;
    size_t left = (size_t)(line + length - value);
    bool kept = true;
    if (is_field(line, name, "data")) return take_data(sse, value, left);
    if (is_field(line, name, "event"))
        kept = replace(&sse->event, value, left);
    else if (is_field(line, name, "id") && memchr(value, '\0', left) == NULL)
        kept = replace(&sse->id, value, left);
    else if (is_field(line, name, "retry"))
        take_retry(sse, value, left);
    return kept ? PARSE_MORE : PARSE_MEMORY;
}

static enum parse take_line(struct sse *sse, const char *line, size_t length) {
    if (!sse->begun) {
        sse->begun = true;
        if (length >= sizeof mark && memcmp(line, mark, sizeof mark) == 0) {
            line += sizeof mark;
            length -= sizeof mark;
        }
    }
    if (length > 0) return *line == ':' ? PARSE_MORE : take_field(sse, line, length);
    if (!sse->has_data) {
        sse->event.length = 0;
        return PARSE_MORE;
    }
    sse->found = true;
    return PARSE_FOUND;
}

static void begin(struct sse *sse) {
    sse->found = sse->has_data = false;
    sse->retry = -1;
    bytes_clear(&sse->event, SSE_KEEP);
    bytes_clear(&sse->data, SSE_KEEP);
}

/* Eight bytes at a time, of which none is LF or CR. */
static const char *find_end(const char *at, const char *end) {
    const uint64_t ones = 0x0101010101010101u, high = ones * 0x80;
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        uint64_t lf = word ^ (ones * '\n'), cr = word ^ (ones * '\r');
        if (((((lf - ones) & ~lf) | ((cr - ones) & ~cr)) & high) != 0) break;
    }
    while (at < end && *at != '\n' && *at != '\r') at++;
    return at;
}

enum parse sse_next(struct sse *sse, const char **at, const char *end) {
    if (sse->found) begin(sse);
    while (*at < end) {
        const char *from = *at;
        if (sse->after_cr) {
            sse->after_cr = false;
            if (*from == '\n') {
                *at = from + 1;
                continue;
            }
        }
        const char *stop = find_end(from, end);
        size_t length = (size_t)(stop - from);
        if (length > SSE_MAX - sse->line.length) return PARSE_LIMIT;
        bool whole = stop<end, kept = sse->line.length> 0;
        if ((kept || !whole) && !bytes_add(&sse->line, from, length)) return PARSE_MEMORY;
        *at = whole ? stop + 1 : end;
        if (!whole) break;
        sse->after_cr = *stop == '\r';
        enum parse result = take_line(sse, kept ? sse->line.data : from, kept ? sse->line.length : length);
        bytes_clear(&sse->line, SSE_KEEP);
        if (result != PARSE_MORE) return result;
    }
    return PARSE_MORE;
}

void sse_finish(struct sse *sse) {
    bytes_finish(&sse->event);
    bytes_finish(&sse->data);
    bytes_finish(&sse->id);
    bytes_finish(&sse->line);
}
