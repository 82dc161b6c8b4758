/*
 * thread_file.h - a thread as one value, as thread_export makes it: reading it, and writing it in its place. Only this
 * room uses it.
 *
 * The value also has `artifacts`, the links to the Artifacts of its runs, because the thread stays in its store.
 *
 * Thread: the store's.
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_FILE_H
#define TENON_HOST_DATA_THREAD_THREAD_FILE_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct session;

/* *out is a new reference. NOT_FOUND; CONFLICT if the thread keeps changing. */
int32_t thread_file_read(struct session *session, const char *id, tn_value *out, struct error *error);
/*
 * Replaces the records of the thread. `existing` is {value, version} of its record, as it was before `file` was read:
 * CONFLICT if it has changed since.
 */
int32_t thread_file_write(struct session *session, const char *id, tn_value file, tn_value existing,
                          struct error *error);

#endif
