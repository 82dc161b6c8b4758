/*
 * utf8.h - bytes that should be UTF-8, made so: what is not is replaced by U+FFFD, as the Encoding standard decodes.
 *
 *     struct bytes text = BYTES_INIT;
 *     if (!utf8_replace(data, length, &text)) …             // no memory
 */
#ifndef TENON_PLUGINS_HTTP_UTF8_H
#define TENON_PLUGINS_HTTP_UTF8_H

#include "bytes.h"

/* Adds to `out`. One U+FFFD stands for each longest beginning of a character that is not gone on with. */
bool utf8_replace(const char *data, size_t length, struct bytes *out);

#endif
