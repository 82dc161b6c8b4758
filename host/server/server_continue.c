/*
 * server_continue.c - looks for threads that were left, claims them one by one, and starts their runs.
 */
#include "host/server/server_continue.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/data/store/store.h"
#include "host/data/thread/thread_left.h"
#include "host/data/thread/thread_records.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graph_identity.h"
#include "host/server/server_internal.h"
#include "host/server/server_run.h"
#include <assert.h>
#include <string.h>

struct server_continue {
    struct server *server;
    struct loop_timer timer;
    struct loop_work work; /* continues after an end */
    tn_value threads;      /* those of the last look */
    size_t next;           /* the first of them that was not claimed */
    struct claim *claims;  /* open */
    size_t claiming, active;
    int64_t pause_ms; /* before the next look, if one is needed */
    bool started, stopped, looking;
    bool later;    /* another look is needed */
    bool reported; /* the first look has ended: what stays as it was is not logged again */
};

/* A thread whose claim is open. */
struct claim {
    struct claim *next;
    struct server_continue *all;
    struct graph *graph;
    char *thread;
};

static void look(struct server_continue *all);
static void advance(struct server_continue *all);

static void on_timer(struct loop_timer *timer) { look(CONTAINER_OF(timer, struct server_continue, timer)); }

/* ---- A look ---- */

/* What cannot be done now may be possible after a pause. */
static void look_again(struct server_continue *all) {
    if (all->stopped || loop_timer_is_running(&all->timer)) return;
    loop_timer_start(server_loop(all->server), &all->timer, all->pause_ms, on_timer);
    all->pause_ms = all->pause_ms * 2 < CONTINUE_LAST_MS ? all->pause_ms * 2 : CONTINUE_LAST_MS;
}

static void report_store(const struct server_continue *all, const struct error *error) {
    if (all->pause_ms > CONTINUE_FIRST_MS) return;
    log_write(LOG_WARN, NULL, "runs that the last host has left cannot be continued yet: %s; this is tried again",
              error->message);
}

static void on_left(void *user, int32_t status, tn_value result, const struct error *error) {
    struct server_continue *all = user;
    all->looking = false;
    if (all->stopped) return;
    if (status != TN_OK) {
        report_store(all, error);
        look_again(all);
        return;
    }
    all->threads = value_ref(value_get(result, "threads"));
    all->next = 0;
    all->later = value_to_bool(value_get(result, "later"));
    if (value_count(all->threads) && !all->reported)
        log_write(LOG_WARN, NULL, "runs that had not ended when their host did, and are continued: %zu",
                  value_count(all->threads));
    advance(all);
}

static void look(struct server_continue *all) {
    struct error error = ERROR_INIT;
    if (all->looking || all->stopped || all->threads) return;
    struct store *store = host_store(server_host(all->server), &error);
    all->looking = store != NULL;
    if (store) {
        threads_left(store, on_left, all);
    } else {
        report_store(all, &error);
        look_again(all);
    }
    error_finish(&error);
}

/* ---- A thread ---- */

static void report_thread(const struct server_continue *all, const char *thread, const char *why) {
    if (!all->reported) log_write(LOG_WARN, NULL, "the run of the thread `%s` is not continued: %s", thread, why);
}

static bool is_served(const struct server_continue *all, const char *name) {
    return value_get(config_graphs(host_config(server_host(all->server))), name) != NULL;
}

/* The graph with which the thread was started, a new reference; NULL if it cannot be continued now. */
static struct graph *graph_of_thread(struct server_continue *all, tn_value thread) {
    const char *id = thread_record_text(thread, "thread_id");
    const char *name = thread_record_text(value_get(thread, THREAD_SERVED), "graph");
    struct graph *graph = NULL;
    struct error error = ERROR_INIT;
    if (!is_served(all, name)) {
        report_thread(all, id, "its graph is not served any more");
        return NULL;
    }
    tn_value document = value_format("graph:%s", name);
    if (graph_open(server_engine(all->server), NULL, value_chars(document, NULL), &(struct graph_origin){0}, &graph,
                   &error) != TN_OK) {
        report_thread(all, id, error.message);
        graph = NULL;
        all->later = true;
    } else if (strcmp(graph_identity(graph), thread_record_text(thread, "graph")) != 0) {
        report_thread(all, id, "its graph has changed; `tenon thread resume --accept-changes` continues it");
        graph_unref(graph);
        graph = NULL;
    }
    value_unref(document);
    error_finish(&error);
    return graph;
}

/* A run of this host that has the id, and has ended, loses it. */
static void forget_ended(struct server_continue *all, const char *run_id) {
    struct error error = ERROR_INIT;
    struct server_run *run = server_run_find(server_runs_of(all->server), NULL, run_id, &error);
    if (run && !server_run_is_active(run)) server_run_forget(run);
    error_finish(&error);
}

static void start_run(struct server_continue *all, const struct claim *claim, tn_value record) {
    tn_value served = value_get(record, THREAD_SERVED), run_id = value_get(record, "run_id");
    tn_value document = value_format("graph:%s", thread_record_text(served, "graph"));
    tn_value config = value_set_take(value_object_reserve(2), "thread_id", value_text(claim->thread));
    struct error error = ERROR_INIT;
    tn_value kept = value_get(served, "config");
    for (size_t i = 0; i < value_count(kept); i++)
        config = value_set_key_take(config, value_ref(value_key_at(kept, i)), value_ref(value_value_at(kept, i)));
    if (run_id) config = value_set_take(config, "run_id", value_ref(run_id));
    if (run_id) forget_ended(all, value_chars(run_id, NULL));
    struct server_run *run =
        server_run_new(server_runs_of(all->server),
                       &(struct server_run_options){.graph = claim->graph,
                                                    .file = value_chars(document, NULL),
                                                    .document = value_chars(document, NULL),
                                                    .config = config,
                                                    .modes = server_run_modes(value_get(served, "modes")),
                                                    .resumes = true,
                                                    .continued = thread_record_int(record, "head", 0)},
                       &error);
    all->active++;
    if (!run || server_run_start(run, NULL, &error) != TN_OK) {
        log_write(LOG_WARN, NULL, "the run of the thread `%s` is not continued: %s", claim->thread, error.message);
        all->active--;
        all->later = true;
    }
    value_unref(config);
    value_unref(document);
    error_finish(&error);
}

static void claim_remove(const struct claim *claim) {
    struct claim **at = &claim->all->claims;
    while (*at != claim) at = &(*at)->next;
    *at = claim->next;
    claim->all->claiming--;
}

bool server_continue_claims(const struct server_continue *all, const char *thread) {
    const struct claim *claim = all->claims;
    while (claim && strcmp(claim->thread, thread) != 0) claim = claim->next;
    return claim != NULL;
}

static void on_claimed(void *user, int32_t status, tn_value result, const struct error *error) {
    struct claim *claim = user;
    struct server_continue *all = claim->all;
    tn_value record = value_get(result, "record");
    claim_remove(claim);
    if (status != TN_OK) report_store(all, error);
    if (status != TN_OK || value_get(result, "later")) all->later = true;
    if (status == TN_OK && value_get(result, "given_up"))
        log_write(LOG_ERROR, NULL,
                  "the run of the thread `%s` is not continued any more: hosts have died %d times while it was active",
                  claim->thread, THREAD_LEFT_CLAIMS);
    /* A client can have started a run of it while the claim was open; the claim can have fenced that run. */
    bool runs = server_runs_thread_is_active(server_runs_of(all->server), claim->thread);
    if (status == TN_OK && record && runs) all->later = true;
    if (status == TN_OK && record && !all->stopped && !runs) start_run(all, claim, record);
    graph_unref(claim->graph);
    mem_free(claim->thread);
    mem_free(claim);
    advance(all);
}

static void claim_thread(struct server_continue *all, tn_value thread) {
    struct error error = ERROR_INIT;
    const char *id = thread_record_text(thread, "thread_id");
    struct graph *graph = NULL;
    if (!server_runs_thread_is_active(server_runs_of(all->server), id)) graph = graph_of_thread(all, thread);
    if (!graph) return;
    struct store *store = host_store(server_host(all->server), &error);
    error_finish(&error);
    if (!store) {
        graph_unref(graph);
        all->later = true;
        return;
    }
    struct claim *claim = mem_zalloc(sizeof *claim);
    *claim = (struct claim){all->claims, all, graph, mem_text(id)};
    all->claims = claim;
    all->claiming++;
    thread_claim_left(store, id, on_claimed, claim);
}

/* ---- The queue ---- */

/* Claims as many as may run, and ends the look after the last one. */
static void advance(struct server_continue *all) {
    size_t count = value_count(all->threads);
    while (!all->stopped && all->next < count && all->claiming + all->active < CONTINUE_AT_ONCE)
        claim_thread(all, value_at(all->threads, all->next++));
    if (!all->threads || all->claiming || (all->next < count && !all->stopped)) return;
    value_unref(all->threads);
    all->threads = NULL;
    all->reported = true;
    if (!count) all->pause_ms = CONTINUE_FIRST_MS;
    if (all->later) look_again(all);
}

static void on_work(struct loop_work *work) { advance(CONTAINER_OF(work, struct server_continue, work)); }

void server_continue_note_end(struct server_continue *all, bool continued, tn_value error) {
    const char *code = thread_record_text(error, "code");
    if (continued) all->active--;
    if (!all->started || all->stopped) return;
    if (strncmp(code, "STORE_", strlen("STORE_")) == 0) {
        all->later = true;
        if (!all->threads && !all->looking) look_again(all);
    }
    if (continued) loop_defer(server_loop(all->server), &all->work);
}

/* ---- Life ---- */

struct server_continue *server_continue_new(struct server *server) {
    struct server_continue *all = mem_zalloc(sizeof *all);
    all->server = server;
    all->work.run = on_work;
    all->pause_ms = CONTINUE_FIRST_MS;
    return all;
}

void server_continue_start(struct server_continue *all) {
    if (all->started || all->stopped) return;
    all->started = true;
    look(all);
}

void server_continue_stop(struct server_continue *all) {
    all->stopped = true;
    loop_timer_stop(server_loop(all->server), &all->timer);
    loop_undefer(server_loop(all->server), &all->work);
}

static bool has_no_request(void *user) {
    const struct server_continue *all = user;
    return !all->looking && !all->claiming;
}

void server_continue_end(struct server_continue *all) {
    server_continue_stop(all);
    (void)loop_run(server_loop(all->server), has_no_request, all);
}

void server_continue_free(struct server_continue *all) {
    assert(!all || has_no_request(all));
    if (all) value_unref(all->threads);
    mem_free(all);
}
