/*
 * sse.c - splits the input into lines, lines into fields, and builds events from fields.
 *
 * A line that is complete in the input is parsed in place; only a line that is split is copied. A CR at the end of the
 * input ends a line; an LF that follows in the next input belongs to that CR. Comments and unknown fields are ignored.
 */
#include "sse.h"
#include <string.h>

static const char mark[3] = {'\xef', '\xbb', '\xbf'};

static bool field_name_is(const char *line, size_t length, const char *name) {
    return length == strlen(name) && memcmp(line, name, length) == 0;
}

static bool replace_bytes(struct tn_text_buffer *bytes, const char *value, size_t length) {
    bytes->length = 0;
    return tn_text_append_n(bytes, value, length) == TN_OK;
}

static void sse_read_retry(struct sse *sse, const char *value, size_t length) {
    int64_t number = 0;
    if (length == 0) return;
    for (size_t i = 0; i < length; i++) {
        if (value[i] < '0' || value[i] > '9') return;
        number = number * 10 + (value[i] - '0');
        if (number > RETRY_MAX) number = RETRY_MAX;
    }
    sse->retry = number;
}

static enum parse sse_append_data(struct sse *sse, const char *value, size_t length) {
    if (sse->data.length + length >= SSE_MAX) return PARSE_LIMIT;
    if (sse->has_data && tn_text_append_n(&sse->data, "\n", 1) != TN_OK) return PARSE_MEMORY;
    sse->has_data = true;
    return tn_text_append_n(&sse->data, value, length) == TN_OK ? PARSE_MORE : PARSE_MEMORY;
}

static enum parse sse_read_field(struct sse *sse, const char *line, size_t length) {
    const char *colon = memchr(line, ':', length);
    size_t name = colon != NULL ? (size_t)(colon - line) : length;
    const char *value = colon != NULL ? colon + 1 : line + length;
    if (value < line + length && *value == ' ') value++;
    size_t left = (size_t)(line + length - value);
    bool stored = true;
    if (field_name_is(line, name, "data")) return sse_append_data(sse, value, left);
    if (field_name_is(line, name, "event"))
        stored = replace_bytes(&sse->event, value, left);
    else if (field_name_is(line, name, "id") && memchr(value, '\0', left) == NULL)
        stored = replace_bytes(&sse->id, value, left);
    else if (field_name_is(line, name, "retry"))
        sse_read_retry(sse, value, left);
    return stored ? PARSE_MORE : PARSE_MEMORY;
}

static enum parse sse_read_line(struct sse *sse, const char *line, size_t length) {
    if (!sse->begun) {
        sse->begun = true;
        if (length >= sizeof mark && memcmp(line, mark, sizeof mark) == 0) {
            line += sizeof mark;
            length -= sizeof mark;
        }
    }
    if (length > 0) return *line == ':' ? PARSE_MORE : sse_read_field(sse, line, length);
    if (!sse->has_data) {
        sse->event.length = 0;
        return PARSE_MORE;
    }
    sse->found = true;
    return PARSE_FOUND;
}

static void sse_start_event(struct sse *sse) {
    sse->found = sse->has_data = false;
    sse->retry = -1;
    tn_text_clear(&sse->event, SSE_KEEP);
    tn_text_clear(&sse->data, SSE_KEEP);
}

/* Eight bytes at a time, of which none is LF or CR. */
static const char *find_line_end(const char *at, const char *end) {
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
    if (sse->found) sse_start_event(sse);
    while (*at < end) {
        const char *from = *at;
        if (sse->after_cr) {
            sse->after_cr = false;
            if (*from == '\n') {
                *at = from + 1;
                continue;
            }
        }
        const char *stop = find_line_end(from, end);
        size_t length = (size_t)(stop - from);
        if (length > SSE_MAX - sse->line.length) return PARSE_LIMIT;
        bool complete = stop<end, split = sse->line.length> 0;
        if ((split || !complete) && tn_text_append_n(&sse->line, from, length) != TN_OK) return PARSE_MEMORY;
        *at = complete ? stop + 1 : end;
        if (!complete) break;
        sse->after_cr = *stop == '\r';
        enum parse result = sse_read_line(sse, split ? sse->line.bytes : from, split ? sse->line.length : length);
        tn_text_clear(&sse->line, SSE_KEEP);
        if (result != PARSE_MORE) return result;
    }
    return PARSE_MORE;
}

void sse_finish(struct sse *sse) {
    tn_text_free(&sse->event);
    tn_text_free(&sse->data);
    tn_text_free(&sse->id);
    tn_text_free(&sse->line);
}
