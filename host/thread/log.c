/*
 * log.c - a thread written to: commits, and between them what tasks have done, as few batches as there is time for.
 *
 * Every batch says which fence it expects, so that one of a writer that has been replaced does nothing. Notes of tasks
 * go out one batch at a time: what comes while one is under way waits for it, and goes together; so does a commit, as
 * notes that could not be written go with it. A commit takes the notes that must stay with it, and forgets those that
 * it makes needless.
 */
#include "host/thread/log.h"
#include "adl/value/memory.h"
#include "host/store/collections.h"
#include "host/thread/delta.h"
#include "host/thread/keys.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

struct thread_log {
    struct store *store;
    char *id;
    char key[THREAD_KEY_MAX];
    int64_t version; /* of the record, before the first commit; then -1 */
    int64_t fence;
    int64_t changed, snapshot;    /* about: bytes of changes since the snapshot, and of it */
    tn_value tasks, calls;        /* notes that wait: operations */
    tn_value noted[2];            /* tasks and calls of the batch of notes that is under way; NULL where none is */
    bool held;                    /* notes go with the next commit, and not before */
    bool tasks_left, nested_left; /* there may be records of the step under way */
    bool closed;
    int32_t broken; /* of a commit: nothing is written any more, and all that follow tell it */
    struct error error;
    uint32_t committing;                   /* commits under way, and those that wait */
    struct commit *waiting, *last_waiting; /* for the notes under way: it takes them with it where they fail */
};

struct commit {
    struct thread_log *log;
    struct commit *next;
    tn_value batch; /* while it waits */
    bool step_over; /* of the thread's own run: notes of tasks are needless */
    store_done *done;
    void *user;
};

int32_t thread_check_id(const char *id, struct error *error) {
    size_t length = strlen(id);
    if (length > 0 && length <= THREAD_ID_MAX) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_INPUT", "the thread's id has %zu bytes, expected 1 to %u", length,
                     THREAD_ID_MAX);
}

static int64_t number(tn_value object, const char *key, int64_t otherwise) {
    int64_t found;
    tn_value value = value_get(object, key);
    return value && value_is_number(value) && value_as_int(value, &found) ? found : otherwise;
}

/*
 * A thread that is made anew, after one of its id was removed, must not have a fence that somebody may still hold.
 * Exact in a double, as numbers of JSON may be.
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
    thread_key(log->key, thread_id);
    log->version = number(loaded, "version", 0);
    log->fence = number(record, "fence", log->version ? 0 : thread_first_fence()) + 1;
    log->changed = number(record, "changed", 0);
    log->snapshot = number(record, "snapshot", 0);
    log->tasks = value_array();
    tn_value stale = value_get(loaded, "stale");
    log->calls = stale ? value_ref(stale) : value_array();
    log->held = true; /* until the thread has been taken over */
    /* By whoever had it before: nothing, where that one came to an end. */
    log->tasks_left = log->nested_left =
        value_is(record, TN_OBJECT) && !value_text_is(value_get(record, "status"), "done");
    return log;
}

const char *thread_log_id(const struct thread_log *log) { return log->id; }

static void release(struct thread_log *log) {
    if (!log->closed || log->noted[0] || log->committing) return;
    value_unref(log->tasks);
    value_unref(log->calls);
    error_finish(&log->error);
    mem_free(log->id);
    mem_free(log);
}

void thread_log_free(struct thread_log *log) {
    if (!log) return;
    log->closed = true;
    release(log);
}

/* ---- Notes ---- */

static tn_value mine(const struct thread_log *log) {
    return value_set_take(value_object_reserve(1), "fence", value_int(log->fence));
}

static tn_value expect_fence(const struct thread_log *log) {
    tn_value made = value_set_take(value_object_reserve(4), "op", value_text("expect"));
    made = value_set_take(made, "collection", value_text(STORE_THREADS));
    made = value_set_take(made, "key", value_text(log->key));
    return store_if_where(made, mine(log));
}

static void write_notes(struct thread_log *log);
static void submit(struct commit *commit);

/* A conflict is always about the record: nothing else is conditional. */
static int32_t understand(const struct thread_log *log, int32_t status, const struct error *error, struct error *out) {
    if (status == TN_OK) return TN_OK;
    if (error->code && strcmp(error->code, "CONFLICT") == 0)
        return error_set(out, status, "FENCED",
                         "the thread `%s` has been taken over by somebody else, or removed: nothing more is written by "
                         "this run; what it had committed before stays",
                         log->id);
    error_copy(out, error);
    return status;
}

/* What could not be written goes with the next commit, which then is written, or tells why not. */
static void keep_noted(struct thread_log *log) {
    struct commit *next = log->waiting;
    if (next) {
        next->batch = value_concat_take(next->batch, next->step_over ? value_array() : value_ref(log->noted[0]));
        next->batch = value_concat_take(next->batch, value_ref(log->noted[1]));
        return;
    }
    log->tasks = value_concat_take(value_ref(log->noted[0]), log->tasks);
    log->calls = value_concat_take(value_ref(log->noted[1]), log->calls);
    log->held = true;
}

static void on_noted(void *user, int32_t status, tn_value result, const struct error *error) {
    struct thread_log *log = user;
    (void)result, (void)error;
    if (status != TN_OK) keep_noted(log);
    value_unref(log->noted[0]);
    value_unref(log->noted[1]);
    log->noted[0] = log->noted[1] = NULL;
    while (log->waiting) {
        struct commit *commit = log->waiting;
        log->waiting = commit->next;
        submit(commit);
    }
    write_notes(log);
    release(log);
}

static void write_notes(struct thread_log *log) {
    if (log->noted[0] || log->committing || log->held || log->broken ||
        (!value_count(log->tasks) && !value_count(log->calls)))
        return;
    tn_value batch = value_push_take(value_array(), expect_fence(log));
    log->tasks_left |= value_count(log->tasks) > 0;
    batch = value_concat_take(batch, value_ref(log->tasks));
    batch = value_concat_take(batch, value_ref(log->calls));
    log->noted[0] = log->tasks;
    log->noted[1] = log->calls;
    log->tasks = value_array();
    log->calls = value_array();
    store_commit_take(log->store, batch, on_noted, log);
}

void thread_log_task_take(struct thread_log *log, const char *scope, uint32_t step, uint32_t index, tn_value entry) {
    char key[THREAD_KEY_MAX], at[12], digits[12];
    thread_number(at, step);
    snprintf(digits, sizeof digits, "%u", index);
    thread_key_of(key, log->key, (const char *const[]){scope, at, digits, NULL});
    log->tasks = value_push_take(log->tasks, store_put(STORE_PENDING, key, entry));
    write_notes(log);
}

void thread_log_call_take(struct thread_log *log, const char *scope, uint32_t step, uint32_t index, uint32_t round,
                          const char *path, tn_value entry) {
    char key[THREAD_KEY_MAX], at[12], digits[12], rounds[12];
    thread_number(at, step);
    snprintf(digits, sizeof digits, "%u", index);
    snprintf(rounds, sizeof rounds, "%u", round);
    thread_key_of(key, log->key, (const char *const[]){scope, at, digits, rounds, path, NULL});
    log->calls = value_push_take(log->calls, store_put(STORE_JOURNAL, key, entry));
    write_notes(log);
}

void thread_log_outcome_take(struct thread_log *log, const char *scope, uint32_t step, uint32_t index, tn_value entry) {
    char key[THREAD_KEY_MAX], at[12], digits[12];
    thread_number(at, step);
    snprintf(digits, sizeof digits, "%u", index);
    thread_key_of(key, log->key, (const char *const[]){scope, at, digits, THREAD_OUTCOME, NULL});
    log->calls = value_push_take(log->calls, store_put(STORE_JOURNAL, key, entry));
}

void thread_log_answer(struct thread_log *log, const char *interrupt_id, tn_value answer) {
    char key[THREAD_KEY_MAX];
    thread_key_of(key, log->key, (const char *const[]){THREAD_ANSWERS, interrupt_id, NULL});
    log->calls = value_push_take(log->calls, store_put(STORE_JOURNAL, key, value_ref(answer)));
}

/* ---- Commits ---- */

static void on_committed(void *user, int32_t status, tn_value result, const struct error *error) {
    struct commit *commit = user;
    struct thread_log *log = commit->log;
    struct error why = ERROR_INIT;
    status = understand(log, status, error, &why);
    if (status == TN_OK && log->broken) {
        status = log->broken;
        error_copy(&why, &log->error);
    } else if (status != TN_OK && !log->broken) {
        log->broken = status;
        error_copy(&log->error, &why);
    }
    if (status == TN_OK) {
        log->version = -1;
        log->held = false;
    }
    commit->done(commit->user, status, result, &why);
    error_finish(&why);
    mem_free(commit);
    log->committing--;
    write_notes(log);
    release(log);
}

static tn_value take_over(const struct thread_log *log, tn_value patch) {
    patch = value_set_take(patch, "fence", value_int(log->fence));
    if (log->version > 0) return store_if_version(store_merge(STORE_THREADS, log->key, patch), log->version);
    patch = value_set_take(patch, "thread_id", value_text(log->id));
    return store_if_version(store_put(STORE_THREADS, log->key, patch), 0);
}

/* Where so much has changed as the state is large, or more: each byte of the state is then written twice, no more. */
static tn_value add_snapshot_take(struct thread_log *log, tn_value batch, const struct thread_commit *commit,
                                  const char *seq) {
    if (log->changed < THREAD_SNAPSHOT_MIN || log->changed < log->snapshot || !commit->state) return batch;
    tn_value state = commit->state(commit->user);
    int64_t weight = value_weight(state);
    log->changed = 0;
    log->snapshot = weight;
    if (weight > THREAD_SNAPSHOT_MAX) {
        value_unref(state);
        return batch;
    }
    char key[THREAD_KEY_MAX];
    thread_key_of(key, log->key, (const char *const[]){seq, NULL});
    tn_value snapshot = value_set_take(value_object_reserve(1), "state", state);
    return value_push_take(batch, store_put(STORE_SNAPSHOTS, key, snapshot));
}

static tn_value add_tasks_take(const struct thread_log *log, tn_value batch, const struct thread_commit *commit) {
    for (size_t i = 0; i < value_count(commit->tasks); i++) {
        char key[THREAD_KEY_MAX];
        const char *name = value_chars(value_key_at(commit->tasks, i), NULL);
        thread_key_of(key, log->key, (const char *const[]){commit->scope, name, NULL});
        batch = value_push_take(batch, store_put(STORE_PENDING, key, value_ref(value_value_at(commit->tasks, i))));
    }
    return batch;
}

static tn_value make_batch(struct thread_log *log, const struct thread_commit *commit) {
    bool root = strcmp(commit->scope, THREAD_ROOT) == 0;
    char key[THREAD_KEY_MAX], end[THREAD_KEY_MAX], seq[12];
    tn_value batch = value_array_reserve(6), rest = value_array();
    thread_number(seq, commit->seq);
    if (commit->checkpoint) {
        log->changed += value_weight(value_get(commit->checkpoint, "delta"));
        if (root)
            thread_key_of(key, log->key, (const char *const[]){seq, NULL});
        else
            thread_key_of(key, log->key, (const char *const[]){commit->scope, seq, NULL});
        rest = value_push_take(rest,
                               store_put(root ? STORE_CHECKPOINTS : STORE_NESTED, key, value_ref(commit->checkpoint)));
        if (root) rest = add_snapshot_take(log, rest, commit, seq);
    }
    if (root) {
        tn_value patch = value_set_take(commit->record ? value_ref(commit->record) : value_object(), "changed",
                                        value_int(log->changed));
        patch = value_set_take(patch, "snapshot", value_int(log->snapshot));
        batch = value_push_take(batch, log->version < 0
                                           ? store_if_where(store_merge(STORE_THREADS, log->key, patch), mine(log))
                                           : take_over(log, patch));
    } else {
        batch = value_push_take(batch, expect_fence(log));
    }
    if (commit->fresh && !root) {
        static const char *const collections[] = {STORE_NESTED, STORE_PENDING, STORE_JOURNAL};
        thread_key_range(key, end, log->key, (const char *const[]){commit->scope, NULL});
        for (size_t i = 0; i < 3; i++) batch = value_push_take(batch, store_delete_range(collections[i], key, end));
    }
    batch = value_concat_take(batch, rest);
    batch = value_concat_take(batch, log->calls);
    if (commit->step_over && root) {
        /* Notes of its tasks, and the steps of graphs inside them. */
        thread_key_of(key, log->key, (const char *const[]){"", NULL});
        thread_key_end(end, log->key);
        if (log->tasks_left) batch = value_push_take(batch, store_delete_range(STORE_PENDING, key, end));
        if (log->nested_left) batch = value_push_take(batch, store_delete_range(STORE_NESTED, key, end));
        log->tasks_left = log->nested_left = false;
        value_unref(log->tasks);
    } else {
        log->tasks_left |= value_count(log->tasks) > 0;
        batch = value_concat_take(batch, log->tasks);
        if (commit->step_over && log->tasks_left) { /* of a run inside: what was noted of its own tasks is over */
            thread_key_range(key, end, log->key, (const char *const[]){commit->scope, NULL});
            batch = value_push_take(batch, store_delete_range(STORE_PENDING, key, end));
        }
    }
    log->nested_left |= !root;
    log->tasks_left |= value_count(commit->tasks) > 0;
    log->calls = value_array();
    log->tasks = value_array();
    return add_tasks_take(log, batch, commit);
}

static void submit(struct commit *commit) {
    tn_value batch = commit->batch;
    commit->batch = NULL;
    /* The commit of a run inside has failed, which its task takes for a failure of its own; it must not become one. */
    if (commit->log->broken) {
        value_unref(batch);
        batch = value_push_take(value_array(), expect_fence(commit->log));
    }
    store_commit_take(commit->log->store, batch, on_committed, commit);
}

void thread_log_commit(struct thread_log *log, struct thread_commit what, store_done *done, void *user) {
    struct commit *commit = mem_alloc(sizeof *commit);
    bool step_over = what.step_over && strcmp(what.scope, THREAD_ROOT) == 0;
    *commit = (struct commit){log, NULL, make_batch(log, &what), step_over, done, user};
    value_unref(what.checkpoint);
    value_unref(what.record);
    value_unref(what.tasks);
    log->committing++;
    if (!log->noted[0]) {
        submit(commit);
        return;
    }
    *(log->waiting ? &log->last_waiting->next : &log->waiting) = commit;
    log->last_waiting = commit;
}
