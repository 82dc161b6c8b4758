/*
 * embed_thread.c - saved threads: list, read, fork, answer, change and delete them.
 *
 * The functions call those of the command line. They wait for the store, and run the loop until it has answered.
 */
#include "adl/value/nearest.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/base/time_text.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_log.h"
#include "host/embed/embed_internal.h"
#include "host/engine/execution/execution_thread.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/run.h"
#include <assert.h>
#include <string.h>

#define LIST_DEFAULT 50
#define LIST_MAX     10000

/* Begins a function that uses the store. Returns the store, or NULL with the error. */
#define embed_enter_store(handle) embed_enter_store_function(handle, __func__)
static struct store *embed_enter_store_function(tenon *handle, const char *function) {
    if (!embed_enter_function(handle, function) || !embed_may_wait_function(handle, function)) return NULL;
    assert(handle);
    return host_store(handle->host, &handle->error);
}
/* The same for a function on one thread. */
#define embed_enter_thread(handle, id) embed_enter_thread_function(handle, id, __func__)
static struct store *embed_enter_thread_function(tenon *handle, const char *id, const char *function) {
    struct store *store = embed_enter_store_function(handle, function);
    if (!store || !embed_check_not_null(handle, id, "the thread's id")) return NULL;
    return thread_check_id(id, &handle->error) == TN_OK ? store : NULL;
}

/* ---- Reading ---- */

/* A filter, and the texts of its times in the form of the records. */
struct filter_texts {
    struct threads_filter filter;
    char before[TIME_TEXT], since[TIME_TEXT];
};

static int32_t filter_check_status(const char *status, struct error *error) {
    struct nearest nearest;
    nearest_init(&nearest, status, strlen(status));
    for (int i = RUN_RUNNING; i <= RUN_STOPPED; i++) {
        const char *name = run_status_name((enum run_status)i);
        if (strcmp(name, status) == 0) return TN_OK;
        nearest_add_candidate(&nearest, name, strlen(name));
    }
    return error_set(
        error, TN_INVALID, "INVALID_INPUT",
        "the filter's `status` is `%s`, expected running, interrupted, stopped, failed, cancelled or done%s", status,
        nearest_hint(&nearest).text);
}

/* Replaces a time by the same time as records have it. */
static int32_t filter_read_time(const char *name, const char **time, char text[TIME_TEXT], struct error *error) {
    if (!*time) return TN_OK;
    if (!time_text_read(*time, text))
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "the filter's `%s` is `%s`, expected a date or a time in ISO 8601: 2026-01-31 or "
                         "2026-01-31T12:00:00Z",
                         name, *time);
    *time = text;
    return TN_OK;
}

static int32_t filter_read_members(tn_value given, struct threads_filter *filter, struct error *error) {
    const struct {
        const char *name, **text;
    } rows[] = {{"status", &filter->status}, {"agent", &filter->agent}, {"before", &filter->before},
                {"since", &filter->since},   {"after", &filter->after}, {"limit", NULL}};
    size_t count = sizeof rows / sizeof *rows;
    if (!value_is(given, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the filter is %s, expected an object",
                         value_kind_name(value_kind(given)));
    for (size_t i = 0; i < value_count(given); i++) {
        size_t length, row = 0;
        const char *key = value_chars(value_key_at(given, i), &length);
        tn_value value = value_value_at(given, i);
        struct nearest nearest;
        nearest_init(&nearest, key, length);
        for (; row < count && strcmp(rows[row].name, key) != 0; row++)
            nearest_add_candidate(&nearest, rows[row].name, strlen(rows[row].name));
        if (row == count)
            return error_set(error, TN_NOT_FOUND, "INVALID_INPUT", "the filter has no member `%s`%s", key,
                             nearest_hint(&nearest).text);
        bool fits = rows[row].text
                        ? value_is(value, TN_STRING)
                        : value_as_int(value, &filter->limit) && filter->limit > 0 && filter->limit <= LIST_MAX;
        if (!fits)
            return error_set(error, TN_TYPE, "INVALID_INPUT", "the filter's `%s` must be %s", key,
                             rows[row].text ? "a string" : "an integer from 1 to 10000");
        if (rows[row].text) *rows[row].text = value_chars(value, NULL);
    }
    return TN_OK;
}

static int32_t filter_read(tn_value given, struct filter_texts *texts, struct error *error) {
    struct threads_filter *filter = &texts->filter;
    *filter = (struct threads_filter){.limit = LIST_DEFAULT};
    if (!given || value_is(given, TN_NULL)) return TN_OK;
    int32_t status = filter_read_members(given, filter, error);
    if (status == TN_OK && filter->status) status = filter_check_status(filter->status, error);
    if (status == TN_OK) status = filter_read_time("before", &filter->before, texts->before, error);
    if (status == TN_OK) status = filter_read_time("since", &filter->since, texts->since, error);
    return status == TN_OK && filter->after ? thread_check_id(filter->after, error) : status;
}

tn_value tenon_thread_list(tenon *handle, tn_value filter) {
    struct filter_texts texts;
    tn_value page = NULL;
    struct store *store = embed_enter_store(handle);
    if (!store || filter_read(filter, &texts, &handle->error) != TN_OK) return NULL;
    return threads_list_wait(store, &texts.filter, &page, &handle->error) == TN_OK ? page : NULL;
}

tn_value tenon_thread_show(tenon *handle, const char *id) {
    tn_value record = NULL;
    struct store *store = embed_enter_thread(handle, id);
    if (!store) return NULL;
    return thread_show_wait(store, id, &record, &handle->error) == TN_OK ? record : NULL;
}

tn_value tenon_thread_history(tenon *handle, const char *id, int64_t limit) {
    tn_value lines = NULL;
    struct store *store = embed_enter_thread(handle, id);
    if (!store) return NULL;
    if (limit < 0) {
        error_set(&handle->error, TN_INVALID, "INVALID_INPUT",
                  "the limit of the history is %lld, expected at least 1, or 0 for %d", (long long)limit, LIST_MAX);
        return NULL;
    }
    return thread_history_wait(store, id, limit > 0 && limit < LIST_MAX ? limit : LIST_MAX, &lines, &handle->error) ==
                   TN_OK
               ? lines
               : NULL;
}

static bool embed_check_seq(tenon *handle, int64_t seq) {
    if (seq >= 0 || seq == THREAD_HEAD) return true;
    error_set(&handle->error, TN_INVALID, "INVALID_INPUT",
              "the checkpoint is %lld, expected its number, or -1 for the newest", (long long)seq);
    return false;
}

tn_value tenon_thread_state(tenon *handle, const char *id, int64_t seq) {
    tn_value state = NULL;
    struct store *store = embed_enter_thread(handle, id);
    if (!store || !embed_check_seq(handle, seq)) return NULL;
    return thread_state_wait(store, id, seq, &state, &handle->error) == TN_OK ? state : NULL;
}

/* ---- Changing ---- */

int32_t tenon_thread_fork(tenon *handle, const char *id, int64_t seq, const char *fork) {
    struct store *store = embed_enter_thread(handle, id);
    if (!store || !embed_check_not_null(handle, fork, "the id of the new thread")) return TN_INVALID;
    if (thread_check_id(fork, &handle->error) != TN_OK || !embed_check_seq(handle, seq)) return TN_INVALID;
    return thread_fork_wait(store, id, seq, fork, &handle->error);
}

int32_t tenon_thread_answer(tenon *handle, const char *id, tn_value answers) {
    struct store *store = embed_enter_thread(handle, id);
    if (!store) return TN_INVALID;
    if (!answers || !value_is(answers, TN_OBJECT) || !value_count(answers))
        return error_set(&handle->error, TN_TYPE, "INVALID_INPUT", "the answers must be an object by interrupt id");
    return thread_answer_wait(handle->engine, id, answers, &handle->error);
}

int32_t tenon_thread_delete(tenon *handle, const char *id) {
    struct store *store = embed_enter_thread(handle, id);
    return store ? thread_delete_wait(store, id, true, &handle->error) : TN_INVALID;
}

int32_t tenon_thread_update(tenon_runnable *runnable, const char *id, const char *node, tn_value channels) {
    tenon *handle = runnable ? runnable->host : NULL;
    if (!embed_enter_thread(handle, id)) return TN_INVALID;
    struct graph *graph = graph_of_callable(runnable->callable);
    if (!graph)
        return error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "only a thread of a graph can be changed");
    if (!channels || !value_is(channels, TN_OBJECT))
        return error_set(&handle->error, TN_TYPE, "INVALID_INPUT", "the channels must be an object by name");
    struct thread_request request = {.id = id, .mode = THREAD_UPDATE, .as = node, .force = true};
    return thread_update_wait(handle->engine, graph, &request, channels, &handle->error);
}

/* ---- Moving ---- */

tn_value tenon_thread_export(tenon *handle, const char *id) {
    tn_value exported = NULL;
    struct store *store = embed_enter_thread(handle, id);
    if (!store) return NULL;
    return thread_export_wait(store, id, &exported, &handle->error) == TN_OK ? exported : NULL;
}

int32_t tenon_thread_import(tenon *handle, const char *id, tn_value exported, int32_t replace) {
    struct store *store = embed_enter_thread(handle, id);
    if (!store || !embed_check_not_null(handle, exported, "the exported thread")) return TN_INVALID;
    return thread_import_wait(store, id, exported, replace != 0, &handle->error);
}
