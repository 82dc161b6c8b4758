/*
 * print.h - diagnostics for people, as compilers write them, and for programs, as JSON in the positions of LSP.
 *
 *     triage.yaml:12:7: error[ADL-E008]: found the key `type` twice in one mapping; …
 *       12 |       type: tool
 *          |       ^~~~
 *     triage.yaml:11:7: note: the first `type` is here
 *       11 |       type: llm
 *          |       ^~~~
 *       = help: did you mean `typ`?
 *
 * Lines and columns are counted from 1, columns in code points. Whatever a document holds, what is printed holds no
 * control characters and no direction overrides: a terminal may be trusted with it.
 *
 *     struct buffer out;
 *     buffer_init(&out, SIZE_MAX);
 *     diagnostics_print(&out, found, &(struct diagnostic_style){.colour = isatty(2)});
 */
#ifndef TENON_ADL_DIAGNOSTIC_PRINT_H
#define TENON_ADL_DIAGNOSTIC_PRINT_H

#include "adl/diagnostic/diagnostic.h"
#include "adl/value/buffer.h"
#include "adl/value/value.h"

#define DIAGNOSTIC_WIDTH 100u /* columns of a source line that are shown, by default */

struct diagnostic_style {
    bool colour;    /* ANSI escapes */
    uint32_t width; /* columns of a source line that are shown; longer ones are cut around the caret; 0: the default */
};

/* `style` may be NULL: no colour, the default width. */
void diagnostic_print(struct buffer *out, const struct diagnostic *diagnostic, const struct diagnostic_style *style);
/* A message or a name as all of these are printed: on one line, safe for a terminal. */
void diagnostic_text(struct buffer *out, const char *text);
/* All of them, each followed by an empty line, in their present order. */
void diagnostics_print(struct buffer *out, const struct diagnostics *found, const struct diagnostic_style *style);

/*
 * {"code","severity","message","file","range":{"start":{"line","character"},"end":…},"suggestion"?,
 *  "related"?:[{"message","file","range"}],"fix"?:{"title","range","replacement"}}: lines and characters (UTF-16 units)
 * from 0. "file" and "range" are left out where the diagnostic is about no text. A new reference.
 */
tn_value diagnostic_to_value(const struct diagnostic *diagnostic);
tn_value diagnostics_to_value(const struct diagnostics *found); /* an array of those; a new reference */

#endif
