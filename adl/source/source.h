/*
 * source.h - a text with its name; every span refers to a source.
 *
 * A source is immutable after source_new and shared by reference between threads. Positions are byte offsets (struct
 * span); this module converts them to the lines and columns that people and editors use. Lines are counted from 0 and
 * end at LF, CRLF or CR, as in YAML and LSP. Columns are counted from 0 in bytes, code points or UTF-16 units. A byte
 * order mark at the start is part of the text, but of no line. A continuation byte (10xxxxxx) has no column in code
 * points and UTF-16 units, so that every text has places, also one that is not UTF-8.
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

/*
 * The longest text, in bytes, because offsets are uint32_t. source_new asserts it; code that reads files checks it
 * first.
 */
#define SOURCE_LENGTH_MAX (UINT32_MAX - 1)

struct source;

struct source_place {
    uint32_t line;
    uint32_t byte, point, utf16; /* the same column in three units */
};

enum source_unit { SOURCE_BYTES, SOURCE_POINTS, SOURCE_UTF16 };

/* Where a text comes from. This decides which files the text can name; see `read` in adl/document/catalog.h. */
enum source_origin {
    SOURCE_OF_OPERATOR,  /* a person named the file or typed the text: the initial value */
    SOURCE_OF_DOCUMENT,  /* another document or a plugin named the file; it was found below source_root */
    SOURCE_OF_PLUGIN,    /* not a text: stands for a plugin that names a file */
    SOURCE_OF_INPUT,     /* not a text: stands for what a run of the document source_name got and names a file with */
    SOURCE_WITHOUT_FILE, /* the text comes from a model, a plugin, a network or an embedding program */
};

/* How much of a text diagnostics show. */
enum source_view {
    SOURCE_SHOWN,        /* the initial value */
    SOURCE_LINES_HIDDEN, /* no line, and messages do not quote it: the text is a file that is not a document */
    SOURCE_HIDDEN,       /* the place and the title of the code: the reader of the diagnostics may not know the text */
};

/*
 * Copies the name and the text (any bytes) and returns one reference. `name` is the path as the user wrote it; the
 * extension ".json" selects JSON.
 */
struct source *source_new(const char *name, const char *text, size_t length);
struct source *source_ref(struct source *source); /* returns its argument; NULL returns NULL; any thread */
void source_unref(struct source *source);         /* NULL is allowed; any thread */

/* Set these before the source is shared. `root` is copied; NULL except for SOURCE_OF_DOCUMENT, and for
 * SOURCE_OF_INPUT if the document has one. */
void source_set_origin(struct source *source, enum source_origin origin, const char *root);
void source_set_view(struct source *source, enum source_view view);
enum source_origin source_origin(const struct source *source);
enum source_view source_view(const struct source *source);
const char *source_root(const struct source *source); /* the canonical path of a folder, or NULL; borrowed */

/* Borrowed from the source. The text is also NUL-terminated. */
const char *source_name(const struct source *source);
const char *source_text(const struct source *source);
size_t source_length(const struct source *source);

/* The number of lines, at least one. A text that ends with a line end has an empty last line. */
uint32_t source_lines(const struct source *source);
/*
 * Returns the line's bytes without its line end, not NUL-terminated, or NULL past the last line. `length` may be NULL.
 */
const char *source_line(const struct source *source, uint32_t line, size_t *length);
/* The span of the line without its line end; {length, length} past the last line. */
struct span source_line_span(const struct source *source, uint32_t line);

/* The line of an offset: cheaper than source_locate, which counts characters. An offset past the end means the end. */
uint32_t source_line_at(const struct source *source, uint32_t offset);
/* Converts an offset to a place. An offset past the end means the end; one inside a character means its start. */
struct source_place source_locate(const struct source *source, uint32_t offset);
/*
 * Converts a place to an offset. A line past the end means the end of the text; a column past the line's end means that
 * end.
 */
uint32_t source_offset(const struct source *source, uint32_t line, uint32_t column, enum source_unit unit);

#endif
