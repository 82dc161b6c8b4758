/*
 * file_open.h - opens a regular file below a folder, without blocking and without following links; reads and hashes
 * open files.
 */
#ifndef TENON_HOST_BASE_FILE_OPEN_H
#define TENON_HOST_BASE_FILE_OPEN_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdint.h>
#include <tenon/util/sha256.h>

/*
 * Opens the file `path`, which is relative to `folder` and has no links, `.` or `..`, for reading. Returns -1 with the
 * error if it does not exist, if a part of it is a link, or if it is not a regular file. Never blocks on a pipe or a
 * device. Thread: any.
 */
int file_open_below(const char *folder, const char *path, struct error *error);
/* Sets the error for an errno value of opening a file. */
void file_open_failed(int failure, struct error *error);
/*
 * The SHA-256 of an open file in hexadecimal, from its start; the position of the descriptor stays. Returns 0, or the
 * errno of the failed read. `length` receives the number of bytes; it may be NULL.
 */
int file_hash(int descriptor, char hash[TN_SHA256_TEXT], int64_t *length);
/* Reads an open regular file. Returns a new reference, or NULL with the error if it is too long or not UTF-8. */
tn_value file_read_text(int descriptor, size_t most, struct error *error);

#endif
