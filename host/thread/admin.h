/*
 * admin.h - threads looked at and changed from outside of a run: listed, forked, answered, removed, carried elsewhere.
 *
 * Each is done whole on the store's thread, and waited for: for commands, and for servers on a worker. What somebody
 * else changes meanwhile is found by the record's version, and refused with CONFLICT.
 *
 *     status = threads_list(store, &(struct threads_filter){.limit = 100}, &list, &error);
 *     status = thread_fork(store, "support-42", 7, "support-42-again", &error);
 *
 * [loop], and the loop runs meanwhile.
 */
#ifndef TENON_HOST_THREAD_ADMIN_H
#define TENON_HOST_THREAD_ADMIN_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

struct store;

#define THREAD_FORMAT "tenon.thread/1" /* of what is exported */

struct threads_filter {
    const char *status, *agent; /* NULL: any */
    const char *before, *since; /* updated before this time, not before that one, ISO 8601; NULL: any */
    const char *after;          /* a thread's id: those behind it in the order; NULL: from the first on */
    int64_t limit;
};
/* {threads: [record], more}: newest first; a new reference. */
int32_t threads_list(struct store *store, const struct threads_filter *filter, tn_value *out, struct error *error);

/* The record; NOT_FOUND names the command that lists those there are. */
int32_t thread_show(struct store *store, const char *id, tn_value *out, struct error *error);
/* [{seq, step, source, now, ran?, next}], newest first, `limit` at most. */
int32_t thread_history(struct store *store, const char *id, int64_t limit, tn_value *out, struct error *error);
/* The state after checkpoint `seq`; THREAD_HEAD: now. */
int32_t thread_state(struct store *store, const char *id, int64_t seq, tn_value *out, struct error *error);

/*
 * A new thread that begins as `id` stood after checkpoint `seq`, at once. At its head, what the tasks of the step under
 * way have done comes along, and what it waits for. EXISTS where `fork` is a thread already.
 */
int32_t thread_fork(struct store *store, const char *id, int64_t seq, const char *fork, struct error *error);
/* Kept until the thread is resumed. INVALID_INPUT: unknown ids, or answers that do not fit what is asked. */
int32_t thread_answer(struct store *store, const char *id, tn_value answers, struct error *error);
/* All records of it, in one batch: at once. */
int32_t thread_delete(struct store *store, const char *id, struct error *error);

/*
 * {format, record, graph?, checkpoints, journal, pending, nested}; a new reference. Without snapshots: a thread is the
 * same without. CONFLICT where it goes on all the while.
 */
int32_t thread_export(struct store *store, const char *id, tn_value *out, struct error *error);
/*
 * `exported` as a thread called `id`, as records.h's thread_put. EXISTS, unless `replace`; INVALID_INPUT where it is no
 * exported thread, or not whole: all of it is looked at before anything is written.
 */
int32_t thread_import(struct store *store, const char *id, tn_value exported, bool replace, struct error *error);

struct threads_policy {
    const char *before;         /* those updated before this time, ISO 8601; NULL: any */
    int64_t keep;               /* of each agent, the newest so many stay; -1: none do */
    const char *status;         /* of those that may go: "done" */
    const char *expired_before; /* whoever has waited for answers since before that goes as well; NULL: nobody does */
    bool dry_run;               /* they are counted, and stay */
};
struct threads_removed {
    int64_t threads, graphs;
};
/*
 * Removes threads that `before` and `keep` both let go (none where neither says anything), and graphs that nothing
 * refers to. A thread that somebody goes on with meanwhile stays.
 */
int32_t threads_collect(struct store *store, const struct threads_policy *policy, struct threads_removed *removed,
                        struct error *error);

#endif
