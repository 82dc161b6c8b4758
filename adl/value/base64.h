/*
 * base64.h - bytes as text, RFC 4648 with padding, one text for each sequence of bytes.
 *
 *     base64_write(&out, "hi", 2);                          // aGk=
 *     tn_value bytes = base64_read("aGk=", 4);              // or NULL, where base64_write never writes such a text
 */
#ifndef TENON_ADL_BASE64_H
#define TENON_ADL_BASE64_H

#include "adl/value/buffer.h"
#include "adl/value/value.h"

void base64_write(struct buffer *out, const void *bytes, size_t length);
/* A new bytes value; NULL for any text that writing its bytes again would not give. */
tn_value base64_read(const char *text, size_t length);

#endif
