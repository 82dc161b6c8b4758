/*
 * json.h - values from JSON text and back (RFC 8259).
 *
 * Reading is strict: UTF-8 only, no comments, no trailing comma, duplicate keys refused, depth and size bounded; an
 * integer that fits int64 is TN_INT, any other number TN_DOUBLE, one too large for a double is refused. An object
 * {"$bytes": "base64"} with that key alone is bytes, both ways; where the text is not base64 exactly as we write it
 * (RFC 4648, padded), it stays the object it is. Writing is the inverse: doubles shortest and round-trip, always with a
 * fraction or exponent (1.0, 1e300), so that kinds survive.
 *
 *     tn_value value;
 *     struct error error = ERROR_INIT;
 *     if (json_read(text, length, NULL, &value, &error) != TN_OK) return report(&error);
 *     char *compact = json_text(value, JSON_COMPACT);
 *     mem_free(compact); value_unref(value);
 */
#ifndef TENON_ADL_JSON_H
#define TENON_ADL_JSON_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

#define JSON_DEPTH_MAX  256                          /* the default bound on nesting */
#define JSON_LENGTH_MAX ((uint64_t)64 * 1024 * 1024) /* the default bound on the text, in bytes */

struct json_limits {
    uint32_t depth;  /* 0: JSON_DEPTH_MAX */
    uint64_t length; /* 0: JSON_LENGTH_MAX; spans are right up to 4 GiB */
};

/* TN_INVALID (code PARSE, with span and "line L, column C" in the message) or TN_LIMIT (code LIMIT). */
int32_t json_read(const char *text, size_t length, const struct json_limits *limits, tn_value *out,
                  struct error *error);

enum json_style { JSON_COMPACT, JSON_INDENTED /* two spaces */, JSON_SORTED /* compact, keys sorted: for hashes */ };
void json_write(struct buffer *out, tn_value value, enum json_style style);
char *json_text(tn_value value, enum json_style style);                      /* mem_free it */
void json_write_string(struct buffer *out, const char *text, size_t length); /* quoted and escaped */
/* The shortest text that reads back as the same double; returns its length; never longer than 32. */
size_t json_double_text(double number, char out[32]);
/*
 * The double nearest to a number written as JSON writes it (digits, fraction, exponent: the caller has checked that),
 * whatever the locale; false where it is too large for one. What is too small becomes 0.
 */
bool json_double_read(const char *text, size_t length, double *out);
/* [start, end) is one valid UTF-8 sequence throughout. */
bool utf8_valid(const char *text, size_t length);
/* Decodes one code point at text (length > 0); returns its byte length, 0 where malformed. */
size_t utf8_decode(const char *text, size_t length, uint32_t *code_point);
size_t utf8_encode(uint32_t code_point, char out[4]);

#endif
