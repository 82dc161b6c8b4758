/*
 * base.c - log lines and error messages that contain text of servers.
 */
#include "base.h"
#include <tenon/util/utf8.h>

#define TEXT_MAX 2048

static void sanitize_line(char *line) {
    size_t left = strlen(line);
    while (left > 0) {
        uint32_t code_point, length = tn_utf8_decode(line, left, &code_point);
        if (length == 0) *line = '?';
        if ((unsigned char)*line < ' ' || *line == 127) *line = ' ';
        line += length > 0 ? length : 1;
        left -= length > 0 ? length : 1;
    }
}

void log_format(int32_t level, const char *format, ...) {
    char line[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    sanitize_line(line);
    tn_log(level, line);
}

tn_value format_value(const char *format, ...) {
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    uint64_t end = length < 0 ? 0 : (uint64_t)length;
    if (end >= sizeof text) end = tn_utf8_trim(text, sizeof text - 1);
    return tn_text_n(text, end);
}
