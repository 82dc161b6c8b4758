/*
 * terminal.c - which characters are safe on a terminal, and how the others are shown.
 */
#include "adl/value/terminal.h"
#include "adl/value/json.h"
#include <stdio.h>
#include <string.h>

#define TAB_WIDTH 4u

struct range {
    uint32_t first, last;
};

/* Unicode East Asian Wide and Fullwidth characters and emoji, in blocks. */
static const struct range wide_ranges[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x26a1, 0x26a1},   {0x26bd, 0x26be},   {0x2705, 0x2705},   {0x274c, 0x274c},
    {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
    {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

/* Combining marks, joiners and variation selectors. */
static const struct range empty_ranges[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
    {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

/*
 * Characters that could move the cursor, hide text or change its direction: C0 without the tab, DEL, C1, separators of
 * lines, marks, overrides and isolates of direction, invisible operators, and tags. The marks U+061C, U+200E and U+200F
 * are rare in texts of the scripts that need them, and can reorder what another program wrote beside them.
 */
static const struct range unsafe_ranges[] = {
    {0x00, 0x08},     {0x0a, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200e, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

static bool in_ranges(uint32_t point, const struct range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last) return true;
    return false;
}
#define IN(point, ranges) in_ranges(point, ranges, sizeof(ranges) / sizeof(ranges)[0])

size_t terminal_character(struct buffer *out, const char *text, size_t length, uint32_t *columns) {
    uint32_t point;
    size_t size = utf8_decode(text, length, &point);
    char escape[16];
    if (size == 0) {
        size = 1;
        snprintf(escape, sizeof escape, "<%02X>", (unsigned char)text[0]);
    } else if (point == '\t') {
        snprintf(escape, sizeof escape, "%*s", (int)TAB_WIDTH, "");
    } else if (IN(point, unsafe_ranges)) {
        snprintf(escape, sizeof escape, "<U+%04X>", point);
    } else {
        *columns = point < 0x300 ? 1 : IN(point, empty_ranges) ? 0 : IN(point, wide_ranges) ? 2 : 1;
        if (out) buffer_append(out, text, size);
        return size;
    }
    *columns = (uint32_t)strlen(escape);
    if (out) buffer_text(out, escape);
    return size;
}

/* The escape of JSON; a character above U+FFFF becomes a pair. */
static void terminal_json_escape(struct buffer *out, uint32_t point) {
    if (point > 0xffff)
        buffer_format(out, "\\u%04x\\u%04x", 0xd7c0 + (point >> 10), 0xdc00 + (point & 0x3ff));
    else
        buffer_format(out, "\\u%04x", point);
}

void terminal_text(struct buffer *out, const char *text, size_t length, enum terminal_form form) {
    for (size_t at = 0; at < length;) {
        uint32_t columns, point;
        size_t size;
        if (text[at] == '\n') {
            buffer_char(out, form == TERMINAL_LINE ? ' ' : '\n');
            at++;
        } else if (form == TERMINAL_JSON && (size = utf8_decode(text + at, length - at, &point)) > 0 &&
                   IN(point, unsafe_ranges)) {
            terminal_json_escape(out, point);
            at += size;
        } else {
            at += terminal_character(out, text + at, length - at, &columns);
        }
    }
}
