/*
 * line_edits.h - the lines in which two texts differ, as edits of the first one.
 *
 *     static void my_edit(void *user, struct span span, const char *text, size_t length) { … }
 *     line_edits(before, before_length, after, after_length, my_edit, me);
 *
 * Edits are of whole lines, in order, and do not touch each other. If the texts differ in more than
 * LINE_EDITS_DISTANCE lines, one edit replaces everything between the first and the last difference.
 */
#ifndef TENON_ADL_LINE_EDITS_H
#define TENON_ADL_LINE_EDITS_H

#include "adl/value/error.h"
#include <stddef.h>

#define LINE_EDITS_DISTANCE 200 /* inserted and removed lines; the cost grows with its square */

/* `span` is in the first text; `text` is borrowed from the second one. */
typedef void line_edit_fn(void *user, struct span span, const char *text, size_t length);
void line_edits(const char *from, size_t from_length, const char *to, size_t to_length, line_edit_fn *edit, void *user);

#endif
