/*
 * thread_owner.h - which writer of a thread still lives.
 *
 * The fence in a thread's record names its writer, but not whether the writer's process has died. So each writer locks
 * one byte of a file beside the store, whose position follows from the thread and its fence. The kernel releases the
 * lock when the process ends, however it ends. A writer that takes the thread over has another fence, and so another
 * byte: it never waits for the previous writer, whose next commit fails.
 *
 *     if (thread_owner_lives(store, key, fence)) …          // do not take the thread over
 *     struct owner_lock *lock = thread_owner_lock(store, key, fence + 1, &taken);
 *     thread_owner_unlock(lock);
 *
 * A store that is not a file (PostgreSQL) has no locks, nor has one whose file of locks was deleted. Then the member
 * `owner` of the record decides, which names the process: on this machine it lives if it runs and has the same start
 * time; on another one, if it has a record in the collection `hosts` (store_state.h), which ends at most 30 seconds
 * after it. So another process counts as the writer until it ends, even if it has abandoned the run; and a run on
 * another machine is not found in the first half second of its process. The fence protects the thread in any case. A
 * file of locks that another run has created again is not noticed, and a file system without locks has no owners.
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_OWNER_H
#define TENON_HOST_DATA_THREAD_THREAD_OWNER_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct session;
struct store;
struct owner_lock;

/* True if another writer has the lock, in this process or in another one. */
bool thread_owner_lives(const struct store *store, const char *key, int64_t fence);
/*
 * Takes the lock. NULL if there is none; *taken: because another writer has it. All locks of a process on one file
 * share a descriptor, so 100,000 runs that wait need one. Any thread.
 */
struct owner_lock *thread_owner_lock(const struct store *store, const char *key, int64_t fence, bool *taken);
void thread_owner_unlock(struct owner_lock *lock); /* NULL is allowed; any thread */

/* Returns OWNED if the thread with this record (NULL is allowed) is running and its writer lives on this machine. */
int32_t thread_owner_check(const struct store *store, const char *id, tn_value record, struct error *error);
/* The same for a writer on another machine; on the store's thread. Otherwise TN_OK, or the failure of a query. */
int32_t thread_owner_check_remote(struct session *session, const char *id, tn_value record, struct error *error);

/* Sets the error OWNED; `owner` is the member of the record, or NULL if the writer is not known. Returns its status. */
int32_t thread_owner_error(const char *id, tn_value owner, struct error *error);

/* True if the process that `owner`, as thread_owner_describe returns it, names is another one, on this machine, and
 * runs; *here: it is on this machine. Any thread. */
bool thread_owner_runs(tn_value owner, bool *here);

/* {pid, start, host}, the member `owner` of a record: which process this is; a new reference. */
tn_value thread_owner_describe(void);
/* "process 1234", "process 1234 on host7" if that is another machine, or "another process". */
#define THREAD_OWNER_TEXT 128
void thread_owner_text(tn_value owner, char out[THREAD_OWNER_TEXT]);

#endif
