/*
 * kernel_words.c - collects the strings of a value, up to a limit.
 */
#include "host/data/kernel/kernel_words.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"

/* The length of the longest prefix of at most `max` bytes that ends between characters. */
static size_t whole_characters(const char *text, size_t length, size_t max) {
    if (length <= max) return length;
    while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80) max--;
    return max;
}

static void collect_strings(struct buffer *out, size_t end, tn_value value, int depth) {
    if (out->length >= end) return;
    if (value_is(value, TN_STRING)) {
        size_t length;
        const char *text = value_chars(value, &length);
        if (out->length) buffer_char(out, '\n');
        buffer_append(out, text, whole_characters(text, length, end > out->length ? end - out->length : 0));
        return;
    }
    bool object = value_is(value, TN_OBJECT), array = value_is(value, TN_ARRAY);
    for (size_t i = 0; depth && (object || array) && i < value_count(value); i++)
        collect_strings(out, end, object ? value_value_at(value, i) : value_at(value, i), depth - 1);
}

tn_value kernel_words_of_both(tn_value first, tn_value second, size_t max) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    collect_strings(&text, max, first, JSON_DEPTH_MAX);
    collect_strings(&text, text.length + max, second, JSON_DEPTH_MAX);
    tn_value made = text.length ? value_text_n(text.data, text.length) : NULL;
    buffer_finish(&text);
    return made;
}

tn_value kernel_words_of(tn_value value, size_t max) { return kernel_words_of_both(value, NULL, max); }
