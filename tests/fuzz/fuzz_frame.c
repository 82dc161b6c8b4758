/*
 * fuzz_frame.c - the framing of the component protocol: any bytes, cut anywhere, decode to the same messages or error.
 *
 * The first byte selects where the rest is cut. Decoded messages are encoded again, and must decode to the same.
 */
#include <assert.h>

#include "adl/value/memory.h"
#include "host/plugin/isolate/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    uint64_t hash;
    uint32_t count;
    bool broken;
};

static void take_all(struct frame_reader *reader, struct seen *seen, struct buffer *out) {
    tn_value message;
    int32_t status;
    while ((status = frame_next(reader, &message, NULL)) == TN_OK && message) {
        seen->hash = seen->hash * 31 + value_hash(message);
        seen->count++;
        if (out) frame_write(out, message);
        value_unref(message);
    }
    seen->broken |= status != TN_OK;
}

static struct seen read_in_parts(const uint8_t *data, size_t size, size_t part, struct buffer *out) {
    struct frame_reader reader;
    struct seen seen = {0, 0, false};
    frame_reader_init(&reader);
    for (size_t at = 0; at < size; at += part) {
        frame_feed(&reader, data + at, size - at < part ? size - at : part);
        take_all(&reader, &seen, out);
    }
    frame_reader_finish(&reader);
    return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    int64_t live = value_live_count();
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    struct seen whole = read_in_parts(data + 1, size - 1, size, &out);
    struct seen parts = read_in_parts(data + 1, size - 1, 1 + data[0] % 17, NULL);
    assert(whole.count == parts.count && whole.hash == parts.hash && whole.broken == parts.broken);
    struct seen again = {0, 0, false};
    if (out.length) again = read_in_parts((const uint8_t *)out.data, out.length, out.length, NULL);
    assert(again.count == whole.count && again.hash == whole.hash && !again.broken);
    (void)parts, (void)again;
    buffer_finish(&out);
    assert(value_live_count() == live);
    (void)live;
    return 0;
}
