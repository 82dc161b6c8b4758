/*
 * terminal.h - text from outside in a form that is safe on a terminal.
 *
 * Everything that is printed for a person goes through terminal_text: control characters could move the cursor or
 * change the terminal's settings, and characters that change the direction of text could make it read as something
 * else. Such a character is shown as <U+XXXX>, and a byte that is not UTF-8 as <XX>. Data that is written into a pipe
 * or a file is not changed.
 *
 *     terminal_text(&out, name, strlen(name), TERMINAL_LINE);
 */
#ifndef TENON_ADL_TERMINAL_H
#define TENON_ADL_TERMINAL_H

#include "adl/value/buffer.h"
#include <stddef.h>
#include <stdint.h>

enum terminal_form {
    TERMINAL_LINE,  /* one line: a line end becomes a space, a tab four */
    TERMINAL_LINES, /* line ends are kept */
    TERMINAL_JSON   /* text of JSON, which stays the same JSON: escapes are \uXXXX, line ends are kept */
};

void terminal_text(struct buffer *out, const char *text, size_t length, enum terminal_form form);
/*
 * Appends the safe form of the first character of `text`, as in TERMINAL_LINES without line ends, unless `out` is NULL.
 * Returns the character's bytes. Sets `columns` to those of the terminal that it takes: wide characters take two,
 * combining characters none.
 */
size_t terminal_character(struct buffer *out, const char *text, size_t length, uint32_t *columns);

#endif
