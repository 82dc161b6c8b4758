/*
 * kernel_artifact.h - Artifacts: results of work, written once, found by id, by words or by their metadata.
 *
 * A body is a string or bytes. A small body is a member of the Artifact's record. A larger one is stored in parts, one
 * record ARTIFACT/OFFSET each. artifact_write commits body and record together. A body above ARTIFACT_WRITE_MAX is
 * uploaded: open, append in order, finish. The Artifact exists after finish. An upload is a record, so any process may
 * continue it. Each append names its offset: a repeated append is recognised or refused. Uploads without an append for
 * ARTIFACT_UPLOAD_HOURS are removed.
 *
 * A body is read as a string if it was written as one. An uploaded body is read as a string if its media type is a text
 * type and it is valid UTF-8. All other bodies, and all ranges, are read as bytes. A search by words covers text bodies
 * and all strings in the metadata, the first ARTIFACT_TEXT_MAX bytes of each.
 *
 * When a call of a run with a thread writes, finishes or reads an Artifact, the store gets a link from the thread to
 * the Artifact, once for each pair; writing and linking are one commit. Deleting the thread deletes its links.
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_ARTIFACT_H
#define TENON_HOST_DATA_KERNEL_KERNEL_ARTIFACT_H

#include "host/data/kernel/kernel_request.h"

#define ARTIFACT_INLINE_MAX     (16 * 1024)                        /* bytes of a body that is in its record */
#define ARTIFACT_PART_MAX       (256 * 1024)                       /* bytes of one part and of one append */
#define ARTIFACT_WRITE_MAX      (16 * 1024 * 1024)                 /* bytes of a body in one write or read */
#define ARTIFACT_SIZE_MAX       ((int64_t)1024 * 1024 * 1024 * 64) /* bytes of a body */
#define ARTIFACT_METADATA_MAX   (64 * 1024)                        /* bytes of metadata, as JSON */
#define ARTIFACT_MEDIA_TYPE_MAX 256
#define ARTIFACT_TEXT_MAX       (512 * 1024) /* bytes of a body, and of metadata, that search covers */
#define ARTIFACT_LIST           100
#define ARTIFACT_LINKED_MAX     10000 /* Artifacts in the result of artifact_linked: those that were used first */
#define ARTIFACT_THREAD_MAX     200   /* bytes of a thread's id, as in thread_log.h */
#define ARTIFACT_LIST_MAX       1000
#define ARTIFACT_UPLOAD_HOURS   24 /* an upload without an append is removed after this time */

kernel_operation_fn artifact_write, artifact_read, artifact_search;
kernel_operation_fn artifact_open, artifact_append, artifact_finish, artifact_abandon;
/* The Artifacts that runs of the thread wrote or read, in order of first use. */
kernel_operation_fn artifact_linked;
/* Removes uploads without an append for ARTIFACT_UPLOAD_HOURS. */
kernel_operation_fn artifact_sweep;

/* ---- For kernel_body.c and kernel_artifact.c ---- */

/* Returns the operation that links a new Artifact to the thread of the request; NULL if the request has none. */
tn_value artifact_link(const struct request *request, const char *artifact_id);
/* Links an Artifact that exists, unless it is linked. A failure is ignored: the store may be read-only. */
void artifact_link_once(struct request *request, const char *artifact_id);

/* True if a search by words covers bodies of this media type. */
bool artifact_is_text(const char *media_type);
/* Returns a new array of operations that put the parts of a body. */
tn_value artifact_parts(const char *id, const char *data, size_t length);
/* Bytes [from, to) of a body in parts, as a new value. STORE_CORRUPT if a part is missing. */
int32_t artifact_load(struct request *request, const char *id, int64_t from, int64_t to, tn_value *out,
                      struct error *error);
/* Returns the operation that puts the record. *shown (may be NULL) receives its public members. `body` may be NULL. */
tn_value artifact_record(const struct request *request, const char *id, tn_value media_type, tn_value metadata,
                         tn_value body, int64_t size, const char *encoding, tn_value words_of, tn_value *shown);

#endif
