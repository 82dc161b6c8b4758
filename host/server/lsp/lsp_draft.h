/*
 * lsp_draft.h - a text while the changes of one notification are applied to it.
 *
 * Positions of a change are those in the text after the changes before it. A notification can have thousands of
 * changes of a long text, usually in the order of their places, upwards or downwards. Together these cost what the text
 * and the changes cost, because the draft keeps a gap at the last change, and knows the line there.
 *
 *     struct lsp_draft draft;
 *     lsp_draft_init(&draft, source_text(source), source_length(source));
 *     lsp_draft_replace(&draft, start, end, SOURCE_UTF16, "new", 3);       // for each change
 *     const char *text = lsp_draft_text(&draft, &length);
 *     lsp_draft_finish(&draft);
 *
 * Lines, columns and the byte order mark are those of adl/source/source.h. Thread: any, for one draft at a time.
 */
#ifndef TENON_HOST_SERVER_LSP_LSP_DRAFT_H
#define TENON_HOST_SERVER_LSP_LSP_DRAFT_H

#include "adl/source/source.h"

struct lsp_place {
    uint32_t line, column;
};

/* Private. */
struct lsp_draft {
    char *bytes; /* `before` bytes, a gap, and `after` bytes */
    size_t capacity, before, after;
    uint32_t line; /* a line, and the offset at which it starts */
    size_t line_start;
};

/* Copies the text. */
void lsp_draft_init(struct lsp_draft *draft, const char *text, size_t length);
void lsp_draft_finish(struct lsp_draft *draft);
/*
 * Replaces what is between two places, in any order, as source_offset finds them. If the text would become longer than
 * SOURCE_LENGTH_MAX, nothing is changed.
 */
void lsp_draft_replace(struct lsp_draft *draft, struct lsp_place start, struct lsp_place end, enum source_unit unit,
                       const char *text, size_t length);
/* The text so far, with a NUL after it; borrowed until the next change. */
const char *lsp_draft_text(struct lsp_draft *draft, size_t *length);

#endif
