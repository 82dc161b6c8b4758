/*
 * remote_store.c - the process of one open store, on the store's thread.
 *
 * A process has a loop that never runs, because struct process needs one: all waiting is in process_call_take. Each
 * start has a new loop, and freeing it frees the process. Of struct remote only members are used that do not change
 * after remote_start, and the deaths of all its stores, which have a lock and are recorded like those of other
 * processes.
 *
 * Whether a batch was applied is not known if the process ends before it has answered. Therefore no request is sent
 * twice, and the error of `commit` is not retryable.
 */
#include "host/plugin/isolate/remote_store.h"
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/base/log.h"
#include "host/plugin/isolate/launch.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_deaths.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin.h"
#include <pthread.h>
#include <string.h>
#include <time.h>

#define STORE_NUMBER 1 /* on the wire: a process has one store */

struct tn_store {
    const struct remote *remote;
    tn_value options;
    tn_value environment;
    char *location;
    struct loop *loop; /* of the process; NULL if none runs */
    struct process *process;
};

/* Of all stores of a plugin, so that opening one again and again does not start a process each time. */
struct remote_store_deaths {
    pthread_mutex_t lock; /* guards the rest */
    uint32_t in_a_row;    /* deaths since the last answer */
    int64_t restart_ms;   /* no start before; real time */
    int64_t record;       /* the id of the record that has them, or 0 */
};

/* ---- Errors ---- */

/* False for an error that a JSON-RPC library made, whose code is a number, and for one without a code. */
static bool is_store_code(const char *code) {
    return code && *code >= 'A' && *code <= 'Z' && strcmp(code, "ERROR") != 0 && strcmp(code, "PLUGIN_INVALID") != 0;
}

/* Moves `error` to *out, in the form of tenon/store.h. An error without a code becomes STORE_ERROR. */
static int32_t store_fail(struct error *error, tn_value *out) {
    tn_value object = error_to_value(error);
    if (!is_store_code(error->code)) object = value_set_take(object, "code", value_text("STORE_ERROR"));
    error_finish(error);
    *out = object;
    return TN_FAILED;
}

/* ---- Deaths ---- */

struct remote_store_deaths *store_deaths_new(void) {
    struct remote_store_deaths *deaths = mem_zalloc(sizeof *deaths);
    pthread_mutex_init(&deaths->lock, NULL);
    return deaths;
}

void store_deaths_clear(struct remote_store_deaths *deaths) {
    pthread_mutex_lock(&deaths->lock);
    deaths->in_a_row = 0;
    deaths->record = 0;
    pthread_mutex_unlock(&deaths->lock);
}

void store_deaths_free(struct remote_store_deaths *deaths) {
    pthread_mutex_destroy(&deaths->lock);
    mem_free(deaths);
}

/* The process has answered. */
static void store_reset_deaths_in_a_row(const tn_store *store) {
    struct remote_store_deaths *deaths = store->remote->store_deaths;
    pthread_mutex_lock(&deaths->lock);
    deaths->in_a_row = 0;
    pthread_mutex_unlock(&deaths->lock);
}

/* The rest of the pause in ms, and the number of deaths in a row. */
static int64_t store_pause_left(const tn_store *store, uint32_t *in_a_row) {
    const struct remote *remote = store->remote;
    struct remote_store_deaths *deaths = remote->store_deaths;
    pthread_mutex_lock(&deaths->lock);
    if (deaths->record && deaths_were_reset(remote->host->state_folder, plugin_id(remote->plugin), deaths->record)) {
        deaths->in_a_row = 0;
        deaths->record = 0;
    }
    int64_t left = deaths->in_a_row ? deaths->restart_ms - clock_now_ms() : 0;
    *in_a_row = deaths->in_a_row;
    pthread_mutex_unlock(&deaths->lock);
    return left > 0 ? left : 0;
}

/* Counts and records a death. Returns the pause that follows it. */
static int64_t store_add_death(const struct remote *remote, const char *message) {
    struct remote_store_deaths *deaths = remote->store_deaths;
    pthread_mutex_lock(&deaths->lock);
    int64_t pause_ms = remote_pause_after(++deaths->in_a_row);
    deaths->restart_ms = clock_now_ms() + pause_ms;
    const struct death death = {.plugin = plugin_id(remote->plugin),
                                .file = plugin_path(remote->plugin),
                                .message = message,
                                .in_a_row = deaths->in_a_row,
                                .now_ms = clock_wall_ms(),
                                .pause_ms = pause_ms};
    int64_t record = remote->host->state_folder ? deaths_add(remote->host->state_folder, &death) : 0;
    if (record) deaths->record = record;
    pthread_mutex_unlock(&deaths->lock);
    return pause_ms;
}

static void store_free_process(tn_store *store) {
    process_free(store->process);
    loop_free(store->loop);
    store->process = NULL;
    store->loop = NULL;
}

/* The process has ended: logs and records it, and frees the process. `lost` describes the request that was in it. */
static void store_count_death(tn_store *store, const char *lost, bool retryable, struct error *out) {
    const struct error *end = process_end(store->process);
    int64_t pause_ms = store_add_death(store->remote, end->message);
    log_write(LOG_ERROR, NULL, "%s; the process of the store is started again by the next request, after %lld ms",
              end->message, (long long)pause_ms);
    if (out) {
        error_set(out, TN_FAILED, "STORE_ERROR", "%s; %s", end->message, lost);
        out->more = end->more ? value_ref(end->more) : value_object_reserve(2);
        out->more = value_set_take(out->more, "retryable", value_bool(retryable));
        out->more = value_set_take(out->more, "retry_after_ms", value_int(pause_ms));
    }
    store_free_process(store);
}

/* Waits for the end of a pause, if it is short. */
static int32_t store_wait_pause(const tn_store *store, struct error *error) {
    uint32_t in_a_row;
    int64_t left_ms = store_pause_left(store, &in_a_row);
    if (left_ms > store->remote->store_pause_ms) {
        error_set(error, TN_FAILED, "STORE_ERROR",
                  "plugin `%s`: the process of the store has ended %u times in a row; it is started again in %lld ms",
                  plugin_id(store->remote->plugin), in_a_row, (long long)left_ms);
        error->more = value_set_take(value_object_reserve(2), "retryable", value_bool(true));
        error->more = value_set_take(error->more, "retry_after_ms", value_int(left_ms));
        return TN_FAILED;
    }
    struct timespec pause = {left_ms / 1000, left_ms % 1000 * 1000000};
    while (left_ms > 0 && nanosleep(&pause, &pause) != 0) continue;
    return TN_OK;
}

/* ---- Messages of the process ---- */

/* Such a process has no tasks, and the store's thread cannot make requests for it. */
static void store_refuse_http(const tn_store *store, tn_value params) {
    struct error error = ERROR_INIT;
    tn_value exchange = value_get(params, "exchange");
    error_set(&error, TN_UNSUPPORTED, "UNSUPPORTED",
              "the process of a store cannot make requests over HTTP; declare net:raw, and open connections");
    tn_value event = value_set_take(value_object_reserve(3), "exchange", exchange ? value_ref(exchange) : value_null());
    event = value_set_take(event, "event", value_text("failed"));
    process_notify_take(store->process, "http", value_set_take(event, "value", error_to_value(&error)));
    error_finish(&error);
}

/* The same for a request or a subscription of tenon.host. */
static void store_refuse_method(const tn_store *store, const char *key, tn_value params) {
    struct error error = ERROR_INIT;
    tn_value number = value_get(params, key);
    error_set(&error, TN_UNSUPPORTED, "UNSUPPORTED",
              "the process of a store cannot use tenon.host; components of the plugin can, in other processes");
    tn_value ended = value_set_take(value_object_reserve(2), key, number ? value_ref(number) : value_null());
    process_notify_take(store->process, "host_ended", value_set_take(ended, "error", error_to_value(&error)));
    error_finish(&error);
}

/* process_options.message_now. What it adds or removes does not count, as in a process of the pool. */
static bool store_on_message(void *user, tn_value message) {
    const tn_store *store = user;
    tn_value method = value_get(message, "method"), params = value_get(message, "params");
    if (value_text_is(method, "log") && value_is(params, TN_OBJECT)) remote_on_log(store->remote, params);
    if (value_text_is(method, "http_send")) store_refuse_http(store, params);
    if (value_text_is(method, "host_request")) store_refuse_method(store, "request", params);
    if (value_text_is(method, "host_subscribe")) store_refuse_method(store, "subscription", params);
    return true;
}

/* These belong to the loop, which does not run. */
static void store_ignore_message(void *user, tn_value message) { (void)user, (void)message; }
static void store_ignore_end(void *user, const struct error *why) { (void)user, (void)why; }

/* ---- Requests ---- */

static tn_value store_params(uint32_t more) {
    return value_set_take(value_object_reserve(1 + more), "store", value_int(STORE_NUMBER));
}

/*
 * Sends a request to the process, which runs, and waits. TN_FAILED if the process has ended: it is counted and freed.
 * Returns TN_UNSUPPORTED if the process answered with an error, and TN_LIMIT, as process_call_take does.
 */
static int32_t store_call_take(tn_store *store, const char *method, tn_value params, int64_t limit_ms, const char *lost,
                               bool retryable, tn_value *result, struct error *error) {
    int32_t status = process_call_take(store->process, method, params, limit_ms, result, error);
    if (status == TN_ERROR) {
        store_count_death(store, lost, retryable, error);
        return TN_FAILED;
    }
    return status == TN_FAILED ? TN_UNSUPPORTED : status;
}

static int32_t store_launch(tn_store *store, struct error *error) {
    const struct remote *remote = store->remote;
    struct process_options options = {.name = plugin_id(remote->plugin),
                                      .message = store_ignore_message,
                                      .message_now = store_on_message,
                                      .ended = store_ignore_end,
                                      .user = store};
    store->loop = loop_new(error);
    if (!store->loop) return TN_ERROR;
    const struct launch launch = {remote->host, remote->plugin, store->loop, &store->environment, store->location};
    store->process = launch_plugin(&launch, &options, error);
    if (store->process) return TN_OK;
    store_free_process(store);
    return TN_ERROR;
}

/* Starts the process, and opens the store in it. */
static int32_t store_start(tn_store *store, struct error *error) {
    static const char lost[] = "the store was not opened";
    const struct remote *remote = store->remote;
    tn_value result = NULL;
    int32_t status = store_wait_pause(store, error);
    if (status == TN_OK) status = remote_check_file(remote, error);
    if (status == TN_OK) status = store_launch(store, error);
    if (status != TN_OK) return status;
    status = store_call_take(store, "initialize", remote_initialize_params(remote), REMOTE_START_MS, lost, true,
                             &result, error);
    if (status == TN_OK) status = remote_check_initialized(remote, store->process, result, error);
    value_unref(result);
    if (status == TN_OK) {
        tn_value params = value_set_take(store_params(1), "options", value_ref(store->options));
        result = NULL;
        status = store_call_take(store, "store_open", params, remote->store_ms, lost, true, &result, error);
        value_unref(result);
    }
    if (status != TN_OK && store->process) store_free_process(store);
    return status;
}

/* What is different for each kind of request. */
struct store_request {
    const char *method, *member; /* the member of params that has the argument; NULL for none */
    int64_t limit_ms;
    const char *lost; /* what is not known if the process ends */
    bool retryable;
    tn_value (*check)(tn_value argument, tn_value result);
};

static int32_t store_fail_wrong_answer(const tn_store *store, const char *method, tn_value why_take,
                                       struct error *error) {
    error_set(error, TN_FAILED, "STORE_ERROR", "plugin `%s`: its answer to `%s` is wrong: %s",
              plugin_id(store->remote->plugin), method, value_chars(why_take, NULL));
    value_unref(why_take);
    return TN_FAILED;
}

static int32_t store_request(tn_store *store, const struct store_request *request, tn_value argument, tn_value *result,
                             tn_value *out) {
    struct error error = ERROR_INIT;
    tn_value found = NULL, params = store_params(1);
    int32_t status = TN_OK;
    if (request->member) params = value_set_take(params, request->member, value_ref(argument));
    /* A process that has ended since the last request has lost nothing. */
    if (store->process && !process_refresh(store->process)) store_count_death(store, "", true, NULL);
    if (!store->process) status = store_start(store, &error);
    if (status == TN_OK)
        status = store_call_take(store, request->method, params, request->limit_ms, request->lost, request->retryable,
                                 &found, &error);
    else
        value_unref(params);
    if (status == TN_OK) {
        store_reset_deaths_in_a_row(store);
        tn_value why = request->check(argument, found);
        if (why) status = store_fail_wrong_answer(store, request->method, why, &error);
    }
    if (status == TN_OK) {
        *result = found;
        return TN_OK;
    }
    value_unref(found);
    return store_fail(&error, out);
}

/* ---- tenon.store ---- */

static int32_t TN_ABI remote_store_open(void *self, tn_value options, tn_store **out, tn_value *failure) {
    const struct remote *remote = self;
    tn_value path = value_get(options, "path");
    char folder[PATH_MAX];
    struct error error = ERROR_INIT;
    if (!remote_store_folder(value_is(path, TN_STRING) ? value_chars(path, NULL) : "", folder, failure))
        return TN_FAILED;
    tn_store *store = mem_zalloc(sizeof *store);
    store->remote = remote;
    store->options = value_ref(options);
    store->environment = value_ref(remote->store_environment);
    store->location = mem_text(folder);
    int32_t status = store_start(store, &error);
    if (status == TN_OK) {
        *out = store;
        return TN_OK;
    }
    remote_store.close(store);
    return store_fail(&error, failure);
}

static void TN_ABI remote_store_close(tn_store *store) {
    if (!store) return;
    if (store->process && process_refresh(store->process)) {
        static const struct {
            const char *method;
            int64_t limit_ms;
        } ends[] = {{"store_close", REMOTE_STORE_CLOSE_MS}, {"shutdown", REMOTE_CREATE_MS}};
        int32_t status = TN_OK;
        for (size_t i = 0; i < 2 && status != TN_ERROR; i++) {
            tn_value result = NULL;
            status = process_call_take(store->process, ends[i].method, i ? value_object() : store_params(0),
                                       ends[i].limit_ms, &result, NULL);
            value_unref(result);
        }
        if (status == TN_ERROR)
            log_write(LOG_WARN, NULL, "%s, while its store was closed", process_end(store->process)->message);
    }
    if (store->process) store_free_process(store);
    value_unref(store->options);
    value_unref(store->environment);
    mem_free(store->location);
    mem_free(store);
}

static int32_t TN_ABI remote_store_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    const struct store_request request = {
        "store_commit",           "batch", store->remote->store_ms, "whether the batch was applied is not known", false,
        remote_store_check_commit};
    return store_request(store, &request, batch, result, error);
}

static int32_t TN_ABI remote_store_query(tn_store *store, tn_value query, tn_value *result, tn_value *error) {
    const struct store_request request = {
        "store_query", "query", store->remote->store_ms, "the query was not answered", true, remote_store_check_query};
    return store_request(store, &request, query, result, error);
}

static int32_t TN_ABI remote_store_maintain(tn_store *store, tn_value *result, tn_value *error) {
    const struct store_request request = {"store_maintain",          NULL, REMOTE_MAINTAIN_MS,
                                          "maintenance did not end", true, remote_store_check_maintain};
    return store_request(store, &request, NULL, result, error);
}

const tn_store_draft remote_store = {sizeof(tn_store_draft), remote_store_open,  remote_store_close,
                                     remote_store_commit,    remote_store_query, remote_store_maintain,
                                     .watch = NULL};
