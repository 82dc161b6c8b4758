/*
 * frames.c - lengths, checksums and headers of the messages.
 *
 * A length is believed only after the checksum of the prelude, and no more memory is allocated for it than the bytes
 * that have arrived.
 */
#include "frames.h"

#define PRELUDE_BYTES 12
#define CRC_BYTES     4

static uint32_t frames_crc32(const unsigned char *bytes, uint64_t length) {
    static uint32_t table[256]; /* filled on first use; the loop is the only thread */
    uint32_t crc = UINT32_MAX;
    for (uint32_t i = 0; table[255] == 0 && i < 256; i++) {
        uint32_t row = i;
        for (int bit = 0; bit < 8; bit++) row = row & 1 ? row >> 1 ^ UINT32_C(0xedb88320) : row >> 1;
        table[i] = row;
    }
    for (uint64_t i = 0; i < length; i++) crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return ~crc;
}

static uint32_t frames_number(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static enum frames_found frames_fail(struct frames *frames, const char *problem) {
    frames->broken = true;
    frames->problem = problem;
    return FRAMES_BROKEN;
}

bool frames_add(struct frames *frames, const void *bytes, uint64_t length) {
    if (frames->broken) return true;
    if (frames->at > 0) { /* the messages before it have been used */
        uint64_t left = frames->bytes.length - frames->at;
        memmove(frames->bytes.bytes, frames->bytes.bytes + frames->at, left);
        frames->bytes.length = left;
        frames->at = 0;
    }
    return tn_text_append_n(&frames->bytes, bytes, length) == TN_OK;
}

/* The bytes of a header's value of this type, without those of its length. UINT64_MAX: an unknown type. */
static uint64_t frames_value_size(unsigned type, const unsigned char *value, uint64_t left, uint64_t *before) {
    static const uint64_t sizes[] = {0, 0, 1, 2, 4, 8, 0, 0, 8, 16};
    *before = 0;
    if (type >= sizeof sizes / sizeof *sizes) return UINT64_MAX;
    if (type != 6 && type != 7) return sizes[type];
    *before = 2;
    return left < 2 ? UINT64_MAX : (uint64_t)value[0] << 8 | value[1];
}

static void frames_keep(char out[FRAMES_NAME_MAX], const unsigned char *value, uint64_t size) {
    uint64_t kept = size < FRAMES_NAME_MAX - 1 ? size : FRAMES_NAME_MAX - 1;
    for (uint64_t i = 0; i < kept; i++) out[i] = value[i] >= ' ' && value[i] < 127 ? (char)value[i] : '?';
    out[kept] = '\0';
}

/* False if the headers are not well-formed. */
static bool frames_read_headers(const unsigned char *at, uint64_t left, struct frames_message *out) {
    static const struct {
        const char *name;
        bool is_type;
    } known[] = {{":message-type", true}, {":event-type", false}, {":exception-type", false}, {":error-code", false}};
    while (left > 0) {
        uint64_t name = at[0], before;
        if (left < 1 + name + 1) return false;
        const unsigned char *value = at + 1 + name + 1;
        uint64_t rest = left - 1 - name - 1, size = frames_value_size(value[-1], value, rest, &before);
        if (size == UINT64_MAX || size + before > rest) return false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (value[-1] == 7 && strlen(known[i].name) == name && memcmp(at + 1, known[i].name, name) == 0)
                frames_keep(known[i].is_type ? out->type : out->name, value + before, size);
        at = value + before + size;
        left = rest - before - size;
    }
    return true;
}

enum frames_found frames_next(struct frames *frames, struct frames_message *out) {
    if (frames->broken) return FRAMES_BROKEN;
    uint64_t left = frames->bytes.length - frames->at;
    if (left < PRELUDE_BYTES) return FRAMES_MORE;
    const unsigned char *start = (const unsigned char *)frames->bytes.bytes + frames->at;
    uint32_t total = frames_number(start), headers = frames_number(start + 4);
    if (frames_crc32(start, 8) != frames_number(start + 8))
        return frames_fail(frames, "a message whose length has a wrong checksum");
    if (total > FRAMES_MESSAGE_MAX) return frames_fail(frames, "a message of more than 24 MiB");
    if (headers > FRAMES_HEADERS_MAX) return frames_fail(frames, "a message with more than 128 KiB of headers");
    if (total < PRELUDE_BYTES + CRC_BYTES || headers > total - PRELUDE_BYTES - CRC_BYTES)
        return frames_fail(frames, "a message that is shorter than its headers");
    if (left < total) return FRAMES_MORE;
    if (frames_crc32(start, total - CRC_BYTES) != frames_number(start + total - CRC_BYTES))
        return frames_fail(frames, "a message with a wrong checksum");
    memset(out, 0, sizeof *out);
    if (!frames_read_headers(start + PRELUDE_BYTES, headers, out))
        return frames_fail(frames, "a message with malformed headers");
    out->payload = (const char *)start + PRELUDE_BYTES + headers;
    out->length = total - PRELUDE_BYTES - CRC_BYTES - headers;
    frames->at += total;
    return FRAMES_FOUND;
}

void frames_free(struct frames *frames) {
    tn_text_free(&frames->bytes);
    memset(frames, 0, sizeof *frames);
}
