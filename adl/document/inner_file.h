/*
 * inner_file.h - the sources of files that documents name: prompts, and inner documents.
 *
 *     struct catalog_file found = {NULL, NULL};
 *     tn_value text = catalog->read(catalog->read_self, outer, "prompts/planner.md", &found, &error);
 *     struct source *source = inner_file_source(outer, &found, text, SOURCE_LINES_HIDDEN);
 *     catalog_file_finish(&found);
 *
 * Such a source can name only files below `found.root`, and never shows more of its text than the outer source permits.
 */
#ifndef TENON_ADL_DOCUMENT_INNER_FILE_H
#define TENON_ADL_DOCUMENT_INNER_FILE_H

#include "adl/document/catalog.h"
#include "adl/source/source.h"

/*
 * Returns the source of a file that `from` names; NULL if it is longer than SOURCE_LENGTH_MAX. `from` may be NULL: the
 * operator named the file. `view` is what diagnostics may show of it if `from` permits that.
 */
struct source *inner_file_source(const struct source *from, const struct catalog_file *found, tn_value text,
                                 enum source_view view);
/*
 * True if the text is a mapping with keys that only documents have together, also if it has mistakes. Diagnostics show
 * the lines of a file that a document names only then: a wrong name must not print a file that is not a document.
 */
bool inner_file_is_document(struct source *source);
/* The same, as far as it shows without reading the text as YAML or JSON: for an editor, after each change. */
bool inner_file_looks_like_document(const struct source *source);
/*
 * The same for a file that the operator's folder contains, which may be shown: also true for `nodes` alone, if keys are
 * mistyped, or if the text cannot be read as YAML or JSON. Such a document must be reported and not skipped.
 */
bool inner_file_resembles_document(struct source *source);

#endif
