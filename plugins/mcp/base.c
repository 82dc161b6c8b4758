/*
 * base.c - lines of the log and texts of errors, made of what servers say.
 */
#include "base.h"

#define TEXT_MAX 2048

/* How many bytes the character at `text` has; 0 where it is none. Overlong forms and surrogates are none. */
static size_t character(const unsigned char *text, size_t left) {
    static const struct {
        unsigned char mask, lead, low, high; /* of the first byte; the second is from low to high */
        size_t length;
    } forms[] = {{0xFF, 0xE0, 0xA0, 0xBF, 3}, {0xFF, 0xED, 0x80, 0x9F, 3}, {0xFF, 0xF0, 0x90, 0xBF, 4},
                 {0xFF, 0xF4, 0x80, 0x8F, 4}, {0xF0, 0xE0, 0x80, 0xBF, 3}, {0xFC, 0xF0, 0x80, 0xBF, 4},
                 {0xE0, 0xC0, 0x80, 0xBF, 2}};
    if (text[0] < 0x80) return 1;
    if (text[0] == 0xC0 || text[0] == 0xC1) return 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if ((text[0] & forms[i].mask) != forms[i].lead) continue;
        if (left < forms[i].length || text[1] < forms[i].low || text[1] > forms[i].high) return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((text[k] & 0xC0u) != 0x80u) return 0;
        return forms[i].length;
    }
    return 0;
}

static void make_plain(char *line) {
    size_t left = strlen(line);
    while (left > 0) {
        size_t length = character((const unsigned char *)line, left);
        if (length == 0) *line = '?';
        if ((unsigned char)*line < ' ' || *line == 127) *line = ' ';
        line += length > 0 ? length : 1;
        left -= length > 0 ? length : 1;
    }
}

void say(int32_t level, const char *format, ...) {
    char line[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    make_plain(line);
    tn.core->log(tn.host, level, line);
}

tn_value format_value(const char *format, ...) {
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t end = length < 0 ? 0 : (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    tn_value made = tn_text_n(text, end);
    for (size_t cut = end; made == NULL && cut > 0 && end - cut < 4; cut--) made = tn_text_n(text, cut - 1);
    return made;
}
