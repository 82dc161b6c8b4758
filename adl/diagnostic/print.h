/*
 * print.h - diagnostics for people, in the form that compilers use, and for programs, as JSON with the positions of
 * LSP.
 *
 *     triage.yaml:12:7: error[ADL-E008]: found the key `type` twice in one mapping; …
 *       12 |       type: tool
 *          |       ^~~~
 *     triage.yaml:11:7: note: the first `type` is here
 *       11 |       type: llm
 *          |       ^~~~
 *       = help: did you mean `typ`?
 *
 * Lines and columns are counted from 1, columns in code points. The output never contains control characters or
 * direction overrides from a document, so it is safe to print on a terminal.
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
    bool colour; /* ANSI escapes */
    /* Columns of a source line that are shown. Longer lines are cut around the caret. 0 means the default. */
    uint32_t width;
};

/* If `style` is NULL, the output has no colour and the default width. */
void diagnostic_print(struct buffer *out, const struct diagnostic *diagnostic, const struct diagnostic_style *style);
/* Appends a message or a name in the form that these functions use: on one line, safe for a terminal. */
void diagnostic_text(struct buffer *out, const char *text);
/* Prints all diagnostics in their present order, each followed by an empty line. */
void diagnostics_print(struct buffer *out, const struct diagnostics *found, const struct diagnostic_style *style);

/*
 * Returns an array of {"code","severity","message","file","range":{"start":{"line","character"},"end":…},"suggestion"?,
 * "related"?:[{"message","file","range"}],"fix"?:{"title","range","replacement"}} as a new reference. Lines and
 * characters (UTF-16 units) are counted from 0. A diagnostic without a text has no "file" and "range".
 */
tn_value diagnostics_to_value(const struct diagnostics *found);

#endif
