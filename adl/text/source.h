/*
 * source.h - a text that was read, with its name: what every span points into.
 *
 * Immutable after source_new, and shared by reference between threads. Positions are byte offsets (struct span);
 * people and editors want lines and columns, and this is the one place that converts. Lines are counted from 0 and end
 * at LF, CRLF or CR, as in YAML and LSP; columns are counted from 0 in bytes, code points or UTF-16 units. A byte order
 * mark at the start is part of the text, but of no line. Continuation bytes (10xxxxxx) are of no column in code points
 * and UTF-16 units, wherever they are; so every text has places, and UTF-8 has the right ones.
 *
 *     struct source *source = source_new("triage.yaml", text, length);     // copies both
 *     struct source_place place = source_locate(source, span.start);
 *     printf("%s:%u:%u", source_name(source), place.line + 1, place.point + 1);
 *     source_unref(source);
 */
#ifndef TENON_ADL_SOURCE_H
#define TENON_ADL_SOURCE_H

#include "adl/value/error.h"
#include <stddef.h>
#include <stdint.h>

/* The longest text, in bytes: offsets are uint32_t. source_new asserts it; whoever reads files checks first. */
#define SOURCE_LENGTH_MAX (UINT32_MAX - 1)

struct source;

struct source_place {
    uint32_t line;
    uint32_t byte, point, utf16; /* the same column in three units */
};

enum source_unit { SOURCE_BYTES, SOURCE_POINTS, SOURCE_UTF16 };

/* Copies name and text (any bytes). One reference. `name` is the path as the user knows it; it says JSON by ".json". */
struct source *source_new(const char *name, const char *text, size_t length);
struct source *source_ref(struct source *source); /* returns its argument; NULL gives NULL; [any thread] */
void source_unref(struct source *source);         /* NULL is allowed; [any thread] */

/* Borrowed from the source; the text is NUL-terminated besides its length. */
const char *source_name(const struct source *source);
const char *source_text(const struct source *source);
size_t source_length(const struct source *source);

/* Lines there are: at least one; a text that ends with a line end has an empty last one. */
uint32_t source_lines(const struct source *source);
/* The line's bytes without its end, not NUL-terminated; *length may be wanted or NULL. NULL past the last line. */
const char *source_line(const struct source *source, uint32_t line, size_t *length);
/* Where the line's bytes begin and end (before its line end); {length, length} past the last line. */
struct span source_line_span(const struct source *source, uint32_t line);

/* Offset to place; an offset past the end is the end, one inside a character is that character's start. */
struct source_place source_locate(const struct source *source, uint32_t offset);
/* Place to offset; a line past the end is the end of the text, a column past the line's end is that end. */
uint32_t source_offset(const struct source *source, uint32_t line, uint32_t column, enum source_unit unit);

#endif
