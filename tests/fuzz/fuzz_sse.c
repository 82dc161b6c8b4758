/*
 * fuzz_sse.c - event streams, lines and texts: any bytes, cut anywhere, produce the same events and lines.
 *
 * The first byte selects where the rest is cut. Results are never longer than the input. Repairing a text that was
 * already made UTF-8 does not change it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Buffers as http_parse has them. */
#define TN_UTIL_RESIZE  realloc
#define TN_UTIL_RELEASE free
#include "lines.h"
#include "sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    uint64_t hash;
    size_t count, bytes;
};

static void see(struct seen *seen, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) seen->hash = (seen->hash ^ (unsigned char)text[i]) * 1099511628211u;
    seen->hash = seen->hash * 31 + length;
    seen->bytes += length;
}

/* Copies the piece to separate memory, so that a sanitizer detects reads past its end. */
static char *piece_of(const uint8_t *data, size_t length) {
    char *piece = malloc(length);
    assert(piece);
    return memcpy(piece, data, length);
}

static struct seen events_of(const uint8_t *data, size_t size, size_t part) {
    struct sse sse = SSE_INIT;
    struct seen seen = {0, 0, 0};
    for (size_t from = 0; from < size; from += part) {
        size_t length = size - from < part ? size - from : part;
        char *piece = piece_of(data + from, length);
        const char *at = piece;
        while (sse_next(&sse, &at, piece + length) == PARSE_FOUND) {
            seen.count++;
            see(&seen, sse.event.bytes, sse.event.length);
            see(&seen, sse.data.bytes, sse.data.length);
            size_t bytes = seen.bytes; /* an id stays: it may be seen more often than it came */
            see(&seen, sse.id.bytes, sse.id.length);
            seen.bytes = bytes;
            seen.hash = seen.hash * 31 + (uint64_t)sse.retry;
            assert(sse.retry >= -1 && sse.retry <= RETRY_MAX);
        }
        assert(at == piece + length);
        free(piece);
    }
    sse_finish(&sse);
    return seen;
}

static struct seen lines_of(const uint8_t *data, size_t size, size_t part) {
    struct lines lines = LINES_INIT;
    struct seen seen = {0, 0, 0};
    for (size_t from = 0; from < size; from += part) {
        size_t length = size - from < part ? size - from : part;
        char *piece = piece_of(data + from, length);
        const char *at = piece;
        for (; lines_next(&lines, &at, piece + length) == PARSE_FOUND; seen.count++)
            see(&seen, lines.text, lines.length);
        free(piece);
    }
    for (; lines_last(&lines); seen.count++) see(&seen, lines.text, lines.length);
    lines_finish(&lines);
    return seen;
}

static void check_text(const uint8_t *data, size_t size) {
    struct tn_text_buffer once = {0}, twice = {0};
    char *exact = piece_of(data, size);
    assert(tn_text_append_lossy(&once, exact, size) == TN_OK);
    assert(tn_text_append_lossy(&twice, once.bytes, once.length) == TN_OK);
    assert(once.length == twice.length && (once.length == 0 || memcmp(once.bytes, twice.bytes, once.length) == 0));
    assert(once.length <= size * 3);
    tn_text_free(&once);
    tn_text_free(&twice);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    size_t part = 1 + data[0] % 17;
    data++, size--;
    struct seen whole = events_of(data, size, size), parts = events_of(data, size, part);
    assert(whole.count == parts.count && whole.hash == parts.hash && whole.bytes <= size);
    whole = lines_of(data, size, size), parts = lines_of(data, size, part);
    assert(whole.count == parts.count && whole.hash == parts.hash && whole.bytes <= size);
    check_text(data, size);
    (void)whole, (void)parts;
    return 0;
}
