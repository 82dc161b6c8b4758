/*
 * runs_known.c - requests about runs that exist. Those that were started here and are kept have their events; of others
 * the memory has what run_value has made.
 */
#include "langgraph.h"
#include <stdlib.h>

/* False if the path has no such run, which was answered. *run: NULL if only the memory may know it. */
static bool run_of_path(struct exchange *exchange, struct run **run) {
    const char *id = param(exchange, "run");
    if (!thread_of_path(exchange)) return false;
    if (!is_uuid(id)) {
        refuse(exchange, 422, "Invalid run ID: found `%.80s`, expected a UUID", id);
        return false;
    }
    *run = run_find(exchange, id);
    return true;
}

static void read_run(struct exchange *exchange, step *then) {
    ask(exchange, "memory/get",
        tn_build("{s:V, s:s}", "namespace", runs_namespace(exchange->thread), "key", param(exchange, "run")), then);
}

/* A run that is active in the memory, but not here, has ended with its process. */
static tn_value saved_run(tn_value memory) {
    tn_value value = tn_retain(tn_get(memory, "value"));
    const char *status = tn_get_text(value, "status", "");
    if (value != NULL && (strcmp(status, "running") == 0 || strcmp(status, "pending") == 0))
        value = tn_set_take(value, "status", tn_text("interrupted"));
    return value;
}

/* False, and 404, if the memory does not know it. */
static bool check_saved(struct exchange *exchange, bool ok, tn_value memory) {
    if (!ok)
        refuse_error(exchange, memory);
    else if (tn.value->kind(memory) != TN_OBJECT)
        refuse(exchange, 404, "Run %s not found", param(exchange, "run"));
    return ok && tn.value->kind(memory) == TN_OBJECT;
}

/* ---- Reading ---- */

static void on_run(struct exchange *exchange, bool ok, tn_value value) {
    if (check_saved(exchange, ok, value)) reply(exchange, 200, saved_run(value));
}

static void get_then(struct exchange *exchange, struct run *run) {
    if (run == NULL) {
        tn_value memory = tn_build("{s:v}", "value", exchange->made);
        reply(exchange, 200, saved_run(memory));
        tn_release(memory);
    } else if (run_has_ended(run)) {
        reply(exchange, 200, run_value(run));
    } else {
        run_tell(run, exchange);
    }
}

/* A key that may only read does not continue a run. */
void run_get(struct exchange *exchange) {
    struct run *run;
    if (!run_of_path(exchange, &run)) return;
    if (run != NULL)
        reply(exchange, 200, run_value(run));
    else if (serving_is(tn_get(tn_get(exchange->request, "caller"), "scope"), "read"))
        read_run(exchange, on_run);
    else
        run_load(exchange, 0, get_then);
}

static void on_list(struct exchange *exchange, bool ok, tn_value value) {
    tn_value memories = tn_get(value, "memories"), list = tn_build("[]");
    const char *status = query(exchange, "status");
    if (!ok) {
        tn_release(list);
        refuse_error(exchange, value);
        return;
    }
    for (uint64_t i = 0, count = tn.value->count(memories); i < count; i++) {
        tn_value memory = tn.value->at(memories, i);
        struct run *run = run_find(exchange, tn_get_text(memory, "key", ""));
        tn_value made = run != NULL ? run_value(run) : saved_run(memory);
        const char *created = tn_get_text(made, "created_at", "");
        uint64_t at = 0;
        while (at < tn.value->count(list) && strcmp(tn_get_text(tn.value->at(list, at), "created_at", ""), created) > 0)
            at++;
        tn_value one = tn_build("[v?]", made);
        if (status == NULL || serving_is(tn_get(made, "status"), status)) (void)tn.value->splice(&list, at, 0, one);
        tn_release(one);
        tn_release(made);
    }
    reply_page(exchange, list);
}

static void list_then(struct exchange *exchange) {
    ask(exchange, "memory/search",
        tn_build("{s:V, s:i}", "namespace", runs_namespace(exchange->thread), "limit", LIST_MAX), on_list);
}

void runs_list(struct exchange *exchange) {
    if (thread_of_path(exchange)) find_thread(exchange, false, list_then);
}

/* ---- Joining ---- */

static void on_state(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        reply(exchange, 200, values_out(tn_get(value, "state")));
    else
        refuse_error(exchange, value);
}

static void join_then(struct exchange *exchange, struct run *run) {
    if (run != NULL && (!run_has_ended(run) || run_has_result(run)))
        run_wait(run, exchange, false);
    else
        ask(exchange, "thread/state", tn_build("{s:s}", "thread_id", exchange->thread), on_state);
}

void run_join(struct exchange *exchange) {
    struct run *run;
    if (!run_of_path(exchange, &run)) return;
    if (run != NULL)
        join_then(exchange, run);
    else
        run_load(exchange, 0, join_then);
}

/* *after: what the client has; false if it is not a number. Without one, it gets new events only. */
static bool last_event(const struct exchange *exchange, int64_t fallback, int64_t *after) {
    const char *last = tn_get_text(tn_get(exchange->request, "headers"), "last-event-id", NULL);
    char *end = NULL;
    *after = last != NULL ? strtoll(last, &end, 10) : fallback;
    return last == NULL || (end != last && *end == '\0');
}

/* The events of a run that has ended, and had them only in memory, are lost: the stream is empty. */
static void stream_then(struct exchange *exchange, struct run *run) {
    int64_t after = -1;
    if (run != NULL) {
        (void)last_event(exchange, run_newest(run), &after);
        run_follow(run, exchange, after > run_newest(run) ? run_newest(run) : after, false);
        return;
    }
    tn_value response = tn_build("{s:i, s:s}", "status", 200, "stream", "events");
    if (response != NULL) (void)exchange->langgraph->serving.server->respond(tn.host, exchange->number, response);
    (void)exchange->langgraph->serving.server->finish(tn.host, exchange->number);
    tn_release(response);
}

void run_stream(struct exchange *exchange) {
    struct run *run;
    int64_t after = 0;
    if (!run_of_path(exchange, &run)) return;
    if (!last_event(exchange, 0, &after) || (run != NULL && after > run_newest(run) && !run_was_loaded(run)))
        refuse(exchange, 422, "Last-Event-ID: found `%.40s`, expected the id of an event of this run, or -1",
               tn_get_text(tn_get(exchange->request, "headers"), "last-event-id", ""));
    else if (run != NULL)
        stream_then(exchange, run);
    else
        run_load(exchange, after, stream_then);
}

/* ---- Ending ---- */

static void on_noted(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        reply(exchange, 202, tn_build("{}"));
    else
        refuse_error(exchange, value);
}

/* A run whose process has ended is not continued any more. */
static void on_stopped(struct exchange *exchange, bool ok, tn_value value) {
    const char *status = tn_get_text(tn_get(value, "value"), "status", "");
    if (!check_saved(exchange, ok, value)) return;
    if (strcmp(status, "running") != 0 && strcmp(status, "pending") != 0)
        refuse(exchange, 409, "Run %s has ended already", param(exchange, "run"));
    else
        ask(exchange, "memory/put",
            tn_build("{s:V, s:s, s:V, s:b}", "namespace", runs_namespace(exchange->thread), "key",
                     param(exchange, "run"), "value", saved_run(value), "text", 0),
            on_noted);
}

static void rolled_back_then(struct exchange *exchange) { reply(exchange, 202, tn_build("{}")); }

/* The runs that wait would begin before the run's checkpoints are removed. */
static void roll_back(struct exchange *exchange, struct run *run) {
    uint32_t waiting;
    (void)run_active(exchange, &waiting);
    if (run != run_begun(exchange)) {
        run_cancel(run);
        reply(exchange, 202, tn_build("{}"));
    } else if (waiting > 0) {
        refuse(exchange, 409, "%u runs of the thread wait for run %s; cancel them first", waiting, run_id_of(run));
    } else {
        run_cancel(run);
        run_roll_back(run, exchange, rolled_back_then);
    }
}

void run_stop(struct exchange *exchange) {
    const char *wait = query(exchange, "wait"), *action = query(exchange, "action");
    struct run *run;
    if (!run_of_path(exchange, &run)) return;
    if (run != NULL && !run_has_ended(run) && action != NULL && strcmp(action, "rollback") == 0) {
        roll_back(exchange, run);
        return;
    }
    if (run == NULL) {
        read_run(exchange, on_stopped);
    } else if (run_has_ended(run)) {
        refuse(exchange, 409, "Run %s has ended already", param(exchange, "run"));
    } else if (wait != NULL && (strcmp(wait, "1") == 0 || strcmp(wait, "true") == 0)) {
        run_wait(run, exchange, false);
        run_cancel(run);
    } else {
        run_cancel(run);
        reply(exchange, 202, tn_build("{}"));
    }
}

void runs_stop(struct exchange *exchange) {
    static const char *const states[] = {"all", "pending", "running"};
    tn_value ids = tn_get(exchange->body, "run_ids"), thread = tn_get(exchange->body, "thread_id");
    const char *status = tn_get_text(exchange->body, "status", NULL);
    bool known = status == NULL;
    for (size_t i = 0; !known && i < sizeof states / sizeof *states; i++) known = strcmp(states[i], status) == 0;
    if (tn.value->count(ids) > LIST_MAX)
        refuse(exchange, 422, "`run_ids` has more than %d ids", LIST_MAX);
    else if (!known || (is_set(ids) && tn.value->kind(ids) != TN_ARRAY) ||
             (is_set(thread) && tn_chars(thread, NULL) == NULL) || (status == NULL && !is_set(ids)))
        refuse(exchange, 422, "expected `run_ids`, an array, or `status`: all, pending or running; and `thread_id`");
    else if (runs_cancel_named(exchange) == 0)
        refuse(exchange, 404, "No active run found");
    else
        reply(exchange, 204, NULL);
}

static void on_removed(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        reply(exchange, 204, NULL);
    else
        refuse_error(exchange, value);
}

static void on_removable(struct exchange *exchange, bool ok, tn_value value) {
    struct run *run = run_find(exchange, param(exchange, "run"));
    if (!check_saved(exchange, ok, value)) return;
    if (run != NULL) run_forget(run);
    ask(exchange, "memory/delete",
        tn_build("{s:V, s:s}", "namespace", runs_namespace(exchange->thread), "key", param(exchange, "run")),
        on_removed);
}

void run_remove(struct exchange *exchange) {
    struct run *run;
    if (!run_of_path(exchange, &run)) return;
    if (run != NULL && !run_has_ended(run))
        refuse(exchange, 409, "Run %s is active; cancel it first", param(exchange, "run"));
    else
        read_run(exchange, on_removable);
}
