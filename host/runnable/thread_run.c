/*
 * thread_run.c - what is refused before a thread is touched, and the beginning.
 */
#include "host/runnable/thread_run.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/config/config.h"
#include "host/engine/graph.h"
#include "host/engine/identity.h"
#include "host/host.h"
#include "host/loop/loop.h"
#include "host/store/collections.h"
#include "host/store/store.h"
#include "host/thread/log.h"
#include <string.h>
#include <time.h>

#define DIFFERENCES_MAX 10u /* in a message */

static bool is_done(tn_value record) {
    tn_value status = value_get(record, "status");
    return value_text_is(status, "done");
}

static const char *text_of(tn_value object, const char *key) {
    tn_value value = value_get(object, key);
    return value_is(value, TN_STRING) ? value_chars(value, NULL) : "";
}

const char *thread_wait_limit(const struct host *host, char out[THREAD_TIME_MAX]) {
    int64_t hours = config_limit(host->config, "interrupt_hours", 0);
    struct tm parts;
    if (!hours) return NULL;
    time_t then = (time_t)(loop_wall_ms(host->loop) / 1000 - hours * 3600);
    gmtime_r(&then, &parts);
    strftime(out, THREAD_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &parts);
    return out;
}

int32_t thread_check_wait(const struct host *host, tn_value record, struct error *error) {
    char text[THREAD_TIME_MAX];
    const char *before = thread_wait_limit(host, text);
    if (!before || strcmp(text_of(record, "status"), "interrupted") != 0) return TN_OK;
    if (strcmp(text_of(record, "updated_at"), before) >= 0) return TN_OK;
    return error_set(error, TN_INVALID, "EXPIRED",
                     "the thread `%s` has waited since %s, longer than the %lld hours of limits.interrupt_hours: its "
                     "interrupts have expired; give it new input with --replace, or remove it",
                     text_of(record, "thread_id"), text_of(record, "updated_at"),
                     (long long)config_limit(host->config, "interrupt_hours", 0));
}

static int32_t check_status(const struct thread_request *request, tn_value record, struct error *error) {
    bool known = value_is(record, TN_OBJECT);
    if (!known && (request->mode == THREAD_RESUME || request->mode == THREAD_UPDATE))
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                         "there is no thread `%s`; `tenon thread list` "
                         "shows those that there are",
                         request->id);
    if (!known || request->mode == THREAD_REPLACE) return TN_OK;
    if (request->mode == THREAD_UPDATE) return TN_OK;
    if (request->mode == THREAD_RESUME) {
        if (!is_done(record)) return TN_OK;
        return error_set(error, TN_INVALID, "DONE",
                         "the thread `%s` is done: there is nothing to resume; give it new "
                         "input instead",
                         request->id);
    }
    if (is_done(record)) return TN_OK;
    const char *status = text_of(record, "status");
    return error_set(
        error, TN_INVALID, "UNFINISHED",
        "the thread `%s` is not done: it is %s%s; --resume goes on with what it was at, --replace gives that "
        "up for the new input",
        request->id, status, strcmp(status, "running") == 0 ? ", or whoever ran it has died" : "");
}

static int32_t differ(const struct thread_request *request, tn_value lines, struct error *error) {
    struct buffer list;
    buffer_init(&list, 2048);
    for (size_t i = 0; i < value_count(lines) && i < DIFFERENCES_MAX; i++)
        buffer_format(&list, "%s%s", i ? "; " : "", value_chars(value_at(lines, i), NULL));
    if (value_count(lines) > DIFFERENCES_MAX)
        buffer_format(&list, "; and %zu more", value_count(lines) - DIFFERENCES_MAX);
    int32_t status = error_set(error, TN_INVALID, "GRAPH_CHANGED",
                               "the thread `%s` was begun with another version of the document: %s; go on with that "
                               "version, or accept the changes",
                               request->id, buffer_cstr(&list));
    if (error) error->more = value_set_take(value_object(), "detail", value_ref(lines));
    buffer_finish(&list);
    return status;
}

/* The thread is pinned to its graph; a thread that is done may begin anew with another one, as far as its state fits.
 */
static int32_t check_graph(struct store *store, struct graph *graph, const struct thread_request *request,
                           tn_value record, struct error *error) {
    const char *pinned = text_of(record, "graph"), *now = graph_identity(graph);
    if (!*pinned || strcmp(pinned, now) == 0 || request->accept_changes) return TN_OK;
    tn_value found = NULL, description = graph_description(graph);
    int32_t status = store_query_wait(store, store_get(STORE_GRAPHS, pinned), &found, error);
    if (status == TN_OK) {
        tn_value before = value_get(found, "value");
        tn_value lines = before ? graph_differences(before, description) : value_array();
        if (!value_count(lines)) lines = value_push_take(lines, value_text("what it was is not known any more"));
        status = differ(request, lines, error);
        value_unref(lines);
    }
    value_unref(found);
    value_unref(description);
    return status;
}

struct looked_up {
    const char *id;
};

static int32_t look_up(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct looked_up *looked_up = user;
    return thread_read(session, looked_up->id, THREAD_HEAD, result, error);
}

static void ignore(void *user, int32_t status, tn_value result, const struct error *error) {
    (void)user, (void)status, (void)result, (void)error;
}

int32_t thread_prepare_wait(struct host *host, struct graph *graph, const struct thread_request *request,
                            struct run_options *options, struct error *error) {
    int32_t status = thread_check_id(request->id, error);
    struct store *store = status == TN_OK ? host_store(host, error) : NULL;
    if (!store) return status == TN_OK ? TN_NOT_FOUND : status;
    tn_value loaded = NULL;
    struct looked_up looked_up = {request->id};
    status = store_perform_wait(store, look_up, &looked_up, &loaded, error);
    tn_value record = value_get(loaded, "record");
    if (status == TN_OK) status = check_status(request, record, error);
    if (status == TN_OK && request->mode == THREAD_RESUME) status = thread_check_wait(host, record, error);
    if (status == TN_OK) status = check_graph(store, graph, request, record, error);
    if (status != TN_OK) {
        value_unref(loaded);
        return status;
    }
    if (strcmp(text_of(record, "graph"), graph_identity(graph)) != 0) {
        /* What a later one is compared with. */
        tn_value put = store_put(STORE_GRAPHS, graph_identity(graph), graph_description(graph));
        store_commit_take(store, value_push_take(value_array(), put), ignore, NULL);
    }
    options->thread_id = request->id;
    /* What is resumed is the same run. */
    if (request->mode == THREAD_RESUME && !options->run_id && *text_of(record, "run_id"))
        options->run_id = text_of(record, "run_id");
    if (request->mode == THREAD_RESUME) {
        tn_value config = value_get(record, "config");
        if (!options->tags) options->tags = value_get(config, "tags");
        if (!options->metadata) options->metadata = value_get(config, "metadata");
        if (!options->configurable) options->configurable = value_get(config, "configurable");
        if (!options->runner_id && value_get(config, "runner_id")) options->runner_id = text_of(config, "runner_id");
        int64_t seed;
        tn_value seeded = value_get(config, "seed");
        if (!options->seed && seeded && value_as_int(seeded, &seed)) options->seed = (uint64_t)seed;
    }
    options->document = request->document;
    options->durability = request->durability;
    options->loaded = loaded;
    options->log = thread_log_new(store, request->id, loaded);
    return TN_OK;
}

/* Those that the thread was given while nobody ran it, and these, which win. */
static tn_value all_answers(tn_value record, tn_value answers) {
    tn_value given = value_get(record, "answers"), all = value_is(given, TN_OBJECT) ? value_ref(given) : value_object();
    for (size_t i = 0; value_is(answers, TN_OBJECT) && i < value_count(answers); i++)
        all = value_set_key_take(all, value_ref(value_key_at(answers, i)), value_ref(value_value_at(answers, i)));
    return all;
}

int32_t thread_begin(struct run *run, const struct thread_request *request, tn_value input, bool *ended,
                     struct error *error) {
    tn_value loaded = run_loaded(run), saved = value_get(loaded, "saved");
    if (value_is(saved, TN_OBJECT)) {
        int32_t status = run_restore(run, saved, error);
        if (status != TN_OK) return status;
    }
    if (request->mode == THREAD_RESUME) {
        tn_value answers = all_answers(value_get(loaded, "record"), request->answers);
        int32_t status = run_resume(run, answers, ended, error);
        value_unref(answers);
        return status;
    }
    if (request->mode == THREAD_UPDATE) return run_update(run, input, request->as, ended, error);
    run_give_up_plan(run);
    return run_begin(run, input, ended, error);
}
