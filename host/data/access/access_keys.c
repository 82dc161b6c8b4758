/*
 * access_keys.c - creates, revokes and reads the records of keys.
 *
 * A record is {hash, scope, owner, limits, created_at, expires_at, revoked_at} at the key's name. A change is made on
 * the store's thread: it reads the record, and commits on condition that it is unchanged, together with the record
 * CHANGES, whose version servers compare.
 */
#include "host/data/access/access_keys.h"
#include "adl/value/memory.h"
#include "host/base/time_text.h"
#include "host/data/access/access_secret.h"
#include "host/data/store/store_collections.h"
#include <string.h>

#define CHANGES   "@changes" /* not a valid name of a key */
#define DAY_MS    86400000
#define TRIES_MAX 16 /* conflicts with other writers */

struct key_job {
    char name[ACCESS_NAME_MAX + 1];
    char secret[ACCESS_SECRET_TEXT]; /* of a key that is created */
    tn_value wanted;                 /* or NULL */
    int64_t now_ms;
};

bool access_name_is_valid(const char *name, size_t length) { return strlen(name) == length && owner_is_valid(name); }

/* ---- Jobs ---- */

static void key_job_free(void *user) {
    struct key_job *job = user;
    value_unref(job->wanted);
    explicit_bzero(job->secret, sizeof job->secret);
    mem_free(job);
}

static void key_job_start(struct store *store, store_perform_fn *perform, const char *name, tn_value wanted,
                          store_done *done, void *user) {
    struct key_job *job = mem_zalloc(sizeof *job);
    size_t length = name ? strlen(name) : 0;
    if (length && length <= ACCESS_NAME_MAX) memcpy(job->name, name, length);
    job->wanted = wanted ? value_ref(wanted) : NULL;
    job->now_ms = store_wall_ms(store);
    store_perform_take(store, perform, job, key_job_free, done, user);
}

static int64_t job_now_ms(struct session *session, const struct key_job *job) {
    int64_t now_ms = job->now_ms;
    (void)session_wall_ms(session, &now_ms);
    return now_ms;
}

static bool is_conflict(int32_t status, const struct error *error) {
    return status != TN_OK && error->code && strcmp(error->code, "CONFLICT") == 0;
}

/* Writes `record` if its version is still `version`. `forget_ms`: when it stops to exist; or -1. */
static int32_t commit_key_take(struct session *session, const char *name, tn_value record, int64_t version,
                               int64_t forget_ms, int64_t now_ms, struct error *error) {
    tn_value put = store_if_version(store_put(STORE_KEYS, name, record), version), results = NULL;
    if (forget_ms >= 0) put = store_expires_at(put, forget_ms);
    tn_value changes = value_set_take(value_object_reserve(1), "changed_at", time_value(now_ms));
    tn_value batch = value_push_take(value_array_reserve(2), put);
    batch = value_push_take(batch, store_put(STORE_KEYS, CHANGES, changes));
    int32_t status = session_commit_take(session, batch, &results, error);
    value_unref(results);
    return status;
}

/* ---- Records ---- */

static bool time_of(tn_value record, const char *member, int64_t *ms) {
    tn_value text = value_get(record, member);
    return value_is(text, TN_STRING) && time_text_read_ms(value_chars(text, NULL), ms);
}

static const char *state_of(tn_value record, int64_t now_ms) {
    int64_t ms;
    if (value_is(value_get(record, "revoked_at"), TN_STRING)) return "revoked";
    return time_of(record, "expires_at", &ms) && ms <= now_ms ? "expired" : "active";
}

/* The key as people see it: without the hash. */
static tn_value shown_key(const char *name, tn_value record, int64_t now_ms) {
    static const char *const members[] = {"scope", "owner", "limits", "created_at", "expires_at", "revoked_at"};
    tn_value shown = value_set_take(value_object_reserve(8), "name", value_text(name));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(record, members[i]);
        shown = value_set_take(shown, members[i], member ? value_ref(member) : value_null());
    }
    return value_set_take(shown, "state", value_text(state_of(record, now_ms)));
}

/* ---- Creating ---- */

static int32_t check_wanted(tn_value wanted, struct error *error) {
    static const char *const members[] = {"name", "owner"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value text = value_get(wanted, members[i]);
        size_t length = 0;
        const char *chars = value_is(text, TN_STRING) ? value_chars(text, &length) : "";
        if (access_name_is_valid(chars, length) || (!text && i > 0)) continue;
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "`%s`: found `%.*s`, expected 1 to %d characters: a-z, 0-9, `_`, `.` and `-`, the first one a "
                         "letter or a digit",
                         members[i], (int)(length > 100 ? 100 : length), chars, ACCESS_NAME_MAX);
    }
    if (value_text_is(value_get(wanted, "name"), ACCESS_GENERATED))
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "`name`: `" ACCESS_GENERATED "` is the key of a server without keys; choose another name");
    tn_value days = value_get(wanted, "expires_days");
    if (!days || (value_is(days, TN_INT) && value_to_int(days) >= 1 && value_to_int(days) <= ACCESS_DAYS_MAX))
        return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_INPUT", "`expires_days`: expected a whole number from 1 to %d",
                     ACCESS_DAYS_MAX);
}

static tn_value new_record(const struct key_job *job, int64_t now_ms, int64_t *forget_ms) {
    tn_value wanted = job->wanted, scope = value_get(wanted, "scope"), owner = value_get(wanted, "owner");
    tn_value limits = value_get(wanted, "limits"), days = value_get(wanted, "expires_days");
    unsigned char hash[ACCESS_HASH_BYTES];
    char text[ACCESS_HASH_TEXT];
    access_secret_hash(job->secret, ACCESS_SECRET_LENGTH, hash);
    access_hash_write(hash, text);
    if (!owner && !value_text_is(scope, "admin")) owner = value_get(wanted, "name");
    int64_t expires_ms = days ? now_ms + value_to_int(days) * DAY_MS : -1;
    *forget_ms = days ? expires_ms + (int64_t)ACCESS_KEPT_DAYS * DAY_MS : -1;
    tn_value record = value_set_take(value_object_reserve(7), "hash", value_text(text));
    record = value_set_take(record, "scope", value_ref(scope));
    record = value_set_take(record, "owner", owner ? value_ref(owner) : value_null());
    record = value_set_take(record, "limits", limits ? value_ref(limits) : value_object());
    record = value_set_take(record, "created_at", time_value(now_ms));
    record = value_set_take(record, "expires_at", days ? time_value(expires_ms) : value_null());
    return value_set_take(record, "revoked_at", value_null());
}

/* One more than ACCESS_KEYS_MAX records, with CHANGES. */
static int32_t check_room(struct session *session, struct error *error) {
    tn_value of = value_set_take(value_object_reserve(1), "collection", value_text(STORE_KEYS)), count = NULL;
    int32_t status = session_query_take(session, value_set_take(value_object_reserve(1), "count", of), &count, error);
    if (status == TN_OK && value_to_int(count) > ACCESS_KEYS_MAX)
        status = error_set(error, TN_LIMIT, "LIMIT",
                           "the store has %d keys, the most that are allowed; those that are revoked or expired are "
                           "forgotten after %d days",
                           ACCESS_KEYS_MAX, ACCESS_KEPT_DAYS);
    value_unref(count);
    return status;
}

static int32_t refuse_taken(const char *name, tn_value record, int64_t now_ms, struct error *error) {
    const char *state = state_of(record, now_ms);
    if (strcmp(state, "active") == 0)
        return error_set(error, TN_INVALID, "EXISTS",
                         "there is a key `%s` already; choose another name, perhaps with the same owner", name);
    return error_set(error, TN_INVALID, "EXISTS",
                     "the name `%s` is that of a key that is %s, and is free %d days after its end; choose another "
                     "name, perhaps with the same owner",
                     name, state, ACCESS_KEPT_DAYS);
}

static int32_t perform_create(struct session *session, void *user, tn_value *result, struct error *error) {
    struct key_job *job = user;
    tn_value found = NULL, name = value_get(job->wanted, "name");
    int64_t now_ms = job_now_ms(session, job), forget_ms;
    int32_t status = check_wanted(job->wanted, error);
    if (status == TN_OK) status = check_room(session, error);
    if (status != TN_OK) return status;
    const char *text = value_chars(name, NULL);
    access_secret_make(job->secret);
    tn_value record = new_record(job, now_ms, &forget_ms);
    status = commit_key_take(session, text, value_ref(record), 0, forget_ms, now_ms, error);
    if (status == TN_OK) {
        *result = value_set_take(value_object_reserve(2), "secret", value_text(job->secret));
        *result = value_set_take(*result, "key", shown_key(text, record, now_ms));
    } else if (is_conflict(status, error) &&
               session_query_take(session, store_get(STORE_KEYS, text), &found, error) == TN_OK &&
               value_is(found, TN_OBJECT)) {
        status = refuse_taken(text, value_get(found, "value"), now_ms, error);
    }
    value_unref(found);
    value_unref(record);
    return status;
}

void access_key_create(struct store *store, tn_value wanted, store_done *done, void *user) {
    key_job_start(store, perform_create, NULL, wanted, done, user);
}

/* ---- Revoking ---- */

static int32_t try_revoke(struct session *session, const struct key_job *job, tn_value *result, struct error *error) {
    tn_value found = NULL;
    int64_t now_ms = job_now_ms(session, job);
    int32_t status = session_query_take(session, store_get(STORE_KEYS, job->name), &found, error);
    if (status != TN_OK) return status;
    if (!value_is(found, TN_OBJECT)) {
        value_unref(found);
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the store has no key `%s`; `tenon key list` shows all",
                         job->name);
    }
    tn_value record = value_ref(value_get(found, "value"));
    if (!value_is(value_get(record, "revoked_at"), TN_STRING)) {
        record = value_set_take(record, "revoked_at", time_value(now_ms));
        status = commit_key_take(session, job->name, value_ref(record), value_to_int(value_get(found, "version")),
                                 now_ms + (int64_t)ACCESS_KEPT_DAYS * DAY_MS, now_ms, error);
    }
    if (status == TN_OK) *result = shown_key(job->name, record, now_ms);
    value_unref(record);
    value_unref(found);
    return status;
}

static int32_t perform_revoke(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct key_job *job = user;
    if (!access_name_is_valid(job->name, strlen(job->name)))
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the store has no key with this name, which is not valid");
    int32_t status = try_revoke(session, job, result, error);
    for (int tries = 1; is_conflict(status, error) && tries < TRIES_MAX; tries++) {
        error_finish(error);
        status = try_revoke(session, job, result, error);
    }
    return status;
}

void access_key_revoke(struct store *store, const char *name, store_done *done, void *user) {
    key_job_start(store, perform_revoke, name, NULL, done, user);
}

/* ---- Reading ---- */

static bool is_scope(tn_value word) {
    return value_text_is(word, "read") || value_text_is(word, "run") || value_text_is(word, "admin");
}

/* CHANGES is not readable, and a record that a later version of the host has written need not be. */
static bool is_readable(const char *name, tn_value record) {
    return access_name_is_valid(name, strlen(name)) && value_is(value_get(record, "hash"), TN_STRING) &&
           is_scope(value_get(record, "scope")) && value_is(value_get(record, "limits"), TN_OBJECT) &&
           value_is(value_get(record, "created_at"), TN_STRING);
}

struct key_visit {
    tn_value keys;
    int64_t now_ms;
};

static int32_t visit_shown(void *user, const char *name, tn_value record, struct error *error) {
    struct key_visit *visit = user;
    (void)error;
    if (is_readable(name, record)) visit->keys = value_push_take(visit->keys, shown_key(name, record, visit->now_ms));
    return TN_OK;
}

static int32_t perform_list(struct session *session, void *user, tn_value *result, struct error *error) {
    struct key_visit visit = {value_array(), job_now_ms(session, user)};
    int32_t status = session_each(session, STORE_KEYS, NULL, NULL, visit_shown, &visit, error);
    tn_value all = value_set_take(value_object_reserve(1), "keys", visit.keys);
    if (status == TN_OK)
        *result = all;
    else
        value_unref(all);
    return status;
}

void access_keys_list(struct store *store, store_done *done, void *user) {
    key_job_start(store, perform_list, NULL, NULL, done, user);
}

static int32_t query_version(struct session *session, int64_t *version, struct error *error) {
    tn_value found = NULL;
    int32_t status = session_query_take(session, store_get(STORE_KEYS, CHANGES), &found, error);
    *version = status == TN_OK && value_is(found, TN_OBJECT) ? value_to_int(value_get(found, "version")) : 0;
    value_unref(found);
    return status;
}

static int32_t perform_version(struct session *session, void *user, tn_value *result, struct error *error) {
    int64_t version;
    int32_t status = query_version(session, &version, error);
    (void)user;
    if (status == TN_OK) *result = value_int(version);
    return status;
}

void access_keys_version(struct store *store, store_done *done, void *user) {
    key_job_start(store, perform_version, NULL, NULL, done, user);
}

static int32_t visit_loaded(void *user, const char *name, tn_value record, struct error *error) {
    struct key_visit *visit = user;
    int64_t expires_ms;
    (void)error;
    if (!is_readable(name, record) || value_is(value_get(record, "revoked_at"), TN_STRING)) return TN_OK;
    tn_value owner = value_get(record, "owner"), expires = value_get(record, "expires_at");
    bool expires_once = value_is(expires, TN_STRING);
    if (expires_once && !time_of(record, "expires_at", &expires_ms)) return TN_OK;
    tn_value key = value_set_take(value_object_reserve(6), "name", value_text(name));
    key = value_set_take(key, "hash", value_ref(value_get(record, "hash")));
    key = value_set_take(key, "scope", value_ref(value_get(record, "scope")));
    key = value_set_take(key, "owner", owner ? value_ref(owner) : value_null());
    key = value_set_take(key, "limits", value_ref(value_get(record, "limits")));
    if (expires_once) key = value_set_take(key, "expires_ms", value_int(expires_ms));
    visit->keys = value_push_take(visit->keys, key);
    return TN_OK;
}

/* The version is read first: a change that comes meanwhile is found by the next comparison. */
static int32_t perform_load(struct session *session, void *user, tn_value *result, struct error *error) {
    struct key_visit visit = {value_array(), job_now_ms(session, user)};
    int64_t version;
    int32_t status = query_version(session, &version, error);
    if (status == TN_OK) status = session_each(session, STORE_KEYS, NULL, NULL, visit_loaded, &visit, error);
    tn_value all = value_set_take(value_object_reserve(2), "version", value_int(version));
    all = value_set_take(all, "keys", visit.keys);
    if (status == TN_OK)
        *result = all;
    else
        value_unref(all);
    return status;
}

void access_keys_load(struct store *store, store_done *done, void *user) {
    key_job_start(store, perform_load, NULL, NULL, done, user);
}
