/*
 * methods_thread.c - saved threads: methods/thread.yaml.
 *
 * Each method is one request to the store's thread or, for answers and updates, to the engine. Its callback ends the
 * call.
 */
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/base/time_text.h"
#include "host/data/kernel/kernel.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_log.h"
#include "host/data/thread/thread_records.h"
#include "host/engine/execution/execution_thread.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/owner.h"
#include "host/server/client.h"
#include "host/server/document_open.h"
#include "host/server/method_call.h"
#include "host/server/method_internal.h"
#include "host/server/method_request.h"
#include "host/server/server.h"
#include "host/server/user_error.h"

static struct store *thread_store_of(const struct method_call *call, struct error *error) {
    return host_store(server_host(call->server), error);
}

static const char *thread_id_of(const struct method_call *call) { return method_text(call, "thread_id"); }

/*
 * Reads a parameter of the schema TimeOrDays. *out is `text`, which has the form of times in records, or NULL if the
 * parameter is absent.
 */
static int32_t read_thread_time(const struct method_call *call, const char *name, char text[TIME_TEXT],
                                const char **out, struct error *error) {
    tn_value given = value_get(call->params, name);
    int64_t days;
    *out = NULL;
    if (!given) return TN_OK;
    if (value_as_int(given, &days))
        time_text_days_before(loop_wall_ms(server_loop(call->server)), days, text);
    else if (!time_text_read(value_chars(given, NULL), text))
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "`%s`: found `%.80s`, expected a number of days before now, or a date or a time in ISO 8601: "
                         "2026-01-31 or 2026-01-31T12:00:00Z",
                         name, value_chars(given, NULL));
    *out = text;
    return TN_OK;
}

/* Ends the call with {name: result}. */
static void end_stored_as(const char *name, void *user, int32_t status, tn_value result, const struct error *error) {
    tn_value whole = status == TN_OK ? value_set_take(value_object_reserve(1), name, value_ref(result)) : NULL;
    method_request_done(user, status, whole, error);
    value_unref(whole);
}

/* ---- Reading ---- */

/* Takes the record of a thread. */
static tn_value note_expiry(const struct server *server, tn_value record) {
    if (thread_check_expiry(server_engine(server), record, NULL) == TN_OK) return record;
    return value_set_take(record, "expired", value_bool(true));
}

static void thread_on_page(void *user, int32_t status, tn_value page, const struct error *error) {
    const struct server *server = method_request_server(user);
    tn_value records = value_get(page, "threads"), threads = value_array_reserve(value_count(records));
    for (size_t i = 0; i < value_count(records); i++)
        threads = value_push_take(threads, note_expiry(server, value_ref(value_at(records, i))));
    page = status == TN_OK ? value_set_take(value_ref(page), "threads", value_ref(threads)) : NULL;
    method_request_done(user, status, page, error);
    value_unref(threads);
    value_unref(page);
}

static void thread_on_record(void *user, int32_t status, tn_value record, const struct error *error) {
    record = status == TN_OK ? note_expiry(method_request_server(user), value_ref(record)) : NULL;
    method_request_done(user, status, record, error);
    value_unref(record);
}

/* Takes the record. Users learn nothing of the machine, and nothing that only the host needs. */
static tn_value without_host_members(tn_value record) {
    static const char *const members[] = {"document", "owner",   "graph",       "fence",       "changed",
                                          "snapshot", "batches", "incarnation", THREAD_SERVED, THREAD_CONTINUED};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (value_get(record, members[i])) record = value_remove_take(record, value_text(members[i]));
    return user_error_hide_take(record);
}

static void thread_on_own_page(void *user, int32_t status, tn_value page, const struct error *error) {
    tn_value records = value_get(page, "threads"), threads = value_array_reserve(value_count(records));
    for (size_t i = 0; i < value_count(records); i++)
        threads = value_push_take(threads, without_host_members(value_ref(value_at(records, i))));
    page = status == TN_OK ? value_set_take(value_ref(page), "threads", value_ref(threads)) : NULL;
    thread_on_page(user, status, page, error);
    value_unref(threads);
    value_unref(page);
}

static void thread_on_own_record(void *user, int32_t status, tn_value record, const struct error *error) {
    record = status == TN_OK ? without_host_members(value_ref(record)) : NULL;
    thread_on_record(user, status, record, error);
    value_unref(record);
}

static int32_t thread_list_method(const struct method_call *call, struct error *error) {
    char before[TIME_TEXT], since[TIME_TEXT];
    struct threads_filter filter = {.status = method_text(call, "status"),
                                    .agent = method_text(call, "agent"),
                                    .after = method_text(call, "after"),
                                    .limit = method_int(call, "limit", 100)};
    char from[OWNER_PREFIX_TEXT], to[OWNER_PREFIX_TEXT];
    if (call->owner) {
        owner_range(call->owner, from, to);
        filter.from = from;
        filter.to = to;
    }
    int32_t status = read_thread_time(call, "before", before, &filter.before, error);
    if (status == TN_OK) status = read_thread_time(call, "since", since, &filter.since, error);
    if (status != TN_OK) return status;
    struct store *store = thread_store_of(call, error);
    if (!store) return TN_NOT_FOUND;
    threads_list(store, &filter, call->owner ? thread_on_own_page : thread_on_page, method_request_new(call));
    return TN_OK;
}

static int32_t thread_get_method(const struct method_call *call, struct error *error) {
    struct store *store = thread_store_of(call, error);
    if (!store) return TN_NOT_FOUND;
    thread_show(store, thread_id_of(call), call->owner ? thread_on_own_record : thread_on_record,
                method_request_new(call));
    return TN_OK;
}

static void thread_on_history(void *user, int32_t status, tn_value lines, const struct error *error) {
    end_stored_as("checkpoints", user, status, lines, error);
}

static int32_t thread_history_method(const struct method_call *call, struct error *error) {
    struct store *store = thread_store_of(call, error);
    if (!store) return TN_NOT_FOUND;
    thread_history(store, thread_id_of(call), method_int(call, "limit", 100), thread_on_history,
                   method_request_new(call));
    return TN_OK;
}

static void thread_on_state(void *user, int32_t status, tn_value state, const struct error *error) {
    end_stored_as("state", user, status, state, error);
}

static int32_t thread_state_method(const struct method_call *call, struct error *error) {
    struct store *store = thread_store_of(call, error);
    if (!store) return TN_NOT_FOUND;
    thread_state(store, thread_id_of(call), method_int(call, "seq", THREAD_HEAD), thread_on_state,
                 method_request_new(call));
    return TN_OK;
}

static int32_t thread_export_method(const struct method_call *call, struct error *error) {
    struct store *store = thread_store_of(call, error);
    if (!store) return TN_NOT_FOUND;
    thread_export(store, thread_id_of(call), method_request_done, method_request_new(call));
    return TN_OK;
}

/* ---- Changing one thread ---- */

static int32_t thread_fork_method(const struct method_call *call, struct error *error) {
    struct store *store = thread_store_of(call, error);
    if (!store) return TN_NOT_FOUND;
    thread_fork(store, thread_id_of(call), method_int(call, "seq", THREAD_HEAD), method_text(call, "new_thread_id"),
                method_request_done_empty, method_request_new(call));
    return TN_OK;
}

static int32_t thread_truncate_method(const struct method_call *call, struct error *error) {
    struct store *store = thread_store_of(call, error);
    if (!store) return TN_NOT_FOUND;
    thread_truncate(store, thread_id_of(call), method_int(call, "seq", THREAD_HEAD), !method_flag(call, "history"),
                    method_request_done_empty, method_request_new(call));
    return TN_OK;
}

/* The interrupts are read on the store's thread, where the rights of a component cannot be judged. */
static int32_t thread_answer_method(const struct method_call *call, struct error *error) {
    if (client_is_plugin(call->client))
        return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                         "%s may not save answers in a thread; give them to run/resume, which checks whether they may "
                         "approve what the thread asks for",
                         client_name(call->client));
    thread_answer(server_engine(call->server), thread_id_of(call), value_get(call->params, "answers"),
                  method_request_done_empty, method_request_new(call));
    return TN_OK;
}

static int32_t thread_update_method(const struct method_call *call, struct error *error) {
    struct graph *graph = NULL;
    int32_t status = document_open(call, &graph, error);
    if (status != TN_OK) return status;
    const char *document = method_text(call, "document");
    const struct thread_request request = {.id = thread_id_of(call),
                                           .mode = THREAD_UPDATE,
                                           .as = method_text(call, "as"),
                                           .next = value_get(call->params, "next"),
                                           .from = value_get(call->params, "seq"),
                                           .create = method_flag(call, "create"),
                                           .accept_changes = method_flag(call, "accept_changes"),
                                           .force = method_flag(call, "force"),
                                           .document = document ? document : method_text(call, "name")};
    thread_update(server_engine(call->server), graph, &request, value_get(call->params, "channels"),
                  method_request_done_empty, method_request_new(call));
    graph_unref(graph);
    return TN_OK;
}

static int32_t thread_delete_method(const struct method_call *call, struct error *error) {
    struct store *store = thread_store_of(call, error);
    if (!store) return TN_NOT_FOUND;
    thread_delete(store, thread_id_of(call), method_flag(call, "force"), method_request_done_empty,
                  method_request_new(call));
    return TN_OK;
}

static int32_t thread_import_method(const struct method_call *call, struct error *error) {
    struct store *store = thread_store_of(call, error);
    if (!store) return TN_NOT_FOUND;
    tn_value thread = value_get(call->params, "thread");
    const char *given = thread_id_of(call);
    const char *id = given ? given : value_chars(value_get(value_get(thread, "record"), "thread_id"), NULL);
    thread_import(store, id, thread, method_flag(call, "replace"), method_request_done_empty, method_request_new(call));
    return TN_OK;
}

/* ---- Removing old threads ---- */

/* The time of limits.thread_days; NULL if it is not set. */
static const char *thread_age_limit(const struct method_call *call, char text[TIME_TEXT]) {
    int64_t days = config_limit(host_config(server_host(call->server)), "thread_days", -1);
    if (days < 0) return NULL;
    time_text_days_before(loop_wall_ms(server_loop(call->server)), days, text);
    return text;
}

/* The store keeps the order of requests, so the maintenance follows the removal. */
static int32_t thread_collect_method(const struct method_call *call, struct error *error) {
    char before[TIME_TEXT], expired[TIME_TEXT];
    struct threads_policy policy = {.status = method_text(call, "status"),
                                    .keep = method_int(call, "keep", -1),
                                    .dry_run = method_flag(call, "dry_run")};
    int32_t status = read_thread_time(call, "before", before, &policy.before, error);
    if (status != TN_OK) return status;
    if (!policy.before && policy.keep < 0) policy.before = thread_age_limit(call, before);
    policy.expired_before = thread_expiry_limit(server_engine(call->server), expired);
    if (!policy.before && policy.keep < 0 && !policy.expired_before)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "found neither `before` nor `keep`, and no limits.thread_days or limits.interrupt_hours in "
                         "tenon.yaml; expected one of them, which says which threads are old");
    struct store *store = thread_store_of(call, error);
    if (!store) return TN_NOT_FOUND;
    threads_collect(store, &policy, method_request_done, method_request_new(call));
    if (!policy.dry_run) kernel_maintain(&(struct kernel){server_loop(call->server), store}, NULL, NULL);
    return TN_OK;
}

const struct method_handler thread_methods[] = {
    {"thread/list", thread_list_method},
    {"thread/get", thread_get_method},
    {"thread/history", thread_history_method},
    {"thread/state", thread_state_method},
    {"thread/fork", thread_fork_method},
    {"thread/answer", thread_answer_method},
    {"thread/update", thread_update_method},
    {"thread/delete", thread_delete_method},
    {"thread/export", thread_export_method},
    {"thread/import", thread_import_method},
    {"thread/collect", thread_collect_method},
    {"thread/truncate", thread_truncate_method},
    {NULL, NULL},
};
