/*
 * thread_admin.h - operations on saved threads from outside a run: list, read, fork, answer, delete, export, import.
 *
 * Each function runs one job on the store's thread, and runs the loop until the job has ended. If another process
 * changes the thread at the same time, the version of the record shows it, and the function fails with CONFLICT.
 *
 *     status = threads_list(store, &(struct threads_filter){.limit = 100}, &list, &error);
 *     status = thread_fork(store, "support-42", 7, "support-42-again", &error);
 *
 * Thread: loop.
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_ADMIN_H
#define TENON_HOST_DATA_THREAD_THREAD_ADMIN_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

struct store;

#define THREAD_FORMAT "tenon.thread/1" /* the `format` of exported threads */

struct threads_filter {
    const char *status, *agent; /* only these; NULL for any */
    const char *before, *since; /* only threads updated before, or at or after, this time (ISO 8601); NULL for any */
    const char *after;          /* list the threads after this thread id; NULL starts at the first */
    int64_t limit;
};
/* *out is {threads: [record], more}, the newest first; a new reference. */
int32_t threads_list(struct store *store, const struct threads_filter *filter, tn_value *out, struct error *error);

/* *out is the record. NOT_FOUND. */
int32_t thread_show(struct store *store, const char *id, tn_value *out, struct error *error);
/* *out is [{seq, step, source, now, ran?, next}], the newest first, at most `limit`. */
int32_t thread_history(struct store *store, const char *id, int64_t limit, tn_value *out, struct error *error);
/* *out is the state after checkpoint `seq`, or after the newest one for THREAD_HEAD. */
int32_t thread_state(struct store *store, const char *id, int64_t seq, tn_value *out, struct error *error);

/*
 * Creates the thread `fork` with the state of `id` after checkpoint `seq`, in one batch. If `seq` is the newest
 * checkpoint, results of completed tasks of the unfinished step and pending interrupts are copied too. EXISTS if the
 * thread `fork` already exists.
 */
int32_t thread_fork(struct store *store, const char *id, int64_t seq, const char *fork, struct error *error);
/*
 * Saves answers, by interrupt id, until the thread is resumed. INVALID_INPUT for unknown ids and for answers that do
 * not match the schema of the interrupt.
 */
int32_t thread_answer(struct store *store, const char *id, tn_value answers, struct error *error);
/* Deletes all records of the thread in one batch. OWNED if a living process runs it, unless `force`. */
int32_t thread_delete(struct store *store, const char *id, bool force, struct error *error);

/*
 * *out is {format, record, graph?, checkpoints, journal, pending, nested}; a new reference. Snapshots are left out,
 * because they can be computed. CONFLICT if the thread changes during each of several attempts.
 */
int32_t thread_export(struct store *store, const char *id, tn_value *out, struct error *error);
/*
 * Writes `exported` as the thread `id` (thread_put in thread_records.h). EXISTS if the thread exists and `replace` is
 * false. INVALID_INPUT if `exported` is malformed: it is validated completely before the first write.
 */
int32_t thread_import(struct store *store, const char *id, tn_value exported, bool replace, struct error *error);

struct threads_policy {
    const char *before;         /* remove threads updated before this time, ISO 8601; NULL means no limit */
    int64_t keep;               /* number of newest threads of each agent to keep; -1 means all */
    const char *status;         /* remove only threads with this status: "done" */
    const char *expired_before; /* also remove threads that wait for an answer since before this time; may be NULL */
    bool dry_run;               /* count, but remove nothing */
};
struct threads_removed {
    int64_t threads, graphs;
};
/*
 * Removes threads that both `before` and `keep` allow to remove (nothing if neither is set), and graphs that no thread
 * is pinned to. A thread that is resumed at the same time is kept.
 */
int32_t threads_collect(struct store *store, const struct threads_policy *policy, struct threads_removed *removed,
                        struct error *error);

#endif
