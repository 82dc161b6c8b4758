/*
 * text_width.h - how wide a text will be in a picture, and texts that fit.
 *
 * The fonts of a viewer are unknown, so widths are estimates: those of Helvetica, as Adobe's font metrics (AFM) list
 * them, and as Arial and Liberation Sans have them; and 0.6 em for each character of a monospaced font. Wide characters
 * (CJK, emoji) take 1 em, combining ones nothing, and other characters outside of ASCII 0.65 em. Texts must be safe
 * (terminal_text), because control characters have no width. Widths are tenths of a pixel.
 *
 *     struct buffer out;
 *     buffer_init(&out, SIZE_MAX);
 *     text_fit(&out, TEXT_BOLD, 13, name, 2400);
 *     int64_t width = text_width(TEXT_BOLD, 13, buffer_cstr(&out), out.length);
 */
#ifndef TENON_ADL_TEXT_WIDTH_H
#define TENON_ADL_TEXT_WIDTH_H

#include "adl/value/buffer.h"
#include <stdint.h>

enum text_font { TEXT_SANS, TEXT_BOLD, TEXT_MONO };

/* `size` is that of the font, in pixels. */
int64_t text_width(enum text_font font, uint32_t size, const char *text, size_t length);
/* Appends the text, or its beginning and an ellipsis if it is wider than `most`. */
void text_fit(struct buffer *out, enum text_font font, uint32_t size, const char *text, int64_t most);
/*
 * Appends the text as at most `lines` lines with '\n' between them. They are broken after `&&` and `||` if the text
 * then fits, otherwise at spaces where possible. What does not fit is replaced by an ellipsis. Returns the number of
 * lines, at least 1.
 */
uint32_t text_wrap(struct buffer *out, enum text_font font, uint32_t size, const char *text, int64_t most,
                   uint32_t lines);

#endif
