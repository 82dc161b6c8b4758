/*
 * build.h - making packs: a folder becomes an archive, and an archive a signed one.
 *
 * What is made depends on names and contents alone: the same folder gives the same bytes, anywhere and at any time. A
 * file is written beside its place and renamed to it, after it has been read as whoever installs it will read it.
 *
 *     char *path;
 *     if (pack_build("acme-text", NULL, false, &path, &error) != TN_OK) return report(&error);
 *     mem_free(path);
 */
#ifndef TENON_HOST_PACK_BUILD_H
#define TENON_HOST_PACK_BUILD_H

#include "host/pack/pack.h"

#define PACK_FOLDERS_MAX 32u /* folders within folders of what is packed */

/*
 * Packs `folder`: its pack.json, and every file in and below it but those whose name begins with a dot, a pack.sig and
 * packs that lie in it. Links and what is no regular file are refused; so are plugins without a manifest. `output`
 * NULL: NAME-VERSION.tenonpack in the working directory. A file that is there is only replaced with `force`, else it is
 * PACK_REFUSED: it may be signed, or what others have. *path is where it is; mem_free it. [any thread]
 */
int32_t pack_build(const char *folder, const char *output, bool force, char **path, struct error *error);

/* Puts the text into the archive `path` as its pack.sig, in the place of one that is there. [any thread] */
int32_t pack_attach(const char *path, const char *signature, size_t length, struct error *error);

#endif
