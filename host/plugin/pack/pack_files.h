/*
 * pack_files.h - reads files in a pack's folder: only regular files, within the bounds of pack.h; does not follow
 * links. Also checks the plugins of a pack.
 *
 *     char hash[TN_SHA256_TEXT];
 *     status = pack_file_hash("packs/acme/1.0.0", descriptor, "plugins/acme.so", hash, &error);
 *
 * `folder` is the beginning of error messages, `descriptor` is the open folder. Thread: any.
 */
#ifndef TENON_HOST_PLUGIN_PACK_PACK_FILES_H
#define TENON_HOST_PLUGIN_PACK_PACK_FILES_H

#include "host/plugin/pack/pack.h"

/* Returns a descriptor, which the caller closes, and the size; -1 with error. */
int pack_file_open(const char *folder, int descriptor, const char *path, uint64_t *size, struct error *error);
/* Computes the SHA-256 of a file. */
int32_t pack_file_hash(const char *folder, int descriptor, const char *path, char hash[TN_SHA256_TEXT],
                       struct error *error);
/* Reads a whole file and adds a NUL; free the text with mem_free. TN_LIMIT if it is longer than `most` bytes. */
int32_t pack_file_text(const char *folder, int descriptor, const char *path, uint32_t most, char **text, size_t *length,
                       struct error *error);
/*
 * Checks the manifest of each plugin in a folder with the files of a pack: it can be read, and claims no reserved name.
 * `name` is the beginning of error messages.
 */
int32_t pack_check_plugins(const char *name, const char *folder, const struct pack_manifest *manifest,
                           struct error *error);

#endif
