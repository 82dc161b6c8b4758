/*
 * stream.c - runs that were started here: their events, and the clients that follow them.
 *
 * Runs of a thread start one after the other. Events are kept while a run is known here, so that a client that has lost
 * its connection can read on from the last event that it has.
 */
#include "stream.h"

static const tn_server_draft *server_of(const struct run *run) { return run->langgraph->serving.server; }

/* ---- Values of a run ---- */

const char *run_id_of(const struct run *run) { return run->id; }
bool run_has_ended(const struct run *run) { return run->ended; }
int64_t run_newest(const struct run *run) { return (int64_t)(run->log_first + tn.value->count(run->log)) - 1; }

static void now_text(char out[TIME_TEXT_SIZE]) { time_text(tn.core->wall_ms(tn.host), out); }

tn_value run_value(const struct run *run) {
    return tn_build("{s:s, s:s, s:s, s:s, s:s, s:s, s:v, s:v, s:s}", "run_id", run->id, "thread_id", run->thread,
                    "assistant_id", run->assistant, "created_at", run->created, "updated_at", run->updated, "status",
                    run->status, "metadata", run->metadata, "kwargs", run->kwargs, "multitask_strategy", run->strategy);
}

static void TN_ABI on_ignored(void *user, int32_t status, tn_value value) { (void)user, (void)status, (void)value; }

static void call(const struct run *run, const char *method, tn_value params) {
    serving_call_take(&run->langgraph->serving, run->caller, method, params, on_ignored, NULL, NULL);
}

static void set_status(struct run *run, const char *status) {
    run->status = status;
    now_text(run->updated);
    if (run->stateless || run->unsaved) return;
    call(run, "memory/put",
         tn_build("{s:V, s:s, s:V, s:b}", "namespace", runs_namespace(run->thread), "key", run->id, "value",
                  run_value(run), "text", 0));
}

/* ---- Followers ---- */

static void follower_remove(struct follower *follower) {
    struct follower **link = &follower->run->followers;
    while (*link != follower) link = &(*link)->next;
    *link = follower->next;
    follower->exchange->on_event = NULL;
    follower->exchange->object = NULL;
    serving_free(follower);
}

static void location(const struct run *run, char text[160]) {
    if (run->stateless)
        (void)snprintf(text, 160, "/runs/%s", run->id);
    else
        (void)snprintf(text, 160, "/threads/%s/runs/%s", run->thread, run->id);
}

/* The first bytes of the answer, once the run has started. */
static void follower_begin(struct follower *follower) {
    struct run *run = follower->run;
    char place[160], stream[180];
    location(run, place);
    (void)snprintf(stream, sizeof stream, "%s/stream", place);
    follower->begun = true;
    tn_value response = follower->kind == FOLLOW
                            ? tn_build("{s:i, s:{s:s, s:s}, s:s}", "status", 200, "headers", "content-location", place,
                                       "location", stream, "stream", "events")
                            : tn_build("{s:i, s:{s:s}, s:V}", "status", 200, "headers", "content-location", place,
                                       "json", follower->kind == TELL ? run_value(run) : tn_retain(run->result));
    if (response == NULL)
        (void)server_of(run)->abort(tn.host, follower->exchange->number);
    else
        (void)server_of(run)->respond(tn.host, follower->exchange->number, response);
    tn_release(response);
}

static bool is_behind(const struct follower *follower) { return follower->position < follower->run->log_first; }

/* Writes what there is. The follower may have been removed. */
static void follower_pump(struct follower *follower) {
    struct run *run = follower->run;
    uint64_t end = run->log_first + tn.value->count(run->log);
    uint64_t number = follower->exchange->number;
    if (!run->started || (follower->kind == WAIT && !run->ended)) return;
    if (!follower->begun) follower_begin(follower);
    if (follower->kind != FOLLOW) {
        follower_remove(follower);
        return;
    }
    if (is_behind(follower)) { /* the client notices that events are missing, and can join again */
        (void)server_of(run)->abort(tn.host, number);
        follower_remove(follower);
        return;
    }
    while (!follower->full && follower->position < end) {
        int32_t status =
            server_of(run)->event(tn.host, number, tn.value->at(run->log, follower->position - run->log_first));
        follower->position++;
        follower->full = status == TN_SERVER_FULL;
        if (status != TN_OK && status != TN_SERVER_FULL) break;
    }
    if (!run->ended || follower->position < end) return;
    if (run->stopped)
        (void)server_of(run)->abort(tn.host, number);
    else
        (void)server_of(run)->finish(tn.host, number);
    follower_remove(follower);
}

static void pump_all(struct run *run) {
    for (struct follower *follower = run->followers, *next; follower != NULL; follower = next) {
        next = follower->next;
        follower_pump(follower);
    }
}

static void on_follower_event(struct exchange *exchange, int32_t event) {
    struct follower *follower = exchange->object;
    struct run *run = follower->run;
    if (event == TN_SERVER_ROOM) {
        follower->full = false;
        follower_pump(follower);
    } else if (event == TN_SERVER_CLOSED) {
        bool cancels = follower->with_start && run->cancel_on_disconnect && !run->ended;
        follower_remove(follower);
        if (cancels) run_cancel(run);
    }
}

static void follow(struct run *run, struct exchange *exchange, enum follow_kind kind, uint64_t position, bool start) {
    struct follower *follower = serving_alloc(sizeof *follower);
    if (follower == NULL) {
        refuse(exchange, 503, "memory ran out");
        return;
    }
    *follower = (struct follower){.next = run->followers,
                                  .run = run,
                                  .exchange = exchange,
                                  .kind = kind,
                                  .position = position,
                                  .with_start = start};
    run->followers = follower;
    exchange->object = follower;
    exchange->on_event = on_follower_event;
    follower_pump(follower);
}

void run_follow(struct run *run, struct exchange *exchange, int64_t after, bool with_start) {
    uint64_t position = after < 0 ? 1 : (uint64_t)after + 1;
    if (position < run->log_first) {
        refuse(exchange, 410, "the events after %lld are not kept any more; the oldest one is %llu", (long long)after,
               (unsigned long long)run->log_first);
        return;
    }
    follow(run, exchange, FOLLOW, position, with_start);
}

void run_wait(struct run *run, struct exchange *exchange) { follow(run, exchange, WAIT, 0, true); }

void run_tell(struct run *run, struct exchange *exchange) {
    if (run->serving == NULL) { /* it waits for another one */
        reply(exchange, 200, run_value(run));
        return;
    }
    follow(run, exchange, TELL, 0, false);
}

/* ---- Events ---- */

static uint64_t event_size(tn_value event) {
    uint64_t length = 0;
    tn_value json = tn_to_json(event);
    (void)tn_chars(json, &length);
    tn_release(json);
    return 200 + length;
}

static void log_trim(struct run *run) {
    uint64_t cut = tn.value->count(run->log) / 2;
    if (run->log_size <= LOG_MAX || cut == 0) return;
    for (uint64_t i = 0; i < cut; i++) run->log_size -= event_size(tn.value->at(run->log, i));
    if (tn.value->splice(&run->log, 0, cut, NULL) == TN_OK) run->log_first += cut;
}

static void add_event(void *user, const char *name, tn_value data) {
    struct run *run = user;
    char id[24];
    (void)snprintf(id, sizeof id, "%lld", (long long)run_newest(run) + 1);
    tn_value event = tn_build("{s:s, s:s, s:v}", "id", id, "event", name, "data", data);
    if (event == NULL) return;
    run->log_size += event_size(event);
    (void)tn_append_take(&run->log, event);
    pump_all(run);
    log_trim(run);
}

/* ---- The life of a run ---- */

static void run_free(struct run *run) {
    struct run **link = &run->langgraph->runs;
    while (*link != run) link = &(*link)->next;
    *link = run->next;
    run->langgraph->count--;
    if (run->ended) run->langgraph->ended--;
    while (run->followers != NULL) follower_remove(run->followers);
    serving_run_close(run->serving);
    events_close(&run->events);
    tn_value values[] = {run->params, run->metadata, run->kwargs, run->log, run->result};
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

static void forget_old(struct langgraph *langgraph) {
    struct run *oldest = NULL;
    if (langgraph->ended <= ENDED_MAX) return;
    for (struct run *run = langgraph->runs; run != NULL; run = run->next)
        if (run->ended && run->followers == NULL) oldest = run;
    if (oldest != NULL) run_free(oldest);
}

static bool same_thread(const struct run *run, const char *owner, const char *thread) {
    return !run->stateless && strcmp(run->thread, thread) == 0 && strcmp(run->owner, owner) == 0;
}

static void run_begin(struct run *run);

/* A run of the thread has ended: the next one starts. */
static void begin_next(struct langgraph *langgraph, const char *owner, const char *thread) {
    struct run *next = NULL;
    for (struct run *run = langgraph->runs; run != NULL; run = run->next) {
        if (run->ended || !same_thread(run, owner, thread)) continue;
        if (run->serving != NULL) return;
        next = run;
    }
    if (next != NULL) run_begin(next);
}

static void mark_ended(struct run *run, const char *status) {
    char owner[200], thread[ID_MAX];
    bool stateless = run->stateless;
    struct langgraph *langgraph = run->langgraph;
    (void)snprintf(owner, sizeof owner, "%s", run->owner);
    (void)snprintf(thread, sizeof thread, "%s", run->thread);
    run->ended = run->started = true;
    langgraph->ended++;
    set_status(run, status);
    pump_all(run);
    if (!stateless) begin_next(langgraph, owner, thread);
    forget_old(langgraph);
}

static void refuse_all(struct run *run, tn_value error) {
    while (run->followers != NULL) {
        struct exchange *exchange = run->followers->exchange;
        follower_remove(run->followers);
        refuse_error(exchange, error);
    }
}

static void on_started(void *user, const char *run_id) {
    struct run *run = user;
    (void)run_id;
    run->started = true;
    set_status(run, "running");
    tn_value data = tn_build("{s:s, s:i, s:s}", "run_id", run->id, "attempt", 1, "thread_id", run->thread);
    if (data != NULL) add_event(run, "metadata", data);
    tn_release(data);
    pump_all(run);
}

static void on_run_event(void *user, tn_value event, uint64_t seq, uint64_t missed) {
    struct run *run = user;
    (void)seq, (void)missed;
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
    tn_value made = tn.value->kind(state) == TN_OBJECT ? state_out(state) : tn_build("{s:v?}", "output", state);
    asked = interrupts_out(asked);
    if (tn.value->count(asked) > 0 && made != NULL) made = tn_set_take(made, "__interrupt__", tn_retain(asked));
    tn_release(asked);
    return made;
}

static void on_run_end(void *user, tn_value report) {
    struct run *run = user;
    if (!run->started) refuse_all(run, tn_get(report, "error"));
    run->result = result_of(report);
    run->stopped = serving_is(tn_get(report, "status"), "stopped");
    events_end(&run->events, report);
    mark_ended(run, ended_status(report));
}

static const struct serving_run_handler run_handler = {on_started, on_run_event, on_run_end};

static void run_begin(struct run *run) {
    tn_value params = run->params;
    run->params = NULL;
    run->serving = serving_run_start(&run->langgraph->serving, run->caller, run->method, params, &run_handler, run);
    if (run->serving != NULL) return;
    tn_value error = tn_error("NO_MEMORY", "memory ran out");
    refuse_all(run, error);
    tn_release(error);
    mark_ended(run, "error");
}

void run_cancel(struct run *run) {
    if (run->ended) return;
    if (run->serving != NULL) {
        serving_run_cancel(run->serving);
        return;
    }
    run->result = tn_build("{}");
    mark_ended(run, "interrupted"); /* it has not begun */
}

struct run *run_find(struct exchange *exchange, const char *id) {
    const char *owner = tn_get_text(tn_get(exchange->request, "caller"), "owner", "");
    for (struct run *run = exchange->langgraph->runs; run != NULL; run = run->next)
        if (strcmp(run->id, id) == 0 && !run->unsaved && same_thread(run, owner, exchange->thread)) return run;
    return NULL;
}

struct run *run_active(struct exchange *exchange, uint32_t *waiting) {
    const char *owner = tn_get_text(tn_get(exchange->request, "caller"), "owner", "");
    struct run *active = NULL;
    *waiting = 0;
    for (struct run *run = exchange->langgraph->runs; run != NULL; run = run->next) {
        if (run->ended || !same_thread(run, owner, exchange->thread)) continue;
        if (active == NULL) active = run;
        if (run->serving == NULL) ++*waiting;
    }
    return active;
}

void runs_cancel(struct exchange *exchange, bool forget) {
    const char *owner = tn_get_text(tn_get(exchange->request, "caller"), "owner", "");
    struct run *active;
    uint32_t waiting;
    for (struct run *run = exchange->langgraph->runs; run != NULL; run = run->next)
        if (same_thread(run, owner, exchange->thread)) run->unsaved |= forget;
    while ((active = run_active(exchange, &waiting)) != NULL && waiting > 0) run_cancel(active); /* the newest one */
    if (active != NULL) run_cancel(active);
}

/* The copies of the options; false if memory ran out. */
static bool copy_options(struct run *run, const struct exchange *exchange, const struct run_options *options) {
    const char *owner = tn_get_text(tn_get(exchange->request, "caller"), "owner", "");
    uuid_new(run->id);
    run->stateless = exchange->thread[0] == '\0';
    if (run->stateless)
        uuid_new(run->thread);
    else
        (void)snprintf(run->thread, sizeof run->thread, "%s", exchange->thread);
    tn_value config = tn_retain(tn_get(options->params, "config"));
    if (config == NULL) config = tn_build("{}");
    config = tn_set_take(config, "run_id", tn_text(run->id));
    run->params = tn_set_take(tn_retain(options->params), "config", config);
    run->owner = serving_text_copy(owner);
    run->assistant = serving_text_copy(options->assistant);
    run->graph = serving_text_copy(options->graph);
    run->method = serving_text_copy(options->method);
    run->strategy = serving_text_copy(options->strategy);
    run->metadata = options->metadata != NULL ? tn_retain(options->metadata) : tn_build("{}");
    run->kwargs = options->kwargs != NULL ? tn_retain(options->kwargs) : tn_build("{}");
    run->log = tn_build("[]");
    return run->owner != NULL && run->assistant != NULL && run->graph != NULL && run->method != NULL &&
           run->strategy != NULL && run->params != NULL && run->metadata != NULL && run->kwargs != NULL &&
           run->log != NULL;
}

struct run *run_new(struct exchange *exchange, const struct run_options *options) {
    struct langgraph *langgraph = exchange->langgraph;
    struct run *run = langgraph->count < RUNS_MAX ? serving_alloc(sizeof *run) : NULL;
    uint32_t waiting;
    bool busy = exchange->thread[0] != '\0' && run_active(exchange, &waiting) != NULL;
    if (run == NULL) return NULL;
    run->langgraph = langgraph;
    run->caller = exchange->caller;
    run->cancel_on_disconnect = options->cancel_on_disconnect;
    run->log_first = 1;
    run->next = langgraph->runs;
    langgraph->runs = run;
    langgraph->count++;
    if (!copy_options(run, exchange, options)) {
        run_free(run);
        return NULL;
    }
    now_text(run->created);
    run->events = (struct events){.modes = options->modes,
                                  .subgraphs = options->subgraphs,
                                  .run_id = run->id,
                                  .thread_id = run->thread,
                                  .graph = run->graph,
                                  .send = add_event,
                                  .user = run};
    set_status(run, "pending");
    if (!busy) run_begin(run);
    return run;
}
