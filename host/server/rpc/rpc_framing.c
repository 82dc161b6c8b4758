/*
 * rpc_framing.c - finds messages in a stream of bytes.
 *
 * Bytes are copied once, into `held`. What was returned is removed when more bytes are added, so that a message can be
 * borrowed, and a stream of small messages costs one move for each piece that was received, not for each message.
 */
#include "host/server/rpc/rpc_framing.h"
#include <string.h>
#include <strings.h>

#define KEPT_MAX ((size_t)128 << 10) /* memory that an empty reader keeps */

void rpc_reader_init(struct rpc_reader *reader, enum rpc_framing framing, size_t message_max) {
    *reader = (struct rpc_reader){.framing = framing, .message_max = message_max ? message_max : RPC_MESSAGE_MAX};
    buffer_init(&reader->held, SIZE_MAX);
}

void rpc_reader_finish(struct rpc_reader *reader) { buffer_finish(&reader->held); }

void rpc_reader_rest(struct rpc_reader *reader) {
    if (reader->at != reader->held.length || reader->held.capacity <= KEPT_MAX) return;
    buffer_finish(&reader->held);
    buffer_init(&reader->held, SIZE_MAX);
    reader->at = 0;
}

size_t rpc_reader_held(const struct rpc_reader *reader) { return reader->held.length - reader->at; }

void rpc_reader_add(struct rpc_reader *reader, const char *bytes, size_t length) {
    struct buffer *held = &reader->held;
    rpc_reader_rest(reader);
    if (reader->at == held->length) {
        buffer_clear(held);
    } else if (reader->at > 0) {
        memmove(held->data, held->data + reader->at, held->length - reader->at);
        held->length -= reader->at;
        held->data[held->length] = '\0';
    }
    reader->at = 0;
    buffer_append(held, bytes, length);
}

static enum rpc_read fail_reading(struct rpc_reader *reader) {
    reader->failed = true;
    return RPC_READ_FAILED;
}

bool rpc_reader_is_inside(const struct rpc_reader *reader) {
    const char *text = buffer_cstr(&reader->held) + reader->at;
    if (reader->body) return true;
    return strspn(text, " \t\r\n") < rpc_reader_held(reader);
}

/* ---- Lines ---- */

static enum rpc_read next_line(struct rpc_reader *reader, const char **text, size_t *length, struct error *error) {
    for (;;) {
        const char *start = buffer_cstr(&reader->held) + reader->at;
        size_t left = rpc_reader_held(reader);
        const char *end = left > reader->scanned ? memchr(start + reader->scanned, '\n', left - reader->scanned) : NULL;
        size_t size = end ? (size_t)(end - start) : left;
        if (size > reader->message_max) {
            error_set(error, TN_LIMIT, "LIMIT", "found a line of more than %zu bytes; a message must be shorter",
                      reader->message_max);
            return fail_reading(reader);
        }
        if (!end) {
            reader->scanned = left;
            return RPC_READ_MORE;
        }
        reader->at += size + 1;
        reader->scanned = 0;
        if (strspn(start, " \t\r") >= size) continue; /* an empty line */
        *text = start;
        *length = size;
        return RPC_READ_MESSAGE;
    }
}

/* ---- Headers ---- */

/* The position after the empty line that ends the headers, or 0. */
static size_t headers_end(const char *text, size_t length, size_t from) {
    for (size_t i = from; i < length; i++) {
        if (text[i] != '\n') continue;
        if (i + 1 < length && text[i + 1] == '\n') return i + 2;
        if (i + 2 < length && text[i + 1] == '\r' && text[i + 2] == '\n') return i + 3;
    }
    return 0;
}

/* Reads the digits of a Content-Length. */
static int32_t read_length(struct rpc_reader *reader, const char *value, size_t size, struct error *error) {
    size_t number = 0, digits = 0;
    for (; digits < size && value[digits] >= '0' && value[digits] <= '9'; digits++)
        if (number <= reader->message_max) number = number * 10 + (size_t)(value[digits] - '0');
    if (digits == 0 || digits != size)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "found the header `Content-Length: %.*s`; expected a number of bytes",
                         (int)(size > 40 ? 40 : size), value);
    if (number > reader->message_max)
        return error_set(error, TN_LIMIT, "LIMIT", "a message of %.*s bytes is announced; the limit is %zu bytes",
                         (int)(size > 40 ? 40 : size), value, reader->message_max);
    if (reader->body && reader->body != number + 1)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "found two headers `Content-Length` with different values: %zu and %zu", reader->body - 1,
                         number);
    reader->body = number + 1;
    return TN_OK;
}

/* LSP: the charset is utf-8; `utf8` is allowed for old clients. */
static int32_t check_charset(const char *value, size_t size, struct error *error) {
    static const char name[] = "charset=";
    for (size_t i = 0; i + strlen(name) <= size; i++) {
        if (strncasecmp(value + i, name, strlen(name)) != 0) continue;
        const char *charset = value + i + strlen(name);
        size_t left = size - i - strlen(name);
        if (left > 0 && *charset == '"') charset++, left--;
        if ((left >= 5 && strncasecmp(charset, "utf-8", 5) == 0) || (left >= 4 && strncasecmp(charset, "utf8", 4) == 0))
            return TN_OK;
        return error_set(error, TN_INVALID, "INVALID_INPUT", "found the header `Content-Type: %.*s`; expected utf-8",
                         (int)(size > 60 ? 60 : size), value);
    }
    return TN_OK;
}

static bool is_field(const char *line, size_t size, const char *name) {
    return size == strlen(name) && strncasecmp(line, name, size) == 0;
}

static int32_t read_field(struct rpc_reader *reader, const char *line, size_t size, struct error *error) {
    const char *colon = memchr(line, ':', size);
    if (!colon || colon == line)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "found `%.*s` in the headers of a message; expected `Content-Length: N`",
                         (int)(size > 60 ? 60 : size), line);
    const char *value = colon + 1, *end = line + size;
    while (value < end && (*value == ' ' || *value == '\t')) value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t')) end--;
    if (is_field(line, (size_t)(colon - line), "Content-Length"))
        return read_length(reader, value, (size_t)(end - value), error);
    if (is_field(line, (size_t)(colon - line), "Content-Type"))
        return check_charset(value, (size_t)(end - value), error);
    return TN_OK;
}

static int32_t read_headers(struct rpc_reader *reader, const char *text, size_t size, struct error *error) {
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = (end ? (size_t)(end - text) : size) - at;
        size_t content = length > 0 && text[at + length - 1] == '\r' ? length - 1 : length;
        int32_t status = content > 0 ? read_field(reader, text + at, content, error) : TN_OK;
        if (status != TN_OK) return status;
        at += length + 1;
    }
    if (reader->body) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_INPUT", "found a message without the header `Content-Length`");
}

static enum rpc_read next_body(struct rpc_reader *reader, const char **text, size_t *length) {
    if (rpc_reader_held(reader) < reader->body - 1) return RPC_READ_MORE;
    *text = buffer_cstr(&reader->held) + reader->at;
    *length = reader->body - 1;
    reader->at += *length;
    reader->body = 0;
    return RPC_READ_MESSAGE;
}

static enum rpc_read next_with_headers(struct rpc_reader *reader, const char **text, size_t *length,
                                       struct error *error) {
    if (reader->body) return next_body(reader, text, length);
    const char *start = buffer_cstr(&reader->held) + reader->at;
    size_t left = rpc_reader_held(reader);
    size_t end = headers_end(start, left, reader->scanned);
    if ((end ? end : left) > RPC_HEADERS_MAX) {
        error_set(error, TN_LIMIT, "LIMIT", "the headers of a message have more than %u bytes", RPC_HEADERS_MAX);
        return fail_reading(reader);
    }
    if (!end) {
        reader->scanned = left > 2 ? left - 2 : 0;
        return RPC_READ_MORE;
    }
    reader->scanned = 0;
    reader->at += end;
    if (read_headers(reader, start, end, error) != TN_OK) return fail_reading(reader);
    return next_body(reader, text, length);
}

/* ---- Both ---- */

/* Decides by the first character. Returns false if there is none yet. */
static bool detect_framing(struct rpc_reader *reader) {
    const char *text = buffer_cstr(&reader->held);
    reader->at += strspn(text + reader->at, " \t\r\n");
    if (reader->at == reader->held.length) return false;
    reader->framing = text[reader->at] == '{' || text[reader->at] == '[' ? RPC_FRAMING_LINES : RPC_FRAMING_HEADERS;
    return true;
}

enum rpc_read rpc_reader_next(struct rpc_reader *reader, const char **text, size_t *length, struct error *error) {
    if (reader->failed) {
        error_set(error, TN_INVALID, "INVALID_INPUT", "an earlier message could not be read");
        return RPC_READ_FAILED;
    }
    if (reader->framing == RPC_FRAMING_DETECT && !detect_framing(reader)) return RPC_READ_MORE;
    return reader->framing == RPC_FRAMING_LINES ? next_line(reader, text, length, error)
                                                : next_with_headers(reader, text, length, error);
}

void rpc_frame(struct buffer *out, enum rpc_framing framing, const char *text, size_t length) {
    if (framing != RPC_FRAMING_LINES) buffer_format(out, "Content-Length: %zu\r\n\r\n", length);
    buffer_append(out, text, length);
    if (framing == RPC_FRAMING_LINES) buffer_char(out, '\n');
}
