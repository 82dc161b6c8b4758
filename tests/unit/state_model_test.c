/*
 * state_model_test.c - compares Tasks with a model of their specification, and claims Tasks concurrently.
 *
 * The model is a list of Tasks with their states and the allowed operations. Thousands of random operations, and
 * advances of the clock, go to both; the results must be equal. A failure prints the seed; TENON_SEED repeats it.
 * TENON_TASKS sets the number of Tasks for sixteen claimers; the default is small, because the memory store scans all
 * Tasks.
 */
#include "tests/unit/state_fixture.h"

#include "adl/value/buffer.h"
#include "host/base/time_text.h"
#include "tests/unit/sanitized.h"
#include <inttypes.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

/* ---- Randomness ---- */

static uint64_t random_state;

static uint32_t random_below(uint32_t below) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % below;
}

/* ---- The model ---- */

#define MODEL_TASKS    400
#define TOKENS         4
#define MODEL_HISTORY  20
#define MODEL_EPOCH_MS 1767225600000 /* the begin of the fake clock */
#define NEVER          INT64_MAX     /* claimable_ms of a Task that waits without a time */

enum model_state { QUEUED, RUNNING, DONE, FAILED };
static const char *const state_names[] = {"queued", "running", "done", "failed"};
static const char *const types[] = {"user_request", "work", "other"};

struct model_task {
    char id[40], tokens[TOKENS][40]; /* tokens of its claims, the newest first */
    uint32_t token_count;
    uint32_t type;
    enum model_state state;
    int64_t claimable_ms; /* queued and running: the time from which it can be claimed */
    int64_t expires_ms;
    int64_t payload;              /* its member n */
    int64_t attempts, not_before; /* not_before: -1 if it has none */
    bool waiting, woken;
    char claimed_by[16], code[16];
    char outcomes[MODEL_HISTORY + 1]; /* third letters of the newest outcomes, the newest one last; `-`: it is open */
};

struct model {
    struct kernel_fixture kernel;
    struct model_task tasks[MODEL_TASKS];
    uint32_t count;
    int64_t now_ms;
    uint64_t seed;
    uint32_t at;        /* operations so far */
    uint32_t agreed[4]; /* counts by outcome, to check that all outcomes occur */
};

static void report_difference(const struct model *model, const char *what, const char *expected, const char *found) {
    fail_msg("seed %" PRIu64 ", operation %u: %s: expected %s, found %s", model->seed, model->at, what, expected,
             found);
}

/* Checks the code of the last call; NULL means success. */
static void expect_code(struct model *model, const char *what, const char *code, tn_value result) {
    const char *found = result ? "success" : model->kernel.error.code;
    if (strcmp(code ? code : "success", found) != 0) report_difference(model, what, code ? code : "success", found);
    model->agreed[!code ? 0 : strcmp(code, "CLAIM_LOST") == 0 ? 1 : strcmp(code, "INVALID_TRANSITION") == 0 ? 2 : 3]++;
}

static void expect_text(const struct model *model, const char *what, const char *expected, tn_value found) {
    const char *text = value_is(found, TN_STRING) ? value_chars(found, NULL) : "";
    if (strcmp(expected, text) != 0) report_difference(model, what, expected, text);
}

/* Compares all members of the model. */
static void expect_task(const struct model *model, const struct model_task *task, tn_value found) {
    int64_t n = -1;
    expect_text(model, "task_id", task->id, value_get(found, "task_id"));
    expect_text(model, "task_type", types[task->type], value_get(found, "task_type"));
    expect_text(model, "state", state_names[task->state], value_get(found, "state"));
    expect_text(model, "claimed_by", task->claimed_by, value_get(found, "claimed_by"));
    expect_text(model, "error", task->code, value_get(value_get(found, "error"), "code"));
    (void)value_as_int(value_get(value_get(found, "payload"), "n"), &n);
    if (n != task->payload) report_difference(model, "payload", "another", "this");
    if (value_is(value_get(found, "claim_expires_at"), TN_STRING) != (task->state == RUNNING))
        report_difference(model, "claim_expires_at", task->state == RUNNING ? "a time" : "null", "the other");
    int64_t attempts = value_to_int(value_get(found, "attempts"));
    if (attempts != task->attempts) report_difference(model, "attempts", "another number", "this");
    if (value_to_bool(value_get(found, "waiting")) != task->waiting)
        report_difference(model, "waiting", task->waiting ? "true" : "false", "the other");
    if (value_is(value_get(found, "not_before"), TN_STRING) != (task->not_before >= 0))
        report_difference(model, "not_before", task->not_before >= 0 ? "a time" : "null", "the other");
    if (task->state == DONE) expect_text(model, "user_output", task->id, value_get(found, "user_output"));
}

/* Compares the history, which only task.get shows. */
static void expect_history(const struct model *model, const struct model_task *task, tn_value found) {
    char outcomes[MODEL_HISTORY + 2] = "";
    tn_value history = value_get(found, "history");
    for (size_t i = 0; i < value_count(history) && i <= MODEL_HISTORY; i++) {
        tn_value outcome = value_get(value_at(history, i), "outcome");
        outcomes[i] = value_is(outcome, TN_STRING) ? value_chars(outcome, NULL)[2] : '-';
    }
    if (strcmp(outcomes, task->outcomes) != 0) report_difference(model, "history", task->outcomes, outcomes);
}

/* Adds an open entry, after one that has expired if it is open. */
static void model_begin(struct model_task *task) {
    size_t length = strlen(task->outcomes);
    if (length && task->outcomes[length - 1] == '-') task->outcomes[length - 1] = 'p'; /* exPired */
    if (length == MODEL_HISTORY) memmove(task->outcomes, task->outcomes + 1, length--);
    memcpy(task->outcomes + length, "-", 2);
    task->attempts++;
    task->waiting = task->woken = false;
    task->not_before = -1;
}

static void model_end(struct model_task *task, const char *outcome) {
    task->outcomes[strlen(task->outcomes) - 1] = outcome[2];
}

static bool claim_is_held(const struct model *model, const struct model_task *task, const char *token) {
    return task->state == RUNNING && task->token_count > 0 && strcmp(task->tokens[0], token) == 0 &&
           task->expires_ms > model->now_ms;
}

/* The expected code for the token of an ended claim; NULL if the operation has succeeded before. */
static const char *expected_refusal(const struct model_task *task, const char *token, const enum model_state *to) {
    bool own = task->token_count > 0 && strcmp(task->tokens[0], token) == 0;
    if (own && to && task->state == *to) return NULL;
    if (task->state == RUNNING) return "CLAIM_LOST";
    return own || task->state == QUEUED ? "INVALID_TRANSITION" : "CLAIM_LOST";
}

/* ---- Operations on both ---- */

static tn_value with_text(tn_value object, const char *name, const char *text) {
    return value_set_take(object, name, value_text(text));
}

static tn_value with_int(tn_value object, const char *name, int64_t number) {
    return value_set_take(object, name, value_int(number));
}

static struct model_task *any_task(struct model *model) { return &model->tasks[random_below(model->count)]; }

static const char *any_token(const struct model_task *task) {
    if (task->token_count == 0 || random_below(8) == 0) return "unknown";
    return task->tokens[random_below(3) ? 0 : random_below(task->token_count)];
}

/* Adds a `not_before` that is up to a second away, in the past or in the future. The fake clock begins with 2026. */
static int64_t model_time(const struct model *model, tn_value *arguments) {
    int64_t at = model->now_ms + (int64_t)random_below(2000) - 1000;
    if (at < 0) at = 0;
    *arguments = value_set_take(*arguments, "not_before", time_value(MODEL_EPOCH_MS + at));
    return at;
}

static void do_create(struct model *model) {
    if (model->count == MODEL_TASKS) return;
    struct model_task *task = &model->tasks[model->count++];
    *task = (struct model_task){
        .type = random_below(3), .claimable_ms = model->now_ms, .payload = random_below(10), .not_before = -1};
    tn_value arguments = with_text(value_object(), "task_type", types[task->type]);
    arguments = value_set_take(arguments, "payload", with_int(value_object(), "n", task->payload));
    if (random_below(4) == 0) {
        task->not_before = model_time(model, &arguments);
        task->claimable_ms = task->not_before > model->now_ms ? task->not_before : model->now_ms;
    }
    tn_value result = kernel_call_take(&model->kernel, "task.create", arguments);
    expect_code(model, "create", NULL, result);
    snprintf(task->id, sizeof task->id, "%s", value_chars(value_get(result, "task_id"), NULL));
    if (model->count > 1 && strcmp(task->id, task[-1].id) <= 0)
        report_difference(model, "ids", "a greater one", task->id);
    expect_task(model, task, result);
    value_unref(result);
}

/* The first match by claimable time, then by id. `type` -1 means any. */
static struct model_task *next_task(struct model *model, int type, int64_t payload) {
    struct model_task *best = NULL;
    for (uint32_t i = 0; i < model->count; i++) {
        struct model_task *task = &model->tasks[i];
        if (task->state > RUNNING || task->claimable_ms > model->now_ms) continue;
        if ((type >= 0 && task->type != (uint32_t)type) || (payload >= 0 && task->payload < payload)) continue;
        if (!best || task->claimable_ms < best->claimable_ms) best = task;
    }
    return best;
}

static void model_claim(struct model *model, struct model_task *task, tn_value found, const char *claimer,
                        uint32_t ttl) {
    memmove(task->tokens[1], task->tokens[0], sizeof task->tokens - sizeof task->tokens[0]);
    if (task->token_count < TOKENS) task->token_count++;
    snprintf(task->tokens[0], sizeof task->tokens[0], "%s", value_chars(value_get(found, "claim_token"), NULL));
    task->state = RUNNING;
    task->claimable_ms = task->expires_ms = model->now_ms + ttl;
    snprintf(task->claimed_by, sizeof task->claimed_by, "%s", claimer);
    model_begin(task);
    expect_task(model, task, found);
}

/* Claims one Task, or several with `limit`. */
static void do_claim(struct model *model) {
    uint32_t kind = random_below(4), first = random_below(3), second = random_below(3), ttl = 1 + random_below(2000);
    uint32_t limit = random_below(4) ? 0 : 1 + random_below(5);
    int64_t payload = random_below(3) ? -1 : (int64_t)random_below(10);
    char claimer[16];
    snprintf(claimer, sizeof claimer, "runner-%u", random_below(16));
    tn_value filter = value_object(), arguments = with_text(value_object(), "claimer_id", claimer);
    arguments = value_set_take(arguments, "ttl_seconds", value_double(ttl / 1000.0));
    if (limit) arguments = with_int(arguments, "limit", limit);
    if (kind == 1) {
        filter = with_text(filter, "task_type", types[first]);
    } else if (kind > 1) {
        tn_value list = value_push_take(value_array(), value_text(types[first]));
        filter = value_set_take(filter, "task_type", value_push_take(list, value_text(types[second])));
    }
    if (payload >= 0)
        filter = value_set_take(filter, "payload.n", value_set_take(value_object(), "ge", value_int(payload)));
    arguments = value_set_take(arguments, "filter", filter);
    tn_value result = kernel_call_take(&model->kernel, "task.claim", arguments), list = value_get(result, "tasks");
    expect_code(model, "claim", NULL, result);
    uint32_t claimed = 0;
    for (; claimed < (limit ? limit : 1); claimed++) {
        struct model_task *task = next_task(model, kind ? (int)first : -1, payload);
        if (!task && kind > 1) task = next_task(model, (int)second, payload);
        if (!task) break;
        tn_value found = limit ? value_at(list, claimed) : result;
        if (!value_is(found, TN_OBJECT)) report_difference(model, "claim", task->id, "nothing");
        model_claim(model, task, found, claimer, ttl);
    }
    if (limit ? value_count(list) != claimed : value_is(result, TN_NULL) != !claimed)
        report_difference(model, "claim", "no further Task", "one");
    value_unref(result);
}

static void do_end(struct model *model) {
    struct model_task *task = any_task(model);
    const char *token = any_token(task);
    enum model_state to = random_below(3) ? DONE : FAILED;
    char wanted[40];
    snprintf(wanted, sizeof wanted, "%s", token);
    tn_value arguments = with_text(with_text(value_object(), "task_id", task->id), "claim_token", wanted);
    if (to == FAILED)
        arguments =
            value_set_take(arguments, "error", with_text(with_text(value_object(), "code", "NO"), "message", "no"));
    else
        arguments = with_text(arguments, "user_output", task->id);
    const char *code = claim_is_held(model, task, wanted) ? NULL : expected_refusal(task, wanted, &to);
    bool now = claim_is_held(model, task, wanted);
    tn_value result = kernel_call_take(&model->kernel, to == DONE ? "task.complete" : "task.fail", arguments);
    expect_code(model, "end", code, result);
    if (now) {
        task->state = to;
        memcpy(task->code, to == FAILED ? "NO" : "", to == FAILED ? 3 : 1);
        model_end(task, state_names[to]);
    }
    if (!code) expect_task(model, task, result);
    value_unref(result);
}

static void do_renew(struct model *model) {
    struct model_task *task = any_task(model);
    const char *token = any_token(task);
    uint32_t ttl = 1 + random_below(3000);
    tn_value arguments = with_text(with_text(value_object(), "task_id", task->id), "claim_token", token);
    arguments = value_set_take(arguments, "ttl_seconds", value_double(ttl / 1000.0));
    bool now = claim_is_held(model, task, token);
    tn_value result = kernel_call_take(&model->kernel, "task.renew", arguments);
    expect_code(model, "renew", now ? NULL : expected_refusal(task, token, NULL), result);
    if (now) {
        task->claimable_ms = task->expires_ms = model->now_ms + ttl;
        expect_task(model, task, result);
    }
    value_unref(result);
}

static void model_release(struct model *model, struct model_task *task, uint32_t reason, int64_t not_before,
                          const char *code) {
    static const char *const outcomes[] = {"retried", "released", "waiting"};
    bool waits = reason == 2 && !task->woken;
    task->state = QUEUED;
    task->claimed_by[0] = 0;
    if (reason) task->attempts--;
    task->waiting = waits;
    task->not_before = reason == 2 && task->woken ? -1 : not_before;
    task->claimable_ms = task->not_before > model->now_ms  ? task->not_before
                         : waits && task->not_before == -1 ? NEVER
                                                           : model->now_ms;
    if (code || !reason) snprintf(task->code, sizeof task->code, "%s", code ? code : "");
    task->woken = false;
    model_end(task, outcomes[reason]);
}

static void do_release(struct model *model) {
    static const char *const reasons[] = {"retry", "drain", "wait"};
    struct model_task *task = any_task(model);
    char token[40];
    snprintf(token, sizeof token, "%s", any_token(task));
    uint32_t reason = random_below(3);
    int64_t not_before = -1;
    enum model_state to = QUEUED;
    tn_value arguments = with_text(with_text(value_object(), "task_id", task->id), "claim_token", token);
    arguments = with_text(arguments, "reason", reasons[reason]);
    if (random_below(2)) not_before = model_time(model, &arguments);
    bool fails = random_below(2), now = claim_is_held(model, task, token);
    if (fails)
        arguments =
            value_set_take(arguments, "error", with_text(with_text(value_object(), "code", "LATER"), "message", "x"));
    const char *code = now ? NULL : expected_refusal(task, token, &to);
    tn_value result = kernel_call_take(&model->kernel, "task.release", arguments);
    expect_code(model, "release", code, result);
    if (now) model_release(model, task, reason, not_before, fails ? "LATER" : NULL);
    if (!code) expect_task(model, task, result);
    value_unref(result);
}

static void do_wake(struct model *model) {
    struct model_task *task = any_task(model);
    tn_value result = kernel_call_take(&model->kernel, "task.wake", with_text(value_object(), "task_id", task->id));
    expect_code(model, "wake", NULL, result);
    if (task->state == RUNNING) task->woken = true;
    if (task->state == QUEUED && (task->waiting || task->claimable_ms > model->now_ms)) {
        task->waiting = false;
        task->not_before = -1;
        task->claimable_ms = model->now_ms;
    }
    expect_task(model, task, result);
    value_unref(result);
}

static void do_update(struct model *model) {
    struct model_task *task = any_task(model);
    const char *token = random_below(2) ? any_token(task) : NULL, *code = NULL;
    tn_value patch = value_object(), arguments = with_text(value_object(), "task_id", task->id);
    int64_t payload = random_below(2) ? (int64_t)random_below(10) : -1;
    int to = random_below(2) ? (int)random_below(4) : -1;
    if (payload >= 0) patch = value_set_take(patch, "payload", with_int(value_object(), "n", payload));
    if (to >= 0) patch = with_text(patch, "state", state_names[to]);
    if (token) arguments = with_text(arguments, "claim_token", token);
    bool holds = token && claim_is_held(model, task, token), changes = to >= 0 && (enum model_state)to != task->state;
    bool allowed = (task->state == FAILED && to == QUEUED) || (task->state == RUNNING && to == QUEUED && holds);
    if (token && !holds)
        code = "CLAIM_LOST";
    else if (changes && !allowed)
        code = "INVALID_TRANSITION";
    tn_value result = kernel_call_take(&model->kernel, "task.update", value_set_take(arguments, "patch", patch));
    expect_code(model, "update", code, result);
    if (!code) {
        if (payload >= 0) task->payload = payload;
        if (changes) {
            if (task->state == RUNNING) model_end(task, "released");
            if (task->state == FAILED) task->attempts = 0;
            task->woken = false;
            task->state = QUEUED;
            task->claimable_ms = model->now_ms;
            task->claimed_by[0] = task->code[0] = 0;
            task->token_count = 0;
        }
        expect_task(model, task, result);
    }
    value_unref(result);
}

static void do_get(struct model *model) {
    const struct model_task *task = any_task(model);
    tn_value result = kernel_call_take(&model->kernel, "task.get", with_text(value_object(), "task_id", task->id));
    expect_code(model, "get", NULL, result);
    expect_task(model, task, result);
    expect_history(model, task, result);
    if (value_get(result, "claim_token")) report_difference(model, "get", "no token", "one");
    value_unref(result);
}

static void do_list(struct model *model) {
    uint32_t state = random_below(4), limit = 1 + random_below(30), from = random_below(model->count), seen = 0;
    bool reverse = random_below(2), more = false;
    tn_value arguments = with_text(with_int(value_object(), "limit", limit), "after", model->tasks[from].id);
    arguments = value_set_take(arguments, "reverse", value_bool(reverse));
    arguments = value_set_take(arguments, "filter", with_text(value_object(), "state", state_names[state]));
    tn_value result = kernel_call_take(&model->kernel, "task.list", arguments);
    expect_code(model, "list", NULL, result);
    tn_value list = value_get(result, "tasks");
    for (int64_t i = reverse ? (int64_t)from - 1 : (int64_t)from + 1; i >= 0 && i < (int64_t)model->count && !more;
         i += reverse ? -1 : 1) {
        if (model->tasks[i].state != (enum model_state)state) continue;
        more = seen == limit;
        if (more) break;
        if (seen == value_count(list)) report_difference(model, "list", "another Task", "its end");
        expect_task(model, &model->tasks[i], value_at(list, seen++));
    }
    if (seen != value_count(list)) report_difference(model, "list", "its end", "another Task");
    if (value_to_bool(value_get(result, "more")) != more) report_difference(model, "list", "the other", "more");
    value_unref(result);
}

static void run_model(const char *store, uint64_t seed, uint32_t operations) {
    static void (*const kinds[])(struct model *) = {do_create,  do_claim,   do_claim, do_claim,  do_end,
                                                    do_renew,   do_get,     do_list,  do_update, do_update,
                                                    do_release, do_release, do_wake};
    struct model *model = mem_zalloc(sizeof *model);
    model->seed = seed;
    random_state = seed * 0x9e3779b97f4a7c15 + 1;
    kernel_fixture_open(&model->kernel, store);
    do_create(model);
    for (model->at = 0; model->at < operations; model->at++) {
        kinds[random_below(sizeof kinds / sizeof *kinds)](model);
        if (random_below(4)) continue;
        uint32_t ms = random_below(300);
        loop_fake_advance(model->kernel.kernel.loop, ms);
        model->now_ms += ms;
    }
    for (int i = 0; i < 3; i++) assert_true(model->agreed[i] > operations / 100);
    kernel_fixture_close(&model->kernel);
    mem_free(model);
}

static void random_operations(const char *store, uint32_t seeds, uint32_t operations) {
    const char *one = getenv("TENON_SEED");
    if (!kernel_has(store)) skip();
    if (one) {
        run_model(store, strtoull(one, NULL, 10), operations);
        return;
    }
    for (uint64_t seed = 1; seed <= seeds; seed++) run_model(store, seed, operations);
}

enum { SEEDS = SANITIZED ? 1 : 5 };

static void memory_keeps_the_model(void **user) {
    (void)user;
    random_operations("memory", 2 * SEEDS, 1000);
}

static void sqlite_keeps_the_model(void **user) {
    (void)user;
    random_operations("sqlite", SEEDS, 1000);
}

/* ---- Claimers ---- */

#define CLAIMERS 16

struct claimer {
    char id[40], token[40]; /* of the claimed Task, or "" */
    uint32_t n;             /* its number */
    bool dies;              /* ends its claim too late */
};

static void create_tasks(struct kernel_fixture *kernel, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        tn_value arguments = with_text(value_object(), "task_type", "work");
        arguments = value_set_take(arguments, "payload", with_int(value_object(), "n", (int64_t)i));
        tn_value task = kernel_call_take(kernel, "task.create", arguments);
        if (!task) fail_msg("%s", kernel->error.message);
        value_unref(task);
    }
}

/* False if no Task can be claimed. */
static bool claim(struct kernel_fixture *kernel, struct claimer *claimer, uint32_t who, const char *ttl) {
    char json[160];
    snprintf(json, sizeof json, "{\"claimer_id\": \"%u\", \"ttl_seconds\": %s, \"filter\": {\"task_type\": \"work\"}}",
             who, ttl);
    tn_value task = kernel_ask(kernel, "task.claim", json);
    if (!task) fail_msg("%s", kernel->error.message);
    bool found = !value_is(task, TN_NULL);
    if (found) {
        snprintf(claimer->id, sizeof claimer->id, "%s", value_chars(value_get(task, "task_id"), NULL));
        snprintf(claimer->token, sizeof claimer->token, "%s", value_chars(value_get(task, "claim_token"), NULL));
        claimer->n = (uint32_t)value_to_int(value_get(value_get(task, "payload"), "n"));
    }
    value_unref(task);
    return found;
}

/* NULL, or the error code. */
static const char *complete(struct kernel_fixture *kernel, struct claimer *claimer) {
    tn_value arguments = with_text(with_text(value_object(), "task_id", claimer->id), "claim_token", claimer->token);
    tn_value task = kernel_call_take(kernel, "task.complete", arguments);
    claimer->token[0] = 0;
    if (!task) return kernel->error.code;
    value_unref(task);
    return NULL;
}

static int64_t count_state(struct kernel_fixture *kernel, const char *state) {
    tn_value query = with_text(value_object(), "collection", "tasks"), found = NULL;
    query = value_set_take(query, "where", with_text(value_object(), "state", state));
    if (store_query_wait(kernel->kernel.store, value_set_take(value_object(), "count", query), &found, NULL) != TN_OK)
        fail_msg("the store cannot count");
    int64_t count = value_to_int(found);
    value_unref(found);
    return count;
}

/* Claimers take turns at random. One claim in eight is ended too late, and the Task is claimed again. */
static void run_claimers(const char *store, uint32_t tasks) {
    struct kernel_fixture kernel;
    struct claimer claimers[CLAIMERS] = {0};
    uint32_t done = 0, lost = 0, claims = 0, idle = 0;
    struct timespec began, ended;
    if (!kernel_has(store)) skip();
    unsigned char *times = mem_zalloc(tasks); /* how often each was completed */
    random_state = 7;
    kernel_fixture_open(&kernel, store);
    create_tasks(&kernel, tasks);
    clock_gettime(CLOCK_MONOTONIC, &began);
    while (done < tasks) {
        uint32_t who = random_below(CLAIMERS);
        struct claimer *claimer = &claimers[who];
        if (claimer->token[0]) {
            if (claimer->dies && random_below(4)) continue;
            if (claimer->dies) loop_fake_advance(kernel.kernel.loop, 1000); /* its claim expires, and others too */
            const char *code = complete(&kernel, claimer);
            if (code) assert_string_equal(code, "CLAIM_LOST");
            assert_true(code || !claimer->dies);
            lost += code != NULL;
            done += code == NULL;
            if (!code) times[claimer->n]++;
        } else if (claim(&kernel, claimer, who, "1")) {
            claimer->dies = random_below(8) == 0;
            claims++;
        } else if (++idle % CLAIMERS == 0) {
            loop_fake_advance(kernel.kernel.loop, 1000); /* the remaining Tasks are claimed by dead claimers */
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    for (uint32_t i = 0; i < tasks; i++)
        if (times[i] != 1) fail_msg("Task %u was done %d times", i, times[i]);
    assert_true(claims >= tasks + lost && lost > tasks / 20);
    assert_int_equal(count_state(&kernel, "done"), tasks);
    assert_int_equal(count_state(&kernel, "running") + count_state(&kernel, "queued"), 0);
    double seconds = (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9;
    print_message("%s: %u Tasks, %u claims, of which %u were lost: %.0f claims and ends a second\n", store, tasks,
                  claims, lost, (double)(claims + done + lost) / seconds);
    mem_free(times);
    kernel_fixture_close(&kernel);
}

static uint32_t task_count(uint32_t otherwise) {
    const char *wanted = getenv("TENON_TASKS");
    return wanted ? (uint32_t)strtoul(wanted, NULL, 10) : otherwise;
}

static void memory_does_each_once(void **user) {
    (void)user;
    run_claimers("memory", task_count(500));
}

static void sqlite_does_each_once(void **user) {
    (void)user;
    run_claimers("sqlite", task_count(SANITIZED ? 1000 : 10000));
}

/* ---- Claimers in separate processes ---- */

#define PROCESSES  4
#define TASKS_EACH 250 /* on the average */

/* Writes its completed Tasks to the pipe. A dying claimer is killed while it has a claim. */
static _Noreturn void worker(const char *folder, uint32_t who, int out, bool dies) {
    struct kernel_fixture kernel;
    struct claimer claimer = {0};
    uint32_t made = 0;
    kernel_fixture_open_in(&kernel, "sqlite", folder, true);
    for (;;) {
        if (!claim(&kernel, &claimer, who, dies ? "0.001" : "600")) {
            /* Tasks of the killed claimer become claimable when the claim expires. */
            if (count_state(&kernel, "done") == (int64_t)PROCESSES * TASKS_EACH) break;
            sched_yield();
            continue;
        }
        if (dies && ++made == 20) raise(SIGKILL);
        const char *code = complete(&kernel, &claimer);
        if (code && strcmp(code, "CLAIM_LOST") == 0) continue;
        if (code || write(out, &claimer.n, sizeof claimer.n) != (ssize_t)sizeof claimer.n) _exit(1);
    }
    kernel_close_in(&kernel, true);
    _exit(0);
}

static void processes_do_each_once(void **user) {
    struct kernel_fixture kernel;
    unsigned char times[PROCESSES * TASKS_EACH] = {0};
    int ends[2];
    pid_t children[PROCESSES];
    uint32_t n;
    (void)user;
    if (!kernel_has("sqlite")) skip();
    kernel_fixture_open_in(&kernel, "sqlite", NULL, true);
    create_tasks(&kernel, PROCESSES * TASKS_EACH);
    char folder[64];
    snprintf(folder, sizeof folder, "%s", kernel.folder);
    kernel_close_in(&kernel, true);
    assert_int_equal(pipe(ends), 0);
    for (uint32_t i = 0; i < PROCESSES; i++)
        if ((children[i] = fork()) == 0) {
            close(ends[0]);
            worker(folder, i, ends[1], i == 0);
        }
    close(ends[1]);
    while (read(ends[0], &n, sizeof n) == (ssize_t)sizeof n) times[n]++;
    close(ends[0]);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        if (i == 0)
            assert_true(WIFSIGNALED(status) ||
                        (WIFEXITED(status) && WEXITSTATUS(status) == 0)); /* it may have ended early */
        else
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (uint32_t i = 0; i < PROCESSES * TASKS_EACH; i++)
        if (times[i] != 1) fail_msg("Task %u was done %d times", i, times[i]);
    kernel_fixture_open_in(&kernel, "sqlite", folder, true);
    assert_int_equal(count_state(&kernel, "done"), PROCESSES * TASKS_EACH);
    kernel_fixture_close(&kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_keeps_the_model), cmocka_unit_test(sqlite_keeps_the_model),
        cmocka_unit_test(memory_does_each_once),  cmocka_unit_test(sqlite_does_each_once),
        cmocka_unit_test(processes_do_each_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
