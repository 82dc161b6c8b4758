/*
 * run_schedule_store.c - requests to the store about run schedules.
 *
 * A change reads the record, and commits on condition that no other writer has changed it; on a conflict it reads
 * again.
 */
#include "adl/value/memory.h"
#include "host/data/kernel/kernel_request.h"
#include "host/work/run_schedule.h"
#include <stdio.h>
#include <string.h>

/* What one request has, on the store's thread. */
struct schedule_job {
    struct store *store;
    bool owned; /* for an owner */
    char owner[OWNER_TEXT];
    char *key, *id; /* NULL: none; the id is complete */
    int64_t days;   /* of the caller */
    tn_value given; /* or NULL */
};

static struct schedule_job *job_new(struct store *store, const char *owner, const char *key, const char *id,
                                    tn_value given) {
    struct schedule_job *job = mem_zalloc(sizeof *job);
    job->store = store;
    job->owned = owner != NULL;
    if (owner) snprintf(job->owner, sizeof job->owner, "%s", owner);
    job->key = key ? mem_text(key) : NULL;
    job->id = id ? owner_confine(owner, id) : NULL;
    job->given = given ? value_ref(given) : NULL;
    return job;
}

static struct schedule_job *job_of_caller(struct store *store, const struct run_schedule_caller *caller, const char *id,
                                          tn_value given) {
    struct schedule_job *job = job_new(store, caller->owner, caller->key, id, given);
    job->days = caller->days;
    return job;
}

static void job_release(void *user) {
    struct schedule_job *job = user;
    mem_free(job->key);
    mem_free(job->id);
    value_unref(job->given);
    mem_free(job);
}

static struct request request_of(const struct schedule_job *job, struct session *session) {
    struct request request = {.operation = "schedule",
                              .session = session,
                              .now_ms = store_wall_ms(job->store),
                              .owner = job->owned ? job->owner : NULL};
    (void)session_wall_ms(session, &request.now_ms);
    return request;
}

static struct run_schedule_caller caller_of(const struct schedule_job *job) {
    return (struct run_schedule_caller){job->owned ? job->owner : NULL, job->key, job->days};
}

/* {value, version}, a new reference; NOT_FOUND. */
static int32_t find_record(struct request *request, const char *id, tn_value *out, struct error *error) {
    int32_t status = strlen(id) > KERNEL_ID_MAX ? TN_OK : request_find(request, STORE_RUN_SCHEDULES, id, out, error);
    if (status != TN_OK || *out) return status;
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "there is no schedule `%.80s`", id);
}

/* ---- Create ---- */

static int32_t check_count(struct request *request, struct error *error) {
    int64_t most = request->owner ? RUN_SCHEDULES_MAX : RUN_SCHEDULES_OPERATOR;
    tn_value count = NULL, query = value_set_take(value_object(), "collection", value_text(STORE_RUN_SCHEDULES));
    query = request_owned_range_take(request, query);
    if (!request->owner) query = value_set_take(query, "where", value_set_take(value_object(), "owner", value_null()));
    int32_t status =
        session_query_take(request->session, value_set_take(value_object(), "count", query), &count, error);
    if (status == TN_OK && value_to_int(count) >= most)
        status = error_set(error, TN_LIMIT, "LIMIT", "found %lld schedules, expected fewer than %lld: delete some",
                           (long long)value_to_int(count), (long long)most);
    value_unref(count);
    return status;
}

/* [the store's thread] */
static int32_t perform_create(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct schedule_job *job = user;
    struct request request = request_of(job, session);
    const struct run_schedule_caller caller = caller_of(job);
    char id[REQUEST_ID_TEXT];
    request_id_make(&request, id);
    int32_t status = check_count(&request, error);
    tn_value record = NULL;
    if (status == TN_OK && !(record = run_schedule_make(NULL, job->given, &caller, request.now_ms, error)))
        status = TN_INVALID;
    if (status == TN_OK)
        status = request_commit_take(
            &request, store_if_version(store_put(STORE_RUN_SCHEDULES, id, value_ref(record)), 0), NULL, error);
    if (status == TN_OK) *result = run_schedule_describe(id, record);
    value_unref(record);
    return status;
}

void run_schedule_create(struct store *store, const struct run_schedule_caller *caller, tn_value given,
                         store_done *done, void *user) {
    store_perform_take(store, perform_create, job_of_caller(store, caller, NULL, given), job_release, done, user);
}

/* ---- One schedule ---- */

/* [the store's thread] */
static int32_t perform_get(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct schedule_job *job = user;
    struct request request = request_of(job, session);
    tn_value found = NULL;
    int32_t status = find_record(&request, job->id, &found, error);
    if (status == TN_OK) *result = run_schedule_describe(job->id, value_get(found, "value"));
    value_unref(found);
    return status;
}

void run_schedule_get(struct store *store, const char *owner, const char *id, store_done *done, void *user) {
    store_perform_take(store, perform_get, job_new(store, owner, NULL, id, NULL), job_release, done, user);
}

static int32_t update_once(struct request *request, const struct schedule_job *job, tn_value *result,
                           struct error *error) {
    const struct run_schedule_caller caller = caller_of(job);
    tn_value found = NULL, record = NULL;
    int32_t status = find_record(request, job->id, &found, error);
    if (status == TN_OK &&
        !(record = run_schedule_make(value_get(found, "value"), job->given, &caller, request->now_ms, error)))
        status = TN_INVALID;
    if (status == TN_OK)
        status = request_commit_take(request,
                                     store_if_version(store_put(STORE_RUN_SCHEDULES, job->id, value_ref(record)),
                                                      value_to_int(value_get(found, "version"))),
                                     NULL, error);
    if (status == TN_OK) *result = run_schedule_describe(job->id, record);
    value_unref(record);
    value_unref(found);
    return status;
}

/* [the store's thread] */
static int32_t perform_update(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct schedule_job *job = user;
    struct request request = request_of(job, session);
    int32_t status = TN_OK;
    for (int tries = 0; tries < KERNEL_TRIES_MAX; tries++) {
        error_finish(error);
        status = update_once(&request, job, result, error);
        if (!request_conflict(status, error)) break;
    }
    return status;
}

void run_schedule_update(struct store *store, const struct run_schedule_caller *caller, const char *id, tn_value given,
                         store_done *done, void *user) {
    store_perform_take(store, perform_update, job_of_caller(store, caller, id, given), job_release, done, user);
}

/* [the store's thread] */
static int32_t perform_delete(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct schedule_job *job = user;
    struct request request = request_of(job, session);
    tn_value found = NULL;
    int32_t status = find_record(&request, job->id, &found, error);
    if (status == TN_OK)
        status = request_commit_take(&request, store_delete(STORE_RUN_SCHEDULES, job->id), NULL, error);
    value_unref(found);
    *result = NULL;
    return status;
}

void run_schedule_delete(struct store *store, const char *owner, const char *id, store_done *done, void *user) {
    store_perform_take(store, perform_delete, job_new(store, owner, NULL, id, NULL), job_release, done, user);
}

/* ---- Search ---- */

static tn_value search_where(tn_value wanted) {
    static const char *const members[][2] = {
        {"document", "document"}, {"enabled", "enabled"}, {"thread_id", "config.thread_id"}};
    tn_value where = value_object();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(wanted, members[i][0]);
        if (member) where = value_set_take(where, members[i][1], value_ref(member));
    }
    return where;
}

/* [the store's thread] */
static int32_t perform_search(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct schedule_job *job = user;
    struct request request = request_of(job, session);
    tn_value page = NULL, after = value_get(job->given, "after"), list = value_array();
    tn_value query = value_set_take(value_object(), "collection", value_text(STORE_RUN_SCHEDULES));
    query = value_set_take(request_owned_range_take(&request, query), "where", search_where(job->given));
    query = value_set_take(query, "limit", value_ref(value_get(job->given, "limit")));
    if (after) query = value_set_take(query, "after", owner_confine_value(request.owner, after));
    int32_t status = session_query_take(session, value_set_take(value_object(), "list", query), &page, error);
    tn_value records = value_get(page, "records");
    for (size_t i = 0; i < value_count(records); i++) {
        tn_value one = value_at(records, i);
        list = value_push_take(
            list, run_schedule_describe(value_chars(value_get(one, "key"), NULL), value_get(one, "value")));
    }
    if (status == TN_OK) {
        *result = value_set_take(value_object_reserve(2), "schedules", value_ref(list));
        *result = value_set_take(*result, "more", value_ref(value_get(page, "more")));
    }
    value_unref(list);
    value_unref(page);
    return status;
}

void run_schedule_search(struct store *store, const char *owner, tn_value wanted, store_done *done, void *user) {
    store_perform_take(store, perform_search, job_new(store, owner, NULL, NULL, wanted), job_release, done, user);
}

/* ---- Due times ---- */

/* The records with these documents whose next due time is `op` ("le", "gt") now, the earliest first. */
static int32_t find_due(const struct request *request, tn_value documents, const char *op, int64_t limit, tn_value *out,
                        struct error *error) {
    tn_value where = value_set_take(value_object(), op, value_int(request->now_ms));
    where = value_set_take(value_object(), "next_ms", where);
    where = value_set_take(where, "document", value_set_take(value_object(), "in", value_ref(documents)));
    tn_value query = value_set_take(value_object(), "collection", value_text(STORE_RUN_SCHEDULES));
    query = value_set_take(query, "where", where);
    query = value_set_take(query, "order", value_push_take(value_array(), value_text("next_ms")));
    query = value_set_take(query, "limit", value_int(limit));
    return session_query_take(request->session, value_set_take(value_object(), "list", query), out, error);
}

/* Adds it to *claimed, unless another host is faster. */
static int32_t claim_one(struct request *request, tn_value found, tn_value *claimed, struct error *error) {
    char owner[OWNER_TEXT], run_id[REQUEST_ID_TEXT];
    const char *key = value_chars(value_get(found, "key"), NULL);
    tn_value record = value_get(found, "value"), thread = value_get(value_get(record, "config"), "thread_id");
    /* For the id of the run. A schedule of the operator can have the thread of a user, who owns its runs. */
    request->owner = owner_of_run(thread ? value_chars(thread, NULL) : NULL, key, owner) ? owner : NULL;
    request_id_make(request, run_id);
    request->owner = NULL;
    tn_value over = run_schedule_too_late(record, request->now_ms);
    tn_value next = over ? over : run_schedule_advance(record, run_id, request->now_ms);
    tn_value put = store_put(STORE_RUN_SCHEDULES, key, value_ref(next));
    int32_t status =
        request_commit_take(request, store_if_version(put, value_to_int(value_get(found, "version"))), NULL, error);
    if (status == TN_OK && !over) {
        tn_value one = value_set_take(value_object_reserve(3), "schedule_id", value_text(key));
        one = value_set_take(one, "record", value_ref(next));
        *claimed = value_push_take(*claimed, value_set_take(one, "due_ms", value_ref(value_get(record, "next_ms"))));
    } else if (request_conflict(status, error)) {
        error_finish(error);
        status = TN_OK;
    }
    value_unref(next);
    return status;
}

/* [the store's thread] What was claimed before an error is returned: nobody else would start it. */
static int32_t perform_claim(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct schedule_job *job = user;
    struct request request = request_of(job, session);
    tn_value due = NULL, later = NULL, claimed = value_array();
    int32_t status = find_due(&request, job->given, "le", RUN_SCHEDULE_CLAIMS, &due, error);
    tn_value records = value_get(due, "records");
    for (size_t i = 0; status == TN_OK && i < value_count(records); i++)
        status = claim_one(&request, value_at(records, i), &claimed, error);
    if (status == TN_OK) status = find_due(&request, job->given, "gt", 1, &later, error);
    if (status != TN_OK && value_count(claimed)) {
        error_finish(error);
        status = TN_OK;
    }
    if (status == TN_OK) {
        tn_value first = value_get(later, "records"), next = NULL;
        if (value_count(first)) next = value_get(value_get(value_at(first, 0), "value"), "next_ms");
        tn_value more = value_get(due, "more");
        *result = value_set_take(value_object_reserve(4), "claimed", value_ref(claimed));
        *result = value_set_take(*result, "more", value_ref(more));
        *result = value_set_take(*result, "now_ms", value_int(request.now_ms));
        *result = value_set_take(*result, "next_ms", next ? value_ref(next) : value_null());
    }
    value_unref(claimed);
    value_unref(later);
    value_unref(due);
    return status;
}

void run_schedules_claim(struct store *store, tn_value documents, store_done *done, void *user) {
    store_perform_take(store, perform_claim, job_new(store, NULL, NULL, NULL, documents), job_release, done, user);
    value_unref(documents);
}

void run_schedule_note_error(struct store *store, const char *id, const char *run_id, const char *message) {
    tn_value patch = value_set_take(value_object(), "error", value_text(message));
    tn_value where = value_set_take(value_object(), "run_id", value_text(run_id));
    tn_value operation = store_if_where(store_merge(STORE_RUN_SCHEDULES, id, patch), where);
    store_commit_take(store, value_push_take(value_array(), operation), NULL, NULL);
}
