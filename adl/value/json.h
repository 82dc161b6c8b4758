/*
 * json.h - values from JSON text and back (RFC 8259).
 *
 * Reading is strict: UTF-8 only, no comments, no trailing comma, no duplicate keys, bounded depth, size and number of
 * values. An integer that fits int64 becomes TN_INT, any other number TN_DOUBLE; a number too large for a double is
 * refused. An object {"$bytes": "base64"} with only that key is bytes, in both directions; if its text is not base64
 * exactly as we write it (RFC 4648, padded), it stays an object. Writing is the inverse: doubles use the shortest text
 * that reads back as the same number, always with a fraction or exponent (1.0, 1e300), so that kinds survive.
 *
 * There are two readers of JSON. This one reads values: it keeps no positions, stops at the first error and caches
 * keys. adl/tree/tree_json.c reads documents: every node keeps its span and style, and reading continues after errors.
 * Reading values through a tree costs 2.3 times as many instructions (measured with records of 160 bytes), and values
 * are read far more often than documents. Both use json_scan.h for strings and numbers, so they accept the same texts.
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
#include <tenon/util/sha256.h>

#define JSON_DEPTH_MAX  256                          /* the default bound on nesting */
#define JSON_LENGTH_MAX ((uint64_t)64 * 1024 * 1024) /* the default bound on the text, in bytes */
/*
 * The default bound on the values of a text (keys do not count). A text of 64 MiB can have 30 million values, and each
 * takes up to 100 bytes of memory with its key; this bound keeps any text below 512 MiB.
 */
#define JSON_VALUES_MAX 4000000u

struct json_limits {
    uint32_t depth;  /* 0 means JSON_DEPTH_MAX */
    uint32_t values; /* 0 means JSON_VALUES_MAX */
    uint64_t length; /* 0 means JSON_LENGTH_MAX; spans are correct up to 4 GiB */
    /* An escape that is half of a surrogate pair means U+FFFD. Programs in JavaScript send such texts. */
    bool half_pairs;
};

/* Returns TN_INVALID (code PARSE, with a span and "line L, column C" in the message) or TN_LIMIT (code LIMIT). */
int32_t json_read(const char *text, size_t length, const struct json_limits *limits, tn_value *out,
                  struct error *error);

/* The line and the column of an offset, as messages name them: from 1; columns count characters. */
void json_locate(const char *text, size_t offset, size_t *line, size_t *column);

/* Flags: JSON_SORTED orders keys by their bytes, for hashes. */
enum json_style { JSON_COMPACT = 0, JSON_INDENTED = 1 /* two spaces */, JSON_SORTED = 2 };
void json_write(struct buffer *out, tn_value value, enum json_style style);
/* The same; returns false, with the beginning of the text in `out`, if `value` is nested deeper than `depth`. */
bool json_write_bounded(struct buffer *out, tn_value value, enum json_style style, size_t depth);
char *json_text(tn_value value, enum json_style style); /* free it with mem_free */
/* The SHA-256 of the text, in hexadecimal. */
void json_hash(tn_value value, enum json_style style, char out[TN_SHA256_TEXT]);
void json_write_string(struct buffer *out, const char *text, size_t length); /* quoted and escaped */
/* Writes the shortest text that reads back as the same double. Returns its length, which is at most 32. */
size_t json_double_text(double number, char out[32]);
/*
 * Reads the double nearest to a JSON number (digits, fraction, exponent; the caller has checked the syntax),
 * independent of the locale. Returns false if the number is too large for a double. A number that is too small becomes
 * 0.
 */
bool json_double_read(const char *text, size_t length, double *out);
/* Returns true if the text is valid UTF-8. */
bool utf8_valid(const char *text, size_t length);
/* Decodes one code point at text (length > 0). Returns its length in bytes, or 0 if it is malformed. */
size_t utf8_decode(const char *text, size_t length, uint32_t *code_point);
size_t utf8_encode(uint32_t code_point, char out[4]);

#endif
