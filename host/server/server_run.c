/*
 * server_run.c - the table of runs: their start, their end, and what is kept of them. Their events are in run_events.c.
 * A run has an invocation on this loop, or a part on another one (server_run_part.h).
 *
 *     run/start ──▶ active ──▶ over: done, failed, cancelled. Its report is kept; the graph is released
 *                    ▲    └──▶ can be continued: interrupted, stopped, or failed by its recursion limit
 *                    │             │        │
 *                    └─ run/answer ┘        └─ run/cancel ──▶ over: cancelled
 */
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/assembly/host.h"
#include "host/base/files.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/base/time_text.h"
#include "host/data/kernel/kernel_request.h"
#include "host/data/thread/thread_owner.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution.h"
#include "host/engine/execution/invocation.h"
#include "host/engine/graph/graph.h"
#include "host/loops/loops.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/call.h"
#include "host/server/client.h"
#include "host/server/server.h"
#include "host/server/server_continue.h"
#include "host/server/server_internal.h"
#include "host/server/server_run_internal.h"
#include "host/server/server_run_part.h"
#include "host/server/user_error.h"
#include <string.h>

/* ---- The table ---- */

struct server_runs *server_runs_new(struct server *server) {
    struct server_runs *runs = mem_zalloc(sizeof *runs);
    runs->server = server;
    return runs;
}

/* FNV-1a. */
static size_t bucket_of(const char *id) {
    uint32_t hash = 2166136261u;
    for (; *id; id++) hash = (hash ^ (unsigned char)*id) * 16777619u;
    return hash % RUN_BUCKETS;
}

static struct server_run *run_lookup(const struct server_runs *runs, const char *id) {
    struct server_run *run = runs->buckets[bucket_of(id)];
    while (run && strcmp(run->id, id) != 0) run = run->next_alike;
    return run;
}

bool server_run_is_of(const struct server_run *run, const char *owner) {
    return !owner || strcmp(run->owner, owner) == 0;
}

struct server_run *server_run_find(const struct server_runs *runs, const char *owner, const char *id,
                                   struct error *error) {
    char *whole = owner_confine(owner, id);
    struct server_run *run = run_lookup(runs, whole);
    mem_free(whole);
    if (run && !server_run_is_of(run, owner)) run = NULL;
    if (!run)
        error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                  "this host has no run `%.100s`; run/list lists its runs, thread/list the saved threads", id);
    return run;
}

const char *server_run_id(const struct server_run *run) { return run->id; }
const char *server_run_thread(const struct server_run *run) { return run->thread; }
tn_value server_run_open_nodes(const struct server_run *run) {
    return run->active && run->invocation ? invocation_open_nodes(run->invocation) : value_array();
}
bool server_run_await_state(const struct server_run *run, uint64_t token) {
    if (!run->active || !run->part) return false;
    run_part_await_state(run->part, token);
    return true;
}
tn_value server_run_state(const struct server_run *run) {
    return run->active ? invocation_state(run->invocation) : value_ref(value_get(run->report, "state"));
}
uint32_t server_run_steps(const struct server_run *run) {
    if (run->active) return run->part ? run_part_steps(run->part) : invocation_steps(run->invocation);
    tn_value steps = value_get(run->report, "steps");
    return steps ? (uint32_t)value_to_int(steps) : 0;
}
bool server_run_is_active(const struct server_run *run) { return run->active; }

struct server_run *server_runs_find_continued(const struct server_runs *runs, const char *thread) {
    struct server_run *run = runs->active ? runs->newest : NULL;
    while (run && !(run->active && run->continued >= 0 && run->thread && strcmp(run->thread, thread) == 0))
        run = run->older;
    return run;
}

bool server_runs_thread_is_active(const struct server_runs *runs, const char *thread) {
    const struct server_run *run = runs->active ? runs->newest : NULL;
    while (run && !(run->active && run->thread && strcmp(run->thread, thread) == 0)) run = run->older;
    return run != NULL;
}

const struct server_run *server_run_older(const struct server_runs *runs, const struct server_run *run) {
    return run ? run->older : runs->newest;
}

void server_runs_end_left(struct server_runs *runs) {
    if (runs->ending || !runs->active) return;
    for (struct server_run *run = runs->newest; run; run = run->older)
        if (run->active && run->ends_with_client && run->client && client_has_left(run->client))
            server_run_cancel(run, false);
}

void server_runs_forget_client(struct server_runs *runs, struct client *client) {
    if (!client_has_run(client)) return; /* such as that of a subscription */
    client_set_left(client, true);
    server_runs_end_left(runs);
    for (struct server_run *run = runs->newest; run; run = run->older)
        if (run->client == client) run->client = NULL;
}

static void queue_remove(struct server_run *run) {
    struct run_queue *queue = run->queue;
    if (!queue) return;
    if (run->queue_previous)
        run->queue_previous->queue_next = run->queue_next;
    else
        queue->first = run->queue_next;
    if (run->queue_next)
        run->queue_next->queue_previous = run->queue_previous;
    else
        queue->last = run->queue_previous;
    run->queue_next = run->queue_previous = NULL;
    run->queue = NULL;
    queue->count--;
}

void server_run_forget(struct server_run *run) {
    struct server_runs *runs = run->runs;
    queue_remove(run);
    runs->size -= run->report_size;
    run_events_free(run);
    struct server_run **bucket = &runs->buckets[bucket_of(run->id)];
    while (*bucket != run) bucket = &(*bucket)->next_alike;
    *bucket = run->next_alike;
    if (run->newer)
        run->newer->older = run->older;
    else
        runs->newest = run->older;
    if (run->older) run->older->newer = run->newer;
    value_unref(run->report);
    invocation_free(run->invocation);
    run_part_free(run->part);
    value_unref(run->answers);
    mem_free(run->waiting);
    mem_free(run->document);
    mem_free(run->thread);
    mem_free(run->id);
    mem_free(run);
}

/* ---- Describing ---- */

/* Its graph is kept for run/answer. A thread that has failed is continued by run/resume instead. */
static bool can_continue(const struct server_run *run) {
    if (run->status == RUN_INTERRUPTED || run->status == RUN_STOPPED) return true;
    tn_value code = value_get(value_get(run->report, "error"), "code");
    return run->status == RUN_FAILED && !run->thread && code && value_text_is(code, "RECURSION_LIMIT");
}

bool server_run_is_over(const struct server_run *run) {
    return !run->active && run->status != RUN_NEW && !can_continue(run);
}

bool server_run_matches(const struct server_run *run, const char *status, const char *thread) {
    enum run_status is = run->active ? RUN_RUNNING : run->status;
    if (status && strcmp(status, run_status_name(is)) != 0) return false;
    return !thread || (run->thread && strcmp(thread, run->thread) == 0);
}

tn_value server_run_add_names(tn_value object, const struct server_run *run) {
    object = value_set_take(object, "run_id", value_text(run->id));
    if (run->thread) object = value_set_take(object, "thread_id", value_text(run->thread));
    if (run->document)
        object = value_set_take(object, "document", value_string_lossy(run->document, strlen(run->document)));
    return object;
}

tn_value server_run_describe(const struct server_run *run, bool with_report) {
    char time[TIME_TEXT];
    enum run_status status = run->active ? RUN_RUNNING : run->status;
    tn_value shown = server_run_add_names(value_object_reserve(10), run);
    shown = value_set_take(shown, "status", value_text(run_status_name(status)));
    if (run->client) shown = value_set_take(shown, "client", value_text(client_name(run->client)));
    time_text(run->started_ms, time);
    shown = value_set_take(shown, "started_at", value_text(time));
    shown = value_set_take(shown, "steps", value_int(server_run_steps(run)));
    shown = value_set_take(shown, "modes", run_modes_names(run->modes));
    if (run->continued >= 0) shown = value_set_take(shown, "continued_from", value_int(run->continued));
    if (run->active) return shown;
    time_text(run->ended_ms, time);
    shown = value_set_take(shown, "ended_at", value_text(time));
    return with_report ? value_set_take(shown, "report", value_ref(run->report)) : shown;
}

/* ---- Start and end ---- */

/* The one to forget next, but not `latest`: one that is over if there is one. */
static struct server_run *forgettable(const struct server_runs *runs, const struct server_run *latest) {
    if (runs->over.first && runs->over.first != latest) return runs->over.first;
    return runs->waiting.first != latest ? runs->waiting.first : NULL;
}

/* After its end. Makes room in the queue, and for the sizes of all. */
static void queue_add(struct server_run *run) {
    struct server_runs *runs = run->runs;
    struct server_run *oldest;
    struct run_queue *queue = server_run_is_over(run) ? &runs->over : &runs->waiting;
    queue_remove(run);
    run->queue = queue;
    run->queue_previous = queue->last;
    if (queue->last)
        queue->last->queue_next = run;
    else
        queue->first = run;
    queue->last = run;
    queue->count++;
    if (runs->over.count > SERVER_RUNS_KEPT) server_run_forget(runs->over.first);
    if (runs->waiting.count > SERVER_RUNS_WAITING) server_run_forget(runs->waiting.first);
    while (runs->size > SERVER_RUNS_SIZE && (oldest = forgettable(runs, run)) != NULL) server_run_forget(oldest);
}

static void publish(const struct server_run *run, const char *event) {
    if (!server_listens(run->runs->server, event)) return;
    tn_value params = server_run_add_names(value_object_reserve(5), run);
    if (strcmp(event, "run/ended") == 0)
        params = value_set_take(params, "status", value_text(run_status_name(run->status)));
    server_publish_take(run->runs->server, event, params);
}

static void end_waiting(struct server_run *run) {
    tn_value shown = run->waiting_count ? server_run_describe(run, true) : NULL;
    for (size_t i = 0; i < run->waiting_count; i++) (void)call_complete(run->waiting[i], shown);
    run->waiting_count = 0;
    value_unref(shown);
}

/* Calls that were cancelled are removed before the array grows, so that each of them is looked at few times. */
static void remove_ended_waits(struct server_run *run) {
    size_t open = 0;
    for (size_t i = 0; i < run->waiting_count; i++)
        if (call_lookup_open(run->waiting[i])) run->waiting[open++] = run->waiting[i];
    run->waiting_count = open;
}

void server_run_await(struct server_run *run, uint64_t token) {
    if (!(run->waiting_count & (run->waiting_count - 1))) remove_ended_waits(run);
    run->waiting = mem_array(run->waiting, run->waiting_count + 1, sizeof *run->waiting);
    run->waiting[run->waiting_count++] = token;
    if (!run->active) end_waiting(run);
}

/* For the operator: users do not read why. */
static void report_store_failure(const struct server_run *run, tn_value report) {
    tn_value error = value_get(report, "error"), code = value_get(error, "code"), message = value_get(error, "message");
    if (!run->thread || !code || !user_error_is_hidden(value_chars(code, NULL))) return;
    log_write(LOG_WARN, NULL, "the run of the thread `%s` could not be saved: %s", run->thread,
              message ? value_chars(message, NULL) : value_chars(code, NULL));
    if (run->runs->ending) server_note_unsaved(run->runs->server);
}

/* The run has ended with this report, which it takes. */
static void run_end_take(struct server_run *run, enum run_status status, tn_value report) {
    struct server_runs *runs = run->runs;
    runs->size -= run->report_size;
    value_unref(run->report);
    report_store_failure(run, report);
    if (*run->owner) report = user_error_hide_take(report);
    run->status = status;
    run->report = report;
    run->report_size = value_weight(report);
    runs->size += run->report_size;
    run->ended_ms = loop_wall_ms(server_loop(runs->server));
    run_events_end_take(run, value_ref(report));
    publish(run, "run/ended");
    end_waiting(run);
    if (!server_run_is_over(run)) return;
    if (run->invocation) invocation_clear(run->invocation); /* so that plugins can be unloaded */
    run_part_free(run->part);
    run->part = NULL;
}

static uint32_t run_loop(const struct server_run *run) { return run->part ? run_part_index(run->part) : 0; }

static void run_deactivate(struct server_run *run) {
    run->active = false;
    run->runs->active--;
    run->runs->active_at[run_loop(run)]--;
}

/* The run may be forgotten afterwards. */
static void note_end(struct server_run *run) {
    tn_value error = run->status == RUN_FAILED ? value_get(run->report, "error") : NULL;
    bool counts = run->counts;
    run->counts = false;
    if (run->served) server_continue_note_end(server_continue_of(run->runs->server), counts, error);
}

static void run_on_ended(void *user) {
    struct server_run *run = user;
    run_deactivate(run);
    run_end_take(run, invocation_status(run->invocation), invocation_report(run->invocation));
    queue_add(run);
    note_end(run);
}

static void run_on_part_ended(void *user, enum run_status status, tn_value report) {
    struct server_run *run = user;
    bool cancels = run->cancels;
    run_deactivate(run);
    run->cancels = false;
    run_end_take(run, status, report);
    queue_add(run);
    note_end(run);
    if (cancels) server_run_cancel(run, false); /* the request came when the run had just begun to wait */
}

static const struct run_part_ops part_ops = {run_events_receive, run_events_receive_kept, run_on_part_ended};

/* Completes an id in *config. */
static int32_t complete_id(tn_value *config, const char *name, const char *owner, struct error *error) {
    tn_value id = value_get(*config, name);
    if (!owner || !value_is(id, TN_STRING)) return TN_OK;
    char *whole = owner_complete(owner, value_chars(id, NULL), error);
    if (!whole) return TN_NOT_FOUND;
    *config = value_set_take(*config, name, value_text(whole));
    mem_free(whole);
    return TN_OK;
}

/* The config with complete ids, and a `run_id` if it has none; a new reference. NULL with the error. */
static tn_value config_with_ids(const struct server_run_options *options, int64_t now_ms, struct error *error) {
    char id[OWNER_PREFIX_TEXT + KERNEL_ID_TEXT], of_thread[OWNER_TEXT];
    const char *owner = options->owner;
    tn_value config = options->config ? value_ref(options->config) : value_object();
    tn_value thread = value_get(config, "thread_id");
    if (!owner && value_is(thread, TN_STRING) && owner_of(value_chars(thread, NULL), of_thread)) owner = of_thread;
    if (complete_id(&config, "thread_id", owner, error) != TN_OK ||
        complete_id(&config, "run_id", owner, error) != TN_OK) {
        value_unref(config);
        return NULL;
    }
    if (value_get(config, "run_id")) return config;
    owner_prefix(owner, id);
    kernel_id_make(now_ms, id + strlen(id));
    return value_set_take(config, "run_id", value_text(id));
}

static size_t active_of(const struct server_runs *runs, const struct client *client) {
    size_t count = 0;
    for (const struct server_run *run = runs->newest; run; run = run->older)
        count += run->active && run->client == client;
    return count;
}

/* One more run of this client, which may be NULL, can be active. */
static int32_t check_active(const struct server_runs *runs, const struct client *client, struct error *error) {
    if (runs->ending) return error_set(error, TN_CANCELLED, "CANCELLED", "the host ends, and starts no more runs");
    if (runs->active >= SERVER_RUNS_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "the host has %u open runs, which is the limit; try again later",
                         SERVER_RUNS_MAX);
    if (!client || !client_is_plugin(client) || active_of(runs, client) < SERVER_RUNS_PLUGIN_MAX) return TN_OK;
    return error_set(error, TN_LIMIT, "LIMIT", "%s has started %u runs that have not ended, which is the limit",
                     client_name(client), SERVER_RUNS_PLUGIN_MAX);
}

static int32_t check_id(const struct server_runs *runs, const char *id, struct error *error) {
    if (!run_lookup(runs, id)) return TN_OK;
    return error_set(error, TN_INVALID, "EXISTS", "the host has a run `%.100s` already; use another `run_id`", id);
}

/* Not every store knows that this process runs the thread. */
static int32_t check_thread(const struct server_runs *runs, const struct thread_request *request, struct error *error) {
    bool runs_here = request->id && !request->force && server_runs_thread_is_active(runs, request->id);
    if (!runs_here) return TN_OK;
    tn_value owner = thread_owner_describe();
    int32_t status = thread_owner_error(request->id, owner, error);
    value_unref(owner);
    return status;
}

/*
 * THREAD_SERVED for a run of a graph that this host serves, as the operator has named it: only that one the next host
 * can continue with the same rights. A new reference, or NULL.
 */
static tn_value run_served(const struct server_run_options *options) {
    /* What the record of a thread does not have, because a client that resumes it gives it again. */
    static const char *const kept[] = {"recursion_limit", "concurrency",      "timeout_ms",
                                       "strategy",        "interrupt_before", "interrupt_after"};
    const struct authority *authority = options->graph->authority;
    if (!options->file || !files_is_graph_name(options->file) || authority->outer || authority->from_text) return NULL;
    tn_value served = value_set_take(value_object_reserve(3), "graph", value_text(options->file + strlen("graph:")));
    tn_value config = value_object();
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        tn_value member = value_get(options->config, kept[i]);
        if (member) config = value_set_take(config, kept[i], value_ref(member));
    }
    if (value_count(config)) served = value_set_take(served, "config", value_ref(config));
    value_unref(config);
    return value_set_take(served, "modes", run_modes_names(options->modes));
}

/*
 * The loop for a run: that of its thread, or one with the fewest runs, the first loop last, because it has the clients.
 * What a component or a plugin starts stays here: its rights are those of a frame of this loop.
 */
static uint32_t choose_loop(const struct server_runs *runs, const struct server_run_options *options,
                            const char *thread_id) {
    const struct loops *loops = server_loops(runs->server);
    const struct authority *authority = options->graph->authority;
    uint32_t count = loops ? loops_count(loops) : 1, chosen = count - 1;
    if (count == 1 || authority->outer || authority->from_text || client_is_plugin(options->client)) return 0;
    if (thread_id) return loops_place(count, thread_id);
    for (uint32_t i = count - 1; i-- > 0;)
        if (runs->active_at[i] < runs->active_at[chosen]) chosen = i;
    return chosen;
}

/* Sets the invocation of the run, or its part. */
static int32_t run_open(struct server_run *run, const struct server_run_options *options,
                        const struct invocation_options *inner, struct error *error) {
    struct server_runs *runs = run->runs;
    uint32_t index = choose_loop(runs, options, inner->request.id);
    if (index)
        run->part = run_part_new(server_loops(runs->server), index,
                                 &(struct run_part_options){.graph = options->graph,
                                                            .file = options->file,
                                                            .config = inner->config,
                                                            .input = options->input,
                                                            .served = inner->request.served,
                                                            .modes = options->modes,
                                                            .kept_size = &runs->parts_size,
                                                            .kept_max = SERVER_RUNS_SIZE,
                                                            .count = &runs->parts},
                                 &part_ops, run);
    else
        run->invocation = invocation_new(server_engine(runs->server), &options->graph->callable, inner, error);
    return run->part || run->invocation ? TN_OK : TN_INVALID;
}

/*
 * Clients may ask for what follows an event of the host that has left the run, so numbers must not begin at 1 again. No
 * run has had an event for each microsecond since 1970. It is an exact number in JavaScript, too.
 */
static uint64_t base_of_continued(struct loop *loop) { return (uint64_t)loop_wall_ms(loop) * 1000; }

struct server_run *server_run_new(struct server_runs *runs, const struct server_run_options *options,
                                  struct error *error) {
    struct loop *loop = server_loop(runs->server);
    tn_value named = config_with_ids(options, loop_wall_ms(loop), error);
    if (!named) return NULL;
    const char *id = value_chars(value_get(named, "run_id"), NULL);
    struct invocation_options inner = {.run = RUN_OPTIONS_INIT, .input = options->input, .ended = run_on_ended};
    /* A run that is resumed keeps the id that its thread has. */
    inner.config = options->resumes ? value_remove_take(value_ref(named), value_text("run_id")) : value_ref(named);
    struct server_run *run = mem_zalloc(sizeof *run);
    int32_t status = check_active(runs, options->client, error);
    if (status == TN_OK) status = check_id(runs, id, error);
    if (status == TN_OK) status = run_request_read(&inner.run, &inner.request, inner.config, error);
    if (status == TN_OK && options->resumes) inner.request.mode = THREAD_RESUME;
    inner.request.served = run_served(options);
    inner.run.modes = options->modes;
    inner.run.event = run_events_receive;
    inner.run.user = run;
    if (status == TN_OK && options->resumes) status = check_thread(runs, &inner.request, error);
    run->runs = runs;
    if (status == TN_OK) status = run_open(run, options, &inner, error);
    if (status == TN_OK) {
        run->client = options->client;
        if (options->client) client_note_run(options->client);
        run->id = mem_text(id);
        run->thread = inner.request.id ? mem_text(inner.request.id) : NULL;
        run->document = options->document ? mem_text(options->document) : NULL;
        (void)owner_of_run(run->thread, run->id, run->owner);
        run->answers = options->answers ? value_ref(options->answers) : NULL;
        run->modes = options->modes;
        run->resumes = options->resumes;
        run->ends_with_client = options->ends_with_client;
        run->continued = options->continued;
        run->counts = options->continued >= 0;
        run->served = inner.request.served && run->thread;
        run->started_ms = loop_wall_ms(loop);
        run->base = options->continued >= 0 ? base_of_continued(loop) : 0;
        run->seq = run->base;
        run->first_kept = run->base + 1;
        run->older = runs->newest;
        if (run->older) run->older->newer = run;
        runs->newest = run;
        struct server_run **bucket = &runs->buckets[bucket_of(id)];
        run->next_alike = *bucket;
        *bucket = run;
    } else {
        mem_free(run);
        run = NULL;
    }
    value_unref(inner.request.served);
    value_unref(inner.config);
    value_unref(named);
    return run;
}

static void run_activate(struct server_run *run) {
    queue_remove(run);
    run->active = true;
    run->runs->active++;
    run->runs->active_at[run_loop(run)]++;
    publish(run, "run/started");
}

int32_t server_run_start(struct server_run *run, struct authority *by, struct error *error) {
    int32_t status = TN_OK;
    if (run->part && run->resumes)
        run_part_resume(run->part, run->answers);
    else if (run->part)
        run_part_start(run->part);
    else if (run->resumes)
        status = invocation_resume_by(run->invocation, by, run->answers, error);
    else
        invocation_start(run->invocation);
    value_unref(run->answers);
    run->answers = NULL;
    if (status == TN_OK)
        run_activate(run);
    else
        server_run_forget(run);
    return status;
}

/* Checks the answers here, where the caller gets the error. */
static int32_t part_resume(struct server_run *run, struct authority *by, tn_value answers, struct error *error) {
    const struct answered_run ended = {value_get(run->report, "interrupts"), run->status, run->thread != NULL};
    if (answers && value_is(answers, TN_NULL)) answers = NULL;
    int32_t status = invocation_check_answers(server_engine(run->runs->server), &ended, by, answers, error);
    if (status == TN_OK) run_part_resume(run->part, answers);
    return status;
}

int32_t server_run_answer(struct server_run *run, struct authority *by, tn_value answers, struct error *error) {
    if (run->active)
        return error_set(error, TN_INVALID, "INVALID_INPUT", "the run `%s` is running: it waits for no answer",
                         run->id);
    if (server_run_is_over(run))
        return error_set(error, TN_INVALID, "INVALID_INPUT", "the run `%s` is %s: there is nothing to continue%s",
                         run->id, run_status_name(run->status),
                         run->thread && run->status != RUN_DONE ? "; continue its thread with run/resume" : "");
    int32_t status = check_active(run->runs, run->client, error);
    if (status == TN_OK)
        status = run->part ? part_resume(run, by, answers, error)
                           : invocation_resume_by(run->invocation, by, answers, error);
    if (status == TN_OK) run_activate(run);
    return status;
}

void server_run_continue(struct server_run *run) {
    if (run->part)
        run_part_continue(run->part);
    else
        invocation_continue(run->invocation);
}

/* It ends after its super-step, also if that waits for a client that does not read. */
static void drain_run(struct server_run *run) {
    if (run->part)
        run_part_drain(run->part);
    else
        invocation_drain(run->invocation);
    if (!run->full) return;
    run->full = false;
    server_run_continue(run);
}

static void cancel_active(struct server_run *run) {
    run->cancels = true;
    if (run->part)
        run_part_cancel(run->part);
    else
        invocation_cancel(run->invocation);
}

void server_run_cancel(struct server_run *run, bool drain) {
    if (run->active && drain)
        drain_run(run);
    else if (run->active)
        cancel_active(run);
    if (run->active || drain || server_run_is_over(run)) return;
    /* It waits: nothing runs that could end. */
    tn_value report = value_set_take(value_ref(run->report), "status", value_text(run_status_name(RUN_CANCELLED)));
    report = value_remove_take(report, value_text("interrupts"));
    run_end_take(run, RUN_CANCELLED, value_remove_take(report, value_text("next")));
    queue_add(run);
}

/* On the loop of each engine. */
static void engine_ends_drained(void *user, struct host *host) { (void)user, host_engine(host)->end = ENGINE_DRAINS; }
static void engine_ends_cancelled(void *user, struct host *host) {
    (void)user, host_engine(host)->end = ENGINE_CANCELS;
}

/* Notifies the engines of all loops, before their runs are asked to end. */
static void engines_end(const struct server_runs *runs, loops_job *job) {
    struct loops *loops = server_loops(runs->server);
    job(NULL, server_host(runs->server));
    for (uint32_t i = 1; loops && i < loops_count(loops); i++) loops_post(loops, i, job, NULL);
}

static bool no_run_is_active(void *user) { return ((const struct server_runs *)user)->active == 0; }
static bool no_part_is_left(void *user) { return ((const struct server_runs *)user)->parts == 0; }

void server_runs_drain(struct server_runs *runs) {
    runs->ending = true;
    engines_end(runs, engine_ends_drained);
    for (struct server_run *run = runs->newest; run; run = run->older) server_run_cancel(run, true);
}

size_t server_runs_active(const struct server_runs *runs) { return runs->active; }

void server_runs_end(struct server_runs *runs) {
    runs->ending = true;
    engines_end(runs, engine_ends_cancelled);
    for (struct server_run *run = runs->newest; run; run = run->older)
        if (run->active) cancel_active(run);
    (void)loop_run(server_loop(runs->server), no_run_is_active, runs);
    while (runs->newest) server_run_forget(runs->newest);
    (void)loop_run(server_loop(runs->server), no_part_is_left, runs);
}

void server_runs_free(struct server_runs *runs) { mem_free(runs); }
