/*
 * access_use.c - reads the records of a day, and adds to them.
 *
 * A record is {tokens, cost}: that of a key at DAY/NAME, that of a thread at DAY.t/THREAD. That of a key is written on
 * condition that it is unchanged since it was read, because other hosts add to it, too.
 */
#include "host/data/access/access_use.h"
#include "adl/value/memory.h"
#include "host/data/store/store_collections.h"
#include <stdio.h>
#include <string.h>

#define KEY_MAX   1024 /* bytes of the keys of records; what needs more is left out */
#define BATCH_MAX 100  /* records of a commit */
#define TRIES_MAX 16   /* conflicts with other hosts */
#define KEPT_DAYS 2

struct use_job {
    int64_t day;
    tn_value added; /* or NULL */
};

static void use_job_free(void *user) {
    struct use_job *job = user;
    value_unref(job->added);
    mem_free(job);
}

static void use_job_start(struct store *store, store_perform_fn *perform, int64_t day, tn_value added, store_done *done,
                          void *user) {
    struct use_job *job = mem_zalloc(sizeof *job);
    job->day = day;
    job->added = added ? value_ref(added) : NULL;
    store_perform_take(store, perform, job, use_job_free, done, user);
}

/* ---- Reading ---- */

static int32_t visit_use(void *user, const char *key, tn_value record, struct error *error) {
    tn_value *uses = user;
    const char *name = strchr(key, '/');
    (void)error;
    if (name && value_count(*uses) < ACCESS_USES_MAX) *uses = value_set_take(*uses, name + 1, value_ref(record));
    return TN_OK;
}

static const struct { const char *member, *suffix; } parts[] = {{"keys", ""}, {"threads", ".t"}};

/* Adds the records of a part to *all. */
static int32_t load_part(struct session *session, const struct use_job *job, size_t part, tn_value *all,
                         struct error *error) {
    tn_value uses = value_object();
    char from[32], to[32];
    (void)snprintf(from, sizeof from, "%lld%s/", (long long)job->day, parts[part].suffix);
    (void)snprintf(to, sizeof to, "%lld%s0", (long long)job->day, parts[part].suffix); /* '0' follows '/' */
    int32_t status = session_each(session, STORE_KEY_USES, from, to, visit_use, &uses, error);
    *all = value_set_take(*all, parts[part].member, uses);
    return status;
}

static int32_t perform_load(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct use_job *job = user;
    tn_value all = value_object_reserve(2);
    int32_t status = load_part(session, job, 0, &all, error);
    if (status == TN_OK) status = load_part(session, job, 1, &all, error);
    if (status == TN_OK)
        *result = all;
    else
        value_unref(all);
    return status;
}

void access_use_load(struct store *store, int64_t day, store_done *done, void *user) {
    use_job_start(store, perform_load, day, NULL, done, user);
}

/* ---- Adding ---- */

static tn_value sum_of(tn_value before, tn_value added) {
    tn_value tokens = value_get(before, "tokens"), cost = value_get(before, "cost");
    int64_t whole = value_to_int(value_get(added, "tokens"));
    double price = value_to_double(value_get(added, "cost"));
    if (value_is(tokens, TN_INT)) whole += value_to_int(tokens);
    if (cost && value_is_number(cost)) price += value_to_double(cost);
    tn_value sum = value_set_take(value_object_reserve(2), "tokens", value_int(whole));
    return value_set_take(sum, "cost", value_double(price));
}

/* False: it would be too long. */
static bool record_key(const struct use_job *job, size_t part, const char *name, char key[KEY_MAX]) {
    int written = snprintf(key, KEY_MAX, "%lld%s/%s", (long long)job->day, parts[part].suffix, name);
    return written > 0 && written < KEY_MAX;
}

/* Reads the record, and adds to it: *sum and *put are new. */
static int32_t add_one(struct session *session, const char *key, tn_value added, tn_value *sum, tn_value *put,
                       struct error *error) {
    tn_value found = NULL;
    int32_t status = session_query_take(session, store_get(STORE_KEY_USES, key), &found, error);
    if (status != TN_OK) return status;
    bool exists = value_is(found, TN_OBJECT);
    *sum = sum_of(exists ? value_get(found, "value") : NULL, added);
    *put = store_if_version(store_put(STORE_KEY_USES, key, value_ref(*sum)),
                            exists ? value_to_int(value_get(found, "version")) : 0);
    value_unref(found);
    return TN_OK;
}

/* The names from `from` to `to` of a part. *written has them, too, if TN_OK is returned. */
static int32_t try_add(struct session *session, const struct use_job *job, size_t part, size_t from, size_t to,
                       tn_value *written, struct error *error) {
    tn_value added = value_get(job->added, parts[part].member), batch = value_array(), more = value_ref(*written);
    tn_value results = NULL;
    char key[KEY_MAX];
    int32_t status = TN_OK;
    for (size_t i = from; i < to && status == TN_OK; i++) {
        const char *name = value_chars(value_key_at(added, i), NULL);
        tn_value sum = NULL, put = NULL, one = value_value_at(added, i);
        if (!record_key(job, part, name, key)) continue;
        if (part == 0)
            status = add_one(session, key, one, &sum, &put, error);
        else
            put = store_put(STORE_KEY_USES, key, value_ref(sum = value_ref(one)));
        if (status != TN_OK) break;
        batch = value_push_take(batch, store_expires_at(put, (job->day + KEPT_DAYS) * ACCESS_DAY_MS));
        more = value_set_take(more, name, sum);
    }
    if (status == TN_OK && value_count(batch) > 0)
        status = session_commit_take(session, batch, &results, error);
    else
        value_unref(batch);
    value_unref(results);
    value_unref(status == TN_OK ? *written : more);
    if (status == TN_OK) *written = more;
    return status;
}

static bool is_conflict(int32_t status, const struct error *error) {
    return status != TN_OK && error->code && strcmp(error->code, "CONFLICT") == 0;
}

static int32_t add_part(struct session *session, const struct use_job *job, size_t part, tn_value *written,
                        struct error *error) {
    size_t count = value_count(value_get(job->added, parts[part].member));
    int32_t status = TN_OK;
    for (size_t from = 0; from < count && status == TN_OK; from += BATCH_MAX) {
        size_t to = count - from < BATCH_MAX ? count : from + BATCH_MAX;
        status = try_add(session, job, part, from, to, written, error);
        for (int tries = 1; is_conflict(status, error) && tries < TRIES_MAX; tries++) {
            error_finish(error);
            status = try_add(session, job, part, from, to, written, error);
        }
    }
    return status;
}

static int32_t perform_add(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct use_job *job = user;
    tn_value written[] = {value_object(), value_object()};
    int32_t status = TN_OK;
    for (size_t part = 0; part < 2 && status == TN_OK; part++)
        status = add_part(session, job, part, &written[part], error);
    if (status != TN_OK && value_count(written[0]) == 0) {
        for (size_t part = 0; part < 2; part++) value_unref(written[part]);
        return status;
    }
    if (status != TN_OK) error_finish(error);
    *result = value_set_take(value_object_reserve(2), parts[0].member, written[0]);
    *result = value_set_take(*result, parts[1].member, written[1]);
    return TN_OK;
}

void access_use_add(struct store *store, int64_t day, tn_value added, store_done *done, void *user) {
    use_job_start(store, perform_add, day, added, done, user);
}
