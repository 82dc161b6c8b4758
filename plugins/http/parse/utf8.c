/*
 * utf8.c - characters as the Unicode standard's table of well-formed bytes has them (3-7).
 */
#include "utf8.h"

/* How many bytes follow the first one, and what the second may be; 0 follow where it is ASCII, -1 where it is none. */
struct lead {
    int more;
    unsigned char least, most;
};

static struct lead lead_of(unsigned char first) {
    if (first < 0x80) return (struct lead){0, 0, 0};
    if (first >= 0xc2 && first <= 0xdf) return (struct lead){1, 0x80, 0xbf};
    if (first == 0xe0) return (struct lead){2, 0xa0, 0xbf};
    if (first == 0xed) return (struct lead){2, 0x80, 0x9f};
    if (first >= 0xe1 && first <= 0xef) return (struct lead){2, 0x80, 0xbf};
    if (first == 0xf0) return (struct lead){3, 0x90, 0xbf};
    if (first >= 0xf1 && first <= 0xf3) return (struct lead){3, 0x80, 0xbf};
    if (first == 0xf4) return (struct lead){3, 0x80, 0x8f};
    return (struct lead){-1, 0, 0};
}

/* Bytes of what begins at `at`; *whole: they are a character. */
static size_t character(const unsigned char *at, size_t left, bool *whole) {
    struct lead lead = lead_of(at[0]);
    size_t length = 1;
    *whole = lead.more >= 0;
    for (int i = 0; i < lead.more; i++) {
        unsigned char least = i == 0 ? lead.least : 0x80, most = i == 0 ? lead.most : 0xbf;
        if (length == left || at[length] < least || at[length] > most) {
            *whole = false;
            break;
        }
        length++;
    }
    return length;
}

bool utf8_replace(const char *data, size_t length, struct bytes *out) {
    const unsigned char *bytes = (const unsigned char *)data;
    size_t from = 0, at = 0;
    while (at < length) {
        bool whole;
        size_t size = character(bytes + at, length - at, &whole);
        if (!whole) {
            if (!bytes_add(out, data + from, at - from) || !bytes_add(out, "\xef\xbf\xbd", 3)) return false;
            from = at + size;
        }
        at += size;
    }
    return bytes_add(out, data + from, length - from);
}
