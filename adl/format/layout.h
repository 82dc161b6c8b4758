/*
 * layout.h - lines, comments and blank lines while a document is formatted; private to adl/format.
 *
 * A layout has a position in the source (`at`) and an output whose last line may be open. The text between two tokens
 * is a gap: layout_gap moves past it and writes its comments. Everything else in the source is a token, which the
 * caller writes and moves past. Every byte of the source is therefore handled explicitly.
 */
#ifndef TENON_ADL_FORMAT_LAYOUT_H
#define TENON_ADL_FORMAT_LAYOUT_H

#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "adl/value/buffer.h"

/* Comments after code are aligned with their neighbours, unless the code is longer than this. */
#define LAYOUT_ALIGN_MAX 80u

/* An open block collection: its column in the source and in the output. */
struct layout_level {
    uint32_t column, indent;
    bool list;
};

struct layout {
    const struct source *source;
    const char *text;
    uint32_t at, length;
    struct buffer out;
    struct buffer comments; /* the text of all comments so far, one per line */
    struct layout_level levels[TREE_DEPTH_CEILING + 1];
    uint32_t level_count;
    uint32_t *trailing; /* offsets in `out` of the comments after code */
    size_t trailing_count, trailing_capacity;
    bool open;  /* the last line of `out` has text */
    bool blank; /* a blank line comes before the next line */
    bool lost;  /* the source does not match the tree: formatting must be refused */
};

void layout_init(struct layout *layout, const struct source *source);
void layout_finish(struct layout *layout);

#define LAYOUT_BY_COLUMN UINT32_MAX /* comments are indented by their column, like the code they belong to */

/* Returns the start of the next token. */
uint32_t layout_peek(const struct layout *layout);
/*
 * Moves past blanks and comments up to the next token. Comments on separate lines are indented by `indent`, or by their
 * column. `opening`: the gap is at the start of a collection, where blank lines are dropped. Returns true if the gap
 * contained a line end.
 */
bool layout_gap(struct layout *layout, uint32_t indent, bool opening);

/* Ends the open line and starts a new one at `indent`. */
void layout_line(struct layout *layout, uint32_t indent);
/* Continues the open line after a space, or starts a new one. */
void layout_lead(struct layout *layout, uint32_t indent);
void layout_text(struct layout *layout, const char *text, size_t length);
/* Writes the source's bytes up to `end` and moves past them. */
void layout_copy(struct layout *layout, uint32_t end);
/* Writes a comment at layout->at after the code of the open line, and moves past it. The line stays open. */
void layout_comment(struct layout *layout);
/* Ends the output: aligns comments and writes one newline at the end. */
void layout_end(struct layout *layout);

static inline bool layout_is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static inline bool layout_is_break(char c) { return c == '\n' || c == '\r'; }

#endif
