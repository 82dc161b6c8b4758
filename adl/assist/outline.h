/*
 * outline.h - the structure of a document: its symbols, the symbols of a workspace, folding, selection.
 *
 *     struct assist_outline *outline = assist_outline(assist);
 *     for (size_t i = 0; i < outline->count; i++) show(outline->items[i].depth, outline->items[i].name);
 *     assist_outline_free(outline);
 *
 * Everything is found in the tree, so a document with mistakes has what could be read of it.
 */
#ifndef TENON_ADL_ASSIST_OUTLINE_H
#define TENON_ADL_ASSIST_OUTLINE_H

#include "adl/assist/symbol.h"

#define ASSIST_SYMBOLS_MAX 256u /* results of one search in a workspace */

enum assist_outline_kind {
    OUTLINE_SECTION,
    OUTLINE_NODE,
    OUTLINE_CHANNEL,
    OUTLINE_EDGE,
    OUTLINE_ROLE,
    OUTLINE_TOOL,
    OUTLINE_PLUGIN, /* under `requires` */
    OUTLINE_PROPERTY,
};

struct assist_outline_item {
    enum assist_outline_kind kind;
    uint32_t depth;        /* 0: a section. The parent is the last item before it with a smaller depth */
    char *name;            /* never empty */
    char *detail;          /* the type of a node or channel …; may be "" */
    struct span span;      /* the whole item, inside that of its parent … */
    struct span name_span; /* … and its name, inside `span` */
};

struct assist_outline {
    struct assist_outline_item *items;
    size_t count, capacity;
};

struct assist_outline *assist_outline(const struct assist *assist);
void assist_outline_free(struct assist_outline *outline); /* NULL is allowed */

/* A definition that a search has found. The lists of the workspace own everything. */
struct assist_found {
    const struct assist_names *names;
    const struct assist_name *name;
    int32_t score; /* larger is nearer */
};
/*
 * Finds the nodes, channels, roles and items whose names contain the letters of `query` in their order, in any case;
 * the nearest first. An empty query finds all. Returns the number, at most ASSIST_SYMBOLS_MAX.
 */
size_t assist_find_symbols(const struct assist_workspace *workspace, const char *query, size_t length,
                           struct assist_found out[ASSIST_SYMBOLS_MAX]);

/* ---- Folding and selection ---- */

struct assist_fold {
    uint32_t first_line, last_line; /* last_line > first_line */
    bool comment;
};
struct assist_folds {
    struct assist_fold *items; /* by first_line, which differs */
    size_t count, capacity;
};
struct assist_folds *assist_folds(const struct assist *assist);
void assist_folds_free(struct assist_folds *folds); /* NULL is allowed */

#define ASSIST_SELECTIONS_MAX 64u /* steps of one selection; if there are more, some in the middle are left out */

/*
 * Writes the parts of the text around an offset, innermost first, each larger than the one before: a word, a path of
 * fields, a hole, the text of a scalar, the scalar, the pair, the item, the section, the document. Returns the number.
 */
size_t assist_selection(const struct assist *assist, uint32_t offset, struct span out[ASSIST_SELECTIONS_MAX]);

#endif
