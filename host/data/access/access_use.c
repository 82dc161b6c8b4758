/*
 * access_use.c - reads the records of a day, and adds to them.
 *
 * A record is {tokens, cost} at DAY/NAME. It is written on condition that it is unchanged since it was read, because
 * other hosts add to it, too.
 */
#include "host/data/access/access_use.h"
#include "adl/value/memory.h"
#include "host/data/store/store_collections.h"
#include <stdio.h>
#include <string.h>

#define KEY_MAX   512 /* bytes of DAY/NAME */
#define BATCH_MAX 100 /* records of a commit */
#define TRIES_MAX 16  /* conflicts with other hosts */
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

static int32_t perform_load(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct use_job *job = user;
    tn_value uses = value_object();
    char from[32], to[32];
    (void)snprintf(from, sizeof from, "%lld/", (long long)job->day);
    (void)snprintf(to, sizeof to, "%lld0", (long long)job->day); /* '0' follows '/' */
    int32_t status = session_each(session, STORE_KEY_USES, from, to, visit_use, &uses, error);
    if (status == TN_OK)
        *result = uses;
    else
        value_unref(uses);
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

/* Adds the operation for a name to the batch, and its sum to the sums. */
static int32_t add_one(struct session *session, const struct use_job *job, size_t at, tn_value *batch, tn_value *sums,
                       struct error *error) {
    const char *name = value_chars(value_key_at(job->added, at), NULL);
    char key[KEY_MAX];
    tn_value found = NULL;
    int written = snprintf(key, sizeof key, "%lld/%s", (long long)job->day, name);
    if (written < 0 || (size_t)written >= sizeof key) return TN_OK; /* names are shorter */
    int32_t status = session_query_take(session, store_get(STORE_KEY_USES, key), &found, error);
    if (status != TN_OK) return status;
    bool exists = value_is(found, TN_OBJECT);
    tn_value sum = sum_of(exists ? value_get(found, "value") : NULL, value_value_at(job->added, at));
    tn_value put = store_if_version(store_put(STORE_KEY_USES, key, value_ref(sum)),
                                    exists ? value_to_int(value_get(found, "version")) : 0);
    *batch = value_push_take(*batch, store_expires_at(put, (job->day + KEPT_DAYS) * ACCESS_DAY_MS));
    *sums = value_set_take(*sums, name, sum);
    value_unref(found);
    return TN_OK;
}

/* The names from `from` to `to`; *sums has them only if they were written. */
static int32_t try_add(struct session *session, const struct use_job *job, size_t from, size_t to, tn_value *sums,
                       struct error *error) {
    tn_value batch = value_array(), more = value_ref(*sums), results = NULL;
    int32_t status = TN_OK;
    for (size_t i = from; i < to && status == TN_OK; i++) status = add_one(session, job, i, &batch, &more, error);
    if (status == TN_OK)
        status = session_commit_take(session, batch, &results, error);
    else
        value_unref(batch);
    value_unref(results);
    value_unref(status == TN_OK ? *sums : more);
    if (status == TN_OK) *sums = more;
    return status;
}

static bool is_conflict(int32_t status, const struct error *error) {
    return status != TN_OK && error->code && strcmp(error->code, "CONFLICT") == 0;
}

static int32_t perform_add(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct use_job *job = user;
    tn_value sums = value_object();
    size_t count = value_count(job->added);
    int32_t status = TN_OK;
    for (size_t from = 0; from < count && status == TN_OK; from += BATCH_MAX) {
        size_t to = count - from < BATCH_MAX ? count : from + BATCH_MAX;
        status = try_add(session, job, from, to, &sums, error);
        for (int tries = 1; is_conflict(status, error) && tries < TRIES_MAX; tries++) {
            error_finish(error);
            status = try_add(session, job, from, to, &sums, error);
        }
    }
    if (status != TN_OK && value_count(sums) == 0) {
        value_unref(sums);
        return status;
    }
    if (status != TN_OK) error_finish(error);
    *result = sums;
    return TN_OK;
}

void access_use_add(struct store *store, int64_t day, tn_value added, store_done *done, void *user) {
    use_job_start(store, perform_add, day, added, done, user);
}
