/*
 * records.h - what everything that reads or writes threads' records shares: finding them, members, writing them whole.
 *
 *     status = records_need_thread(session, "support-42", &found, error);      // {value, version}
 *     int64_t head = record_int(value_get(found, "value"), "head", -1);
 */
#ifndef TENON_HOST_THREAD_RECORDS_H
#define TENON_HOST_THREAD_RECORDS_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/thread/keys.h"
#include <stdint.h>

struct session;

/* [store's thread] A thread's record and its version; *found NULL where there is none, else {value, version}. */
int32_t records_thread(struct session *session, const char *thread_id, tn_value *found, struct error *error);
/* The same; NOT_FOUND where there is none. */
int32_t records_need_thread(struct session *session, const char *thread_id, tn_value *found, struct error *error);

/* The range of all records of a thread in one collection. */
void records_range(const char *thread_id, char from[THREAD_KEY_MAX], char to[THREAD_KEY_MAX]);

int64_t record_int(tn_value object, const char *key, int64_t otherwise);
const char *record_text(tn_value object, const char *key); /* "" where it is none; borrowed */

#define THREAD_IMPORTING "importing" /* status of a thread that is being written, in several batches */

struct thread_put {
    const char *id;
    tn_value record;     /* borrowed; its fence and thread_id are put in */
    tn_value operations; /* borrowed; puts of everything else */
    tn_value expect;     /* borrowed; one more operation, to be held to; or NULL */
    int64_t version;     /* of the record that it replaces; 0: there must be none */
    int64_t fence;       /* of that record */
};
/*
 * [store's thread] Writes a thread whole: in one batch, or, of more than TN_STORE_BATCH_MAX operations, in several;
 * then the thread is THREAD_IMPORTING until the last, cannot be run, and can be deleted. What may be left of an earlier
 * one of that id is removed. CONFLICT.
 */
int32_t thread_put(struct session *session, const struct thread_put *put, struct error *error);
/* Operations that remove everything of a thread but its record. */
tn_value thread_delete_rest(const char *id);

#endif
