/*
 * format.h - the canonical form of a document's text, as `tenon fmt` writes it.
 *
 * Only the layout changes: two-space indentation, lists indented below their key, one space after `:` and `,`, flow
 * collections as `[a, b]` and `{a: b}`, no trailing spaces, at most one blank line in a row, exactly one line end at
 * the end. Line ends are CRLF if most of the original are, else LF. Comments after code have two spaces before them;
 * comments of neighbouring lines are aligned. Comments, blank lines, key order, quotes, anchors, the choice between
 * block and flow and between one line and several, and the contents of block scalars stay as the author wrote them.
 * JSON gets two-space indentation.
 *
 *     char *text;
 *     size_t length;
 *     if (format_source(source, found, &text, &length) == TN_OK) { write(text, length); mem_free(text); }
 *
 * Invariants: the returned text reads as the same tree as the original (checked before it is returned), and formatting
 * it again changes nothing.
 */
#ifndef TENON_ADL_FORMAT_H
#define TENON_ADL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

struct diagnostics;
struct source;

/*
 * *out is NUL-terminated; free it with mem_free. *length (which may be NULL) excludes the NUL. Returns TN_INVALID and
 * adds the reason to `found` (never NULL) if the text cannot be read as a document, or if formatting would change its
 * meaning. Any thread.
 */
int32_t format_source(struct source *source, struct diagnostics *found, char **out, size_t *length);

#endif
