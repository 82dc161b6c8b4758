/*
 * log.h - the log of one thread: what a run writes as it goes, and what is read back to go on.
 *
 * A thread is a record (its status, its head, a fence); a checkpoint for every step, which has the step's changes and
 * what comes next; a snapshot of the state now and then, so that reading back costs the state and not the history; and,
 * for the step under way, what its tasks have done. A commit is one batch: all of it is there, or nothing.
 *
 * Whoever goes on with a thread takes its fence with the first commit. From then on, commits of whoever had it before
 * fail with FENCED: a thread has one writer, and its history never forks by accident.
 *
 *     thread_load(store, "support-42", THREAD_HEAD, on_loaded, me);       // {record, version, saved, nested}
 *     struct thread_log *log = thread_log_new(store, "support-42", loaded);
 *     thread_log_commit(log, &commit, on_committed, run);
 *     thread_log_free(log);
 *
 * Everything is [loop].
 */
#ifndef TENON_HOST_THREAD_LOG_H
#define TENON_HOST_THREAD_LOG_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/store/store.h"

struct session;
struct thread_log;

#define THREAD_ID_MAX       200u               /* bytes */
#define THREAD_HEAD         (-1)               /* the newest checkpoint */
#define THREAD_SNAPSHOT_MIN 65536              /* bytes of changes before a snapshot is worth it */
#define THREAD_SNAPSHOT_MAX (12 * 1024 * 1024) /* a larger state has none: it is read back from its changes */

/* INVALID_INPUT where `id` cannot be a thread's. */
int32_t thread_check_id(const char *id, struct error *error);

/*
 * `done` gets {record, version, saved, nested, stale}: record and saved are null where there is no such thread; saved
 * is what run_restore takes; nested is {scope: saved} of graphs inside tasks under way; stale are operations for the
 * first commit, by which calls of a failed run are forgotten that are to be made again.
 */
void thread_load(struct store *store, const char *thread_id, int64_t seq, store_done *done, void *user);
/* [store's thread] The same in a row with others. */
int32_t thread_read(struct session *session, const char *thread_id, int64_t seq, tn_value *out, struct error *error);

/*
 * [store's thread] All of it: {record, checkpoints: [from the first on], journal: {key without the thread: entry}}; a
 * new reference. NOT_FOUND.
 */
int32_t thread_read_history(struct session *session, const char *thread_id, tn_value *out, struct error *error);
/* What run_restore takes, after checkpoints [0, count); a new reference. */
int32_t thread_fold(tn_value checkpoints, size_t count, tn_value *out, struct error *error);

/* What the fence of a new thread begins after: another each time. */
int64_t thread_first_fence(void);

/* Takes the thread over with its first commit. `loaded` as thread_load gave it. */
struct thread_log *thread_log_new(struct store *store, const char *thread_id, tn_value loaded);
void thread_log_free(struct thread_log *log); /* what is under way is still done; NULL is allowed */
const char *thread_log_id(const struct thread_log *log);

/* "-": the thread's own run; else a run inside a task of it. */
#define THREAD_ROOT "-"

struct thread_commit {
    const char *scope;
    uint32_t seq;              /* of the checkpoint in its scope */
    tn_value checkpoint;       /* taken; NULL: the record alone is changed */
    tn_value record;           /* taken; a patch of the record: status, step, …; NULL for runs inside */
    tn_value tasks;            /* taken; {"STEP/INDEX": entry} of the step that is left as it is; may be NULL */
    bool fresh;                /* of a run inside: what an earlier start of its task has left is removed */
    bool step_over;            /* what tasks of the step have done is part of the checkpoint now */
    tn_value (*state)(void *); /* the whole state after it, asked for where a snapshot is due; a new reference */
    void *user;
};
/*
 * The first is done before there is another; runs inside tasks may then commit beside each other. When one fails, so do
 * all that follow, with its error, and nothing more is written.
 */
void thread_log_commit(struct thread_log *log, struct thread_commit commit, store_done *done, void *user);
/* What a task of the step under way has done: several become one batch; where that fails, they go with the next commit.
 */
void thread_log_task_take(struct thread_log *log, const char *scope, uint32_t step, uint32_t index, tn_value entry);
/* What a task of a step has given, and another execution might not: kept for replays. Goes with the next commit. */
void thread_log_outcome_take(struct thread_log *log, const char *scope, uint32_t step, uint32_t index, tn_value entry);
/* What was answered to an interrupt; likewise. */
void thread_log_answer(struct thread_log *log, const char *interrupt_id, tn_value answer);
/* What a call has given that the task made, the how-manieth time it was started; kept for replays. */
void thread_log_call_take(struct thread_log *log, const char *scope, uint32_t step, uint32_t index, uint32_t round,
                          const char *path, tn_value entry);

#endif
