/*
 * base64.h - bytes as text: RFC 4648 with padding. Every sequence of bytes has exactly one text.
 *
 *     base64_write(&out, "hi", 2);                          // aGk=
 *     tn_value bytes = base64_read("aGk=", 4);              // NULL if base64_write cannot produce the text
 */
#ifndef TENON_ADL_BASE64_H
#define TENON_ADL_BASE64_H

#include "adl/value/buffer.h"
#include "adl/value/value.h"

void base64_write(struct buffer *out, const void *bytes, size_t length);
/* Returns a new bytes value, or NULL if writing the bytes again would produce a different text. */
tn_value base64_read(const char *text, size_t length);
/* The same for text that is broken into lines: CR and LF are ignored. */
tn_value base64_read_lines(const char *text, size_t length);

#endif
