/*
 * archive.h - reads and writes ustar archives (POSIX.1-1988 tar), restricted to the one form that packs use.
 *
 * Members are regular files with mode 0644 or 0755, and owner, group and time 0. There are no links, folders, devices
 * or extended headers. Two blocks of zeros end the file. An archive is accepted only if it equals, byte for byte, what
 * this writer would write for the same names and contents, so that no two programs see different files in one archive.
 *
 * Why not libarchive: it detects thirty formats, and links, absolute paths, sparse files and renaming pax headers would
 * all have to be disabled. It is designed to tolerate the deviations that must be refused here. `tar tf` can list a
 * pack.
 *
 *     struct archive_reader reader;
 *     struct archive_member member;
 *     archive_read_init(&reader, file, "x.tenonpack");
 *     while ((status = archive_next(&reader, &member, &more, &error)) == TN_OK && more)
 *         while ((status = archive_read(&reader, chunk, sizeof chunk, &got, &error)) == TN_OK && got) …
 *
 * pack.c checks the order of members and duplicates. Failures: PACK_INVALID, LIMIT, IO. Thread: any.
 */
#ifndef TENON_HOST_PLUGIN_PACK_ARCHIVE_H
#define TENON_HOST_PLUGIN_PACK_ARCHIVE_H

#include "adl/value/error.h"
#include "host/plugin/pack/pack.h"
#include <stdio.h>

#define ARCHIVE_BLOCK 512u

struct archive_member {
    char path[PACK_PATH_MAX + 1]; /* pack_path_valid */
    uint64_t size;                /* at most PACK_FILE_MAX */
    bool program;                 /* mode 0755 instead of 0644 */
};

struct archive_reader {
    FILE *file;                   /* borrowed */
    const char *name;             /* borrowed; for messages */
    char path[PACK_PATH_MAX + 1]; /* path of the current member */
    uint64_t left, padding;       /* bytes of the current member that are not read yet */
    uint64_t total;               /* size of all members so far */
    uint32_t members;
};

/* Borrows both until the end; `name` is the beginning of error messages. */
void archive_read_init(struct archive_reader *reader, FILE *file, const char *name);
/* Skips the rest of the current member and reads the next header. Sets *more to false at a valid end of the archive. */
int32_t archive_next(struct archive_reader *reader, struct archive_member *member, bool *more, struct error *error);
/* Reads up to `size` bytes of the member; *got is 0 at its end. */
int32_t archive_read(struct archive_reader *reader, void *bytes, size_t size, size_t *got, struct error *error);

/* The caller writes the `size` bytes of the member between header and padding, and checks ferror at the end. */
void archive_write_header(FILE *file, const struct archive_member *member);
void archive_write_padding(FILE *file, uint64_t size);
void archive_write_end(FILE *file);

#endif
