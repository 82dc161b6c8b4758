/*
 * server_timetable.c - claims due times of run schedules, and starts their runs.
 */
#include "host/server/server_timetable.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/base/time_text.h"
#include "host/data/kernel/kernel_request.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/owner.h"
#include "host/server/server_internal.h"
#include "host/server/server_run.h"
#include "host/server/user_error.h"
#include "host/work/run_schedule.h"
#include <assert.h>
#include <string.h>

#define WAIT_MS 1000 /* when TIMETABLE_ACTIVE_MAX runs are active */

/* A run that was started here. */
struct started_run {
    struct started_run *next;
    char owner[OWNER_TEXT]; /* "": the operator */
    char id[];
};

struct server_timetable {
    struct server *server;
    struct server_starter starter; /* `check` NULL: none */
    struct loop_timer timer;
    struct started_run *runs; /* active, unless they have ended lately */
    bool started, stopped;
    bool looking; /* a request to the store is open */
    bool again;   /* something has changed meanwhile */
    bool warned;  /* the store has failed */
};

/* A claimed due time. */
struct due {
    struct server_timetable *timetable;
    const char *schedule_id, *run_id, *document, *key;
    const char *owner; /* NULL: the operator */
    tn_value record, due_ms;
    char owner_text[OWNER_TEXT];
};

static void look(struct server_timetable *timetable);

static void on_timer(struct loop_timer *timer) { look(CONTAINER_OF(timer, struct server_timetable, timer)); }

static void sleep_for(struct server_timetable *timetable, int64_t ms) {
    if (timetable->stopped) return;
    loop_timer_stop(server_loop(timetable->server), &timetable->timer);
    loop_timer_start(server_loop(timetable->server), &timetable->timer, ms, on_timer);
}

/* ---- Active runs ---- */

static bool is_active(const struct server_timetable *timetable, const char *id) {
    struct error error = ERROR_INIT;
    const struct server_run *run = server_run_find(server_runs_of(timetable->server), NULL, id, &error);
    error_finish(&error);
    return run && server_run_is_active(run);
}

/* Forgets runs that have ended, and returns the number of the others; of this owner if it is not NULL. */
static uint32_t count_active(struct server_timetable *timetable, const char *owner) {
    uint32_t count = 0;
    for (struct started_run **link = &timetable->runs; *link;) {
        struct started_run *run = *link;
        if (is_active(timetable, run->id)) {
            count += !owner || strcmp(run->owner, owner) == 0;
            link = &run->next;
        } else {
            *link = run->next;
            mem_free(run);
        }
    }
    return count;
}

static void note_active(const struct due *due) {
    size_t length = strlen(due->run_id) + 1;
    struct started_run *run = mem_zalloc(sizeof *run + length);
    memcpy(run->id, due->run_id, length);
    if (due->owner) snprintf(run->owner, sizeof run->owner, "%s", due->owner);
    run->next = due->timetable->runs;
    due->timetable->runs = run;
}

/* ---- A run ---- */

/* {thread_id?, run_id, …}, a new reference. */
static tn_value config_of(const struct due *due, int64_t now_ms) {
    tn_value given = value_get(due->record, "config");
    tn_value config = given ? value_ref(given) : value_object();
    if (value_to_bool(value_get(due->record, "new_thread"))) {
        char prefix[OWNER_PREFIX_TEXT], id[KERNEL_ID_TEXT];
        owner_prefix(due->owner, prefix);
        kernel_id_make(now_ms, id);
        config = value_set_take(config, "thread_id", value_format("%s%s", prefix, id));
    }
    return value_set_take(config, "run_id", value_text(due->run_id));
}

static int32_t check_room(const struct due *due, tn_value config, struct error *error) {
    struct server_timetable *timetable = due->timetable;
    tn_value thread = value_get(config, "thread_id");
    uint32_t active = due->owner ? count_active(timetable, due->owner) : 0;
    if (active >= TIMETABLE_OWNER_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "%u runs of schedules are active, expected fewer than %u", active,
                         TIMETABLE_OWNER_MAX);
    if (!thread || !server_runs_thread_is_active(server_runs_of(timetable->server), value_chars(thread, NULL)))
        return TN_OK;
    return error_set(error, TN_INVALID, "CONFLICT", "another run of the thread is active");
}

static int32_t open_graph(const struct due *due, struct graph **out, struct error *error) {
    return graph_open(server_engine(due->timetable->server), NULL, due->document, &(struct graph_origin){0}, out,
                      error);
}

static int32_t start_run(const struct due *due, tn_value config, struct error *error) {
    struct server_runs *runs = server_runs_of(due->timetable->server);
    tn_value modes = value_get(due->record, "modes");
    struct graph *graph = NULL;
    int32_t status = open_graph(due, &graph, error);
    if (status != TN_OK) return status;
    struct server_run *run = server_run_new(runs,
                                            &(struct server_run_options){.owner = due->owner,
                                                                         .graph = graph,
                                                                         .file = due->document,
                                                                         .document = due->document,
                                                                         .input = value_get(due->record, "input"),
                                                                         .config = config,
                                                                         .modes = server_run_modes(modes),
                                                                         .continued = -1},
                                            error);
    graph_unref(graph);
    return run ? server_run_start(run, NULL, error) : TN_INVALID;
}

static void publish_started(const struct due *due, tn_value config) {
    tn_value thread = value_get(config, "thread_id"), metadata = value_get(due->record, "metadata");
    tn_value params = value_set_take(value_object_reserve(6), "schedule_id", value_text(due->schedule_id));
    params = value_set_take(params, "run_id", value_text(due->run_id));
    if (thread) params = value_set_take(params, "thread_id", value_ref(thread));
    params = value_set_take(params, "document", value_text(due->document));
    params = value_set_take(params, "due_at", time_value(value_to_int(due->due_ms)));
    params = value_set_take(params, "metadata", metadata ? value_ref(metadata) : value_object());
    server_publish_take(due->timetable->server, "schedule/started", params);
}

/* Messages about the documents and the store of the operator are not for owners. */
static void note_error(const struct due *due, const struct error *error) {
    struct error shown = ERROR_INIT;
    struct store *store = host_store(server_host(due->timetable->server), &shown);
    bool hides = due->owner && (strcmp(error->code, "INVALID_GRAPH") == 0 || strcmp(error->code, "IO") == 0);
    if (hides)
        error_set(&shown, TN_INVALID, "INVALID_GRAPH", "the document has a mistake, which the log of the host shows");
    else if (due->owner && user_error_is_hidden(error->code))
        user_error_set(&shown, TN_FAILED, error->code);
    log_write(LOG_WARN, NULL, "schedule %s: no run was started: %s [%s]", due->schedule_id, error->message,
              error->code);
    tn_value text = value_format("%s [%s]", shown.code ? shown.message : error->message, error->code);
    if (store) run_schedule_note_error(store, due->schedule_id, due->run_id, value_chars(text, NULL));
    value_unref(text);
    error_finish(&shown);
}

/* With the key's permission. */
static int32_t start_as_key(const struct due *due, tn_value config, struct error *error) {
    const struct server_starter *starter = &due->timetable->starter;
    bool checks = due->key && starter->check;
    if (checks) {
        int32_t status = starter->check(starter->user, due->key, due->owner, error);
        if (status != TN_OK) return status;
    }
    int32_t status = start_run(due, config, error);
    tn_value result = status == TN_OK ? value_set_take(value_object(), "run_id", value_text(due->run_id)) : NULL;
    if (checks) starter->started(starter->user, due->key, due->owner, result);
    value_unref(result);
    return status;
}

static void start_due(struct server_timetable *timetable, tn_value claimed, int64_t now_ms) {
    tn_value record = value_get(claimed, "record"), key = value_get(record, "key");
    struct due due = {.timetable = timetable,
                      .schedule_id = value_chars(value_get(claimed, "schedule_id"), NULL),
                      .run_id = value_chars(value_get(record, "run_id"), NULL),
                      .document = value_chars(value_get(record, "document"), NULL),
                      .key = value_is(key, TN_STRING) ? value_chars(key, NULL) : NULL,
                      .record = record,
                      .due_ms = value_get(claimed, "due_ms")};
    struct error error = ERROR_INIT;
    if (owner_of(due.schedule_id, due.owner_text)) due.owner = due.owner_text;
    tn_value config = config_of(&due, now_ms);
    int32_t status = check_room(&due, config, &error);
    if (status == TN_OK) status = start_as_key(&due, config, &error);
    if (status == TN_OK) {
        note_active(&due);
        publish_started(&due, config);
    } else {
        note_error(&due, &error);
    }
    value_unref(config);
    error_finish(&error);
}

/* ---- Looking ---- */

static void on_claimed(void *user, int32_t status, tn_value result, const struct error *error) {
    struct server_timetable *timetable = user;
    tn_value claimed = value_get(result, "claimed"), next = value_get(result, "next_ms");
    int64_t now_ms = value_get(result, "now_ms") ? value_to_int(value_get(result, "now_ms")) : 0;
    int64_t delay = TIMETABLE_LOOK_MS;
    timetable->looking = false;
    if (status != TN_OK && !timetable->warned)
        log_write(LOG_WARN, NULL, "the schedules of clients cannot be read, trying again: %s", error->message);
    timetable->warned = status != TN_OK;
    for (size_t i = 0; i < value_count(claimed); i++) start_due(timetable, value_at(claimed, i), now_ms);
    if (value_is(next, TN_INT) && value_to_int(next) - now_ms < delay) delay = value_to_int(next) - now_ms;
    if (status != TN_OK) delay = TIMETABLE_RETRY_MS;
    if (timetable->again || value_to_bool(value_get(result, "more"))) delay = 0;
    timetable->again = false;
    sleep_for(timetable, delay);
}

/* ["graph:NAME", …]: what this host serves. */
static tn_value served_documents(const struct server_timetable *timetable) {
    tn_value graphs = config_graphs(host_config(server_host(timetable->server))), documents = value_array();
    for (size_t i = 0; i < value_count(graphs); i++)
        documents = value_push_take(documents, value_format("graph:%s", value_chars(value_key_at(graphs, i), NULL)));
    return documents;
}

static void look(struct server_timetable *timetable) {
    struct error error = ERROR_INIT;
    if (timetable->looking || timetable->stopped) return;
    struct store *store = host_store(server_host(timetable->server), &error);
    error_finish(&error);
    if (!store) {
        sleep_for(timetable, TIMETABLE_RETRY_MS);
    } else if (count_active(timetable, NULL) >= TIMETABLE_ACTIVE_MAX) {
        sleep_for(timetable, WAIT_MS);
    } else {
        timetable->looking = true;
        run_schedules_claim(store, served_documents(timetable), on_claimed, timetable);
    }
}

/* ---- Users without a key ---- */

int64_t server_timetable_days(const struct server *server, const char *key) {
    if (!strchr(key, ':')) return 0;
    tn_value limits = value_get(config_serve(host_config(server_host(server))), "limits");
    tn_value days = value_get(limits, "token_schedule_days");
    return days ? value_to_int(days) : -1;
}

/* ---- Life ---- */

struct server_timetable *server_timetable_new(struct server *server) {
    struct server_timetable *timetable = mem_zalloc(sizeof *timetable);
    timetable->server = server;
    return timetable;
}

void server_timetable_set_starter(struct server_timetable *timetable, const struct server_starter *starter) {
    timetable->starter = starter ? *starter : (struct server_starter){NULL, NULL, NULL};
}

void server_timetable_start(struct server_timetable *timetable) {
    bool serves = value_count(config_graphs(host_config(server_host(timetable->server)))) > 0;
    if (timetable->started || timetable->stopped || !serves) return;
    timetable->started = true;
    look(timetable);
}

void server_timetable_changed(struct server_timetable *timetable) {
    if (!timetable->started || timetable->stopped) return;
    if (timetable->looking)
        timetable->again = true;
    else
        sleep_for(timetable, 0);
}

void server_timetable_stop(struct server_timetable *timetable) {
    timetable->stopped = true;
    loop_timer_stop(server_loop(timetable->server), &timetable->timer);
}

static bool has_no_request(void *user) { return !((const struct server_timetable *)user)->looking; }

void server_timetable_end(struct server_timetable *timetable) {
    server_timetable_stop(timetable);
    (void)loop_run(server_loop(timetable->server), has_no_request, timetable);
}

void server_timetable_free(struct server_timetable *timetable) {
    if (!timetable) return;
    assert(has_no_request(timetable));
    while (timetable->runs) {
        struct started_run *run = timetable->runs;
        timetable->runs = run->next;
        mem_free(run);
    }
    mem_free(timetable);
}
