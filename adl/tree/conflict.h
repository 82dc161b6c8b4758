/*
 * conflict.h - the marks that Git leaves in a text where it could not merge.
 *
 *     <<<<<<< HEAD        a conflict starts: the lines of the current branch follow
 *     ||||||| base        optional: the lines of their common ancestor follow
 *     =======             the lines of the other branch follow
 *     >>>>>>> branch      it ends
 *
 * The lines of the current branch are read, because they fit the text around the conflict. All others are hidden, so
 * that one conflict is one diagnostic, and names are not defined twice.
 */
#ifndef TENON_ADL_CONFLICT_H
#define TENON_ADL_CONFLICT_H

#include "adl/source/source.h"
#include <stdbool.h>

struct builder;

/* The character of the mark that the line is: `<`, `|`, `=` or `>`; else 0. */
char conflict_mark(const char *text, struct span line);

/*
 * Reports every conflict, and replaces what is hidden in `text`, a copy of the source's text, by spaces. Collections
 * beside a hidden part become incomplete. Returns false when the text has no marks. One pass over the text.
 * Marks of a conflict that is resolved in part are reported and hidden, too.
 */
bool conflicts_hide(struct builder *builder, char *text);

#endif
