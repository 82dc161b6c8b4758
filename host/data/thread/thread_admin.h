/*
 * thread_admin.h - operations on saved threads from outside a run: list, read, fork, truncate, delete, export, import,
 * collect.
 *
 * Each function submits one job to the store's thread and returns. The arguments are copied, and values are retained,
 * so the caller need not keep them. `done` is called once, later: from the loop, or from store_close; never from inside
 * the function, also if the store cannot be opened or the arguments are wrong. Jobs run in the order of submission. The
 * function with the same name and `_wait` takes the same arguments and runs the loop until the job has ended; *out is a
 * new reference. A callback of the loop should not call it, because it would run the loop again.
 *
 *     thread_show(store, "support-42", on_shown, me);
 *     static void on_shown(void *user, int32_t status, tn_value record, const struct error *error) { ... }
 *
 *     status = thread_show_wait(store, "support-42", &record, &error);
 *
 * If another process changes the thread at the same time, the version of the record shows it, and the operation fails
 * with CONFLICT. Every operation on one thread fails with INVALID_INPUT if the id is not valid (thread_check_id).
 * Answers and changes of the state need the engine: execution_thread.h.
 *
 * Thread: loop.
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_ADMIN_H
#define TENON_HOST_DATA_THREAD_THREAD_ADMIN_H

#include "host/data/store/store.h"

#define THREAD_FORMAT "tenon.thread/1" /* the `format` of exported threads */

struct threads_filter {
    const char *status, *agent; /* only these; NULL for any */
    const char *before, *since; /* only threads updated before, or at or after, this time (ISO 8601); NULL for any */
    const char *from, *to;      /* only threads with ids from `from` on, and before `to`; NULL for any */
    const char *after;          /* list the threads after this thread id; NULL starts at the first */
    int64_t limit;
};
/* The result is {threads: [record], more}, the newest first. */
void threads_list(struct store *store, const struct threads_filter *filter, store_done *done, void *user);
int32_t threads_list_wait(struct store *store, const struct threads_filter *filter, tn_value *out, struct error *error);

/* The result is the record. NOT_FOUND. */
void thread_show(struct store *store, const char *id, store_done *done, void *user);
int32_t thread_show_wait(struct store *store, const char *id, tn_value *out, struct error *error);

/* The result is [{seq, step, source, now, ran?, rewound?, next}], the newest first, at most `limit`. NOT_FOUND. */
void thread_history(struct store *store, const char *id, int64_t limit, store_done *done, void *user);
int32_t thread_history_wait(struct store *store, const char *id, int64_t limit, tn_value *out, struct error *error);

/* The result is the state after checkpoint `seq`, or after the newest one for THREAD_HEAD. NOT_FOUND. */
void thread_state(struct store *store, const char *id, int64_t seq, store_done *done, void *user);
int32_t thread_state_wait(struct store *store, const char *id, int64_t seq, tn_value *out, struct error *error);

/*
 * Creates the thread `fork` with the state of `id` after checkpoint `seq`, in one batch. If `seq` is the newest
 * checkpoint, results of completed tasks of the unfinished step and pending interrupts are copied too. No result.
 * NOT_FOUND; EXISTS if the thread `fork` already exists.
 */
void thread_fork(struct store *store, const char *id, int64_t seq, const char *fork, store_done *done, void *user);
int32_t thread_fork_wait(struct store *store, const char *id, int64_t seq, const char *fork, struct error *error);

/*
 * Deletes all records of the thread in one batch. No result. Unless `force`: OWNED if a living process runs it,
 * CONFLICT if the thread has changed since this was checked, because a process may run it now.
 */
void thread_delete(struct store *store, const char *id, bool force, store_done *done, void *user);
int32_t thread_delete_wait(struct store *store, const char *id, bool force, struct error *error);

/*
 * Removes the checkpoints after `seq`, or none for THREAD_HEAD: the thread is as it was after that checkpoint, and what
 * it asked then is asked again. `alone`: also those before it. Checkpoints are counted from 0 again if the first one
 * was removed. No result. NOT_FOUND; OWNED if a living process runs it; CONFLICT if it changes meanwhile.
 */
void thread_truncate(struct store *store, const char *id, int64_t seq, bool alone, store_done *done, void *user);

/*
 * The result is {format, record, graph?, checkpoints, journal, pending, nested}. Snapshots are left out, because they
 * can be computed. NOT_FOUND; CONFLICT if the thread changes during each of several attempts.
 */
void thread_export(struct store *store, const char *id, store_done *done, void *user);
int32_t thread_export_wait(struct store *store, const char *id, tn_value *out, struct error *error);

/*
 * Writes `exported` as the thread `id` (thread_put in thread_records.h). No result. EXISTS if the thread exists and
 * `replace` is false. INVALID_INPUT if `exported` is malformed: it is validated completely before the first write.
 */
void thread_import(struct store *store, const char *id, tn_value exported, bool replace, store_done *done, void *user);
int32_t thread_import_wait(struct store *store, const char *id, tn_value exported, bool replace, struct error *error);

struct threads_policy {
    const char *before;         /* remove threads updated before this time, ISO 8601; NULL means no limit */
    int64_t keep;               /* number of newest threads of each agent to keep; -1 means all */
    const char *status;         /* remove only threads with this status: "done" */
    const char *expired_before; /* also remove threads that wait for an answer since before this time; may be NULL */
    bool dry_run;               /* count, but remove nothing */
};
/*
 * Removes threads that both `before` and `keep` allow to remove (nothing if neither is set), and graphs that no thread
 * is pinned to. A thread that is resumed at the same time is kept. The result is {threads, graphs}: how many were
 * removed.
 */
void threads_collect(struct store *store, const struct threads_policy *policy, store_done *done, void *user);
int32_t threads_collect_wait(struct store *store, const struct threads_policy *policy, tn_value *out,
                             struct error *error);

#endif
