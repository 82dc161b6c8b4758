/*
 * pack_build.h - builds an archive from a folder, and adds a signature to an archive.
 *
 * The bytes depend only on names and contents: the same folder produces the same archive on any machine. The archive is
 * written to a temporary file, read back with the code that installs packs, and then renamed to its place.
 *
 *     char *path;
 *     if (pack_build("acme-text", NULL, false, &path, &error) != TN_OK) return report(&error);
 *     mem_free(path);
 */
#ifndef TENON_HOST_PLUGIN_PACK_PACK_BUILD_H
#define TENON_HOST_PLUGIN_PACK_PACK_BUILD_H

#include "host/plugin/pack/pack.h"

#define PACK_FOLDERS_MAX 32u /* nesting of the folders of a pack */

/*
 * Packs `folder`: pack.json and every file in and below the folder, except names that begin with a dot, pack.sig, and
 * *.tenonpack files at the top. Links, special files and plugins without a manifest are errors. If `output` is NULL,
 * the archive is NAME-VERSION.tenonpack in the working directory. An existing file is replaced only with `force`;
 * otherwise the error is PACK_REFUSED, because the file may be signed. *path is the archive; free it with mem_free.
 * Thread: any.
 */
int32_t pack_build(const char *folder, const char *output, bool force, char **path, struct error *error);

/* Adds the text to the archive `path` as pack.sig; replaces an existing one. Thread: any. */
int32_t pack_attach(const char *path, const char *signature, size_t length, struct error *error);

#endif
