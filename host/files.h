/*
 * files.h - the files that documents name (subgraphs, prompts): found from the document's own folder, read whole.
 */
#ifndef TENON_HOST_FILES_H
#define TENON_HOST_FILES_H

#include "adl/value/value.h"

#define FILES_LENGTH_MAX (16u << 20) /* bytes of one file */

/*
 * catalog.h's `read`: the text of `file`, resolved from the folder of `from` (NULL: the working directory), as a new
 * reference; *path becomes the file's one canonical path (mem_free it), by which it is known from then on. NULL, with
 * *why, where it cannot be read, is longer than FILES_LENGTH_MAX, or is no regular file. [any]
 */
tn_value files_read(void *self, const char *from, const char *file, char **path, const char **why);

#endif
