/*
 * thread_log.h - the log of one saved thread: a run writes it, and a resumed run reads it.
 *
 * A thread has a record (status, head, fence), a checkpoint for each super-step (its changes and the next activations),
 * a snapshot of the state from time to time (so that the cost of reading follows the state, not the history), and the
 * results of activations in the unfinished super-step. A commit is one batch: all of it is written, or nothing.
 *
 * The first commit of a writer increases the fence of the thread. Later commits of the previous writer fail with
 * FENCED. A thread therefore has one writer, and its history cannot fork by accident.
 *
 *     status = thread_read(session, "support-42", THREAD_HEAD, &loaded, &error);
 *     struct thread_log *log = thread_log_new(store, "support-42", loaded);
 *     thread_log_commit(log, commit, on_committed, run);
 *     thread_log_free(log);
 *
 * Thread: loop, unless a function says otherwise.
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_LOG_H
#define TENON_HOST_DATA_THREAD_THREAD_LOG_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/data/store/store.h"

struct session;
struct thread_log;

#define THREAD_ID_MAX 200u /* bytes */
#define THREAD_HEAD   (-1) /* the newest checkpoint */

struct thread_cache;
struct thread_cached;

/* INVALID_INPUT if `id` is not a valid thread id. */
int32_t thread_check_id(const char *id, struct error *error);

/*
 * Reads a thread at checkpoint `seq`, or THREAD_HEAD: {record, version, saved, nested, stale, image}; a new reference.
 * If the thread does not exist, `record` is null. Thread: the store's.
 */
int32_t thread_read(struct session *session, const char *thread_id, int64_t seq, tn_value *out, struct error *error);

/* The same at the newest checkpoint, with deferred arrays (thread_deferred.h); `defer` may be NULL. */
struct thread_defer;
int32_t thread_read_head(struct session *session, const char *thread_id, const struct thread_defer *defer,
                         tn_value *out, struct error *error);

/*
 * Reads the complete history: {record, checkpoints: [the first one first], journal: {key without the thread: entry}}; a
 * new reference. NOT_FOUND. Thread: the store's.
 */
int32_t thread_read_history(struct session *session, const char *thread_id, tn_value *out, struct error *error);
/* {version, step, state, plan, …}, the form that run_restore accepts, from the state after the checkpoint `last`; a new
 * reference. */
tn_value thread_saved_after(tn_value state, tn_value last);
/* The state after checkpoints [0, count), in the form that run_restore accepts; a new reference. */
int32_t thread_fold(tn_value checkpoints, size_t count, tn_value *out, struct error *error);

/* The number before the first fence of a new thread; random. */
int64_t thread_first_fence(void);

/* The first commit takes the thread over. `loaded` is the result of thread_read. */
struct thread_log *thread_log_new(struct store *store, const char *thread_id, tn_value loaded);
/*
 * Makes it visible to other processes that this writer lives, until it is freed. Returns false if another writer has
 * the same fence, because it prepares its first commit at the same time; with `force`, another fence is used then.
 */
bool thread_log_own(struct thread_log *log, bool force);
/*
 * While notes are held, they are written only by commits: the caller expects more of them at once. Held notes are lost
 * if the process ends, so they are released soon, at the latest before thread_log_free.
 */
void thread_log_hold_notes(struct thread_log *log, bool hold);
/*
 * The run's last state goes into this cache (thread_log_remember). `known` is the entry from which the run was loaded;
 * its weight and `extra` are moved out of it.
 */
void thread_log_cache(struct thread_log *log, struct thread_cache *cache, struct thread_cached *known);
/* What the engine kept with the entry, moved out; NULL if there is none. */
void *thread_log_take_extra(struct thread_log *log);
/* True if thread_log_remember would keep something: the newest commit has ended the run, and returned the record. */
bool thread_log_may_remember(const struct thread_log *log);
/*
 * After the commit that ends the run: keeps its position and state for the next run of the thread in this process.
 * Takes `saved`, in the form of thread_saved_after, and `extra`.
 */
void thread_log_remember(struct thread_log *log, tn_value saved, void *extra, void (*free_extra)(void *));
/*
 * Reads what is still unread of a value of the run (thread_deferred.h). If that fails now, or has failed before, the
 * error: the value has nulls.
 */
int32_t thread_log_read_all(const struct thread_log *log, tn_value value, struct error *error);
/* Removes old checkpoints when there is a newer snapshot: `keep` as thread_prune; -1, the default, keeps all. */
void thread_log_keep(struct thread_log *log, int64_t keep);
void thread_log_free(struct thread_log *log); /* submitted commits still complete; NULL is allowed */

/* The scope of the outermost run. Other scopes are nested runs. */
#define THREAD_ROOT "-"

struct thread_commit {
    const char *scope;   /* borrowed until `done` */
    uint32_t seq;        /* number of the checkpoint in its scope */
    tn_value checkpoint; /* taken; NULL if only the record changes */
    tn_value record;     /* taken; a patch of the record: status, step, …; NULL for nested runs */
    tn_value tasks;      /* taken; {"STEP/INDEX": entry} of activations of an unfinished super-step; may be NULL */
    bool fresh;          /* nested run: remove the records that an earlier start of its activation left */
    bool step_ended;     /* the checkpoint now contains the results of the super-step */
    tn_value (*state)(void *); /* returns the state (a new reference); called if a snapshot is due */
    void *user;
};
/*
 * The first commit must have ended before the next one is made; after that, nested runs may commit concurrently. If a
 * commit fails, all later commits fail with the same error, and nothing more is written. One that was submitted before
 * fails too, but may have been written: `done` receives a result only then.
 */
void thread_log_commit(struct thread_log *log, struct thread_commit commit, store_done *done, void *user);
/*
 * After a commit has failed, and all others have ended: writes `record`, a patch of the record, and the notes that can
 * be written; then calls `done`. Returns false, and does nothing, if this log does not own the thread: it has not taken
 * it over, or was replaced. Takes `record`.
 */
bool thread_log_fail_take(struct thread_log *log, tn_value record, store_done *done, void *user);
/* Notes the result of an activation in the current super-step. Several notes become one batch; if that fails, the next
 * commit writes them. */
void thread_log_activation_take(struct thread_log *log, const char *scope, uint32_t step, uint32_t index,
                                tn_value entry);
/* Notes the outcome of an activation that is not deterministic, for replay. The next commit writes it. */
void thread_log_outcome_take(struct thread_log *log, const char *scope, uint32_t step, uint32_t index, tn_value entry);
/* Notes the answer to an interrupt, for replay. The next commit writes it. */
void thread_log_answer(struct thread_log *log, const char *interrupt_id, tn_value answer);
/* Notes the result of a call that an activation made, for resume and replay. `round` counts starts of the activation.
 */
void thread_log_call_take(struct thread_log *log, const char *scope, uint32_t step, uint32_t index, uint32_t round,
                          const char *path, tn_value entry);

#endif
