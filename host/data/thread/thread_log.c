/*
 * thread_log.c - writes a thread: commits, and between them notes, in as few batches as possible.
 *
 * A note is the result of an activation or of a call in the current super-step. Each batch expects the fence of this
 * writer, so the batches of a writer that was replaced change nothing. Each batch also increases the version of the
 * record, so a writer that takes the thread over has read all that the previous one wrote, or its first commit fails.
 * Only one batch of notes is written at a time. Notes and commits that arrive meanwhile wait: the notes are written
 * together, and a commit also writes the notes of a batch that failed. A commit includes the notes that must be kept,
 * and drops those that its checkpoint replaces.
 */
#include "host/data/thread/thread_log.h"
#include "adl/value/deferred.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/data/store/store_collections.h"
#include "host/data/store/store_link.h"
#include "host/data/thread/thread_cache.h"
#include "host/data/thread/thread_failure.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_nodes.h"
#include "host/data/thread/thread_owner.h"
#include "host/data/thread/thread_pack.h"
#include "host/data/thread/thread_packing.h"
#include "host/data/thread/thread_prune.h"
#include "host/data/thread/thread_records.h"
#include "host/data/thread/thread_snapshot.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <tenon/store.h>
#include <time.h>

#define CHUNKS_KNOWN_MAX 10000 /* chunks that are not written again; more are forgotten, and may be written again */
#define FORCE_TRIES      100   /* writers that prepare their first commit at the same time */
#define OPERATIONS_MAX   (TN_STORE_BATCH_MAX - 100) /* notes and chunks of a batch; the rest is for the commit */

struct thread_log {
    struct store *store;
    char *id, *key;              /* key: thread_key of the id */
    int64_t version;             /* version of the record before the first commit; then -1 */
    int64_t fence, fence_before; /* of this writer; of the record that was read, or -1 if it has none */
    uint32_t batches;            /* see thread_count_batch */
    struct snapshots snapshots;
    tn_value chunks;                /* {hash: true}: chunks that this log has written, and that are not removed */
    struct thread_nodes nodes;      /* of the large values of this super-step */
    int64_t weight;                 /* of all checkpoints that this log has written */
    int64_t keep;                   /* checkpoints that are kept (thread_prune), or -1 for all */
    tn_value tasks, calls;          /* notes that are not yet written: operations */
    tn_value writing[2];            /* tasks and calls of the batch that is being written, or NULL */
    struct thread_cache *cache;     /* or NULL */
    struct thread_cached cached;    /* weight and extra of the entry that the run was loaded from; weight -1: unknown */
    tn_value last;                  /* {version, value} of the record after the commit that ended the run, or NULL */
    bool notes_held;                /* do not write notes before the next commit */
    bool notes_gather;              /* thread_log_hold_notes */
    bool pending_left, nested_left; /* the store may have records of the current super-step */
    bool closed;
    struct owner_lock *owner; /* of this writer, or NULL */
    int32_t failed;           /* status of a failed commit: all later commits fail with it */
    struct error error;
    uint32_t committing;                           /* commits that have not ended */
    struct pending_commit *waiting, *last_waiting; /* commits that wait until the current notes are written */
};

struct pending_commit {
    struct thread_log *log;
    struct pending_commit *next;
    struct thread_commit request;
    struct packing packing; /* of the checkpoint */
    tn_value early;  /* operations that are written before, in batches of their own, or NULL (commit_take_early) */
    size_t early_at; /* the first of them that is not written */
    tn_value batch;  /* the commit's operations; NULL after they were submitted */
    tn_value notes;  /* those of them that are notes: thread_log_fail_take writes them if the commit fails */
    bool snapshot;   /* it has a snapshot */
    bool step_ended; /* a step of the outermost run ended: its notes about activations are obsolete */
    bool dropped;    /* nothing of it was written, because an earlier commit has failed */
    store_done *done;
    void *user;
};

int32_t thread_check_id(const char *id, struct error *error) {
    size_t length = strlen(id);
    if (!utf8_valid(id, length))
        return error_set(error, TN_INVALID, "INVALID_INPUT", "the thread id `%s` is not UTF-8", id);
    if (length > 0 && length <= THREAD_ID_MAX) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_INPUT", "the thread id has %zu bytes, expected 1 to %u", length,
                     THREAD_ID_MAX);
}

/*
 * Random, because a thread that is created again after it was deleted must not have a fence that an earlier writer
 * still holds. The number is exact in a double, for JSON.
 */
int64_t thread_first_fence(void) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) random = (uint64_t)time(NULL);
    return (int64_t)(random >> 20);
}

struct thread_log *thread_log_new(struct store *store, const char *thread_id, tn_value loaded) {
    struct thread_log *log = mem_zalloc(sizeof *log);
    tn_value record = value_get(loaded, "record");
    log->store = store;
    log->id = mem_text(thread_id);
    char key[THREAD_KEY_MAX];
    thread_key(key, thread_id);
    log->key = mem_text(key);
    log->version = thread_record_int(loaded, "version", 0);
    log->fence_before = thread_record_int(record, "fence", -1);
    log->fence = thread_record_int(record, "fence", log->version ? 0 : thread_first_fence()) + 1;
    log->batches = (uint32_t)thread_record_int(record, "batches", 0);
    snapshots_init(&log->snapshots, record, value_get(loaded, "image"));
    log->chunks = value_object();
    log->tasks = value_array();
    tn_value stale = value_get(loaded, "stale");
    log->calls = stale ? value_ref(stale) : value_array();
    store_link_forget(store_link(store), log->key);
    log->keep = -1;
    log->cached.weight = -1;
    log->notes_held = true; /* released when the first commit has taken over the thread */
    /* A previous writer may have left records, unless the thread is done. */
    log->pending_left = log->nested_left =
        value_is(record, TN_OBJECT) && !value_text_is(value_get(record, "status"), "done");
    return log;
}

bool thread_log_own(struct thread_log *log, bool force) {
    bool taken;
    log->owner = thread_owner_lock(log->store, log->key, log->fence, &taken);
    /* Another writer prepares its first commit. Only one of these commits succeeds, whatever the fence is. */
    for (int i = 0; taken && force && i < FORCE_TRIES; i++)
        log->owner = thread_owner_lock(log->store, log->key, ++log->fence, &taken);
    return !taken;
}

void thread_log_keep(struct thread_log *log, int64_t keep) { log->keep = keep; }

int32_t thread_log_read_all(const struct thread_log *log, tn_value value, struct error *error) {
    struct store_link *link = store_link(log->store);
    if (store_link_is_used(link)) value_read_all(value);
    return store_link_failure(link, log->key, error);
}

/* ---- The cache ---- */

void thread_log_cache(struct thread_log *log, struct thread_cache *cache, struct thread_cached *known) {
    log->cache = cache;
    if (!known->loaded) return;
    log->cached = (struct thread_cached){NULL, known->weight, known->extra, known->free_extra};
    known->extra = NULL;
}

void *thread_log_take_extra(struct thread_log *log) {
    void *extra = log->cached.extra;
    log->cached.extra = NULL;
    return extra;
}

bool thread_log_may_remember(const struct thread_log *log) { return log->cache && log->last && !log->failed; }

void thread_log_remember(struct thread_log *log, tn_value saved, void *extra, void (*free_extra)(void *)) {
    tn_value loaded = value_set_take(value_object_reserve(6), "record", value_ref(value_get(log->last, "value")));
    int64_t weight = log->cached.weight + log->weight;
    if (log->cached.weight < 0) weight = value_weight(value_get(saved, "state"));
    loaded = value_set_take(loaded, "version", value_ref(value_get(log->last, "version")));
    loaded = value_set_take(loaded, "saved", saved);
    loaded = value_set_take(loaded, "nested", value_object());
    loaded = value_set_take(loaded, "stale", value_array());
    if (log->snapshots.image) loaded = value_set_take(loaded, "image", value_ref(log->snapshots.image));
    thread_cache_put_take(log->cache, log->id, &(const struct thread_cached){loaded, weight, extra, free_extra});
}

static void thread_log_release(struct thread_log *log) {
    if (!log->closed || log->writing[0] || log->committing) return;
    thread_owner_unlock(log->owner);
    value_unref(log->tasks);
    value_unref(log->calls);
    value_unref(log->chunks);
    value_unref(log->last);
    thread_cached_finish(&log->cached);
    snapshots_finish(&log->snapshots);
    thread_nodes_clear(&log->nodes);
    error_finish(&log->error);
    mem_free(log->id);
    mem_free(log->key);
    mem_free(log);
}

void thread_log_free(struct thread_log *log) {
    if (!log) return;
    log->closed = true;
    thread_log_release(log);
}

/* ---- Records ---- */

/* Adds the operation that puts a record, and before it those that put its chunks. Takes `operations` and `value`. */
static tn_value put_record_take(struct thread_log *log, tn_value operations, const char *collection, const char *key,
                                tn_value value, int64_t weight) {
    /* The chunks of a snapshot, so that both have the same if a large value is new. */
    struct thread_packer packer = {.key = log->key,
                                   .chunk = log->snapshots.chunk,
                                   .puts = operations,
                                   .known = value_ref(log->chunks),
                                   .nodes = &log->nodes};
    thread_pack_record_take(&packer, collection, key, value, weight);
    value_unref(log->chunks);
    log->chunks = value_count(packer.known) > CHUNKS_KNOWN_MAX ? value_object() : value_ref(packer.known);
    value_unref(packer.known);
    return packer.puts;
}

/* The chunks of notes that are dropped: other records may refer to them, too. A new reference. */
static tn_value chunks_of(tn_value operations) {
    tn_value chunks = value_array();
    for (size_t i = 0; i < value_count(operations); i++) {
        tn_value operation = value_at(operations, i);
        if (value_text_is(value_get(operation, "collection"), STORE_CHUNKS))
            chunks = value_push_take(chunks, value_ref(operation));
    }
    return chunks;
}

/* ---- Notes ---- */

static tn_value count_batch(struct thread_log *log) { return thread_count_batch(log->key, log->fence, &log->batches); }

static void write_notes(struct thread_log *log);
static void submit_commit(struct pending_commit *commit);

/* Only the record is conditional, so a conflict always means that another run has changed the thread. */
static int32_t translate_error(const struct thread_log *log, int32_t status, const struct error *error,
                               struct error *out) {
    if (status == TN_OK) return TN_OK;
    if (error->code && strcmp(error->code, "CONFLICT") == 0 && log->version >= 0)
        return error_set(out, status, "FENCED",
                         "the thread `%s` was changed by another run while this one was starting; this run has done "
                         "nothing: wait until the other run has ended, then try again",
                         log->id);
    if (error->code && strcmp(error->code, "CONFLICT") == 0)
        return error_set(
            out, status, "FENCED",
            "the thread `%s` was taken over by another run or deleted; this run writes nothing more, but its "
            "earlier commits are kept",
            log->id);
    if (error->code && strcmp(error->code, "LIMIT") == 0)
        return error_set(out, status, "LIMIT", "the thread `%s` cannot be saved: %s", log->id, error->message);
    error_copy(out, error);
    return status;
}

/* Adds notes that could not be written to the next commit, which reports the error if it fails, too. */
static void keep_failed_notes(struct thread_log *log) {
    struct pending_commit *next = log->waiting;
    if (next) {
        next->notes = value_concat_take(next->notes, value_ref(log->writing[0]));
        next->notes = value_concat_take(next->notes, value_ref(log->writing[1]));
        tn_value tasks = log->writing[0];
        next->batch = value_concat_take(next->batch, next->step_ended ? chunks_of(tasks) : value_ref(tasks));
        next->batch = value_concat_take(next->batch, value_ref(log->writing[1]));
        return;
    }
    log->tasks = value_concat_take(value_ref(log->writing[0]), log->tasks);
    log->calls = value_concat_take(value_ref(log->writing[1]), log->calls);
    log->notes_held = true;
}

static void on_notes_written(void *user, int32_t status, tn_value result, const struct error *error) {
    struct thread_log *log = user;
    (void)result, (void)error;
    if (status != TN_OK) keep_failed_notes(log);
    value_unref(log->writing[0]);
    value_unref(log->writing[1]);
    log->writing[0] = log->writing[1] = NULL;
    while (log->waiting) {
        struct pending_commit *commit = log->waiting;
        log->waiting = commit->next;
        submit_commit(commit);
    }
    write_notes(log);
    thread_log_release(log);
}

/* Removes at most `most` operations from the start of a list of notes. */
static tn_value take_notes(tn_value *notes, size_t most) {
    size_t count = value_count(*notes), taken = count < most ? count : most;
    tn_value all = *notes, some = value_slice(all, 0, taken);
    *notes = value_slice(all, taken, count);
    value_unref(all);
    return some;
}

static void write_notes(struct thread_log *log) {
    if (log->writing[0] || log->committing || log->notes_held || log->notes_gather || log->failed ||
        (!value_count(log->tasks) && !value_count(log->calls)))
        return;
    tn_value batch = value_push_take(value_array(), count_batch(log));
    log->pending_left |= value_count(log->tasks) > 0;
    log->writing[0] = take_notes(&log->tasks, OPERATIONS_MAX);
    log->writing[1] = take_notes(&log->calls, OPERATIONS_MAX - value_count(log->writing[0]));
    batch = value_concat_take(batch, value_ref(log->writing[0]));
    batch = value_concat_take(batch, value_ref(log->writing[1]));
    store_commit_take(log->store, batch, on_notes_written, log);
}

void thread_log_hold_notes(struct thread_log *log, bool hold) {
    log->notes_gather = hold;
    if (!hold) write_notes(log);
}

/*
 * After a commit has failed, an activation that ran a nested run reports that as its own failure. It is not: a resumed
 * run must not find it.
 */
static bool is_failure_of_log(const struct thread_log *log, tn_value entry) {
    return log->failed && (value_get(entry, "failed") || value_get(entry, "error"));
}

void thread_log_activation_take(struct thread_log *log, const char *scope, uint32_t step, uint32_t index,
                                tn_value entry) {
    if (is_failure_of_log(log, entry)) {
        value_unref(entry);
        return;
    }
    char key[THREAD_KEY_MAX], at[12], digits[12];
    thread_number(at, step);
    snprintf(digits, sizeof digits, "%u", index);
    thread_key_of(key, log->key, (const char *const[]){scope, at, digits, NULL});
    log->tasks = put_record_take(log, log->tasks, STORE_PENDING, key, entry, value_weight(entry));
    write_notes(log);
}

void thread_log_call_take(struct thread_log *log, const char *scope, uint32_t step, uint32_t index, uint32_t round,
                          const char *path, tn_value entry) {
    if (is_failure_of_log(log, entry)) {
        value_unref(entry);
        return;
    }
    char key[THREAD_KEY_MAX], at[12], digits[12], rounds[12];
    thread_number(at, step);
    snprintf(digits, sizeof digits, "%u", index);
    snprintf(rounds, sizeof rounds, "%u", round);
    thread_key_of(key, log->key, (const char *const[]){scope, at, digits, rounds, path, NULL});
    log->calls = put_record_take(log, log->calls, STORE_JOURNAL, key, entry, value_weight(entry));
    write_notes(log);
}

void thread_log_outcome_take(struct thread_log *log, const char *scope, uint32_t step, uint32_t index, tn_value entry) {
    if (is_failure_of_log(log, entry)) {
        value_unref(entry);
        return;
    }
    char key[THREAD_KEY_MAX], at[12], digits[12];
    thread_number(at, step);
    snprintf(digits, sizeof digits, "%u", index);
    thread_key_of(key, log->key, (const char *const[]){scope, at, digits, THREAD_OUTCOME, NULL});
    log->calls = put_record_take(log, log->calls, STORE_JOURNAL, key, entry, value_weight(entry));
}

void thread_log_answer(struct thread_log *log, const char *interrupt_id, tn_value answer) {
    char key[THREAD_KEY_MAX];
    thread_key_of(key, log->key, (const char *const[]){THREAD_ANSWERS, interrupt_id, NULL});
    log->calls = put_record_take(log, log->calls, STORE_JOURNAL, key, value_ref(answer), value_weight(answer));
}

/* ---- Commits ---- */

static void on_committed(void *user, int32_t status, tn_value result, const struct error *error) {
    struct pending_commit *commit = user;
    struct thread_log *log = commit->log;
    struct error why = ERROR_INIT;
    bool written = status == TN_OK && !commit->dropped;
    status = translate_error(log, status, error, &why);
    if (log->failed) {
        status = log->failed;
        error_finish(&why);
        error_copy(&why, &log->error);
    } else if (status != TN_OK) {
        log->failed = status;
        error_copy(&log->error, &why);
    }
    if (status == TN_OK) {
        log->version = -1;
        log->notes_held = false;
        tn_value first = log->cache && value_count(result) ? value_at(result, 0) : NULL;
        value_unref(log->last);
        /* A run that waits does not need it. */
        log->last = value_text_is(value_get(value_get(first, "value"), "status"), "done") ? value_ref(first) : NULL;
    }
    if (written && commit->snapshot && log->keep >= 0) {
        /* Chunks may be removed to which nothing refers; what refers to them from now on writes them again. */
        value_unref(log->chunks);
        log->chunks = value_object();
        thread_prune(log->store, log->key, log->fence, log->keep);
    }
    if (written)
        value_unref(commit->notes);
    else
        log->calls = value_concat_take(commit->notes, log->calls);
    commit->done(commit->user, status, written ? result : NULL, &why);
    error_finish(&why);
    value_unref(commit->early);
    mem_free(commit);
    log->committing--;
    write_notes(log);
    thread_log_release(log);
}

/* On condition that nothing of the thread has changed since it was read: every batch increases the version. */
static tn_value take_over_record(const struct thread_log *log, tn_value patch) {
    patch = value_set_take(patch, "fence", value_int(log->fence));
    patch = value_set_take(patch, "owner", thread_owner_describe());
    if (log->version > 0) {
        tn_value fence = log->fence_before < 0 ? value_null() : value_int(log->fence_before);
        tn_value same = value_set_take(value_object_reserve(1), "fence", fence);
        return store_if_where(store_if_version(store_merge(STORE_THREADS, log->key, patch), log->version), same);
    }
    patch = value_set_take(patch, "thread_id", value_text(log->id));
    return store_if_version(store_put(STORE_THREADS, log->key, patch), 0);
}

static tn_value add_tasks_take(struct thread_log *log, tn_value batch, const struct thread_commit *commit) {
    for (size_t i = 0; i < value_count(commit->tasks); i++) {
        char key[THREAD_KEY_MAX];
        const char *name = value_chars(value_key_at(commit->tasks, i), NULL);
        thread_key_of(key, log->key, (const char *const[]){commit->scope, name, NULL});
        tn_value entry = value_value_at(commit->tasks, i);
        batch = put_record_take(log, batch, STORE_PENDING, key, value_ref(entry), value_weight(entry));
    }
    return batch;
}

/* ---- Packing ---- */

static bool is_root(const struct thread_commit *commit) { return strcmp(commit->scope, THREAD_ROOT) == 0; }

/* The packing gets what the log knows; notes may be made meanwhile. */
static void start_packing(struct thread_log *log, const struct thread_commit *commit, struct packing *packing) {
    bool root = is_root(commit);
    *packing = (struct packing){.key = log->key, .collection = root ? STORE_CHECKPOINTS : STORE_NESTED};
    packing->checkpoint = value_ref(commit->checkpoint);
    packing->weight = value_weight(commit->checkpoint);
    log->weight += packing->weight;
    if (root) snapshots_changed(&log->snapshots, packing->weight);
    thread_number(packing->seq, commit->seq);
    if (root)
        thread_key_of(packing->record, log->key, (const char *const[]){packing->seq, NULL});
    else
        thread_key_of(packing->record, log->key, (const char *const[]){commit->scope, packing->seq, NULL});
    if (root && commit->state && snapshots_are_due(&log->snapshots)) packing->state = commit->state(commit->user);
    packing->snapshots = log->snapshots;
    value_ref(packing->snapshots.image);
    packing->known = value_ref(log->chunks);
    packing->before = value_ref(log->chunks);
    packing->nodes = log->nodes;
    log->nodes = (struct thread_nodes){0};
}

/* The chunks of the packing, and those of notes that were made meanwhile. */
static void add_chunks(struct thread_log *log, struct packing *packing) {
    tn_value notes = log->chunks;
    log->chunks = packing->known;
    packing->known = NULL;
    for (size_t i = 0; notes != packing->before && i < value_count(notes); i++)
        log->chunks = value_set_key_take(log->chunks, value_ref(value_key_at(notes, i)), value_bool(true));
    value_unref(notes);
    if (value_count(log->chunks) <= CHUNKS_KNOWN_MAX) return;
    value_unref(log->chunks);
    log->chunks = value_object();
}

/*
 * Takes over what the packing knows now. No commit of the outermost run was made meanwhile, so the snapshots are as
 * they were, and no chunks were removed.
 */
static void end_packing(struct thread_log *log, const struct thread_commit *commit, struct packing *packing) {
    if (is_root(commit)) {
        snapshots_finish(&log->snapshots);
        log->snapshots = packing->snapshots;
        packing->snapshots.image = NULL;
    }
    add_chunks(log, packing);
    thread_nodes_clear(&log->nodes);
    if (is_root(commit)) return; /* what follows is in another super-step */
    log->nodes = packing->nodes;
    packing->nodes = (struct thread_nodes){0};
}

/* `packed`: the operations of the checkpoint, which it takes. */
static tn_value commit_batch(struct thread_log *log, const struct thread_commit *commit, tn_value packed,
                             tn_value *notes) {
    bool root = is_root(commit);
    char key[THREAD_KEY_MAX], end[THREAD_KEY_MAX];
    tn_value batch = value_array_reserve(6);
    *notes = value_concat_take(value_ref(log->tasks), value_ref(log->calls));
    if (root) {
        tn_value patch = value_set_take(commit->record ? value_ref(commit->record) : value_object(), "changed",
                                        value_int(log->snapshots.changed));
        patch = value_set_take(patch, "snapshot", value_int(log->snapshots.due));
        batch = value_push_take(batch, log->version < 0 ? store_if_where(store_merge(STORE_THREADS, log->key, patch),
                                                                         thread_fence_condition(log->fence))
                                                        : take_over_record(log, patch));
    } else {
        batch = value_push_take(batch, count_batch(log));
    }
    if (commit->fresh && !root) {
        static const char *const collections[] = {STORE_NESTED, STORE_PENDING, STORE_JOURNAL};
        thread_key_range(key, end, log->key, (const char *const[]){commit->scope, NULL});
        for (size_t i = 0; i < 3; i++) batch = value_push_take(batch, store_delete_range(collections[i], key, end));
    }
    batch = value_concat_take(batch, packed);
    batch = value_concat_take(batch, log->calls);
    if (commit->step_ended && root) {
        /* Remove notes about its activations, and checkpoints of nested runs. */
        thread_key_of(key, log->key, (const char *const[]){"", NULL});
        thread_key_end(end, log->key);
        if (log->pending_left) batch = value_push_take(batch, store_delete_range(STORE_PENDING, key, end));
        if (log->nested_left) batch = value_push_take(batch, store_delete_range(STORE_NESTED, key, end));
        log->pending_left = log->nested_left = false;
        batch = value_concat_take(batch, chunks_of(log->tasks));
        value_unref(log->tasks);
    } else {
        log->pending_left |= value_count(log->tasks) > 0;
        batch = value_concat_take(batch, log->tasks);
        if (commit->step_ended && log->pending_left) { /* of a nested run: remove the notes about its activations */
            thread_key_range(key, end, log->key, (const char *const[]){commit->scope, NULL});
            batch = value_push_take(batch, store_delete_range(STORE_PENDING, key, end));
        }
    }
    log->nested_left |= !root;
    log->pending_left |= value_count(commit->tasks) > 0;
    log->calls = value_array();
    log->tasks = value_array();
    return add_tasks_take(log, batch, commit);
}

/*
 * A batch has a limit. Of a larger commit, what means nothing by itself is written before: chunks, to which no record
 * refers yet, and calls, which a note could have written as well.
 */
static void commit_take_early(struct pending_commit *commit) {
    if (value_count(commit->batch) <= OPERATIONS_MAX) return;
    tn_value early = value_array(), rest = value_array();
    for (size_t i = 0; i < value_count(commit->batch); i++) {
        tn_value operation = value_at(commit->batch, i), collection = value_get(operation, "collection");
        bool puts = value_text_is(value_get(operation, "op"), "put");
        bool alone = puts && (value_text_is(collection, STORE_CHUNKS) || value_text_is(collection, STORE_JOURNAL));
        *(alone ? &early : &rest) = value_push_take(alone ? early : rest, value_ref(operation));
    }
    value_unref(commit->batch);
    commit->batch = rest;
    commit->early = early;
}

static void on_early_written(void *user, int32_t status, tn_value result, const struct error *error) {
    struct pending_commit *commit = user;
    if (status == TN_OK) {
        submit_commit(commit);
        return;
    }
    value_unref(commit->batch);
    commit->dropped = true;
    on_committed(commit, status, result, error);
}

static void submit_commit(struct pending_commit *commit) {
    struct thread_log *log = commit->log;
    size_t early = value_count(commit->early), from = commit->early_at;
    if (from < early && !log->failed && log->version < 0) {
        commit->early_at = early - from > OPERATIONS_MAX ? from + OPERATIONS_MAX : early;
        tn_value part = value_push_take(value_array(), count_batch(log));
        part = value_concat_take(part, value_slice(commit->early, from, commit->early_at));
        store_commit_take(log->store, part, on_early_written, commit);
        return;
    }
    tn_value batch = commit->batch;
    commit->batch = NULL;
    /*
     * If the log has failed, write nothing: the activation of a nested run would report the failed commit as its own
     * failure, and that must not be saved.
     */
    if (log->failed) {
        commit->dropped = true;
        value_unref(batch);
        batch = value_push_take(value_array(), count_batch(log));
    }
    store_commit_take(log->store, batch, on_committed, commit);
}

/* The checkpoint is packed, or there is none. */
static void make_commit(struct pending_commit *commit) {
    struct thread_log *log = commit->log;
    const struct thread_commit *request = &commit->request;
    tn_value packed = value_array();
    if (request->checkpoint) {
        end_packing(log, request, &commit->packing);
        packed = commit->packing.operations;
        commit->packing.operations = NULL;
        commit->snapshot = is_root(request) && log->snapshots.changed == 0;
    }
    commit->batch = commit_batch(log, request, packed, &commit->notes);
    packing_finish(&commit->packing);
    if (log->version < 0) commit_take_early(commit);
    value_unref(request->checkpoint);
    value_unref(request->record);
    value_unref(request->tasks);
    /* Something that the run has used could not be read. */
    if (!log->failed) log->failed = store_link_failure(store_link(log->store), log->key, &log->error);
    if (!log->writing[0]) {
        submit_commit(commit);
        return;
    }
    *(log->waiting ? &log->last_waiting->next : &log->waiting) = commit;
    log->last_waiting = commit;
}

static void on_packed(void *user, int32_t status, tn_value result, const struct error *error) {
    struct pending_commit *commit = user;
    (void)status, (void)result, (void)error;
    if (!commit->packing.operations) packing_run(&commit->packing); /* there is no store, as the commit will report */
    make_commit(commit);
}

void thread_log_commit(struct thread_log *log, struct thread_commit request, store_done *done, void *user) {
    struct pending_commit *commit = mem_zalloc(sizeof *commit);
    commit->log = log;
    commit->request = request;
    commit->step_ended = request.step_ended && is_root(&request);
    commit->done = done;
    commit->user = user;
    log->committing++;
    if (request.checkpoint) {
        start_packing(log, &request, &commit->packing);
        if (packing_is_large(&commit->packing)) {
            store_perform(log->store, packing_perform, &commit->packing, on_packed, commit);
            return;
        }
        packing_run(&commit->packing);
    }
    make_commit(commit);
}

/* ---- Failures ---- */

struct log_failure {
    struct thread_log *log;
    store_done *done;
    void *user;
};

static void on_failure_written(void *user, int32_t status, tn_value result, const struct error *error) {
    struct log_failure it = *(struct log_failure *)user;
    mem_free(user);
    it.done(it.user, status, result, error);
    it.log->committing--;
    thread_log_release(it.log);
}

bool thread_log_fail_take(struct thread_log *log, tn_value record, store_done *done, void *user) {
    if (log->version >= 0 || (log->error.code && strcmp(log->error.code, "FENCED") == 0)) {
        value_unref(record);
        return false;
    }
    struct thread_failure *failure = mem_zalloc(sizeof *failure);
    struct log_failure *it = mem_alloc(sizeof *it);
    *it = (struct log_failure){log, done, user};
    memcpy(failure->key, log->key, strlen(log->key) + 1);
    failure->fence = log->fence;
    failure->batches = log->batches;
    failure->record = record;
    failure->notes = value_concat_take(log->tasks, log->calls); /* without a result, the activation is repeated */
    log->calls = value_array();
    log->tasks = value_array();
    failure->done = on_failure_written;
    failure->user = it;
    log->committing++;
    thread_failure_write_take(log->store, failure);
    return true;
}
