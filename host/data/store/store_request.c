/*
 * store_request.c - runs requests: one, a group of the provider, or a merged batch.
 *
 * If a group fails as a whole, what its requests have returned is not true. They run again one by one, if the failure
 * may be that of one of them: a commit that does not fit must not fail the others. After a failure of the disk or a
 * lock of another process, all report it.
 */
#include "host/data/store/store_request.h"
#include "adl/value/deferred.h"
#include "adl/value/memory.h"
#include "host/data/store/store_link.h"

#define PERFORM_OPERATIONS 16 /* a PERFORM counts as so many operations */

/* ---- One request ---- */

static void request_run(struct session *session, struct store_request *request) {
    const tn_store_draft *vtable = session->vtable;
    tn_store *open = session->open;
    switch (request->kind) {
    case STORE_REQUEST_COMMIT:
        request->status = vtable->commit(open, request->argument, &request->result, &request->error);
        break;
    case STORE_REQUEST_QUERY:
        request->status = vtable->query(open, request->argument, &request->result, &request->error);
        break;
    case STORE_REQUEST_PERFORM:;
        struct error error = ERROR_INIT;
        request->status = request->perform(session, request->perform_user, &request->result, &error);
        if (request->status != TN_OK) request->error = error_to_value(&error);
        error_finish(&error);
        break;
    default: request->status = vtable->maintain(open, &request->result, &request->error); break;
    }
}

static void request_discard(struct store_request *request) {
    value_unref(request->result);
    value_unref(request->error);
    request->result = request->error = NULL;
}

/* ---- Several ---- */

size_t store_request_operations(const struct store_request *request) {
    return request->kind == STORE_REQUEST_COMMIT ? value_count(request->argument) : PERFORM_OPERATIONS;
}

static bool request_is_joinable(const struct store_provider *provider, const struct store_request *request) {
    return request->kind == STORE_REQUEST_COMMIT || (request->grouped && provider->has_groups);
}

bool store_request_joins(const struct store_provider *provider, const struct store_request *first,
                         const struct store_request *next, size_t *operations) {
    if (!request_is_joinable(provider, first) || !request_is_joinable(provider, next)) return false;
    *operations += store_request_operations(next);
    return *operations <= (provider->has_groups ? STORE_GROUP_MAX : STORE_MERGE_MAX);
}

/* Nothing of the batch or group was applied, because of one of its operations: the others may succeed without it. */
static bool was_refused(tn_value error) {
    static const char *const codes[] = {"CONFLICT",      "INVALID",    "LIMIT",      "NOT_FOUND",
                                        "STORE_CORRUPT", "STORE_FULL", "UNSUPPORTED"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (value_text_is(value_get(error, "code"), codes[i])) return true;
    return false;
}

/* After a failure of the whole: each request runs alone, or reports it. */
static void requests_repeat(struct session *session, struct store_request *first, int32_t status, tn_value error) {
    bool refused = was_refused(error);
    for (struct store_request *request = first; request; request = request->next) {
        request_discard(request);
        if (refused) {
            request_run(session, request);
        } else {
            request->status = status;
            request->error = value_ref(error);
        }
    }
}

static void requests_run_as_group(struct session *session, struct store_request *first) {
    tn_value error = NULL;
    int32_t status = session->vtable->group(session->open, 1, &error);
    for (struct store_request *request = first; request && status == TN_OK; request = request->next)
        request_run(session, request);
    if (status == TN_OK) status = session->vtable->group(session->open, 0, &error);
    if (status != TN_OK) requests_repeat(session, first, status, error);
    value_unref(error);
}

/* Each request receives the results of the operations that it submitted. */
static void merge_split(struct store_request *first, tn_value results) {
    size_t at = 0;
    for (struct store_request *request = first; request; request = request->next) {
        size_t count = value_count(request->argument);
        request->status = TN_OK;
        request->result = value_slice(results, at, at + count);
        at += count;
    }
}

static void requests_run_merged(struct session *session, struct store_request *first) {
    tn_value batch = value_array_reserve(STORE_MERGE_MAX), results = NULL, error = NULL;
    for (struct store_request *request = first; request; request = request->next)
        batch = value_concat_take(batch, value_ref(request->argument));
    int32_t status = session->vtable->commit(session->open, batch, &results, &error);
    if (status == TN_OK)
        merge_split(first, results);
    else
        requests_repeat(session, first, status, error);
    value_unref(batch);
    value_unref(results);
    value_unref(error);
}

void store_requests_run(const struct store_provider *provider, struct session *session, struct store_request *first) {
    if (!first->next)
        request_run(session, first);
    else if (provider->has_groups)
        requests_run_as_group(session, first);
    else
        requests_run_merged(session, first);
}

/* ---- A session: the store as `perform` sees it ---- */

static int32_t session_fail_take(int32_t status, tn_value object, struct error *error) {
    if (status != TN_OK) store_provider_error(error, status, object);
    value_unref(object);
    return status;
}

int32_t session_query_take(struct session *session, tn_value query, tn_value *result, struct error *error) {
    tn_value why = NULL;
    int32_t status = session->vtable->query(session->open, query, result, &why);
    value_unref(query);
    return session_fail_take(status, why, error);
}

int32_t session_commit_take(struct session *session, tn_value batch, tn_value *result, struct error *error) {
    tn_value why = NULL, written = NULL;
    if (store_link_is_used(session->link)) value_read_all(batch); /* not while the plugin writes */
    int32_t status = session->vtable->commit(session->open, batch, &written, &why);
    value_unref(batch);
    if (status == TN_OK && result)
        *result = written;
    else
        value_unref(written);
    return session_fail_take(status, why, error);
}
