/*
 * server_work.c - the table of workers: their start, their end, their events, and the counts that are kept.
 *
 *     work/start ──▶ running ──▶ ended: its counts are kept; the strategies are closed
 *                       └──▶ draining ──┘
 *                   work/stop, the drain of the server
 */
#include "host/server/server_work.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/base/time_text.h"
#include "host/data/kernel/kernel_request.h"
#include "host/loops/loops.h"
#include "host/plugin/call/call.h"
#include "host/server/client.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"
#include "host/server/server_work_part.h"
#include "host/work/work_type.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SETTLE_TURNS 2u /* one whole turn of the loop is between them */

struct server_worker {
    struct server_workers *workers;
    struct server_worker *newer, *older;
    const struct client *client; /* that has started it; NULL if it has gone */
    char *id, *name, *task_id;   /* task_id: NULL if it handles any Task of its types */
    enum task_worker_mode mode;
    uint32_t concurrency;
    struct work_types *types;   /* NULL when it has ended */
    struct task_worker *worker; /* on the server's loop; NULL when all have ended */
    bool own_ended;             /* `worker` has ended; a part may not have */
    struct work_part **parts;   /* on other loops */
    uint32_t part_count;
    bool draining;
    tn_value counts;   /* when it has ended: [{task_type, claimed, …}] */
    char *fault;       /* of the last claim, when it has ended; NULL if that did not fail */
    uint64_t *waiting; /* tokens of work/wait */
    size_t waiting_count;
    struct loop_work settle; /* while its end is being reported */
    unsigned settle_turns;   /* that are left */
    int64_t started_ms, ended_ms;
};

struct server_workers {
    struct server *server;
    struct server_worker *newest;
    size_t active, settling, ended;
    bool ending;
};

/* ---- The table ---- */

struct server_workers *server_workers_new(struct server *server) {
    struct server_workers *workers = mem_zalloc(sizeof *workers);
    workers->server = server;
    return workers;
}

struct server_worker *server_worker_find(const struct server_workers *workers, const char *id, struct error *error) {
    struct server_worker *worker = workers->newest;
    while (worker && strcmp(worker->id, id) != 0) worker = worker->older;
    if (!worker)
        error_set(error, TN_NOT_FOUND, "NOT_FOUND", "this host has no worker `%.100s`; work/list lists its workers",
                  id);
    return worker;
}

const struct server_worker *server_worker_older(const struct server_workers *workers,
                                                const struct server_worker *worker) {
    return worker ? worker->older : workers->newest;
}

const char *server_worker_id(const struct server_worker *worker) { return worker->id; }
size_t server_workers_active(const struct server_workers *workers) { return workers->active + workers->settling; }

void server_workers_forget_client(struct server_workers *workers, const struct client *client) {
    for (struct server_worker *worker = workers->newest; worker; worker = worker->older)
        if (worker->client == client) worker->client = NULL;
}

static void worker_free(struct server_worker *worker) {
    for (uint32_t i = 0; i < worker->part_count; i++) work_part_free(worker->parts[i]);
    mem_free(worker->parts);
    task_worker_free(worker->worker);
    work_types_free(worker->types);
    value_unref(worker->counts);
    mem_free(worker->waiting);
    mem_free(worker->fault);
    mem_free(worker->task_id);
    mem_free(worker->name);
    mem_free(worker->id);
    mem_free(worker);
}

/* One that has ended. */
static void worker_forget(struct server_worker *worker) {
    if (worker->newer)
        worker->newer->older = worker->older;
    else
        worker->workers->newest = worker->older;
    if (worker->older) worker->older->newer = worker->newer;
    worker->workers->ended--;
    worker_free(worker);
}

static void forget_first_ended(struct server_workers *workers) {
    struct server_worker *first = NULL;
    for (struct server_worker *worker = workers->newest; worker; worker = worker->older)
        if (!worker->worker && !worker->settle_turns && (!first || worker->ended_ms <= first->ended_ms)) first = worker;
    if (first) worker_forget(first);
}

/* ---- Describing ---- */

/* On all loops. */
static struct task_worker_counts count_type(const struct server_worker *worker, size_t type) {
    struct task_worker_counts sum = *task_worker_counts_at(worker->worker, type);
    for (uint32_t i = 0; i < worker->part_count; i++) {
        struct task_worker_counts part = work_part_counts(worker->parts[i], work_types_at(worker->types, type)->name);
        sum.claimed += part.claimed;
        sum.running += part.running;
        for (int outcome = WORK_DONE; outcome <= WORK_LOST; outcome++) sum.outcomes[outcome] += part.outcomes[outcome];
    }
    return sum;
}

size_t server_workers_tasks(const struct server_workers *workers) {
    size_t tasks = 0;
    for (const struct server_worker *worker = workers->newest; worker; worker = worker->older)
        for (size_t i = 0; worker->worker && i < work_types_count(worker->types); i++)
            tasks += count_type(worker, i).running;
    return tasks;
}

static const char *find_fault(const struct server_worker *worker) {
    const char *fault = task_worker_fault(worker->worker);
    for (uint32_t i = 0; !fault && i < worker->part_count; i++) fault = work_part_fault(worker->parts[i]);
    return fault;
}

static tn_value describe_type(const struct work_type *type, const struct task_worker_counts *counts) {
    tn_value shown = value_set_take(value_object_reserve(9), "task_type", value_text(type->name));
    shown = value_set_take(shown, "claimed", value_int((int64_t)counts->claimed));
    shown = value_set_take(shown, "running", value_int(counts->running));
    for (int outcome = WORK_DONE; outcome <= WORK_LOST; outcome++)
        shown = value_set_take(shown, work_outcome_name((enum work_outcome)outcome),
                               value_int((int64_t)counts->outcomes[outcome]));
    return shown;
}

static tn_value describe_types(const struct server_worker *worker) {
    tn_value types = value_array();
    for (size_t i = 0; i < work_types_count(worker->types); i++) {
        struct task_worker_counts counts = count_type(worker, i);
        types = value_push_take(types, describe_type(work_types_at(worker->types, i), &counts));
    }
    return types;
}

static const char *mode_name(enum task_worker_mode mode) {
    static const char *const names[] = {"forever", "once", "empty"};
    return names[mode];
}

tn_value server_worker_describe(const struct server_worker *worker) {
    char time[TIME_TEXT];
    const char *status = !worker->worker ? "ended" : worker->draining ? "draining" : "running";
    const char *fault = worker->worker ? find_fault(worker) : worker->fault;
    tn_value shown = value_set_take(value_object_reserve(10), "worker_id", value_text(worker->id));
    shown = value_set_take(shown, "name", value_string_lossy(worker->name, strlen(worker->name)));
    shown = value_set_take(shown, "status", value_text(status));
    shown = value_set_take(shown, "mode", value_text(mode_name(worker->mode)));
    shown = value_set_take(shown, "concurrency", value_int(worker->concurrency));
    if (worker->client) shown = value_set_take(shown, "client", value_text(client_name(worker->client)));
    time_text(worker->started_ms, time);
    shown = value_set_take(shown, "started_at", value_text(time));
    if (!worker->worker) time_text(worker->ended_ms, time);
    if (!worker->worker) shown = value_set_take(shown, "ended_at", value_text(time));
    if (fault) shown = value_set_take(shown, "fault", value_string_lossy(fault, strlen(fault)));
    return value_set_take(shown, "types", worker->worker ? describe_types(worker) : value_ref(worker->counts));
}

/* ---- work/wait ---- */

static void end_waiting(struct server_worker *worker) {
    tn_value shown = worker->waiting_count ? server_worker_describe(worker) : NULL;
    for (size_t i = 0; i < worker->waiting_count; i++) (void)call_complete(worker->waiting[i], shown);
    worker->waiting_count = 0;
    value_unref(shown);
}

void server_worker_await(struct server_worker *worker, uint64_t token) {
    size_t open = 0;
    for (size_t i = 0; i < worker->waiting_count; i++)
        if (call_lookup_open(worker->waiting[i])) worker->waiting[open++] = worker->waiting[i];
    worker->waiting = mem_array(worker->waiting, open + 1, sizeof *worker->waiting);
    worker->waiting[open] = token;
    worker->waiting_count = open + 1;
    if (!worker->worker) end_waiting(worker);
}

/* ---- Events ---- */

static void worker_on_task_claimed(void *user, struct work_item *item) {
    const struct server_worker *worker = user;
    if (server_listens(worker->workers->server, "task/claimed"))
        server_publish_take(worker->workers->server, "task/claimed", work_claimed_params(worker->id, item));
}

static void worker_on_task_ended(void *user, struct work_item *item) {
    const struct server_worker *worker = user;
    if (server_listens(worker->workers->server, "task/ended"))
        server_publish_take(worker->workers->server, "task/ended", work_ended_params(worker->id, item));
}

static void worker_on_part_event(void *user, const char *event, tn_value params) {
    const struct server_worker *worker = user;
    if (server_listens(worker->workers->server, event))
        server_publish_take(worker->workers->server, event, value_ref(params));
}

/* The run does not wait for those who watch it. */
static bool worker_on_event(void *user, tn_value event) {
    const struct server_worker *worker = user;
    if (!server_listens(worker->workers->server, "task/event")) return true;
    tn_value params = value_set_take(value_object_reserve(5), "worker_id", value_text(worker->id));
    params = value_set_take(params, "task_id", value_text(worker->task_id));
    server_publish_take(worker->workers->server, "task/event", value_set_take(params, "event", value_ref(event)));
    return true;
}

/* ---- Start and end ---- */

/*
 * The answers to work/wait are on their way for a turn. Until then the server is not drained, so that it closes no
 * connection before its answer was sent.
 */
static void worker_on_settled(struct loop_work *work) {
    struct server_worker *worker = CONTAINER_OF(work, struct server_worker, settle);
    struct server_workers *workers = worker->workers;
    if (--worker->settle_turns) {
        loop_defer(server_loop(workers->server), &worker->settle);
        return;
    }
    workers->settling--;
}

/* The strategies are closed now, so that plugins can be unloaded. */
static void worker_end(struct server_worker *worker) {
    struct server_workers *workers = worker->workers;
    const char *fault = find_fault(worker);
    worker->counts = describe_types(worker);
    worker->fault = fault ? mem_text(fault) : NULL;
    worker->ended_ms = loop_wall_ms(server_loop(workers->server));
    task_worker_free(worker->worker);
    work_types_free(worker->types);
    worker->worker = NULL;
    worker->types = NULL;
    workers->active--;
    workers->ended++;
    workers->settling++;
    end_waiting(worker);
    worker->settle.run = worker_on_settled;
    worker->settle_turns = SETTLE_TURNS;
    loop_defer(server_loop(workers->server), &worker->settle);
    if (workers->ended > SERVER_WORKERS_KEPT) forget_first_ended(workers);
}

static void worker_end_if_all_ended(struct server_worker *worker) {
    bool all = worker->own_ended;
    for (uint32_t i = 0; i < worker->part_count; i++) all = all && work_part_has_ended(worker->parts[i]);
    if (all) worker_end(worker);
}

static void worker_on_ended(void *user) {
    struct server_worker *worker = user;
    worker->own_ended = true;
    worker_end_if_all_ended(worker);
}

static void worker_on_part_ended(void *user) { worker_end_if_all_ended(user); }

/* Each loop of the server handles a part of the Tasks, unless there is only one. */
static void start_parts(struct server_worker *worker, tn_value names, uint32_t parts) {
    static const struct work_part_ops ops = {worker_on_part_event, worker_on_part_ended};
    if (parts < 2) return;
    worker->parts = mem_array(NULL, parts - 1, sizeof *worker->parts);
    for (uint32_t i = 1; i < parts; i++)
        worker->parts[worker->part_count++] = work_part_start(
            server_loops(worker->workers->server),
            &(struct work_part_options){.worker_id = worker->id,
                                        .name = worker->name,
                                        .names = names,
                                        .concurrency = task_worker_part_of(worker->concurrency, i, parts),
                                        .part = i,
                                        .parts = parts,
                                        .mode = worker->mode},
            &ops, worker);
}

static uint32_t count_parts(const struct server_worker *worker) {
    const struct loops *loops = server_loops(worker->workers->server);
    if (!loops || worker->task_id || worker->mode == TASK_WORKER_ONCE) return 1;
    return loops_count(loops) < worker->concurrency ? loops_count(loops) : worker->concurrency;
}

static int32_t check_active(const struct server_workers *workers, struct error *error) {
    if (workers->ending)
        return error_set(error, TN_CANCELLED, "CANCELLED", "the host ends, and starts no more workers");
    if (workers->active < SERVER_WORKERS_MAX) return TN_OK;
    return error_set(error, TN_LIMIT, "LIMIT", "the host has %u workers, which is the limit; stop one with work/stop",
                     SERVER_WORKERS_MAX);
}

int32_t server_work_open_types(const struct server *server, tn_value names, struct work_types **types,
                               struct error *error) {
    int32_t status = work_types_new(server_engine(server), names, types, error);
    if (status != TN_OK || work_types_count(*types)) return status;
    work_types_free(*types);
    *types = NULL;
    return error_set(error, TN_INVALID, "INVALID_CONFIG",
                     "there is no Task type to handle: tenon.yaml has no `work`, and the strategies of Tenon are not "
                     "installed");
}

static char *default_name(void) {
    char host[HOST_NAME_MAX + 1] = "host", name[HOST_NAME_MAX + 32];
    (void)gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s/%ld", host, (long)getpid());
    return mem_text(name);
}

static int32_t create_task_worker(struct server_worker *worker, const struct server_worker_options *options,
                                  struct error *error) {
    const struct server *server = worker->workers->server;
    int32_t status = worker->types ? TN_OK : server_work_open_types(server, options->types, &worker->types, error);
    if (status != TN_OK) return status;
    worker->worker = task_worker_new(
        &(struct task_worker_options){.engine = server_engine(server),
                                      .kernel = host_state(server_host(server)),
                                      .types = worker->types,
                                      .name = worker->name,
                                      .concurrency = task_worker_part_of(worker->concurrency, 0, count_parts(worker)),
                                      .parts = count_parts(worker),
                                      .mode = worker->mode,
                                      .task_id = options->task_id,
                                      .no_notification = options->task_id != NULL,
                                      .modes = options->modes,
                                      .event = worker_on_event,
                                      .claimed = worker_on_task_claimed,
                                      .finished = worker_on_task_ended,
                                      .ended = worker_on_ended,
                                      .user = worker},
        error);
    return worker->worker ? TN_OK : TN_FAILED;
}

struct server_worker *server_worker_start(struct server_workers *workers, const struct server_worker_options *options,
                                          struct error *error) {
    char id[KERNEL_ID_TEXT];
    if (check_active(workers, error) != TN_OK) {
        work_types_free(options->opened);
        return NULL;
    }
    struct server_worker *worker = mem_zalloc(sizeof *worker);
    worker->workers = workers;
    worker->client = options->client;
    worker->types = options->opened;
    worker->task_id = options->task_id ? mem_text(options->task_id) : NULL;
    worker->name = options->name ? mem_text(options->name) : default_name();
    worker->mode = options->mode;
    worker->concurrency = options->concurrency ? options->concurrency : TASK_WORKER_CONCURRENCY;
    worker->started_ms = loop_wall_ms(server_loop(workers->server));
    kernel_id_make(worker->started_ms, id);
    worker->id = mem_text(id);
    int32_t status = create_task_worker(worker, options, error);
    if (status == TN_OK && options->mode == TASK_WORKER_FOREVER) status = server_start_schedule(workers->server, error);
    if (status != TN_OK) {
        worker_free(worker);
        return NULL;
    }
    worker->older = workers->newest;
    if (worker->older) worker->older->newer = worker;
    workers->newest = worker;
    workers->active++;
    task_worker_start(worker->worker);
    start_parts(worker, options->types, count_parts(worker));
    return worker;
}

void server_worker_stop(struct server_worker *worker, bool cancel) {
    if (!worker->worker) return;
    worker->draining = true;
    if (cancel)
        task_worker_cancel(worker->worker);
    else
        task_worker_drain(worker->worker);
    for (uint32_t i = 0; i < worker->part_count; i++) work_part_stop(worker->parts[i], cancel);
}

/* ---- The end of the server ---- */

static void stop_all(struct server_workers *workers, bool cancel) {
    workers->ending = true;
    for (struct server_worker *worker = workers->newest; worker; worker = worker->older)
        server_worker_stop(worker, cancel);
}

void server_workers_drain(struct server_workers *workers) { stop_all(workers, false); }

static bool no_worker_is_active(void *user) { return server_workers_active(user) == 0; }

void server_workers_end(struct server_workers *workers) {
    stop_all(workers, true);
    (void)loop_run(server_loop(workers->server), no_worker_is_active, workers);
    while (workers->newest) worker_forget(workers->newest);
}

void server_workers_free(struct server_workers *workers) { mem_free(workers); }
