/*
 * files.h - reading the files of a pack's folder: regular files only, within the bounds of pack.h, links not followed.
 *
 *     char hash[SHA256_TEXT];
 *     status = pack_file_hash("packs/acme/1.0.0", descriptor, "plugins/acme.so", hash, &error);
 *
 * `folder` is what messages begin with, `descriptor` the open folder itself. [any thread]
 */
#ifndef TENON_HOST_PACK_FILES_H
#define TENON_HOST_PACK_FILES_H

#include "host/pack/pack.h"

/* A descriptor to close, and the file's size; -1 with error. */
int pack_file_open(const char *folder, int descriptor, const char *path, uint64_t *size, struct error *error);
/* Its SHA-256. */
int32_t pack_file_hash(const char *folder, int descriptor, const char *path, char hash[SHA256_TEXT],
                       struct error *error);
/* All of it, with a NUL after it, mem_free it; TN_LIMIT where it is longer than `most`. */
int32_t pack_file_text(const char *folder, int descriptor, const char *path, uint32_t most, char **text, size_t *length,
                       struct error *error);

#endif
