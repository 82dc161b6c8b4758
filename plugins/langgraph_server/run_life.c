/*
 * run_life.c - the life of a run that was started here: runs of a thread start one after the other.
 */
#include "stream.h"

void run_free(struct run *run) {
    struct run **link = &run->langgraph->runs;
    while (*link != run) link = &(*link)->next;
    *link = run->next;
    run->langgraph->count--;
    run->langgraph->excess -= run->excess;
    if (run->ended) {
        run->langgraph->ended--;
        run->langgraph->ended_size -= run->size;
    }
    while (run->followers != NULL) follower_remove(run->followers);
    run_save_stop(run);
    serving_cancel(&run->langgraph->serving, run->prepares);
    if (run->due != 0) (void)tn.core->unpost(tn.host, run->due);
    serving_run_close(run->serving);
    events_close(&run->events);
    tn_value values[] = {run->params, run->metadata, run->kwargs, run->log, run->result, run->state};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) tn_release(values[i]);
    char *texts[] = {run->assistant, run->graph, run->owner, run->method, run->strategy};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) serving_free(texts[i]);
    serving_free(run);
}

void run_forget(struct run *run) {
    if (run->ended && run->followers == NULL) run_free(run);
}

void runs_free(struct langgraph *langgraph) {
    while (langgraph->runs != NULL) run_free(langgraph->runs);
}

/* The oldest run that can be forgotten, or NULL. `keep` has just ended, and its caller still uses it. */
static struct run *oldest_ended(const struct langgraph *langgraph, const struct run *keep) {
    struct run *oldest = NULL;
    for (struct run *run = langgraph->runs; run != NULL; run = run->next)
        if (run->ended && run != keep && run->followers == NULL && run->save_call == 0 && run->save_retry == 0)
            oldest = run;
    return oldest;
}

static void forget_old(struct langgraph *langgraph, const struct run *keep) {
    while (langgraph->ended > ENDED_MAX || langgraph->ended_size > ENDED_SIZE) {
        struct run *oldest = oldest_ended(langgraph, keep);
        if (oldest == NULL) return;
        run_free(oldest);
    }
}

static void note_ended(struct run *run) {
    run->ended = run->started = true;
    tn_release(run->params);
    tn_release(run->state);
    run->params = run->state = NULL;
    run->size += run->log_size + serving_json_size(run->result);
    run->langgraph->ended++;
    run->langgraph->ended_size += run->size;
    run_count_excess(run);
}

static bool of_thread(const struct run *run, const char *owner, const char *thread) {
    return !run->stateless && strcmp(run->thread, thread) == 0 && strcmp(run->owner, owner) == 0;
}

/* One of the runs that start one after the other. */
static bool is_in_line(const struct run *run, const char *owner, const char *thread) {
    return !run->delayed && !run->ended && of_thread(run, owner, thread);
}

bool run_has_begun(const struct run *run) { return run->serving != NULL || run->prepares != 0; }

static void TN_ABI on_prepared(void *user, int32_t status, tn_value value) {
    struct run *run = user;
    run->prepares = 0;
    if (status == TN_OK)
        run->base = tn_get_int(value, "head", BASE_NONE);
    else
        run->base = serving_is(tn_get(value, "code"), "NOT_FOUND") ? BASE_NONE : BASE_UNKNOWN;
    run_begin(run);
}

/* A run that has waited: its thread has changed meanwhile. */
static void run_prepare(struct run *run) {
    serving_call_take(&run->langgraph->serving, run->caller, "thread/get", tn_build("{s:s}", "thread_id", run->thread),
                      on_prepared, run, &run->prepares);
    if (run->prepares == 0) run_begin(run); /* memory ran out */
}

/* A run of the thread has ended: the next one starts. */
static void begin_next(struct langgraph *langgraph, const char *owner, const char *thread) {
    struct run *next = NULL;
    for (struct run *run = langgraph->runs; run != NULL; run = run->next) {
        if (!is_in_line(run, owner, thread)) continue;
        if (run_has_begun(run)) return;
        next = run;
    }
    if (next != NULL) run_prepare(next);
}

void run_set_ended(struct run *run, const char *status) {
    static const char *const names[] = {"success", "error", "timeout", "interrupted"};
    run->status = names[0];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], status) == 0) run->status = names[i];
    note_ended(run);
    forget_old(run->langgraph, run);
}

static void mark_ended(struct run *run, const char *status) {
    char owner[200], thread[ID_MAX];
    bool stateless = run->stateless;
    struct langgraph *langgraph = run->langgraph;
    (void)snprintf(owner, sizeof owner, "%s", run->owner);
    (void)snprintf(thread, sizeof thread, "%s", run->thread);
    bool was_active = run->serving != NULL || !run->loaded; /* else another process has sent it */
    note_ended(run);
    if (run->stopped)
        run->status = status; /* the memory keeps `running`: another process continues it */
    else
        run_set_status(run, status);
    if (was_active && !run->stopped && !run->unsaved) webhook_send(run);
    run_pump(run);
    if (!stateless) begin_next(langgraph, owner, thread);
    forget_old(langgraph, run);
}

static void refuse_all(struct run *run, tn_value error) {
    while (run->followers != NULL) {
        struct exchange *exchange = run->followers->exchange;
        bool tells = run->followers->kind == TELL, awaits = run->followers->kind == THEN;
        follower_remove(run->followers);
        if (awaits) {
            exchange->with_run(exchange, run);
            continue;
        }
        if (run->loaded && tells) /* it exists, though it cannot be continued here */
            reply(exchange, 200, run_value(run));
        else
            refuse_error(exchange, error);
    }
}

static void on_started(void *user, const char *run_id) {
    struct run *run = user;
    (void)run_id;
    run->started = true;
    run_set_status(run, "running");
    tn_value data = tn_build("{s:s, s:i}", "run_id", run->id, "attempt", 1 + (int)run->loaded);
    if (data != NULL) run_add_event(run, "metadata", data);
    tn_release(data);
    if (run->state != NULL && (run->events.modes & MODE_VALUES) != 0) { /* the run continues from there */
        tn_value values = values_out(run->state);
        if (values != NULL) run_add_event(run, "values", values);
        tn_release(values);
    }
    run_pump(run);
}

static void on_run_event(void *user, tn_value event, uint64_t seq, uint64_t missed) {
    struct run *run = user;
    (void)seq;
    if (missed > 0) events_missed(&run->events);
    events_take(&run->events, event);
}

static const char *ended_status(tn_value report) {
    const char *status = tn_get_text(report, "status", "");
    if (strcmp(status, "done") == 0) return "success";
    if (strcmp(status, "failed") != 0) return "interrupted";
    return serving_is(tn_get(tn_get(report, "error"), "code"), "TIMEOUT") ? "timeout" : "error";
}

/* What a client that waits gets: new. */
static tn_value result_of(tn_value report) {
    tn_value error = tn_get(report, "error"), state = tn_get(report, "state"), asked = tn_get(report, "interrupts");
    if (serving_is(tn_get(report, "status"), "failed"))
        return tn_build("{s:{s:s, s:s}}", "__error__", "error", tn_get_text(error, "code", "INTERNAL"), "message",
                        tn_get_text(error, "message", "the run has failed"));
    tn_value made = tn.value->kind(state) == TN_OBJECT ? values_out(state) : tn_build("{s:v?}", "output", state);
    if (serving_is(tn_get(report, "status"), "interrupted") && made != NULL)
        made = tn_set_take(made, "__interrupt__", interrupts_out(asked));
    return made;
}

void run_take_report(struct run *run, tn_value report) {
    if (!run->started) refuse_all(run, tn_get(report, "error"));
    if (run->loaded && !run->started) run->unsaved = true; /* another process has it, or the client may not run it */
    run->result = result_of(report);
    run->stopped = serving_is(tn_get(report, "status"), "stopped");
    events_end(&run->events, report);
    mark_ended(run, ended_status(report));
}

static void on_run_end(void *user, tn_value report);
static const struct serving_run_handler run_handler = {on_started, on_run_event, on_run_end};

static void on_run_end(void *user, tn_value report) {
    struct run *run = user;
    bool exists = run->loaded && !run->started && serving_is(tn_get(tn_get(report, "error"), "code"), "EXISTS");
    if (exists && !run->continued) /* the host has continued it meanwhile */
        run_follow_host(run);
    else
        run_take_report(run, report);
}

/* The run could not be started or followed. */
static void fail_to_begin(struct run *run) {
    tn_value error = tn_error("NO_MEMORY", "memory ran out");
    refuse_all(run, error);
    tn_release(error);
    mark_ended(run, "error");
}

void run_follow_host(struct run *run) {
    char id[HOST_ID_MAX];
    serving_run_close(run->serving);
    run->continued = true;
    run->serving =
        serving_run_follow(&run->langgraph->serving, run->caller, run_host_id(run, id), 0, &run_handler, run);
    if (run->serving == NULL) fail_to_begin(run);
}

void run_begin(struct run *run) {
    tn_value params = run->params;
    run->params = NULL;
    run->serving = serving_run_start(&run->langgraph->serving, run->caller, run->method, params, &run_handler, run);
    if (run->serving == NULL) fail_to_begin(run);
}

void run_cancel(struct run *run) {
    if (run->ended) return;
    run->cancelling = true;
    if (run->serving != NULL) {
        serving_run_cancel(run->serving);
        return;
    }
    serving_cancel(&run->langgraph->serving, run->prepares);
    run->prepares = 0;
    run->result = tn_build("{}");
    run->delayed = false;
    mark_ended(run, "interrupted"); /* it has not begun */
}

bool run_has_result(const struct run *run) { return run->result != NULL; }

bool run_was_loaded(const struct run *run) { return run->loaded; }

struct run *run_find(struct exchange *exchange, const char *id) {
    const char *owner = tn_get_text(tn_get(exchange->request, "caller"), "owner", "");
    for (struct run *run = exchange->langgraph->runs; run != NULL; run = run->next)
        if (strcmp(run->id, id) == 0 && !run->unsaved && of_thread(run, owner, exchange->thread)) return run;
    return NULL;
}

struct run *run_active(struct exchange *exchange, uint32_t *waiting) {
    const char *owner = tn_get_text(tn_get(exchange->request, "caller"), "owner", "");
    struct run *active = NULL;
    *waiting = 0;
    for (struct run *run = exchange->langgraph->runs; run != NULL; run = run->next) {
        if (!is_in_line(run, owner, exchange->thread)) continue;
        if (active == NULL) active = run;
        if (!run_has_begun(run)) ++*waiting;
    }
    return active;
}

static struct run *next_in_line(const struct exchange *exchange, const char *owner, bool begun) {
    for (struct run *run = exchange->langgraph->runs; run != NULL; run = run->next)
        if (is_in_line(run, owner, exchange->thread) && !run->cancelling && run_has_begun(run) == begun) return run;
    return NULL;
}

struct run *run_begun(struct exchange *exchange) {
    const char *owner = tn_get_text(tn_get(exchange->request, "caller"), "owner", "");
    for (struct run *run = exchange->langgraph->runs; run != NULL; run = run->next)
        if (is_in_line(run, owner, exchange->thread) && run->serving != NULL) return run;
    return NULL;
}

void runs_cancel(struct exchange *exchange, bool forget) {
    const char *owner = tn_get_text(tn_get(exchange->request, "caller"), "owner", "");
    for (struct run *run = exchange->langgraph->runs; forget && run != NULL; run = run->next) {
        if (!of_thread(run, owner, exchange->thread)) continue;
        run->unsaved = true;
        run->delayed = false; /* it is in line, and is cancelled with the others */
    }
    struct run *run; /* first those that wait, so that none of them begins */
    while ((run = next_in_line(exchange, owner, false)) != NULL) run_cancel(run);
    while ((run = next_in_line(exchange, owner, true)) != NULL) run_cancel(run);
}

/* The copies of the options; false if memory ran out. */
static bool copy_options(struct run *run, const struct exchange *exchange, const struct run_options *options,
                         const char *id) {
    const char *owner = tn_get_text(tn_get(exchange->request, "caller"), "owner", "");
    if (id != NULL)
        (void)snprintf(run->id, sizeof run->id, "%s", id);
    else
        uuid_new(run->id);
    run->stateless = exchange->thread[0] == '\0';
    if (run->stateless)
        uuid_new(run->thread);
    else
        (void)snprintf(run->thread, sizeof run->thread, "%s", exchange->thread);
    if (options->params != NULL) {
        tn_value config = tn_retain(tn_get(options->params, "config"));
        if (config == NULL) config = tn_build("{}");
        config = tn_set_take(config, "run_id", tn_text(run->id));
        run->params = tn_set_take(tn_retain(options->params), "config", config);
    }
    run->owner = serving_text_copy(owner);
    run->assistant = serving_text_copy(options->assistant);
    run->graph = serving_text_copy(options->graph);
    run->method = serving_text_copy(options->method);
    run->strategy = serving_text_copy(options->strategy);
    run->metadata = options->metadata != NULL ? tn_retain(options->metadata) : tn_build("{}");
    run->kwargs = options->kwargs != NULL ? tn_retain(options->kwargs) : tn_build("{}");
    run->state = tn_retain(options->state);
    run->log = tn_build("[]");
    return run->owner != NULL && run->assistant != NULL && run->graph != NULL && run->method != NULL &&
           run->strategy != NULL && (run->params != NULL || options->params == NULL) && run->metadata != NULL &&
           run->kwargs != NULL && run->log != NULL;
}

struct run *run_make(struct exchange *exchange, const struct run_options *options, const char *id) {
    struct langgraph *langgraph = exchange->langgraph;
    struct run *run = langgraph->count < RUNS_MAX ? serving_alloc(sizeof *run) : NULL;
    if (run == NULL) return NULL;
    run->langgraph = langgraph;
    run->caller = exchange->caller;
    run->cancel_on_disconnect = options->cancel_on_disconnect;
    run->log_first = 1;
    run->base = BASE_UNKNOWN;
    run->next = langgraph->runs;
    langgraph->runs = run;
    langgraph->count++;
    if (!copy_options(run, exchange, options, id)) {
        run_free(run);
        return NULL;
    }
    run->size = serving_json_size(run->kwargs) + serving_json_size(run->metadata);
    run->resumable = options->resumable && !run->stateless;
    time_text(tn.core->wall_ms(tn.host), run->created);
    run->events = (struct events){.modes = options->modes,
                                  .subgraphs = options->subgraphs,
                                  .run_id = run->id,
                                  .thread_id = run->thread,
                                  .graph = run->graph,
                                  .send = run_add_event,
                                  .user = run};
    run->status = "pending";
    return run;
}

/* The time of a delayed run has come: it starts, or waits for the runs of its thread. */
static void on_due(void *argument) {
    struct run *run = argument;
    char owner[200], thread[ID_MAX];
    (void)snprintf(owner, sizeof owner, "%s", run->owner);
    (void)snprintf(thread, sizeof thread, "%s", run->thread);
    run->due = 0;
    run->delayed = false;
    if (run->ended) return;
    if (run->stateless)
        run_begin(run);
    else
        begin_next(run->langgraph, owner, thread);
}

struct run *run_new(struct exchange *exchange, const struct run_options *options) {
    uint32_t waiting;
    bool busy = exchange->thread[0] != '\0' && run_active(exchange, &waiting) != NULL;
    if (!run_check_share(exchange, 1)) return NULL;
    struct run *run = run_make(exchange, options, NULL);
    if (run == NULL) {
        refuse(exchange, 503, "the server has too many runs; try again later");
        return NULL;
    }
    run->delayed = options->delay_ms > 0;
    if (!busy && !run->delayed) run->base = options->base;
    if ((busy || run->delayed) && !run_check_size(exchange)) {
        run_free(run);
        return NULL;
    }
    if (run->delayed && tn.core->post(tn.host, options->delay_ms, on_due, NULL, run, &run->due) != TN_OK) {
        run_free(run);
        refuse(exchange, 503, "the server has too many timers; try again later");
        return NULL;
    }
    run_set_status(run, "pending");
    if (!busy && !run->delayed) run_begin(run);
    return run;
}

/* ---- Several runs ---- */

static bool has_id(tn_value ids, const char *id) {
    for (uint64_t i = 0, count = tn.value->count(ids); i < count; i++)
        if (serving_is(tn.value->at(ids, i), id)) return true;
    return false;
}

/* The user's run that the body of /runs/cancel names, and that was not cancelled. */
static struct run *next_to_cancel(const struct exchange *exchange) {
    const char *owner = tn_get_text(tn_get(exchange->request, "caller"), "owner", "");
    const char *thread = tn_get_text(exchange->body, "thread_id", NULL);
    const char *status = tn_get_text(exchange->body, "status", "all");
    tn_value ids = tn_get(exchange->body, "run_ids");
    for (struct run *run = exchange->langgraph->runs; run != NULL; run = run->next) {
        bool wanted =
            is_set(ids) ? has_id(ids, run->id) : strcmp(status, "all") == 0 || strcmp(status, run->status) == 0;
        if (wanted && !run->ended && !run->cancelling && strcmp(run->owner, owner) == 0 &&
            (thread == NULL || strcmp(thread, run->thread) == 0))
            return run;
    }
    return NULL;
}

uint32_t runs_cancel_named(struct exchange *exchange) {
    uint32_t count = 0;
    for (struct run *run; (run = next_to_cancel(exchange)) != NULL; count++) run_cancel(run);
    return count;
}
