/*
 * sse.c - server-sent events, line by line.
 *
 * `line` collects the current line, `data` the current event. Both are bounded: what is too long is skipped to its end,
 * and the event is given as NULL, so that whoever waits for it can be told.
 */
#include "sse.h"

void sse_init(struct sse *sse, uint64_t limit) {
    memset(sse, 0, sizeof *sse);
    sse->line.limit = sse->data.limit = limit;
    sse->retry_ms = -1;
}

void sse_finish(struct sse *sse) {
    buffer_free(&sse->line);
    buffer_free(&sse->data);
}

static void take_id(struct sse *sse, const char *value, uint64_t length) {
    if (length > SSE_ID_MAX || memchr(value, '\0', length) != NULL) return;
    memcpy(sse->id, value, length);
    sse->id[length] = '\0';
}

static void take_retry(struct sse *sse, const char *value, uint64_t length) {
    int64_t number = 0;
    for (uint64_t i = 0; i < length; i++) {
        if (value[i] < '0' || value[i] > '9' || i > 8) return;
        number = number * 10 + (value[i] - '0');
    }
    if (length > 0) sse->retry_ms = number;
}

static void take_data(struct sse *sse, const char *value, uint64_t length) {
    if (sse->has_data && buffer_add(&sse->data, "\n", 1) != TN_OK) sse->overflow = true;
    if (buffer_add(&sse->data, value, length) != TN_OK) sse->overflow = true;
    sse->has_data = true;
}

static bool field_is(const char *name, uint64_t length, const char *wanted) {
    return length == strlen(wanted) && memcmp(name, wanted, length) == 0;
}

static void take_line(struct sse *sse, const char *line, uint64_t length) {
    const char *colon = memchr(line, ':', length);
    uint64_t name = colon != NULL ? (uint64_t)(colon - line) : length;
    const char *value = colon != NULL ? colon + 1 : line + length;
    uint64_t size = (uint64_t)(line + length - value);
    if (size > 0 && *value == ' ') value++, size--;
    if (field_is(line, name, "data"))
        take_data(sse, value, size);
    else if (field_is(line, name, "event"))
        sse->other_event = size > 0 && !field_is(value, size, "message");
    else if (field_is(line, name, "id"))
        take_id(sse, value, size);
    else if (field_is(line, name, "retry"))
        take_retry(sse, value, size);
}

/* An empty line: the event, where there is one. */
static bool dispatch(struct sse *sse, sse_event event, void *user) {
    bool given = (sse->has_data || sse->overflow) && !sse->other_event, overflow = sse->overflow;
    struct buffer whole = sse->data;
    sse->data = (struct buffer){.limit = whole.limit};
    sse->has_data = sse->overflow = sse->other_event = false;
    bool go_on = true;
    if (given) go_on = event(user, overflow ? NULL : whole.length > 0 ? whole.bytes : "", overflow ? 0 : whole.length);
    buffer_free(&whole);
    return go_on;
}

static bool end_line(struct sse *sse, sse_event event, void *user) {
    const char *text = sse->line.length > 0 ? sse->line.bytes : "";
    uint64_t length = sse->line.length;
    if (!sse->begun && length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3, length -= 3;
    sse->begun = true;
    sse->line.length = 0;
    if (sse->skipping) {
        sse->skipping = false;
        sse->overflow = true;
        return true;
    }
    if (length == 0) return dispatch(sse, event, user);
    take_line(sse, text, length);
    return true;
}

bool sse_feed(struct sse *sse, const char *bytes, uint64_t length, sse_event event, void *user) {
    for (uint64_t i = 0; i < length;) {
        if (sse->after_cr && bytes[i] == '\n') {
            sse->after_cr = false;
            i++;
            continue;
        }
        sse->after_cr = false;
        uint64_t end = i;
        while (end < length && bytes[end] != '\n' && bytes[end] != '\r') end++;
        if (!sse->skipping && buffer_add(&sse->line, bytes + i, end - i) != TN_OK) {
            sse->line.length = 0;
            sse->skipping = true;
        }
        if (end == length) return true;
        sse->after_cr = bytes[end] == '\r';
        i = end + 1;
        if (!end_line(sse, event, user)) return false;
    }
    return true;
}
