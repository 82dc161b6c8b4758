/*
 * frame.c - reads and writes the framing: header lines, of which only Content-Length is used, then the content.
 */
#include "host/plugin/isolate/frame.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PRUNED        "tenon.pruned" /* a member of a message that frame_next has pruned */
#define COMPACT_ABOVE 65536u         /* consumed bytes at the start of a buffer before the rest is moved to the front */

void frame_reader_init(struct frame_reader *reader) {
    *reader = (struct frame_reader){.start = 0};
    buffer_init(&reader->bytes, SIZE_MAX);
}

void frame_reader_finish(struct frame_reader *reader) { buffer_finish(&reader->bytes); }

void frame_feed(struct frame_reader *reader, const void *bytes, size_t length) {
    if (reader->broken) return;
    if (reader->start == reader->bytes.length) {
        buffer_clear(&reader->bytes);
        reader->start = 0;
    } else if (reader->start > COMPACT_ABOVE) {
        reader->bytes.length -= reader->start;
        memmove(reader->bytes.data, reader->bytes.data + reader->start, reader->bytes.length);
        reader->start = 0;
    }
    buffer_append(&reader->bytes, bytes, length);
}

/* Marks the stream as broken, and describes what was found. */
static int32_t frame_break_stream(struct frame_reader *reader, struct error *error, const char *what) {
    char shown[33];
    size_t left = reader->bytes.length - reader->start, length = left < sizeof shown - 1 ? left : sizeof shown - 1;
    for (size_t i = 0; i < length; i++) {
        char c = reader->bytes.data[reader->start + i];
        shown[i] = c >= ' ' && c <= '~' ? c : '?';
    }
    shown[length] = 0;
    reader->broken = true;
    return error_set(error, TN_INVALID, "PROTOCOL",
                     "%s; found `%s`, expected `Content-Length: N`, an empty line, and JSON", what, shown);
}

/* Parses the number after "Content-Length:" in one header line. Returns false if it is not a number. */
static bool frame_read_length(const char *line, size_t size, size_t *out) {
    size_t at = strlen("Content-Length:"), number = 0, digits = 0;
    while (at < size && line[at] == ' ') at++;
    for (; at < size && line[at] >= '0' && line[at] <= '9' && digits < 12; at++, digits++)
        number = number * 10 + (size_t)(line[at] - '0');
    while (at < size && line[at] == ' ') at++;
    *out = number;
    return digits > 0 && at == size;
}

/*
 * Finds where the content begins, and its length. Returns false with `why` if the header is invalid, or with NULL if
 * more bytes are needed.
 */
static bool frame_read_header(const char *text, size_t length, size_t *begin, size_t *content, const char **why) {
    size_t at = 0;
    bool found = false;
    *why = NULL;
    for (;;) {
        const char *end = memchr(text + at, '\n', (length < FRAME_HEADER_MAX ? length : FRAME_HEADER_MAX) - at);
        if (!end) {
            if (length >= FRAME_HEADER_MAX) *why = "a message's header does not end";
            return false;
        }
        size_t size = (size_t)(end - text) - at;
        if (size && text[at + size - 1] == '\r') size--;
        if (size == 0) break;
        if (size > 15 && strncasecmp(text + at, "Content-Length:", 15) == 0) {
            if (!frame_read_length(text + at, size, content)) *why = "the Content-Length of a message is not a number";
            found = true;
        } else if (!memchr(text + at, ':', size)) {
            *why = "a line of a message's header has no colon";
        }
        if (*why) return false;
        at = (size_t)(end - text) + 1;
    }
    if (!found) *why = "a message's header has no Content-Length";
    if (found && *content > FRAME_MESSAGE_MAX) *why = "a message is longer than 64 MiB";
    *begin = (size_t)((const char *)memchr(text + at, '\n', length - at) - text) + 1;
    return !*why;
}

/* Copies JSON text. Arrays and objects that are nested deeper than FRAME_DEPTH_MAX are replaced by null. */
static void frame_prune(struct buffer *out, const char *text, size_t length) {
    size_t depth = 0, from = 0; /* text[from..at) is not copied yet */
    bool in_string = false;
    for (size_t at = 0; at < length; at++) {
        char c = text[at];
        if (in_string) {
            if (c == '\\') at++;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if ((c == '[' || c == '{') && depth++ == FRAME_DEPTH_MAX) {
            buffer_append(out, text + from, at - from);
            buffer_text(out, "null");
        } else if ((c == ']' || c == '}') && depth > 0 && --depth == FRAME_DEPTH_MAX) {
            from = at + 1;
        }
    }
    if (depth <= FRAME_DEPTH_MAX) buffer_append(out, text + from, length - from);
}

static int32_t frame_read_pruned(const char *text, size_t length, tn_value *message) {
    const struct json_limits limits = {.depth = FRAME_DEPTH_MAX};
    struct buffer pruned;
    buffer_init(&pruned, SIZE_MAX);
    frame_prune(&pruned, text, length);
    int32_t status = json_read(buffer_cstr(&pruned), pruned.length, &limits, message, NULL);
    if (status == TN_OK && value_is(*message, TN_OBJECT)) *message = value_set_take(*message, PRUNED, value_bool(true));
    buffer_finish(&pruned);
    return status;
}

bool frame_is_pruned(tn_value message) { return value_get(message, PRUNED) == value_bool(true); }

int32_t frame_next(struct frame_reader *reader, tn_value *message, struct error *error) {
    const char *why;
    size_t begin, content = 0, left = reader->bytes.length - reader->start;
    *message = NULL;
    if (reader->broken) return error_set(error, TN_INVALID, "PROTOCOL", "the stream is broken");
    if (!left) return TN_OK;
    const char *text = reader->bytes.data + reader->start;
    if (!frame_read_header(text, left, &begin, &content, &why))
        return why ? frame_break_stream(reader, error, why) : TN_OK;
    if (left - begin < content) return TN_OK;
    struct error inner = ERROR_INIT;
    const struct json_limits limits = {.depth = FRAME_DEPTH_MAX};
    int32_t status = json_read(text + begin, content, &limits, message, &inner);
    if (status == TN_LIMIT) status = frame_read_pruned(text + begin, content, message);
    if (status == TN_OK && !value_is(*message, TN_OBJECT)) {
        value_unref(*message);
        *message = NULL;
        status = error_set(&inner, TN_INVALID, "PROTOCOL", "expected an object");
    }
    if (status != TN_OK) {
        tn_value what = value_format("a message is not JSON-RPC: %s", inner.message);
        reader->start += begin;
        status = frame_break_stream(reader, error, value_chars(what, NULL));
        value_unref(what);
    } else {
        reader->start += begin + content;
    }
    error_finish(&inner);
    return status;
}

size_t frame_unread(const struct frame_reader *reader) { return reader->bytes.length - reader->start; }

enum frame_fit frame_write(struct buffer *out, tn_value message) {
    /* The length is known only after the content is written: reserve blanks for it, which the protocol allows. */
    static const char head[] = "Content-Length:           \r\n\r\n";
    size_t at = out->length;
    char digits[16];
    buffer_append(out, head, sizeof head - 1);
    bool shallow = json_write_bounded(out, message, JSON_COMPACT, FRAME_DEPTH_MAX);
    if (out->overflow) return FRAME_FITS;
    size_t length = out->length - at - (sizeof head - 1);
    if (!shallow || length > FRAME_MESSAGE_MAX) {
        out->length = at;
        return shallow ? FRAME_TOO_LONG : FRAME_TOO_DEEP;
    }
    int count = snprintf(digits, sizeof digits, "%zu", length);
    memcpy(out->data + at + 16, digits, (size_t)count);
    return FRAME_FITS;
}

_Static_assert(FRAME_DEPTH_MAX == 264 && FRAME_MESSAGE_MAX == 67108864, "the texts below state both");

const char *frame_fit_text(enum frame_fit fit) {
    return fit == FRAME_TOO_DEEP ? "nested deeper than the 264 levels" : "longer than the 64 MiB";
}

/*
 * A buffer that never becomes empty must not grow by the bytes that were already sent. They are removed when they are
 * more than half of the buffer, so that each byte is moved at most once on average.
 */
void frame_discard_sent(struct buffer *out, size_t *sent) {
    if (*sent == out->length) {
        buffer_clear(out);
        *sent = 0;
    } else if (*sent > COMPACT_ABOVE && *sent > out->length / 2) {
        out->length -= *sent;
        memmove(out->data, out->data + *sent, out->length);
        *sent = 0;
    }
}
