/*
 * files.h - reads the files that documents name (subgraphs, prompts), relative to the folder of the document.
 */
#ifndef TENON_HOST_BASE_FILES_H
#define TENON_HOST_BASE_FILES_H

#include "adl/value/value.h"

#define FILES_LENGTH_MAX (16u << 20) /* bytes of one file */

/*
 * Implements `read` of struct catalog. Returns the text of `file` as a new reference, and its canonical path in *path
 * (mem_free it). A relative `file` starts at the folder of the file `from` (NULL means the working directory). Returns
 * NULL with a static text in *why if the file cannot be read, is longer than FILES_LENGTH_MAX, is not a regular file or
 * is not UTF-8. `self` is not used. Thread: any.
 */
tn_value files_read(void *self, const char *from, const char *file, char **path, const char **why);

#endif
