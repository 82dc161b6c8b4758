/*
 * upload.h - the files in a call's arguments: an Artifact, a path below the service's `upload_roots`, or text and bytes
 * that the arguments contain.
 *
 * An argument that is a file is an object with exactly one of `artifact_id`, `path`, `text` and `data` (base64), and
 * optionally `filename` and `media_type`. A file part of a message whose data is base64 (`type: file`) has this form,
 * too. Nothing else names a file: a model reaches no other file of the host.
 *
 *     upload_start(&call->uploads, operation, arguments, task, on_ready, call);   // may call on_ready at once
 *     const struct upload_file *file = upload_find(&call->uploads, argument);
 *     upload_finish(&call->uploads);
 *
 * The files of one call have at most `max_upload_bytes` in all, and are in memory until the call ends. Thread: loop.
 */
#ifndef TENON_PLUGINS_OPENAPI_UPLOAD_H
#define TENON_PLUGINS_OPENAPI_UPLOAD_H

#include "service.h"
#include <tenon/state.h>

#define UPLOAD_FILES_MAX 64u /* of a call */

extern TN_EASY_HIDDEN const tn_state_draft *openapi_state; /* NULL: the host does not offer it */

struct upload_file {
    tn_value argument; /* borrowed from the arguments: the object that names the file */
    tn_value filename; /* NULL: none */
    tn_value media_type;
    struct tn_text_buffer bytes;
};

/* `error` is NULL if all files were read; else an error object, which is borrowed. */
typedef void upload_ready(void *user, tn_value error);

struct uploads {
    const struct service *service;
    tn_task task;
    struct upload_file *files;
    uint32_t count, at;
    uint64_t total; /* bytes read */
    bool reading;   /* a call to the state kernel has not ended */
    upload_ready *ready;
    void *user;
};

/* The JSON Schema of an argument that is a file. A new reference, or NULL. `description` may be NULL. */
tn_value upload_make_schema(const struct service *service, const char *description, bool or_base64);
/*
 * Reads all files that the arguments of the operation name, in order, and calls `ready` once. `uploads` is zeroed. As
 * long as `reading` is true, the task must not end: if it is cancelled, `ready` is called with an error.
 */
void upload_start(struct uploads *uploads, const struct operation *operation, tn_value arguments, tn_task task,
                  upload_ready *ready, void *user);
/* The file that was read for this argument; NULL if it is none. */
const struct upload_file *upload_find(const struct uploads *uploads, tn_value argument);
void upload_finish(struct uploads *uploads);

#endif
