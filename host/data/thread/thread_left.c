/*
 * thread_left.c - finds threads whose host has ended, and claims them.
 */
#include "host/data/thread/thread_left.h"
#include "host/base/time_text.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_job.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_owner.h"
#include "host/data/thread/thread_records.h"
#include <string.h>

#define PAGE   200
#define DAY_MS INT64_C(86400000)

/* A commit that failed with one of these may succeed later. */
static const char *const store_codes[] = {"STORE_FULL", "STORE_BUSY", "STORE_ERROR"};

/* ---- Finding ---- */

static tn_value left_where(const char *status, const char *since) {
    tn_value where = value_set_take(value_object(), "status", value_text(status));
    where = value_set_take(where, "updated_at", value_set_take(value_object(), "ge", value_text(since)));
    where = value_set_take(where, THREAD_SERVED, value_set_take(value_object(), "exists", value_bool(true)));
    if (strcmp(status, "failed") != 0) return where;
    tn_value codes = value_array();
    for (size_t i = 0; i < sizeof store_codes / sizeof *store_codes; i++)
        codes = value_push_take(codes, value_text(store_codes[i]));
    return value_set_take(where, "error.code", value_set_take(value_object(), "in", codes));
}

static tn_value left_query(const char *status, const char *since, const char *after) {
    tn_value query = store_list(STORE_THREADS, NULL, NULL, PAGE), list = value_ref(value_get(query, "list"));
    list = value_set_take(list, "where", left_where(status, since));
    list = value_set_take(list, "order", value_push_take(value_array(), value_text("updated_at")));
    if (after) list = value_set_take(list, "after", value_text(after));
    return value_set_take(query, "list", list);
}

struct left_found {
    const struct store *store;
    struct session *session;
    tn_value threads;
    bool later;
};

/* A writer of this machine that lives keeps its thread; one of another machine is asked about by the claim. */
static void left_add(struct left_found *found, tn_value record) {
    static const char *const members[] = {"thread_id", THREAD_SERVED, "graph"};
    struct error error = ERROR_INIT;
    if (thread_owner_check(found->store, thread_record_text(record, "thread_id"), record, &error) != TN_OK) {
        found->later = true;
        error_finish(&error);
        return;
    }
    tn_value thread = value_object_reserve(3);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(record, members[i]);
        if (member) thread = value_set_take(thread, members[i], value_ref(member));
    }
    found->threads = value_push_take(found->threads, thread);
}

static int32_t left_list(struct left_found *found, const char *status, const char *since, struct error *error) {
    tn_value page = NULL;
    bool more = true;
    int32_t read = TN_OK;
    while (read == TN_OK && more) {
        tn_value records = value_get(page, "records");
        size_t count = value_count(records);
        const char *after = count ? thread_record_text(value_at(records, count - 1), "key") : NULL;
        tn_value query = left_query(status, since, after);
        value_unref(page);
        page = NULL;
        read = session_query_take(found->session, query, &page, error);
        records = value_get(page, "records");
        more = value_count(records) && value_to_bool(value_get(page, "more"));
        for (size_t i = 0; i < value_count(records); i++) {
            if (value_count(found->threads) < THREAD_LEFT_MAX)
                left_add(found, value_get(value_at(records, i), "value"));
            else
                found->later = true, more = false;
        }
    }
    value_unref(page);
    return read;
}

static int32_t thread_run_left(struct session *session, void *user, tn_value *result, struct error *error) {
    static const char *const statuses[] = {"running", "stopped", "failed"};
    const struct thread_job *job = user;
    struct left_found found = {.store = job->store, .session = session, .threads = value_array()};
    char since[TIME_TEXT];
    int32_t status = TN_OK;
    time_text(job->now_ms - THREAD_LEFT_DAYS * DAY_MS, since);
    for (size_t i = 0; status == TN_OK && i < sizeof statuses / sizeof *statuses; i++)
        status = left_list(&found, statuses[i], since, error);
    if (status == TN_OK) {
        *result = value_set_take(value_object_reserve(2), "threads", value_ref(found.threads));
        *result = value_set_take(*result, "later", value_bool(found.later));
    }
    value_unref(found.threads);
    return status;
}

void threads_left(struct store *store, store_done *done, void *user) {
    thread_job_start(store, thread_run_left, &(const struct thread_job){.now_ms = store_wall_ms(store)}, done, user);
}

/* ---- Claiming ---- */

static bool record_is_left(tn_value record) {
    tn_value code = value_get(value_get(record, "error"), "code");
    const char *status = thread_record_text(record, "status");
    if (!value_is(value_get(record, THREAD_SERVED), TN_OBJECT)) return false;
    if (strcmp(status, "failed") != 0) return strcmp(status, "running") == 0 || strcmp(status, "stopped") == 0;
    for (size_t i = 0; code && i < sizeof store_codes / sizeof *store_codes; i++)
        if (value_text_is(code, store_codes[i])) return true;
    return false;
}

/* Another host has claimed it, and has not begun yet. */
static bool claim_is_held(tn_value claim, int64_t now_ms) {
    bool here = false, runs = thread_owner_runs(value_get(claim, "by"), &here);
    return thread_record_int(claim, "until", 0) > now_ms && (runs || !here);
}

static bool has_owner(struct session *session, const struct thread_job *job, tn_value record) {
    struct error error = ERROR_INIT;
    bool owned = thread_owner_check(job->store, job->id, record, &error) != TN_OK ||
                 thread_owner_check_remote(session, job->id, record, &error) != TN_OK;
    error_finish(&error);
    return owned;
}

/* How often its host has died at this checkpoint. The end of the others was not the fault of the run. */
static int64_t claim_count(tn_value record) {
    tn_value claim = value_get(record, THREAD_CONTINUED);
    bool same = claim && thread_record_int(claim, "head", -2) == thread_record_int(record, "head", -1);
    int64_t before = same ? thread_record_int(claim, "count", 0) : 0;
    return before + (strcmp(thread_record_text(record, "status"), "running") == 0);
}

static tn_value claim_patch(tn_value record, int64_t now_ms) {
    tn_value claim = value_set_take(value_object_reserve(4), "head", value_int(thread_record_int(record, "head", -1)));
    claim = value_set_take(claim, "count", value_int(claim_count(record)));
    claim = value_set_take(claim, "by", thread_owner_describe());
    claim = value_set_take(claim, "until", value_int(now_ms + THREAD_LEFT_HELD_MS));
    return value_set_take(value_object(), THREAD_CONTINUED, claim);
}

static tn_value give_up_patch(int64_t now_ms) {
    struct error why = ERROR_INIT;
    error_set(&why, TN_FAILED, "HOST_ENDED",
              "the process of the host has died %d times while the run was at the same checkpoint, so the run is not "
              "continued any more; find out why the process died, then resume the thread",
              THREAD_LEFT_CLAIMS);
    tn_value patch = value_set_take(value_object_reserve(3), "status", value_text("failed"));
    patch = value_set_take(patch, "updated_at", time_value(now_ms));
    patch = value_set_take(patch, "error", error_to_value(&why));
    error_finish(&why);
    return patch;
}

static tn_value answer_flag(const char *name) { return value_set_take(value_object(), name, value_bool(true)); }

static int32_t claim_found(struct session *session, const struct thread_job *job, tn_value found, tn_value *result,
                           struct error *error) {
    char key[THREAD_KEY_MAX];
    tn_value record = value_get(found, "value");
    bool gives_up = claim_count(record) >= THREAD_LEFT_CLAIMS;
    tn_value patch = gives_up ? give_up_patch(job->now_ms) : claim_patch(record, job->now_ms);
    thread_key(key, job->id);
    tn_value batch = value_push_take(value_array(), store_if_version(store_merge(STORE_THREADS, key, patch),
                                                                     thread_record_int(found, "version", 0)));
    int32_t status = session_commit_take(session, batch, NULL, error);
    if (status == TN_OK)
        *result = gives_up ? answer_flag("given_up") : value_set_take(value_object(), "record", value_ref(record));
    else if (error->code && strcmp(error->code, "CONFLICT") == 0) {
        error_finish(error);
        *error = (struct error)ERROR_INIT;
        *result = answer_flag("later");
        status = TN_OK;
    }
    return status;
}

static int32_t thread_run_claim(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_job *job = user;
    tn_value found = NULL;
    int32_t status = thread_records_find(session, job->id, &found, error);
    tn_value record = value_get(found, "value");
    if (status == TN_OK && (!found || !record_is_left(record)))
        *result = value_object();
    else if (status == TN_OK &&
             (claim_is_held(value_get(record, THREAD_CONTINUED), job->now_ms) || has_owner(session, job, record)))
        *result = answer_flag("later");
    else if (status == TN_OK)
        status = claim_found(session, job, found, result, error);
    value_unref(found);
    return status;
}

void thread_claim_left(struct store *store, const char *id, store_done *done, void *user) {
    const struct thread_job job = {.id = id, .now_ms = store_wall_ms(store)};
    thread_job_start(store, thread_run_claim, &job, done, user);
}
