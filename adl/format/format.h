/*
 * format.h - the canonical form of a document's text, as `tenon fmt` writes it.
 *
 * Only the layout changes: two-space indentation, lists indented below their key, one space after `:` and `,`, flow
 * collections as `[a, b]` and `{a: b}`, no trailing spaces, no more than one blank line in a row, LF line ends and
 * exactly one at the end. Comments behind code come two spaces after it, in neighbouring lines aligned with each other.
 * Comments, blank lines, key order, quotes, anchors, the choice between block and flow and between one line and
 * several, and the contents of block scalars stay as the author wrote them. JSON gets two-space indentation.
 *
 *     char *text;
 *     size_t length;
 *     if (format_source(source, found, &text, &length) == TN_OK) { write(text, length); mem_free(text); }
 *
 * Invariants: the text given back reads as the same tree as the one given (checked before it is returned), and
 * formatting it again changes nothing.
 */
#ifndef TENON_ADL_FORMAT_H
#define TENON_ADL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

struct diagnostics;
struct source;

/*
 * *out is NUL-terminated and freed with mem_free; *length, which may be NULL, leaves the NUL out. TN_INVALID with what
 * is wrong added to `found` (never NULL) where the text cannot be read as a document, or where formatting it would
 * change what it means. [any thread]
 */
int32_t format_source(struct source *source, struct diagnostics *found, char **out, size_t *length);

#endif
