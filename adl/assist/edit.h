/*
 * edit.h - changes of texts that a feature proposes: spans with their new text in several files, and new files.
 *
 *     struct assist_edits *edits = assist_rename(names, offset, "score2", 6, &workspace);
 *     if (edits->refusal) return show(edits->refusal);
 *     for (size_t i = 0; i < edits->count; i++) replace(&edits->items[i]);
 *     assist_edits_free(edits);
 *
 * The edits of one file are sorted by position and do not overlap; all spans refer to the text before the change. Edits
 * keep the style of the place: quotes, flow or block, indentation, line ends.
 */
#ifndef TENON_ADL_ASSIST_EDIT_H
#define TENON_ADL_ASSIST_EDIT_H

#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>

#define ASSIST_EDITS_MAX 100000u /* edits of one change; more are refused */

struct assist_edit {
    struct source *source; /* the text that is changed; source_name is its path */
    struct span span;      /* an empty span inserts */
    char *text;
};

struct assist_new_file {
    char *path, *text;
};

struct assist_edits {
    struct assist_edit *items;
    size_t count, capacity;
    struct assist_new_file *files;
    size_t file_count;
    char *note;    /* for people: what the change does not do; NULL when it does everything */
    char *refusal; /* for people: why nothing is changed, and there are no edits; NULL when the change is possible */
};

struct assist_edits *assist_edits_new(void);
void assist_edits_free(struct assist_edits *edits); /* NULL is allowed */

void assist_edit_add(struct assist_edits *edits, struct source *source, struct span span, const char *text,
                     size_t length);
void assist_edit_insert(struct assist_edits *edits, struct source *source, uint32_t at, const char *text);
void assist_edit_new_file(struct assist_edits *edits, const char *path, const char *text);
/* Removes all edits and sets the reason, unless one is set already. Returns `edits`. */
struct assist_edits *assist_edits_refuse(struct assist_edits *edits, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Sets `note`, which replaces an earlier one. */
void assist_edits_set_note(struct assist_edits *edits, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sorts the edits, removes those that are equal, and refuses if two of them overlap. Call it last. Returns `edits`. */
struct assist_edits *assist_edits_finish(struct assist_edits *edits);
/* Appends the text of the source with its edits. They must be finished. */
void assist_edits_apply(const struct assist_edits *edits, const struct source *source, struct buffer *out);

/* ---- Writing texts into a document ---- */

/* True if the text, written without quotes in any place of a YAML document, is that string. */
bool assist_plain_safe(const char *text, size_t length);
/*
 * Appends a scalar that means the text. `quote` is the preferred quote: '"', '\'', or 0 for none where that is
 * possible. JSON documents need '"'.
 */
void assist_scalar(struct buffer *out, const char *text, size_t length, char quote);
/*
 * Replaces the scalar or key at `token` so that it means the text, with as small an edit as its quotes permit. False if
 * a block scalar cannot contain it.
 */
bool assist_edit_scalar(struct assist_edits *edits, struct source *source, struct span token, struct span inside,
                        const char *text, size_t length);

/* ---- Changing a tree ---- */

/*
 * Adds `key: value` to a mapping, as the last member if possible, else as the first; `value` is written as it is. The
 * mapping may be empty if it is in braces. False if it cannot be changed.
 */
bool assist_edit_add_member(struct assist_edits *edits, struct source *source, const struct tree_node *mapping,
                            const char *key, const char *value);
/* Appends an item, written in flow style, to a list that is not empty or in brackets. */
bool assist_edit_append_item(struct assist_edits *edits, struct source *source, const struct tree_node *list,
                             const char *item);
/* Removes the item with its line, dash or comma. The list must have it. False if it is an alias. */
bool assist_edit_remove_item(struct assist_edits *edits, struct source *source, const struct tree_node *list,
                             uint32_t index);
/* True if the part of the text contains the word; if `quoted`, between quotes. */
bool assist_has_word(const struct source *source, struct span span, const char *word, size_t length, bool quoted);
/* True if the text can be written as `state.TEXT` in an expression. */
bool assist_is_identifier(const char *text, size_t length);
/* True if `{TEXT}` in a template means the channel with this name: an identifier that has no other meaning there. */
bool assist_is_bare_name(const char *text, size_t length);
/* The whole lines of a part of the text, with the last line end. Blanks at the end of the part do not count. */
struct span assist_lines_of(const struct source *source, struct span span);
/* "\r\n" if the text has such line ends, else "\n". */
const char *assist_line_end(const struct source *source);
/* The column of the offset, as spaces: the indentation of an item that starts there. */
uint32_t assist_column(const struct source *source, uint32_t offset);

#endif
