/*
 * archive.h - ustar (POSIX.1-1988 tar), cut down to what a pack is made of, and with one way to write it.
 *
 * Regular files only, whose mode is 0644 or 0755; owner, group and time are 0; no links, folders, devices or extended
 * headers; two blocks of zeros, and then the end. What is read must be, byte for byte, what would be written of the
 * same names and contents, so that no two programs see different files in one archive.
 *
 * Why our own: libarchive reads thirty formats by looking at the bytes, and everything but these 200 lines of it would
 * have to be switched off again (links, absolute paths, sparse files, pax headers that rename), while a deviation from
 * the canonical bytes, which is what is refused here, is what it is made to forgive. `tar tf` lists a pack all the
 * same.
 *
 *     struct archive_reader reader;
 *     struct archive_member member;
 *     archive_read_init(&reader, file, "x.tenonpack");
 *     while ((status = archive_next(&reader, &member, &more, &error)) == TN_OK && more)
 *         while ((status = archive_read(&reader, chunk, sizeof chunk, &got, &error)) == TN_OK && got) …
 *
 * The order of members, and whether one comes twice, is the pack's business (pack.c).
 */
#ifndef TENON_HOST_PACK_ARCHIVE_H
#define TENON_HOST_PACK_ARCHIVE_H

#include "adl/value/error.h"
#include "host/pack/pack.h"
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
    char path[PACK_PATH_MAX + 1]; /* of the member that is being read */
    uint64_t left, padding;       /* of it */
    uint64_t total;               /* bytes of all members so far */
    uint32_t members;
};

void archive_read_init(struct archive_reader *reader, FILE *file, const char *name);
/* The next member; what is left of the one before is passed over. *more false: the archive has ended, and rightly. */
int32_t archive_next(struct archive_reader *reader, struct archive_member *member, bool *more, struct error *error);
/* *got bytes of the member's contents, 0 at their end. */
int32_t archive_read(struct archive_reader *reader, void *bytes, size_t size, size_t *got, struct error *error);

/* Writing: the caller writes `size` bytes between these two, and looks at ferror at the end. */
void archive_put_header(FILE *file, const struct archive_member *member);
void archive_put_padding(FILE *file, uint64_t size);
void archive_put_end(FILE *file);

#endif
