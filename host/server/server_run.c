/*
 * server_run.c - the table of runs, their events and their subscriptions.
 *
 *     run/start ──▶ active ──▶ ended: done, failed, cancelled; interrupted and stopped: run/answer continues it
 *                     ▲                        │
 *                     └────────────────────────┘
 *
 * All subscriptions of a run get the same events. The run is full while one of them has no room.
 */
#include "host/server/server_run.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/base/loop.h"
#include "host/base/time_text.h"
#include "host/data/kernel/kernel_request.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution.h"
#include "host/engine/execution/invocation.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/call.h"
#include "host/server/client.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"
#include <string.h>

/* One of the last events of a run: {run_id, seq, event}, or the parameters of run/ended, whose `mode` is 0. */
struct kept_event {
    tn_value params; /* NULL if it is not kept */
    unsigned mode;
    int64_t size;
};

struct run_subscription {
    struct run_subscription *next;
    struct subscription *subscription;
    struct server_run *run;
};

struct server_run {
    struct server_runs *runs;
    struct server_run *newer, *older; /* in the table */
    struct server_run *ended_after;   /* the next one in the queue of ended runs */
    const struct client *client;      /* that has started it; NULL if it has gone */
    struct invocation *invocation;
    char *id, *thread, *document;
    tn_value answers; /* of run/resume, until it starts */
    struct run_subscription *subscriptions;
    struct kept_event kept[SERVER_EVENTS_KEPT]; /* a ring: event `seq` is at seq % SERVER_EVENTS_KEPT */
    uint64_t seq, first_kept;                   /* of the last event; of the oldest one that is kept */
    int64_t kept_size;
    uint64_t *waiting; /* tokens of run/wait */
    size_t waiting_count;
    int64_t started_ms, ended_ms;
    bool resumes, active, in_ended, full;
};

struct server_runs {
    struct server *server;
    struct server_run *newest;
    struct server_run *first_ended, *last_ended;
    size_t active, ended;
};

/* ---- The table ---- */

struct server_runs *server_runs_new(struct server *server) {
    struct server_runs *runs = mem_zalloc(sizeof *runs);
    runs->server = server;
    return runs;
}

struct server_run *server_run_find(const struct server_runs *runs, const char *id, struct error *error) {
    struct server_run *run = runs->newest;
    while (run && strcmp(run->id, id) != 0) run = run->older;
    if (!run)
        error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                  "this host has no run `%.100s`; run/list lists its runs, thread/list the saved threads", id);
    return run;
}

const char *server_run_id(const struct server_run *run) { return run->id; }
const char *server_run_thread(const struct server_run *run) { return run->thread; }
struct invocation *server_run_invocation(const struct server_run *run) {
    return run->invocation;
}
bool server_run_is_active(const struct server_run *run) { return run->active; }

const struct server_run *server_run_older(const struct server_runs *runs, const struct server_run *run) {
    return run ? run->older : runs->newest;
}

void server_runs_forget_client(struct server_runs *runs, const struct client *client) {
    for (struct server_run *run = runs->newest; run; run = run->older)
        if (run->client == client) run->client = NULL;
}

/* Removes it from the queue of ended runs. */
static void ended_remove(struct server_run *run) {
    struct server_runs *runs = run->runs;
    struct server_run **link = &runs->first_ended, *before = NULL;
    if (!run->in_ended) return;
    while (*link != run) {
        before = *link;
        link = &before->ended_after;
    }
    *link = run->ended_after;
    if (runs->last_ended == run) runs->last_ended = before;
    run->ended_after = NULL;
    run->in_ended = false;
    runs->ended--;
}

void server_run_forget(struct server_run *run) {
    struct server_runs *runs = run->runs;
    ended_remove(run);
    while (run->subscriptions) subscription_end(run->subscriptions->subscription);
    if (run->newer)
        run->newer->older = run->older;
    else
        runs->newest = run->older;
    if (run->older) run->older->newer = run->newer;
    for (size_t i = 0; i < SERVER_EVENTS_KEPT; i++) value_unref(run->kept[i].params);
    invocation_free(run->invocation);
    value_unref(run->answers);
    mem_free(run->waiting);
    mem_free(run->document);
    mem_free(run->thread);
    mem_free(run->id);
    mem_free(run);
}

static void ended_add(struct server_run *run) {
    struct server_runs *runs = run->runs;
    if (runs->last_ended)
        runs->last_ended->ended_after = run;
    else
        runs->first_ended = run;
    runs->last_ended = run;
    run->in_ended = true;
    if (++runs->ended > SERVER_RUNS_KEPT) server_run_forget(runs->first_ended);
}

/* ---- Describing ---- */

static tn_value add_names(tn_value object, const struct server_run *run) {
    object = value_set_take(object, "run_id", value_text(run->id));
    if (run->thread) object = value_set_take(object, "thread_id", value_text(run->thread));
    if (run->document)
        object = value_set_take(object, "document", value_string_lossy(run->document, strlen(run->document)));
    return object;
}

tn_value server_run_describe(const struct server_run *run, bool with_report) {
    char time[TIME_TEXT];
    enum run_status status = invocation_status(run->invocation);
    tn_value shown = add_names(value_object_reserve(9), run);
    shown = value_set_take(shown, "status", value_text(run_status_name(run->active ? RUN_RUNNING : status)));
    if (run->client) shown = value_set_take(shown, "client", value_text(client_name(run->client)));
    time_text(run->started_ms, time);
    shown = value_set_take(shown, "started_at", value_text(time));
    shown = value_set_take(shown, "steps", value_int(invocation_steps(run->invocation)));
    if (run->active) return shown;
    time_text(run->ended_ms, time);
    shown = value_set_take(shown, "ended_at", value_text(time));
    return with_report ? value_set_take(shown, "report", invocation_report(run->invocation)) : shown;
}

/* ---- Events ---- */

static bool run_has_room(const struct server_run *run) {
    for (const struct run_subscription *at = run->subscriptions; at; at = at->next)
        if (!subscription_has_room(at->subscription)) return false;
    return true;
}

static void forget_first_kept(struct server_run *run) {
    struct kept_event *kept = &run->kept[run->first_kept++ % SERVER_EVENTS_KEPT];
    run->kept_size -= kept->size;
    value_unref(kept->params);
    *kept = (struct kept_event){NULL, 0, 0};
}

/* Keeps the event with the number run->seq. The last one is always kept. Takes `params`. */
static void keep_take(struct server_run *run, unsigned mode, tn_value params) {
    if (run->seq - run->first_kept == SERVER_EVENTS_KEPT) forget_first_kept(run);
    struct kept_event *kept = &run->kept[run->seq % SERVER_EVENTS_KEPT];
    *kept = (struct kept_event){params, mode, value_weight(params)};
    run->kept_size += kept->size;
    while (run->kept_size > SERVER_EVENTS_SIZE && run->first_kept < run->seq) forget_first_kept(run);
}

/* Keeps the event, and sends it to the subscriptions that want its mode; 0 is wanted by all. Takes `params`. */
static void send_to_all_take(struct server_run *run, const char *event, unsigned mode, tn_value params) {
    keep_take(run, mode, params);
    for (struct run_subscription *at = run->subscriptions; at; at = at->next)
        if (!mode || subscription_wants(at->subscription, mode))
            (void)subscription_deliver(at->subscription, event, params, mode);
}

/* run_options.event */
static bool run_on_event(void *user, tn_value event) {
    struct server_run *run = user;
    unsigned mode = run_modes_parse(value_chars(value_get(event, "type"), NULL), NULL);
    tn_value params = value_set_take(value_object_reserve(4), "run_id", value_text(run->id));
    params = value_set_take(params, "seq", value_int((int64_t)++run->seq));
    send_to_all_take(run, "run/event", mode, value_set_take(params, "event", value_ref(event)));
    run->full = !run_has_room(run);
    return !run->full;
}

static void run_subscription_changed(void *user, struct subscription *subscription, bool ended) {
    struct run_subscription *own = user;
    struct server_run *run = own->run;
    (void)subscription;
    if (ended) {
        struct run_subscription **link = &run->subscriptions;
        while (*link != own) link = &(*link)->next;
        *link = own->next;
        mem_free(own);
    }
    if (!run->full || !run_has_room(run)) return;
    run->full = false;
    invocation_continue(run->invocation);
}

static const char *name_of_kept(const struct kept_event *kept) { return kept->mode ? "run/event" : "run/ended"; }

/* Sends the kept events after number `after` again. */
static void send_kept(struct server_run *run, struct subscription *subscription, uint64_t after) {
    uint64_t first = run->first_kept;
    if (after + 1 < first) subscription_note_missed(subscription, first - after - 1);
    for (uint64_t seq = after + 1 > first ? after + 1 : first; seq <= run->seq; seq++) {
        const struct kept_event *kept = &run->kept[seq % SERVER_EVENTS_KEPT];
        if (!kept->mode || subscription_wants(subscription, kept->mode))
            (void)subscription_deliver(subscription, name_of_kept(kept), kept->params, kept->mode);
    }
}

/* It has ended for good: no event will come. */
static bool run_is_over(const struct server_run *run) {
    enum run_status status = invocation_status(run->invocation);
    return !run->active && status != RUN_NEW && status != RUN_INTERRUPTED && status != RUN_STOPPED;
}

static unsigned modes_of(tn_value params) {
    tn_value names = value_get(params, "modes");
    unsigned modes = 0;
    for (size_t i = 0; names && i < value_count(names); i++)
        modes |= run_modes_parse(value_chars(value_at(names, i), NULL), NULL);
    return modes;
}

struct subscription *server_run_subscribe(struct client *client, struct server_run *run, tn_value params,
                                          struct error *error) {
    tn_value credit = value_get(params, "credit"), after = value_get(params, "after");
    struct run_subscription *own = mem_zalloc(sizeof *own);
    const struct subscription_options options = {
        .modes = modes_of(params),
        .credit = credit ? value_to_int(credit) : -1,
        .full = value_text_is(value_get(params, "when_full"), "drop") ? SUBSCRIPTION_DROPS : SUBSCRIPTION_WAITS,
        .changed = run_subscription_changed,
        .user = own};
    struct subscription *subscription = subscription_new(client, &options, error);
    if (!subscription) {
        mem_free(own);
        return NULL;
    }
    *own = (struct run_subscription){run->subscriptions, subscription, run};
    run->subscriptions = own;
    if (after) send_kept(run, subscription, (uint64_t)value_to_int(after));
    if (!after && !run->active && run->seq) send_kept(run, subscription, run->seq - 1); /* run/ended */
    if (run_is_over(run)) subscription_close(subscription);
    return subscription;
}

/* ---- Start and end ---- */

static void publish(const struct server_run *run, const char *event) {
    if (!server_listens(run->runs->server, event)) return;
    tn_value params = add_names(value_object_reserve(5), run);
    if (strcmp(event, "run/ended") == 0)
        params = value_set_take(params, "status", value_text(run_status_name(invocation_status(run->invocation))));
    server_publish_take(run->runs->server, event, params);
}

static void end_waiting(struct server_run *run) {
    tn_value shown = run->waiting_count ? server_run_describe(run, true) : NULL;
    for (size_t i = 0; i < run->waiting_count; i++) (void)call_complete(run->waiting[i], shown);
    run->waiting_count = 0;
    value_unref(shown);
}

void server_run_await(struct server_run *run, uint64_t token) {
    size_t open = 0; /* calls that were cancelled are not counted */
    for (size_t i = 0; i < run->waiting_count; i++)
        if (call_lookup_open(run->waiting[i])) run->waiting[open++] = run->waiting[i];
    run->waiting_count = open;
    run->waiting = mem_array(run->waiting, open + 1, sizeof *run->waiting);
    run->waiting[run->waiting_count++] = token;
    if (!run->active) end_waiting(run);
}

static void run_on_ended(void *user) {
    struct server_run *run = user;
    tn_value report = invocation_report(run->invocation);
    tn_value params = add_names(value_object_reserve(7), run);
    params = value_set_take(params, "status", value_ref(value_get(report, "status")));
    params = value_set_take(params, "seq", value_int((int64_t)++run->seq));
    run->active = run->full = false;
    run->ended_ms = loop_wall_ms(server_loop(run->runs->server));
    run->runs->active--;
    send_to_all_take(run, "run/ended", 0, value_set_take(params, "report", report));
    publish(run, "run/ended");
    for (struct run_subscription *at = run->subscriptions, *next; at && run_is_over(run); at = next) {
        next = at->next;
        subscription_close(at->subscription);
    }
    end_waiting(run);
    ended_add(run); /* may forget the oldest, which can be this one */
}

/* Sets the config's `run_id` if it has none. */
static tn_value config_with_id(tn_value config, int64_t now_ms) {
    char id[KERNEL_ID_TEXT];
    config = config ? value_ref(config) : value_object();
    if (value_get(config, "run_id")) return config;
    kernel_id_make(now_ms, id);
    return value_set_take(config, "run_id", value_text(id));
}

static int32_t check_room(const struct server_runs *runs, const char *id, struct error *error) {
    if (runs->active == SERVER_RUNS_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "the host has %u open runs, which is the limit; try again later",
                         SERVER_RUNS_MAX);
    if (!server_run_find(runs, id, NULL)) return TN_OK;
    return error_set(error, TN_INVALID, "EXISTS", "the host has a run `%.100s` already; use another `run_id`", id);
}

struct server_run *server_run_new(struct server_runs *runs, const struct server_run_options *options,
                                  struct error *error) {
    struct loop *loop = server_loop(runs->server);
    tn_value named = config_with_id(options->config, loop_wall_ms(loop));
    const char *id = value_chars(value_get(named, "run_id"), NULL);
    struct invocation_options inner = {.run = RUN_OPTIONS_INIT, .input = options->input, .ended = run_on_ended};
    /* A run that is resumed keeps the id that its thread has. */
    inner.config =
        options->resumes ? value_remove_take(value_ref(options->config), value_text("run_id")) : value_ref(named);
    struct server_run *run = mem_zalloc(sizeof *run);
    int32_t status = check_room(runs, id, error);
    if (status == TN_OK) status = run_request_read(&inner.run, &inner.request, inner.config, error);
    if (status == TN_OK && options->resumes) inner.request.mode = THREAD_RESUME;
    inner.run.modes = options->modes;
    inner.run.event = run_on_event;
    inner.run.user = run;
    if (status == TN_OK)
        run->invocation = invocation_new(server_engine(runs->server), &options->graph->callable, &inner, error);
    if (run->invocation) {
        run->runs = runs;
        run->client = options->client;
        run->id = mem_text(id);
        run->thread = inner.request.id ? mem_text(inner.request.id) : NULL;
        run->document = options->document ? mem_text(options->document) : NULL;
        run->answers = options->answers ? value_ref(options->answers) : NULL;
        run->resumes = options->resumes;
        run->started_ms = loop_wall_ms(loop);
        run->first_kept = 1;
        run->older = runs->newest;
        if (run->older) run->older->newer = run;
        runs->newest = run;
    } else {
        mem_free(run);
        run = NULL;
    }
    value_unref(inner.config);
    value_unref(named);
    return run;
}

static void run_activate(struct server_run *run) {
    ended_remove(run);
    run->active = true;
    run->runs->active++;
    publish(run, "run/started");
}

int32_t server_run_start(struct server_run *run, struct error *error) {
    int32_t status = TN_OK;
    if (run->resumes)
        status = invocation_resume(run->invocation, run->answers, error);
    else
        invocation_start(run->invocation);
    if (status == TN_OK)
        run_activate(run);
    else
        server_run_forget(run);
    return status;
}

int32_t server_run_answer(struct server_run *run, tn_value answers, struct error *error) {
    if (run->active)
        return error_set(error, TN_INVALID, "INVALID_INPUT", "the run `%s` is running: it waits for no answer",
                         run->id);
    int32_t status = invocation_resume(run->invocation, answers, error);
    if (status == TN_OK) run_activate(run);
    return status;
}

static bool no_run_is_active(void *user) { return ((const struct server_runs *)user)->active == 0; }

void server_runs_end(struct server_runs *runs) {
    for (struct server_run *run = runs->newest; run; run = run->older)
        if (run->active) invocation_cancel(run->invocation);
    (void)loop_run(server_loop(runs->server), no_run_is_active, runs);
    while (runs->newest) server_run_forget(runs->newest);
}

void server_runs_free(struct server_runs *runs) { mem_free(runs); }
