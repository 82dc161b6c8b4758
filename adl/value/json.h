/*
 * json.h - values from JSON text and back (RFC 8259).
 *
 * Reading is strict: UTF-8 only, no comments, no trailing comma, duplicate keys refused, depth and size bounded; an
 * integer that fits int64 is TN_INT, any other number TN_DOUBLE, one too large for a double is refused. An object
 * {"$bytes": "base64"} with that key alone is bytes, both ways. Writing is the inverse: doubles shortest and
 * round-trip, always with a fraction or exponent (1.0, 1e300), so that kinds survive.
 */
#ifndef TENON_ADL_JSON_H
#define TENON_ADL_JSON_H

#include <stdbool.h>
#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/value.h"

#define JSON_DEPTH_MAX 256 /* the default bound on nesting */

struct json_limits {
    uint32_t depth;  /* 0: JSON_DEPTH_MAX */
    uint64_t length; /* 0: 64 MiB */
};

/* TN_INVALID (code PARSE, with span and "line L, column C" in the message) or TN_LIMIT (code LIMIT). */
int32_t json_read(const char *text, size_t length, const struct json_limits *limits, tn_value *out, struct error *error);

enum json_style { JSON_COMPACT, JSON_INDENTED /* two spaces */, JSON_SORTED /* compact, keys sorted: for hashes */ };
void json_write(struct buffer *out, tn_value value, enum json_style style);
char *json_text(tn_value value, enum json_style style); /* mem_free it */
void json_write_string(struct buffer *out, const char *text, size_t length); /* quoted and escaped */
/* The shortest text that reads back as the same double; returns its length; never longer than 32. */
size_t json_double_text(double number, char out[32]);
/* [start, end) is one valid UTF-8 sequence throughout. */
bool utf8_valid(const char *text, size_t length);
/* Decodes one code point at text (length > 0); returns its byte length, 0 where malformed. */
size_t utf8_decode(const char *text, size_t length, uint32_t *code_point);
size_t utf8_encode(uint32_t code_point, char out[4]);

#endif
