/*
 * stream.c - the events of a run that is known here, and the clients that follow it.
 *
 * Events are kept while a run is known here, so that a client that has lost its connection can read on from the last
 * event that it has.
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

void run_set_status(struct run *run, const char *status) {
    run->status = status;
    now_text(run->updated);
    if (run->stateless || run->unsaved) return;
    call(run, "memory/put",
         tn_build("{s:V, s:s, s:V, s:b}", "namespace", run_namespace_take(run, runs_namespace(run->thread)), "key",
                  run->id, "value", run_value(run), "text", 0));
}

/* ---- Followers ---- */

void follower_remove(struct follower *follower) {
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

void follower_end_wait(struct follower *follower) {
    struct exchange *exchange = follower->exchange;
    struct run *run = follower->run;
    if (!run->ended) return;
    follower_remove(follower);
    exchange->with_run(exchange, run);
}

/* Writes what there is. The follower may have been removed. */
static void follower_pump(struct follower *follower) {
    struct run *run = follower->run;
    uint64_t end = run_visible_end(run);
    uint64_t number = follower->exchange->number;
    if (follower->kind == THEN) {
        follower_end_wait(follower);
        return;
    }
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
        if (status == TN_STALE) break; /* TN_INVALID: what a client has written is no event, and is left out */
    }
    if (!run->ended || follower->position <= (uint64_t)run_newest(run)) return;
    if (run->stopped)
        (void)server_of(run)->abort(tn.host, number);
    else
        (void)server_of(run)->finish(tn.host, number);
    follower_remove(follower);
}

void run_pump(struct run *run) {
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

void run_wait(struct run *run, struct exchange *exchange, bool with_start) {
    follow(run, exchange, WAIT, 0, with_start);
}

void run_await(struct run *run, struct exchange *exchange, void (*then)(struct exchange *exchange, struct run *run)) {
    exchange->with_run = then;
    follow(run, exchange, THEN, 0, false);
}

void run_tell(struct run *run, struct exchange *exchange) {
    if (!run_has_begun(run)) { /* it waits for another one */
        reply(exchange, 200, run_value(run));
        return;
    }
    follow(run, exchange, TELL, 0, false);
}

/* ---- Events ---- */

/* Events that an earlier version has saved have their data as a value. */
uint64_t run_event_size(tn_value event) {
    uint64_t length = 0;
    tn_value data = tn_get(event, "data");
    return 200 + (tn_chars(data, &length) != NULL ? length : serving_json_size(data));
}

/* The number of the first events that every follower has received. */
static uint64_t log_received(const struct run *run) {
    uint64_t received = tn.value->count(run->log);
    for (const struct follower *follower = run->followers; follower != NULL; follower = follower->next)
        if (follower->kind == FOLLOW && follower->position - run->log_first < received)
            received = follower->position - run->log_first;
    return received;
}

void run_count_excess(struct run *run) {
    uint64_t excess = !run->ended && run->log_size > LOG_MAX ? run->log_size - LOG_MAX : 0;
    run->langgraph->excess += excess - run->excess;
    run->excess = excess;
}

/* Removes the older half; of what a client has not received, only if it is too much. */
static void log_trim(struct run *run) {
    if (run->log_size <= LOG_MAX) return;
    if (run->resumable && run->log_size > UNSAVED_MAX) { /* the store takes nothing: clients get what was made */
        run->resumable = false;
        run_pump(run);
    }
    run_count_excess(run);
    bool much = run->log_size > UNSAVED_MAX || run->langgraph->excess > EXCESS_MAX;
    uint64_t cut = tn.value->count(run->log) / 2, received = log_received(run);
    if (run->resumable && cut > run->saved + 1 - run->log_first) cut = run->saved + 1 - run->log_first;
    if (!much && cut > received) cut = received;
    if (cut == 0) return;
    for (uint64_t i = 0; i < cut; i++) run->log_size -= run_event_size(tn.value->at(run->log, i));
    if (tn.value->splice(&run->log, 0, cut, NULL) == TN_OK) run->log_first += cut;
    run_count_excess(run);
}

void run_add_event(void *user, const char *name, tn_value data) {
    struct run *run = user;
    char id[24];
    (void)snprintf(id, sizeof id, "%lld", (long long)run_newest(run) + 1);
    tn_value event = tn_build("{s:s, s:s, s:V}", "id", id, "event", name, "data", tn_to_json(data));
    if (event == NULL) return;
    run->log_size += run_event_size(event);
    (void)tn_append_take(&run->log, event);
    run_save_events(run);
    run_pump(run);
    log_trim(run);
}
