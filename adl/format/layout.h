/*
 * layout.h - lines, comments and blank lines while a document is formatted; private to adl/format.
 *
 * A layout has a place in the source (`at`) and an output whose last line may be open. What stands between two tokens
 * is a gap: layout_gap passes it and writes its comments. Everything else in the source is a token, which its user
 * writes and passes. So no byte is passed without somebody having decided what becomes of it.
 */
#ifndef TENON_ADL_FORMAT_LAYOUT_H
#define TENON_ADL_FORMAT_LAYOUT_H

#include "adl/text/source.h"
#include "adl/text/tree.h"
#include "adl/value/buffer.h"

/* Comments behind code are aligned with their neighbours', unless the code is longer than this. */
#define LAYOUT_ALIGN_MAX 80u

/* A block collection that is open: its column in the source, and in the output. */
struct layout_level {
    uint32_t column, indent;
    bool list;
};

struct layout {
    const struct source *source;
    const char *text;
    uint32_t at, length;
    struct buffer out;
    struct buffer comments; /* the text of all comments passed, one a line */
    struct layout_level levels[TREE_DEPTH_CEILING + 1];
    uint32_t level_count;
    uint32_t *trailing; /* offsets in `out` of the comments behind code */
    size_t trailing_count, trailing_capacity;
    bool open;  /* the last line of `out` has text */
    bool blank; /* a blank line comes before the next line */
    bool lost;  /* the source is not what the tree says: formatting must be refused */
};

void layout_init(struct layout *layout, const struct source *source);
void layout_finish(struct layout *layout);

#define LAYOUT_BY_COLUMN UINT32_MAX /* comments are indented like what they belong to by their column */

/* Where the next token begins. */
uint32_t layout_peek(const struct layout *layout);
/*
 * Passes blanks and comments up to the next token. Comments on lines of their own are indented by `indent`, or by their
 * column. `opening`: the gap is at the beginning of something, where blank lines are dropped. Returns whether it
 * contained a line end.
 */
bool layout_gap(struct layout *layout, uint32_t indent, bool opening);

/* A new line at `indent`; the open one ends. */
void layout_line(struct layout *layout, uint32_t indent);
/* Continues the open line after a space, or begins a new one. */
void layout_lead(struct layout *layout, uint32_t indent);
void layout_text(struct layout *layout, const char *text, size_t length);
/* Writes the source's bytes up to `end` and passes them. */
void layout_copy(struct layout *layout, uint32_t end);
/* A comment behind the code of the open line, at layout->at; passes it. The line stays open. */
void layout_comment(struct layout *layout);
/* Ends the output: aligns comments, one newline at the end. */
void layout_end(struct layout *layout);

static inline bool layout_is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static inline bool layout_is_break(char c) { return c == '\n' || c == '\r'; }

#endif
