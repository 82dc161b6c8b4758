/*
 * read.c - a thread read back: its record, the newest snapshot at or before a checkpoint, the changes since, and what
 * tasks of the step under way have done; as one value that run_restore takes. On the store's thread.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/store/collections.h"
#include "host/store/store.h"
#include "host/thread/delta.h"
#include "host/thread/keys.h"
#include "host/thread/log.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct session *session;
    const char *id;
    char key[THREAD_KEY_MAX];
    bool failed;    /* the thread's run did: what failed is done again */
    tn_value stale; /* [operation]: of what is done again; they go with the first commit */
    struct error *error;
};

static int64_t number(tn_value object, const char *key, int64_t otherwise) {
    int64_t found;
    tn_value value = value_get(object, key);
    return value && value_is_number(value) && value_as_int(value, &found) ? found : otherwise;
}

/* ---- Checkpoints become a run ---- */

struct folded {
    tn_value state; /* an object */
    tn_value last;  /* the last checkpoint; NULL while there is none */
    uint32_t count;
};

static int32_t fold(struct folded *folded, tn_value checkpoint, struct error *error) {
    tn_value state = folded->state;
    folded->state = NULL;
    int32_t status = delta_apply_take(state, value_get(checkpoint, "delta"), &folded->state, error);
    if (status != TN_OK) {
        folded->state = value_object();
        return status;
    }
    value_unref(folded->last);
    folded->last = value_ref(checkpoint);
    folded->count++;
    return TN_OK;
}

static int32_t fold_record(void *user, const char *key, tn_value value, struct error *error) {
    (void)key;
    return fold(user, value, error);
}

static void folded_finish(struct folded *folded) {
    value_unref(folded->state);
    value_unref(folded->last);
}

/* What run_restore takes, without the tasks of the step under way. */
static tn_value saved_of(struct folded *folded) {
    static const char *const members[] = {"plan", "joins", "deferred", "used", "before", "uses", "after", "now"};
    tn_value key = value_text(""), state = value_remove_take(value_ref(folded->state), key);
    tn_value saved = value_set_take(value_object_reserve(8), "version", value_int(1));
    saved = value_set_take(saved, "step", value_int(number(folded->last, "step", 0)));
    saved = value_set_take(saved, "state", state);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(folded->last, members[i]);
        if (member) saved = value_set_take(saved, members[i], value_ref(member));
    }
    return saved;
}

/* ---- Tasks of the step under way ---- */

struct tasks {
    const char *prefix; /* of the keys */
    tn_value entries;   /* {index: entry} */
};

static int32_t add_task(void *user, const char *key, tn_value value, struct error *error) {
    struct tasks *tasks = user;
    (void)error;
    tasks->entries = value_set_take(tasks->entries, key + strlen(tasks->prefix), value_ref(value));
    return TN_OK;
}

/* "INDEX/ROUND/PATH": of the last round alone; those before it were started anew. */
static int32_t add_call(void *user, const char *key, tn_value value, struct error *error) {
    struct tasks *tasks = user;
    char *end, index[16], *path;
    (void)error;
    const char *at = key + strlen(tasks->prefix);
    snprintf(index, sizeof index, "%lu", strtoul(at, &end, 10));
    if (*end != '/') return TN_OK;
    int64_t round = (int64_t)strtoul(end + 1, &path, 10);
    if (*path != '/') return TN_OK;
    tn_value entry = value_get(tasks->entries, index), fresh = entry ? value_ref(entry) : value_object();
    if (value_get(fresh, "done") || number(fresh, "round", 0) > round) {
        value_unref(fresh);
        return TN_OK;
    }
    /* What it was left as, when it was interrupted, knows its calls: an answer may have been given since, and used. */
    tn_value children = number(fresh, "round", 0) == round ? value_get(fresh, "children") : NULL;
    children = children ? value_ref(children) : value_object();
    tn_value known = value_get(children, path + 1);
    if (!known || (value_get(known, "input") && !value_get(value, "asked")))
        children = value_set_take(children, path + 1, value_ref(value));
    fresh = value_set_take(fresh, "children", children);
    if (round) fresh = value_set_take(fresh, "round", value_int(round));
    tasks->entries = value_set_take(tasks->entries, index, fresh);
    return TN_OK;
}

/* ---- What is done again ---- */

static bool is_open(tn_value entry) {
    return !value_get(entry, "done") && !value_get(entry, "failed") && !value_get(entry, "asked") &&
           !value_get(entry, "waits");
}

static unsigned long first_failed(tn_value children) {
    unsigned long first = ULONG_MAX;
    for (size_t i = 0; i < value_count(children); i++) {
        if (!value_get(value_value_at(children, i), "error")) continue;
        unsigned long ordinal = strtoul(value_chars(value_key_at(children, i), NULL), NULL, 10);
        if (ordinal < first) first = ordinal;
    }
    return first;
}

/*
 * A task of a run that has failed makes the call that failed once more, and those after it, which may have followed
 * from it; what the calls before it gave is kept. Else it would be told the same whenever it is resumed.
 */
static tn_value without_failed_take(struct reading *reading, const char *prefix, tn_value index, tn_value entry) {
    tn_value children = value_get(entry, "children"), kept = value_object();
    unsigned long first = is_open(entry) ? first_failed(children) : ULONG_MAX;
    char key[THREAD_KEY_MAX];
    for (size_t i = 0; i < value_count(children) && first != ULONG_MAX; i++) {
        tn_value path = value_key_at(children, i);
        if (strtoul(value_chars(path, NULL), NULL, 10) < first) {
            kept = value_set_key_take(kept, value_ref(path), value_ref(value_value_at(children, i)));
            continue;
        }
        snprintf(key, sizeof key, "%s%s/%lld/%s", prefix, value_chars(index, NULL),
                 (long long)number(entry, "round", 0), value_chars(path, NULL));
        reading->stale = value_push_take(reading->stale, store_delete(STORE_JOURNAL, key));
    }
    if (first == ULONG_MAX) {
        value_unref(kept);
        return entry;
    }
    snprintf(key, sizeof key, "%s%s", prefix, value_chars(index, NULL));
    reading->stale = value_push_take(reading->stale, store_delete(STORE_PENDING, key));
    return value_set_take(entry, "children", kept);
}

static void drop_failed(struct reading *reading, struct tasks *tasks) {
    tn_value entries = tasks->entries, kept = value_object_reserve(value_count(entries));
    for (size_t i = 0; i < value_count(entries); i++) {
        tn_value index = value_key_at(entries, i), entry = value_ref(value_value_at(entries, i));
        kept = value_set_key_take(kept, value_ref(index), without_failed_take(reading, tasks->prefix, index, entry));
    }
    tasks->entries = kept;
    value_unref(entries);
}

static int32_t read_tasks(struct reading *reading, const char *scope, uint32_t step, tn_value *saved) {
    char number_text[12], from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    thread_number(number_text, step);
    thread_key_range(from, to, reading->key, (const char *const[]){scope, number_text, NULL});
    struct tasks tasks = {from, value_object()};
    int32_t status = session_each(reading->session, STORE_PENDING, from, to, add_task, &tasks, reading->error);
    if (status == TN_OK)
        status = session_each(reading->session, STORE_JOURNAL, from, to, add_call, &tasks, reading->error);
    if (status == TN_OK && value_count(tasks.entries)) {
        /* The entry without an index says that the step has been begun, and nothing else. */
        tn_value begun = value_text("~");
        tasks.entries = value_remove_take(tasks.entries, begun);
        if (reading->failed) drop_failed(reading, &tasks);
        *saved = value_set_take(*saved, "in_step", value_bool(true));
        *saved = value_set_take(*saved, "step", value_int(step));
        if (value_count(tasks.entries)) *saved = value_set_take(*saved, "tasks", value_ref(tasks.entries));
    }
    value_unref(tasks.entries);
    return status;
}

/* ---- Graphs inside tasks ---- */

struct scopes {
    struct reading *reading;
    tn_value all; /* {scope: saved} */
    struct folded folded;
    char scope[64]; /* of `folded`; "" while there is none */
};

static int32_t end_scope(struct scopes *scopes) {
    if (!scopes->scope[0]) return TN_OK;
    tn_value saved = saved_of(&scopes->folded);
    saved = value_set_take(saved, "checkpoints", value_int(scopes->folded.count));
    uint32_t step = (uint32_t)number(saved, "step", 0) + 1;
    int32_t status = read_tasks(scopes->reading, scopes->scope, step, &saved);
    scopes->all = value_set_take(scopes->all, scopes->scope, saved);
    folded_finish(&scopes->folded);
    scopes->folded = (struct folded){value_object(), NULL, 0};
    scopes->scope[0] = 0;
    return status;
}

static int32_t add_nested(void *user, const char *key, tn_value value, struct error *error) {
    struct scopes *scopes = user;
    const char *scope = key + strlen(scopes->reading->key) + 1, *slash = strchr(scope, '/');
    size_t length = slash ? (size_t)(slash - scope) : 0;
    if (length == 0 || length >= sizeof scopes->scope) return TN_OK;
    if (strncmp(scopes->scope, scope, length) != 0 || scopes->scope[length]) {
        int32_t status = end_scope(scopes);
        if (status != TN_OK) return status;
        snprintf(scopes->scope, sizeof scopes->scope, "%.*s", (int)length, scope);
    }
    return fold(&scopes->folded, value, error);
}

static int32_t read_nested(struct reading *reading, tn_value *out) {
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    thread_key_of(from, reading->key, (const char *const[]){"", NULL});
    thread_key_end(to, reading->key);
    struct scopes scopes = {reading, value_object(), {value_object(), NULL, 0}, ""};
    int32_t status = session_each(reading->session, STORE_NESTED, from, to, add_nested, &scopes, reading->error);
    if (status == TN_OK) status = end_scope(&scopes);
    folded_finish(&scopes.folded);
    if (status == TN_OK)
        *out = scopes.all;
    else
        value_unref(scopes.all);
    return status;
}

/* ---- The whole ---- */

/* The newest snapshot up to `seq`: its state, and the first checkpoint that is not in it. */
static int32_t read_snapshot(struct reading *reading, uint32_t seq, struct folded *folded, uint32_t *first) {
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX], behind[12];
    thread_number(behind, seq + 1);
    thread_key_of(from, reading->key, (const char *const[]){"", NULL});
    thread_key_of(to, reading->key, (const char *const[]){behind, NULL});
    tn_value query = store_list(STORE_SNAPSHOTS, from, to, 1), page = NULL;
    tn_value list = value_set_take(value_ref(value_get(query, "list")), "reverse", value_bool(true));
    query = value_set_take(query, "list", list);
    int32_t status = session_query_take(reading->session, query, &page, reading->error);
    if (status != TN_OK) return status;
    tn_value records = value_get(page, "records");
    if (value_count(records)) {
        tn_value record = value_at(records, 0), state = value_get(value_get(record, "value"), "state");
        const char *key = value_chars(value_get(record, "key"), NULL);
        *first = (uint32_t)strtoul(key + strlen(reading->key) + 1, NULL, 10) + 1;
        value_unref(folded->state);
        folded->state = value_ref(value_is(state, TN_OBJECT) ? state : value_object());
    }
    value_unref(page);
    return TN_OK;
}

static int32_t read_checkpoints(struct reading *reading, uint32_t seq, struct folded *folded) {
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX], digits[12];
    uint32_t first = 0;
    int32_t status = read_snapshot(reading, seq, folded, &first);
    if (status != TN_OK) return status;
    thread_number(digits, first);
    thread_key_of(from, reading->key, (const char *const[]){digits, NULL});
    thread_number(digits, seq + 1);
    thread_key_of(to, reading->key, (const char *const[]){digits, NULL});
    status = session_each(reading->session, STORE_CHECKPOINTS, from, to, fold_record, folded, reading->error);
    if (status != TN_OK || folded->last) return status;
    /* All of it is in the snapshot, but for what comes next. */
    thread_number(digits, seq);
    thread_key_of(from, reading->key, (const char *const[]){digits, NULL});
    tn_value found = NULL;
    status = session_query_take(reading->session, store_get(STORE_CHECKPOINTS, from), &found, reading->error);
    tn_value checkpoint = value_get(found, "value");
    if (status == TN_OK && !checkpoint)
        status = error_set(reading->error, TN_NOT_FOUND, "NOT_FOUND",
                           "the thread `%s` has no checkpoint %u; `tenon thread history` lists those that it has",
                           reading->id, seq);
    if (status == TN_OK) folded->last = value_ref(checkpoint);
    value_unref(found);
    return status;
}

static int32_t read_at(struct reading *reading, tn_value record, int64_t seq, tn_value *loaded) {
    int64_t head = number(record, "head", -1);
    if (seq > head)
        return error_set(reading->error, TN_NOT_FOUND, "NOT_FOUND",
                         "the thread `%s` has no checkpoint %lld: its newest is %lld", reading->id, (long long)seq,
                         (long long)head);
    bool newest = seq == THREAD_HEAD || seq == head;
    struct folded folded = {value_object(), NULL, 0};
    int32_t status = head < 0 ? TN_OK : read_checkpoints(reading, (uint32_t)(newest ? head : seq), &folded);
    tn_value saved = status == TN_OK && folded.last ? saved_of(&folded) : NULL;
    folded_finish(&folded);
    if (status != TN_OK || !saved) return status;
    tn_value nested = value_object();
    if (newest) {
        status = read_tasks(reading, THREAD_ROOT, (uint32_t)number(saved, "step", 0) + 1, &saved);
        if (status == TN_OK) status = read_nested(reading, &nested);
    }
    *loaded = value_set_take(*loaded, "saved", saved);
    *loaded = value_set_take(*loaded, "nested", nested);
    return status;
}

int32_t thread_read(struct session *session, const char *thread_id, int64_t seq, tn_value *out, struct error *error) {
    struct reading reading = {.session = session, .id = thread_id, .error = error};
    tn_value found = NULL;
    thread_key(reading.key, thread_id);
    int32_t status = session_query_take(session, store_get(STORE_THREADS, reading.key), &found, error);
    if (status != TN_OK) return status;
    tn_value loaded = value_object_reserve(4), record = value_get(found, "value"),
             version = value_get(found, "version");
    loaded = value_set_take(loaded, "record", record ? value_ref(record) : value_null());
    loaded = value_set_take(loaded, "version", version ? value_ref(version) : value_int(0));
    loaded = value_set_take(loaded, "saved", value_null());
    loaded = value_set_take(loaded, "nested", value_object());
    reading.failed = value_text_is(value_get(record, "status"), "failed");
    reading.stale = value_array();
    if (record) status = read_at(&reading, record, seq, &loaded);
    loaded = value_set_take(loaded, "stale", reading.stale);
    value_unref(found);
    if (status == TN_OK)
        *out = loaded;
    else
        value_unref(loaded);
    return status;
}

/* ---- The history ---- */

static int32_t add_checkpoint(void *user, const char *key, tn_value value, struct error *error) {
    tn_value *list = user;
    (void)key, (void)error;
    *list = value_push_take(*list, value_ref(value));
    return TN_OK;
}

int32_t thread_read_history(struct session *session, const char *thread_id, tn_value *out, struct error *error) {
    struct reading reading = {.session = session, .id = thread_id, .error = error};
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    tn_value found = NULL, checkpoints = value_array();
    thread_key(reading.key, thread_id);
    thread_key_of(from, reading.key, (const char *const[]){"", NULL});
    thread_key_end(to, reading.key);
    struct tasks journal = {from, value_object()};
    int32_t status = session_query_take(session, store_get(STORE_THREADS, reading.key), &found, error);
    tn_value record = value_get(found, "value");
    if (status == TN_OK && !record)
        status = error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                           "there is no thread `%s`; `tenon thread list` shows those that there are", thread_id);
    if (status == TN_OK)
        status = session_each(session, STORE_CHECKPOINTS, from, to, add_checkpoint, &checkpoints, error);
    if (status == TN_OK) status = session_each(session, STORE_JOURNAL, from, to, add_task, &journal, error);
    if (status == TN_OK) {
        *out = value_set_take(value_object_reserve(3), "record", value_ref(record));
        *out = value_set_take(*out, "checkpoints", value_ref(checkpoints));
        *out = value_set_take(*out, "journal", value_ref(journal.entries));
    }
    value_unref(checkpoints);
    value_unref(journal.entries);
    value_unref(found);
    return status;
}

int32_t thread_fold(tn_value checkpoints, size_t count, tn_value *out, struct error *error) {
    struct folded folded = {value_object(), NULL, 0};
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < count; i++) status = fold(&folded, value_at(checkpoints, i), error);
    if (status == TN_OK) *out = saved_of(&folded);
    folded_finish(&folded);
    return status;
}

/* ---- For the loop ---- */

struct load {
    char *id;
    int64_t seq;
    store_done *done;
    void *user;
};

static int32_t perform(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct load *load = user;
    return thread_read(session, load->id, load->seq, result, error);
}

static void on_loaded(void *user, int32_t status, tn_value result, const struct error *error) {
    struct load *load = user;
    load->done(load->user, status, result, error);
    mem_free(load->id);
    mem_free(load);
}

void thread_load(struct store *store, const char *thread_id, int64_t seq, store_done *done, void *user) {
    struct load *load = mem_zalloc(sizeof *load);
    *load = (struct load){mem_text(thread_id), seq, done, user};
    store_perform(store, perform, load, on_loaded, load);
}
