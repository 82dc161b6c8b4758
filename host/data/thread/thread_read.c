/*
 * thread_read.c - reads a thread: its record, the newest snapshot at or before a checkpoint, the changes since then,
 * and the results in the unfinished super-step. The result is one value that run_restore accepts. Thread: the store's.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_deferred.h"
#include "host/data/thread/thread_delta.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_log.h"
#include "host/data/thread/thread_pack.h"
#include "host/data/thread/thread_prune.h"
#include "host/data/thread/thread_records.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct thread_reader {
    struct session *session;
    const char *id;
    char key[THREAD_KEY_MAX];
    bool failed;                      /* the thread's run failed: failed calls are repeated */
    tn_value stale;                   /* [operation]: delete the results of repeated calls; part of the first commit */
    const struct thread_defer *defer; /* or NULL */
    struct error *error;
};

static int32_t read_notes(struct thread_reader *reader, const char *collection, const char *from, const char *to,
                          session_visit_fn *visit, void *user) {
    return thread_each_note(reader->session, reader->key, collection, from, to, visit, user, reader->error);
}

static int32_t read_each(struct thread_reader *reader, const char *collection, const char *from, const char *to,
                         session_visit_fn *visit, void *user) {
    return thread_each_record(reader->session, reader->key, collection, from, to, visit, user, reader->error);
}

/* ---- From checkpoints to the state of a run ---- */

struct folded_state {
    tn_value state; /* an object */
    tn_value last;  /* the last checkpoint, or NULL */
    tn_value image; /* the snapshot with which it began: {state, node, chunk}, or NULL */
    uint32_t count;
};

static int32_t fold_checkpoint(struct folded_state *folded, tn_value checkpoint, struct error *error) {
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
    return fold_checkpoint(user, value, error);
}

static void folded_finish(struct folded_state *folded) {
    value_unref(folded->state);
    value_unref(folded->last);
    value_unref(folded->image);
}

tn_value thread_saved_after(tn_value state, tn_value last) {
    static const char *const members[] = {"plan", "joins",        "deferred", "used", "before",
                                          "uses", "unrepeatable", "after",    "now"};
    tn_value saved = value_set_take(value_object_reserve(8), "version", value_int(1));
    saved = value_set_take(saved, "step", value_int(thread_record_int(last, "step", 0)));
    saved = value_set_take(saved, "state", value_remove_take(value_ref(state), value_text("")));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(last, members[i]);
        if (member) saved = value_set_take(saved, members[i], value_ref(member));
    }
    return saved;
}

/* The value for run_restore, without the unfinished super-step. */
static tn_value folded_to_saved(const struct folded_state *folded) {
    return thread_saved_after(folded->state, folded->last);
}

/* ---- Activations of the unfinished super-step ---- */

struct activations {
    const char *prefix; /* prefix of their keys */
    tn_value entries;   /* {index: entry} */
};

static int32_t add_activation(void *user, const char *key, tn_value value, struct error *error) {
    struct activations *activations = user;
    (void)error;
    activations->entries = value_set_take(activations->entries, key + strlen(activations->prefix), value_ref(value));
    return TN_OK;
}

/* Adds a call with the key "INDEX/ROUND/PATH". Only calls of the last round count: each restart begins a new round. */
static int32_t add_call(void *user, const char *key, tn_value value, struct error *error) {
    struct activations *activations = user;
    char *end, index[16], *path;
    (void)error;
    const char *at = key + strlen(activations->prefix);
    snprintf(index, sizeof index, "%lu", strtoul(at, &end, 10));
    if (*end != '/') return TN_OK;
    int64_t round = (int64_t)strtoul(end + 1, &path, 10);
    if (*path != '/') return TN_OK;
    tn_value entry = value_get(activations->entries, index), updated = entry ? value_ref(entry) : value_object();
    if (value_get(updated, "done") || thread_record_int(updated, "round", 0) > round) {
        value_unref(updated);
        return TN_OK;
    }
    /* The saved entry of an interrupted activation also lists its calls. A later answer to one of them replaces that.
     */
    tn_value children = thread_record_int(updated, "round", 0) == round ? value_get(updated, "children") : NULL;
    children = children ? value_ref(children) : value_object();
    tn_value known = value_get(children, path + 1);
    if (!known || (value_get(known, "input") && !value_get(value, "asked")))
        children = value_set_take(children, path + 1, value_ref(value));
    updated = value_set_take(updated, "children", children);
    if (round) updated = value_set_take(updated, "round", value_int(round));
    activations->entries = value_set_take(activations->entries, index, updated);
    return TN_OK;
}

/* ---- Calls that are repeated ---- */

static bool is_unfinished(tn_value entry) {
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
 * If the run failed, an unfinished activation repeats the failed call and all calls after it, because they may depend
 * on it. The results of earlier calls are kept. Without this, each resume would fail in the same way.
 */
static tn_value drop_failed_calls_of_take(struct thread_reader *reader, const char *prefix, tn_value index,
                                          tn_value entry) {
    tn_value children = value_get(entry, "children"), kept = value_object();
    unsigned long first = is_unfinished(entry) ? first_failed(children) : ULONG_MAX;
    char key[THREAD_KEY_MAX];
    for (size_t i = 0; i < value_count(children) && first != ULONG_MAX; i++) {
        tn_value path = value_key_at(children, i);
        if (strtoul(value_chars(path, NULL), NULL, 10) < first) {
            kept = value_set_key_take(kept, value_ref(path), value_ref(value_value_at(children, i)));
            continue;
        }
        snprintf(key, sizeof key, "%s%s/%lld/%s", prefix, value_chars(index, NULL),
                 (long long)thread_record_int(entry, "round", 0), value_chars(path, NULL));
        reader->stale = value_push_take(reader->stale, store_delete(STORE_JOURNAL, key));
    }
    if (first == ULONG_MAX) {
        value_unref(kept);
        return entry;
    }
    snprintf(key, sizeof key, "%s%s", prefix, value_chars(index, NULL));
    reader->stale = value_push_take(reader->stale, store_delete(STORE_PENDING, key));
    return value_set_take(entry, "children", kept);
}

static void drop_failed_calls(struct thread_reader *reader, struct activations *activations) {
    tn_value entries = activations->entries, kept = value_object_reserve(value_count(entries));
    for (size_t i = 0; i < value_count(entries); i++) {
        tn_value index = value_key_at(entries, i), entry = value_ref(value_value_at(entries, i));
        kept = value_set_key_take(kept, value_ref(index),
                                  drop_failed_calls_of_take(reader, activations->prefix, index, entry));
    }
    activations->entries = kept;
    value_unref(entries);
}

static int32_t read_activations(struct thread_reader *reader, const char *scope, uint32_t step, tn_value *saved) {
    char number_text[12], from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    thread_number(number_text, step);
    thread_key_range(from, to, reader->key, (const char *const[]){scope, number_text, NULL});
    struct activations activations = {from, value_object()};
    int32_t status = read_notes(reader, STORE_PENDING, from, to, add_activation, &activations);
    if (status == TN_OK) status = read_notes(reader, STORE_JOURNAL, from, to, add_call, &activations);
    if (status == TN_OK && value_count(activations.entries)) {
        /* The entry "~" only marks that the super-step has started. */
        tn_value started = value_text("~");
        activations.entries = value_remove_take(activations.entries, started);
        if (reader->failed) drop_failed_calls(reader, &activations);
        *saved = value_set_take(*saved, "in_step", value_bool(true));
        *saved = value_set_take(*saved, "step", value_int(step));
        if (value_count(activations.entries)) *saved = value_set_take(*saved, "tasks", value_ref(activations.entries));
    }
    value_unref(activations.entries);
    return status;
}

/* ---- Nested runs ---- */

struct nested_reader {
    struct thread_reader *reader;
    tn_value all; /* {scope: saved} */
    struct folded_state folded;
    char scope[64]; /* scope of `folded`; "" before the first scope */
};

static int32_t finish_scope(struct nested_reader *nested) {
    if (!nested->scope[0]) return TN_OK;
    tn_value saved = folded_to_saved(&nested->folded);
    saved = value_set_take(saved, "checkpoints", value_int(nested->folded.count));
    uint32_t step = (uint32_t)thread_record_int(saved, "step", 0) + 1;
    int32_t status = read_activations(nested->reader, nested->scope, step, &saved);
    nested->all = value_set_take(nested->all, nested->scope, saved);
    folded_finish(&nested->folded);
    nested->folded = (struct folded_state){value_object(), NULL, NULL, 0};
    nested->scope[0] = 0;
    return status;
}

static int32_t add_nested(void *user, const char *key, tn_value value, struct error *error) {
    struct nested_reader *nested = user;
    const char *scope = key + strlen(nested->reader->key) + 1, *slash = strchr(scope, '/');
    size_t length = slash ? (size_t)(slash - scope) : 0;
    if (length == 0 || length >= sizeof nested->scope) return TN_OK;
    if (strncmp(nested->scope, scope, length) != 0 || nested->scope[length]) {
        int32_t status = finish_scope(nested);
        if (status != TN_OK) return status;
        snprintf(nested->scope, sizeof nested->scope, "%.*s", (int)length, scope);
    }
    return fold_checkpoint(&nested->folded, value, error);
}

static int32_t read_nested(struct thread_reader *reader, tn_value *out) {
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    thread_key_of(from, reader->key, (const char *const[]){"", NULL});
    thread_key_end(to, reader->key);
    struct nested_reader nested = {reader, value_object(), {value_object(), NULL, NULL, 0}, ""};
    int32_t status = read_each(reader, STORE_NESTED, from, to, add_nested, &nested);
    if (status == TN_OK) status = finish_scope(&nested);
    folded_finish(&nested.folded);
    if (status == TN_OK)
        *out = nested.all;
    else
        value_unref(nested.all);
    return status;
}

/* ---- One checkpoint ---- */

/* Reads the state of the newest snapshot up to `seq`. *first is the first checkpoint after it. */
static int32_t read_snapshot(struct thread_reader *reader, uint32_t seq, struct folded_state *folded, uint32_t *first) {
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX], end[12];
    thread_number(end, seq + 1);
    thread_key_of(from, reader->key, (const char *const[]){"", NULL});
    thread_key_of(to, reader->key, (const char *const[]){end, NULL});
    tn_value query = store_list(STORE_SNAPSHOTS, from, to, 1), page = NULL;
    tn_value list = value_set_take(value_ref(value_get(query, "list")), "reverse", value_bool(true));
    query = value_set_take(query, "list", list);
    int32_t status = session_query_take(reader->session, query, &page, reader->error);
    if (status != TN_OK) return status;
    tn_value records = value_get(page, "records");
    if (value_count(records)) {
        tn_value record = value_at(records, 0), value = value_get(record, "value"), state = NULL;
        const char *key = value_chars(value_get(record, "key"), NULL);
        *first = (uint32_t)strtoul(key + strlen(reader->key) + 1, NULL, 10) + 1;
        status = thread_unpack_state(reader->session, reader->key, value_get(value, "node"),
                                     thread_record_int(value, "chunk", 0), reader->defer, &state, reader->error);
        if (status == TN_OK && !value_is(state, TN_OBJECT))
            status = error_set(reader->error, TN_INVALID, "INVALID_STATE",
                               "the snapshot `%s` is not an object: another program has changed the store", key);
        if (status != TN_OK) {
            value_unref(state);
        } else {
            value_unref(folded->state);
            folded->state = state;
            folded->image = value_set_take(value_ref(value), "state", value_ref(state));
        }
    }
    value_unref(page);
    return status;
}

static int32_t read_checkpoints(struct thread_reader *reader, uint32_t seq, struct folded_state *folded) {
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX], digits[12];
    uint32_t first = 0;
    int32_t status = read_snapshot(reader, seq, folded, &first);
    if (status != TN_OK) return status;
    thread_number(digits, first);
    thread_key_of(from, reader->key, (const char *const[]){digits, NULL});
    thread_number(digits, seq + 1);
    thread_key_of(to, reader->key, (const char *const[]){digits, NULL});
    status = read_each(reader, STORE_CHECKPOINTS, from, to, fold_record, folded);
    if (status == TN_OK && folded->count && folded->count != seq + 1 - first)
        status = error_set(reader->error, TN_INVALID, "INVALID_STATE",
                           "the thread `%s` has %u of the checkpoints %u to %u: another program has changed the store; "
                           "restore a copy of it",
                           reader->id, folded->count, first, seq);
    if (status != TN_OK || folded->last) return status;
    /* The snapshot is of this checkpoint. Only the next activations are missing. */
    thread_number(digits, seq);
    thread_key_of(from, reader->key, (const char *const[]){digits, NULL});
    tn_value found = NULL;
    status = session_query_take(reader->session, store_get(STORE_CHECKPOINTS, from), &found, reader->error);
    tn_value stored = value_get(found, "value"), checkpoint = NULL;
    if (status == TN_OK && !stored)
        status = error_set(reader->error, TN_NOT_FOUND, "NOT_FOUND",
                           "the thread `%s` has no checkpoint %u; `tenon thread history` lists its checkpoints",
                           reader->id, seq);
    if (status == TN_OK)
        status = thread_unpack_record_take(reader->session, reader->key, value_ref(stored), &checkpoint, reader->error);
    folded->last = checkpoint;
    value_unref(found);
    return status;
}

static int32_t read_checkpoint(struct thread_reader *reader, tn_value record, int64_t seq, tn_value *loaded) {
    int64_t head = thread_record_int(record, "head", -1);
    if (head >= UINT32_MAX - 1 || (head < 0 && value_get(record, "head")))
        return error_set(reader->error, TN_INVALID, "INVALID_STATE",
                         "the record of the thread `%s` has no valid number of its newest checkpoint: another program "
                         "has changed the store",
                         reader->id);
    if (seq > head)
        return error_set(reader->error, TN_NOT_FOUND, "NOT_FOUND",
                         "the thread `%s` has no checkpoint %lld: its newest is %lld", reader->id, (long long)seq,
                         (long long)head);
    bool newest = seq == THREAD_HEAD || seq == head;
    if (!newest && thread_check_kept(reader->id, record, seq, reader->error) != TN_OK) return TN_NOT_FOUND;
    struct folded_state folded = {value_object(), NULL, NULL, 0};
    int32_t status = head < 0 ? TN_OK : read_checkpoints(reader, (uint32_t)(newest ? head : seq), &folded);
    tn_value saved = status == TN_OK && folded.last ? folded_to_saved(&folded) : NULL;
    if (saved && newest && folded.image) *loaded = value_set_take(*loaded, "image", value_ref(folded.image));
    folded_finish(&folded);
    if (status != TN_OK || !saved) return status;
    tn_value nested = value_object();
    if (newest) {
        status = read_activations(reader, THREAD_ROOT, (uint32_t)thread_record_int(saved, "step", 0) + 1, &saved);
        if (status == TN_OK) status = read_nested(reader, &nested);
    }
    *loaded = value_set_take(*loaded, "saved", saved);
    *loaded = value_set_take(*loaded, "nested", nested);
    return status;
}

struct read_options {
    const char *id;
    int64_t seq;
    const struct thread_defer *defer;
};

static int32_t read_thread(struct session *session, tn_value found, const void *user, tn_value *out,
                           struct error *error) {
    const struct read_options *options = user;
    struct thread_reader reader = {
        .session = session, .id = options->id, .defer = options->defer, .error = error, .stale = value_array()};
    tn_value loaded = value_object_reserve(5), record = value_get(found, "value"),
             version = value_get(found, "version");
    thread_key(reader.key, options->id);
    loaded = value_set_take(loaded, "record", record ? value_ref(record) : value_null());
    loaded = value_set_take(loaded, "version", version ? value_ref(version) : value_int(0));
    loaded = value_set_take(loaded, "saved", value_null());
    loaded = value_set_take(loaded, "nested", value_object());
    reader.failed = value_text_is(value_get(record, "status"), "failed");
    int32_t status = record ? read_checkpoint(&reader, record, options->seq, &loaded) : TN_OK;
    *out = value_set_take(loaded, "stale", reader.stale);
    return status;
}

int32_t thread_read(struct session *session, const char *thread_id, int64_t seq, tn_value *out, struct error *error) {
    struct read_options options = {thread_id, seq, NULL};
    return thread_records_read_one_state(session, thread_id, read_thread, &options, out, error);
}

int32_t thread_read_head(struct session *session, const char *thread_id, const struct thread_defer *defer,
                         tn_value *out, struct error *error) {
    struct read_options options = {thread_id, THREAD_HEAD, defer};
    return thread_records_read_one_state(session, thread_id, read_thread, &options, out, error);
}

int32_t thread_fold(tn_value checkpoints, size_t count, tn_value *out, struct error *error) {
    struct folded_state folded = {value_object(), NULL, NULL, 0};
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < count; i++)
        status = fold_checkpoint(&folded, value_at(checkpoints, i), error);
    if (status == TN_OK) *out = folded_to_saved(&folded);
    folded_finish(&folded);
    return status;
}
