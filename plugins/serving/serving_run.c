/*
 * serving_run.c - a run that a user has started, or follows, and its subscription.
 *
 * A run is started first, and then subscribed to with `after: 0`, so that no event is lost. The end is reported once:
 * by run/ended, or by the failure of one of the two calls.
 */
#include "serving.h"

#define NO_EVENT_YET INT64_C(9007199254740991) /* later than every event that was reported so far */

struct serving_run {
    const struct serving *serving;
    uint64_t caller;
    const struct serving_run_handler *handler;
    void *user;
    char *id;
    uint64_t call, subscription; /* open; 0: none */
    uint64_t after;
    bool paused, cancelled, ended;
    bool attached; /* the run was not started here */
    bool answers;  /* run/answer: the subscription comes first, without the events that have been reported before */
    bool started;  /* was reported */
    bool lost;     /* its events ended before it did: the key was revoked, or has expired */
};

const char *serving_run_id(const struct serving_run *run) { return run->id; }

/* The handler may close the run. */
static void run_end(struct serving_run *run, tn_value report) {
    if (run->ended) return;
    run->ended = true;
    run->handler->on_end(run->user, report);
}

static void run_fail(struct serving_run *run, tn_value error) {
    tn_value report = tn_build("{s:s, s:s, s:b, s:v?}", "type", "result", "status", "failed", "started",
                               run->id != NULL && !run->attached, "error", error);
    run_end(run, report);
    tn_release(report);
}

static void report_started(struct serving_run *run) {
    if (run->started || run->ended) return;
    run->started = true;
    if (run->handler->on_started != NULL) run->handler->on_started(run->user, run->id);
}

static void TN_ABI on_event(void *user, int32_t status, tn_value value) {
    struct serving_run *run = user;
    tn_value params = tn_get(value, "params");
    if (status != TN_CHUNK) {
        run->subscription = 0;
        run->lost = !run->ended;
        run_fail(run, value); /* nothing happens if the run has ended before */
        return;
    }
    if (run->ended) return;
    report_started(run); /* events of a run that was answered can come before the result of run/answer */
    if (serving_is(tn_get(value, "event"), "run/ended")) {
        run->after = (uint64_t)tn_get_int(params, "seq", 0);
        run_end(run, tn_get(params, "report"));
    } else if (serving_is(tn_get(value, "event"), "run/event")) {
        run->after = (uint64_t)tn_get_int(params, "seq", 0);
        run->handler->on_event(run->user, tn_get(params, "event"), run->after,
                               (uint64_t)tn_get_int(params, "missed", 0));
    }
}

static void run_subscribe(struct serving_run *run) {
    /* Without `after`, a run that waits would report its last end again. */
    int64_t after = run->answers ? NO_EVENT_YET : (int64_t)run->after;
    tn_value params = tn_build("{s:s, s:I}", "run_id", run->id, "after", after);
    int32_t status = TN_NO_MEMORY;
    if (params != NULL && run->caller == SERVING_PLUGIN)
        status = run->serving->methods->subscribe(tn.host, params, on_event, run, &run->subscription);
    else if (params != NULL)
        status = run->serving->server->subscribe_as(tn.host, run->caller, params, on_event, run, &run->subscription);
    tn_release(params);
    if (status == TN_OK) {
        if (run->paused) (void)run->serving->methods->pause(tn.host, run->subscription);
        return;
    }
    run->subscription = 0;
    if (run->answers) return; /* the answer will fail, too */
    tn_value error = tn_error("LIMIT", "the events of the run cannot be followed now; try again later");
    run_fail(run, error);
    tn_release(error);
}

static void TN_ABI on_cancelled(void *user, int32_t status, tn_value value) { (void)user, (void)status, (void)value; }

static void send_cancel(const struct serving_run *run) {
    serving_call_take(run->serving, run->caller, "run/cancel", tn_build("{s:s}", "run_id", run->id), on_cancelled, NULL,
                      NULL);
}

static void run_free(struct serving_run *run) {
    serving_free(run->id);
    serving_free(run);
}

static void TN_ABI on_started(void *user, int32_t status, tn_value value) {
    struct serving_run *run = user;
    run->call = 0;
    if (status == TN_OK && run->id == NULL) run->id = serving_text_copy(tn_get_text(value, "run_id", NULL));
    if (run->handler == NULL) { /* it was closed, and is cancelled, before it had started */
        if (run->id != NULL) send_cancel(run);
        run_free(run);
        return;
    }
    if (status != TN_OK || run->id == NULL) {
        run_fail(run, value);
        return;
    }
    if (run->ended) return;
    if (run->cancelled) send_cancel(run);
    report_started(run);
    if (!run->answers) run_subscribe(run);
}

static struct serving_run *run_new(const struct serving *serving, uint64_t caller,
                                   const struct serving_run_handler *handler, void *user) {
    struct serving_run *run = serving_alloc(sizeof *run);
    if (run != NULL)
        *run = (struct serving_run){.serving = serving, .caller = caller, .handler = handler, .user = user};
    return run;
}

struct serving_run *serving_run_start(const struct serving *serving, uint64_t caller, const char *method,
                                      tn_value params, const struct serving_run_handler *handler, void *user) {
    struct serving_run *run = run_new(serving, caller, handler, user);
    if (run == NULL) {
        tn_release(params);
        return NULL;
    }
    if (strcmp(method, "run/answer") == 0) {
        run->answers = run->attached = true;
        run->id = serving_text_copy(tn_get_text(params, "run_id", ""));
        if (run->id != NULL) run_subscribe(run);
    }
    serving_call_take(serving, caller, method, params, on_started, run, &run->call);
    return run;
}

struct serving_run *serving_run_follow(const struct serving *serving, uint64_t caller, const char *run_id,
                                       uint64_t after, const struct serving_run_handler *handler, void *user) {
    struct serving_run *run = run_new(serving, caller, handler, user);
    if (run == NULL) return NULL;
    run->attached = true;
    run->after = after;
    run->id = serving_text_copy(run_id);
    serving_call_take(serving, caller, "run/get", tn_build("{s:s}", "run_id", run_id), on_started, run, &run->call);
    return run;
}

void serving_run_pause(struct serving_run *run) {
    if (!run->paused && run->subscription != 0) (void)run->serving->methods->pause(tn.host, run->subscription);
    run->paused = true;
}

void serving_run_flow(struct serving_run *run) {
    if (run->paused && run->subscription != 0) (void)run->serving->methods->resume(tn.host, run->subscription);
    run->paused = false;
}

void serving_run_cancel(struct serving_run *run) {
    if (run->cancelled || (run->ended && !run->lost)) return;
    run->cancelled = true;
    if (run->id != NULL && run->call == 0) send_cancel(run);
    serving_run_flow(run); /* its end must come through */
}

void serving_run_close(struct serving_run *run) {
    if (run == NULL) return;
    if (run->subscription != 0) (void)run->serving->methods->unsubscribe(tn.host, run->subscription);
    run->subscription = 0;
    run->ended = true;
    if (run->call != 0 && run->cancelled && !run->attached) {
        run->handler = NULL; /* on_started cancels and frees it */
        return;
    }
    serving_cancel(run->serving, run->call);
    run_free(run);
}
