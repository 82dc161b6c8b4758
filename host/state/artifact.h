/*
 * artifact.h - Artifacts: what work has produced, written once, found by id, by words, or by their metadata.
 *
 * A body is a string or bytes. A small one is a member of its record; the parts of a larger one are records of their
 * own, ARTIFACT/OFFSET. artifact_write commits body and record at once. What is larger than that allows is uploaded:
 * opened, appended to in order, finished; only then is there an Artifact. An upload is a record as well, so that any
 * process may go on with it, and each append says at which offset, so that one that is made twice is refused, or found
 * to have been made. Uploads that nobody goes on with are swept away.
 *
 * A body is read back as a string where it was written as one, or, of an upload, where its media type is of text and it
 * is UTF-8; else as bytes, and so is every range of one. Found by words are strings and texts, and all strings in the
 * metadata: of each the first ARTIFACT_TEXT_MAX bytes.
 */
#ifndef TENON_HOST_STATE_ARTIFACT_H
#define TENON_HOST_STATE_ARTIFACT_H

#include "host/state/request.h"

#define ARTIFACT_INLINE_MAX     (16 * 1024)                        /* bytes of a body that its record holds */
#define ARTIFACT_PART_MAX       (256 * 1024)                       /* of one part, and of one append */
#define ARTIFACT_WRITE_MAX      (16 * 1024 * 1024)                 /* of a body that is written, or read, at once */
#define ARTIFACT_SIZE_MAX       ((int64_t)1024 * 1024 * 1024 * 64) /* of a body */
#define ARTIFACT_METADATA_MAX   (64 * 1024)                        /* of metadata, as JSON */
#define ARTIFACT_MEDIA_TYPE_MAX 256
#define ARTIFACT_TEXT_MAX       (512 * 1024) /* of a body, and of metadata, that can be found */
#define ARTIFACT_LIST           100
#define ARTIFACT_LIST_MAX       1000
#define ARTIFACT_UPLOAD_HOURS   24 /* from the last append of an upload to its end */

operation_fn artifact_write, artifact_read, artifact_search;
operation_fn artifact_open, artifact_append, artifact_finish, artifact_abandon;
/* Removes uploads that are over. */
operation_fn artifact_sweep;

/* ---- For body.c and artifact.c ---- */

/* Whether words of such a body can be looked for. */
bool artifact_is_text(const char *media_type);
/* Operations that put the parts of a body, at offset 0 and on; a new array. */
tn_value artifact_parts(const char *id, const char *data, size_t length);
/* The key of the part at an offset. */
tn_value artifact_part_key(const char *id, int64_t offset);
/* Bytes [from, to) of a body in parts; a new value of bytes. STORE_CORRUPT where some are missing. */
int32_t artifact_load(struct request *request, const char *id, int64_t from, int64_t to, tn_value *out,
                      struct error *error);
/* The operation that puts the record; *shown (may be NULL) is what everybody is shown of it. `body` may be NULL. */
tn_value artifact_record(const struct request *request, const char *id, tn_value media_type, tn_value metadata,
                         tn_value body, int64_t size, const char *encoding, tn_value words_of, tn_value *shown);

#endif
