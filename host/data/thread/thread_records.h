/*
 * thread_records.h - shared by all files that read or write records of threads: finds records, reads their members, and
 * writes complete threads.
 *
 *     status = thread_records_require(session, "support-42", &found, error);      // {value, version}
 *     int64_t head = thread_record_int(value_get(found, "value"), "head", -1);
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_RECORDS_H
#define TENON_HOST_DATA_THREAD_THREAD_RECORDS_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/data/thread/thread_keys.h"
#include <stdint.h>

struct session;

/*
 * Reads the record of a thread as {value, version}. *found is NULL if the thread does not exist. INVALID_INPUT if
 * `thread_id` is not a valid thread id. Thread: the store's.
 */
int32_t thread_records_find(struct session *session, const char *thread_id, tn_value *found, struct error *error);
/* As thread_records_find, but fails with NOT_FOUND if the thread does not exist. */
int32_t thread_records_require(struct session *session, const char *thread_id, tn_value *found, struct error *error);

int32_t thread_records_not_found(const char *thread_id, struct error *error); /* the same failure */

/*
 * Calls `read`, which reads records of the thread with several queries, between which another process may change them.
 * Every change of a thread increases the version of its record (thread_count_batch), and a thread that was created
 * again has another fence. So if the record is the same before and after, `read` has read one state of the thread;
 * otherwise it is called again, also after a failure, which may be the result of a change. CONFLICT if the thread keeps
 * changing.
 *
 * `found` is {version, value}, borrowed, or NULL if the thread does not exist. `read` may set *out also if it fails; it
 * is released then. Thread: the store's.
 */
typedef int32_t thread_read_fn(struct session *session, tn_value found, const void *user, tn_value *out,
                               struct error *error);
int32_t thread_records_read_one_state(struct session *session, const char *thread_id, thread_read_fn *read,
                                      const void *user, tn_value *out, struct error *error);

/* The range of all records of a thread in one collection. */
void thread_records_range(const char *thread_id, char from[THREAD_KEY_MAX], char to[THREAD_KEY_MAX]);

/*
 * Members of the record of a run that a host of `tenon serve` has started, and that the next one continues
 * (thread_left.h): {graph, modes}; and {head, count, by, until}, the last host that has continued it.
 */
#define THREAD_SERVED    "served"
#define THREAD_CONTINUED "continued"

/* Members of a record; `otherwise` is the default, also for a number beyond 2^53, which nothing has written. */
int64_t thread_record_int(tn_value object, const char *key, int64_t otherwise);
const char *thread_record_text(tn_value object, const char *key); /* "" if it is not a string; borrowed */

/*
 * A random text, from which the engine derives idempotency keys. Each new thread has another one, so that a thread with
 * the name of a deleted one, of a thread in another store, or with a changed state never repeats a key.
 */
#define THREAD_INCARNATION_TEXT 33 /* 32 hexadecimal digits */
void thread_incarnation_make(char out[THREAD_INCARNATION_TEXT]);

#define THREAD_IMPORTING "importing" /* the status while thread_put writes several batches */

struct thread_put {
    const char *id;
    tn_value record;     /* borrowed; thread_put adds its fence and thread_id */
    tn_value operations; /* borrowed; put all other records */
    tn_value expect;     /* borrowed; one more condition, or NULL */
    int64_t version;     /* version of the record that it replaces; 0 if the thread must not exist */
    int64_t fence;       /* fence of that record */
};
/*
 * Writes a complete thread in one batch, or in several if there are more than TN_STORE_BATCH_MAX operations. In that
 * case its status is THREAD_IMPORTING until the last batch: it cannot be run, but it can be deleted. Removes records
 * that an earlier thread with this id has left. CONFLICT. Thread: the store's.
 */
int32_t thread_put(struct session *session, const struct thread_put *put, struct error *error);
/* Operations that remove all records of a thread except its main record. */
tn_value thread_delete_rest(const char *id);
/* {fence: N}, the condition of each write: the writer still owns the thread. */
tn_value thread_fence_condition(int64_t fence);
/*
 * The operation on the record `key` with which each batch begins that does not change the record otherwise. The batch
 * fails if the record has another fence. It increases the record's version, so that every change of a thread does: a
 * reader that finds the same version before and after has read one state of the thread. *batches is the number of such
 * batches, which the record keeps.
 */
tn_value thread_count_batch(const char *key, int64_t fence, uint32_t *batches);

#endif
