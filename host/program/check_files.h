/*
 * check_files.h - the documents that `tenon check` checks: files that are named, and all documents below folders.
 *
 *     struct check_files files = {0};
 *     if (!check_files_add(&files, "docs", &error)) …
 *     for (size_t i = 0; i < files.count; i++) … files.items[i].path …
 *     check_files_finish(&files);
 *
 * Below a folder, a document is a regular file named *.yaml, *.yml or *.json that has `nodes`, or `version` and
 * `agent`. Hidden files and folders, and symbolic links, are skipped. The order is that of the bytes of the paths.
 */
#ifndef TENON_HOST_PROGRAM_CHECK_FILES_H
#define TENON_HOST_PROGRAM_CHECK_FILES_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>

#define CHECK_FILES_MAX   10000u  /* documents below one folder */
#define CHECK_ENTRIES_MAX 200000u /* files and folders below one folder, documents or not */
#define CHECK_DEPTH_MAX   64u     /* folders inside each other */

struct check_file {
    char *path;      /* as it is reported */
    char *canonical; /* NULL if it is not a file */
};

struct check_files {
    struct check_file *items;
    size_t count, capacity;
    size_t folders; /* how many operands were folders */
};

/*
 * Adds a file or the documents below a folder. Returns false and sets `error` if the folder cannot be read, has no
 * documents, or exceeds a limit; documents that were found until then are added.
 */
bool check_files_add(struct check_files *files, const char *operand, struct error *error);
/* True if the canonical path is that of a file in the list, which the list names differently. */
bool check_files_have(struct check_files *files, const char *canonical);
void check_files_finish(struct check_files *files);

#endif
