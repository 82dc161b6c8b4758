/*
 * state_model_test.c - Tasks held against a model of their specification, and claimed by many at once.
 *
 * The model is what the fifth seed says, in a few lines: a list of Tasks, their states, who may do what. Thousands of
 * random operations, with the clock moving on now and then, go to both; both must say the same. A failure names the
 * seed: TENON_SEED runs that one alone. TENON_TASKS is how many Tasks are claimed by sixteen, instead of what is quick:
 * the store in memory looks at all of them each time.
 */
#include "tests/unit/state_fixture.h"

#include "adl/value/buffer.h"
#include <inttypes.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

/* ---- Randomness ---- */

static uint64_t random_state;

static uint32_t pick(uint32_t below) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % below;
}

/* ---- The model ---- */

#define MODEL_TASKS 400
#define TOKENS      4

enum model_state { QUEUED, RUNNING, DONE, FAILED };
static const char *const state_names[] = {"queued", "running", "done", "failed"};
static const char *const types[] = {"user_request", "work", "other"};

struct model_task {
    char id[40], tokens[TOKENS][40]; /* tokens: the claims that it has had, the newest first */
    uint32_t token_count;
    uint32_t type;
    enum model_state state;
    int64_t claimable_ms; /* of queued and running ones: from when it can be claimed */
    int64_t expires_ms;
    int64_t payload; /* of its member n */
    char claimed_by[16], code[16];
};

struct model {
    struct kernel kernel;
    struct model_task tasks[MODEL_TASKS];
    uint32_t count;
    int64_t now_ms;
    uint64_t seed;
    uint32_t at;        /* operations made */
    uint32_t agreed[4]; /* by outcome, so that it is seen that all kinds come up */
};

static void disagree(const struct model *model, const char *what, const char *expected, const char *found) {
    fail_msg("seed %" PRIu64 ", operation %u: %s: expected %s, found %s", model->seed, model->at, what, expected,
             found);
}

/* That the call gave this code; NULL: that it went well. */
static void expect_code(struct model *model, const char *what, const char *code, tn_value result) {
    const char *found = result ? "success" : model->kernel.error.code;
    if (strcmp(code ? code : "success", found) != 0) disagree(model, what, code ? code : "success", found);
    model->agreed[!code ? 0 : strcmp(code, "CLAIM_LOST") == 0 ? 1 : strcmp(code, "INVALID_TRANSITION") == 0 ? 2 : 3]++;
}

static void expect_text(const struct model *model, const char *what, const char *expected, tn_value found) {
    const char *text = value_is(found, TN_STRING) ? value_chars(found, NULL) : "";
    if (strcmp(expected, text) != 0) disagree(model, what, expected, text);
}

/* Every member that the model knows. */
static void expect_task(const struct model *model, const struct model_task *task, tn_value found) {
    int64_t n = -1;
    expect_text(model, "task_id", task->id, value_get(found, "task_id"));
    expect_text(model, "task_type", types[task->type], value_get(found, "task_type"));
    expect_text(model, "state", state_names[task->state], value_get(found, "state"));
    expect_text(model, "claimed_by", task->claimed_by, value_get(found, "claimed_by"));
    expect_text(model, "error", task->code, value_get(value_get(found, "error"), "code"));
    (void)value_as_int(value_get(value_get(found, "payload"), "n"), &n);
    if (n != task->payload) disagree(model, "payload", "another", "this");
    if (value_is(value_get(found, "claim_expires_at"), TN_STRING) != (task->state == RUNNING))
        disagree(model, "claim_expires_at", task->state == RUNNING ? "a time" : "null", "the other");
}

static bool held(const struct model *model, const struct model_task *task, const char *token) {
    return task->state == RUNNING && task->token_count > 0 && strcmp(task->tokens[0], token) == 0 &&
           task->expires_ms > model->now_ms;
}

/* What is said of a token that is not that of a claim which lasts; NULL: that it has been done already. */
static const char *refusal(const struct model_task *task, const char *token, const enum model_state *to) {
    bool own = task->token_count > 0 && strcmp(task->tokens[0], token) == 0 && task->state != QUEUED;
    if (own && to && task->state == *to) return NULL;
    if (task->state == RUNNING) return "CLAIM_LOST";
    return own || task->state == QUEUED ? "INVALID_TRANSITION" : "CLAIM_LOST";
}

/* ---- Operations on both ---- */

static tn_value with(tn_value object, const char *name, const char *text) {
    return value_set_take(object, name, value_text(text));
}

static tn_value with_int(tn_value object, const char *name, int64_t number) {
    return value_set_take(object, name, value_int(number));
}

static struct model_task *any_task(struct model *model) { return &model->tasks[pick(model->count)]; }

static const char *any_token(const struct model_task *task) {
    if (task->token_count == 0 || pick(8) == 0) return "nobody's";
    return task->tokens[pick(3) ? 0 : pick(task->token_count)];
}

static void do_create(struct model *model) {
    if (model->count == MODEL_TASKS) return;
    struct model_task *task = &model->tasks[model->count++];
    *task = (struct model_task){.type = pick(3), .claimable_ms = model->now_ms, .payload = pick(10)};
    tn_value arguments = with(value_object(), "task_type", types[task->type]);
    arguments = value_set_take(arguments, "payload", with_int(value_object(), "n", task->payload));
    tn_value result = kernel_ask_take(&model->kernel, "task.create", arguments);
    expect_code(model, "create", NULL, result);
    snprintf(task->id, sizeof task->id, "%s", value_chars(value_get(result, "task_id"), NULL));
    if (model->count > 1 && strcmp(task->id, task[-1].id) <= 0) disagree(model, "ids", "a greater one", task->id);
    expect_task(model, task, result);
    value_unref(result);
}

/* The first that fits: by the time from which it can be claimed, then by id. `type` -1: any. */
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

static void do_claim(struct model *model) {
    uint32_t kind = pick(4), first = pick(3), second = pick(3), ttl = 1 + pick(2000);
    int64_t payload = pick(3) ? -1 : (int64_t)pick(10);
    char claimer[16];
    snprintf(claimer, sizeof claimer, "runner-%u", pick(16));
    tn_value filter = value_object(), arguments = with(value_object(), "claimer_id", claimer);
    arguments = value_set_take(arguments, "ttl_seconds", value_double(ttl / 1000.0));
    struct model_task *task = NULL;
    if (kind == 0) {
        task = next_task(model, -1, payload);
    } else if (kind == 1) {
        filter = with(filter, "task_type", types[first]);
        task = next_task(model, (int)first, payload);
    } else {
        tn_value list = value_push_take(value_array(), value_text(types[first]));
        filter = value_set_take(filter, "task_type", value_push_take(list, value_text(types[second])));
        task = next_task(model, (int)first, payload);
        if (!task) task = next_task(model, (int)second, payload);
    }
    if (payload >= 0)
        filter = value_set_take(filter, "payload.n", value_set_take(value_object(), "ge", value_int(payload)));
    arguments = value_set_take(arguments, "filter", filter);
    tn_value result = kernel_ask_take(&model->kernel, "task.claim", arguments);
    expect_code(model, "claim", NULL, result);
    if (!task != value_is(result, TN_NULL)) disagree(model, "claim", task ? "a Task" : "none", "the other");
    if (task) {
        memmove(task->tokens[1], task->tokens[0], sizeof task->tokens - sizeof task->tokens[0]);
        if (task->token_count < TOKENS) task->token_count++;
        snprintf(task->tokens[0], sizeof task->tokens[0], "%s", value_chars(value_get(result, "claim_token"), NULL));
        task->state = RUNNING;
        task->claimable_ms = task->expires_ms = model->now_ms + ttl;
        memcpy(task->claimed_by, claimer, sizeof claimer);
        expect_task(model, task, result);
    }
    value_unref(result);
}

static void do_end(struct model *model) {
    struct model_task *task = any_task(model);
    const char *token = any_token(task);
    enum model_state to = pick(3) ? DONE : FAILED;
    char wanted[40];
    snprintf(wanted, sizeof wanted, "%s", token);
    tn_value arguments = with(with(value_object(), "task_id", task->id), "claim_token", wanted);
    if (to == FAILED)
        arguments = value_set_take(arguments, "error", with(with(value_object(), "code", "NO"), "message", "no"));
    const char *code = held(model, task, wanted) ? NULL : refusal(task, wanted, &to);
    bool now = held(model, task, wanted);
    tn_value result = kernel_ask_take(&model->kernel, to == DONE ? "task.complete" : "task.fail", arguments);
    expect_code(model, "end", code, result);
    if (now) {
        task->state = to;
        if (to == FAILED) memcpy(task->code, "NO", 3);
    }
    if (!code) expect_task(model, task, result);
    value_unref(result);
}

static void do_renew(struct model *model) {
    struct model_task *task = any_task(model);
    const char *token = any_token(task);
    uint32_t ttl = 1 + pick(3000);
    tn_value arguments = with(with(value_object(), "task_id", task->id), "claim_token", token);
    arguments = value_set_take(arguments, "ttl_seconds", value_double(ttl / 1000.0));
    bool now = held(model, task, token);
    tn_value result = kernel_ask_take(&model->kernel, "task.renew", arguments);
    expect_code(model, "renew", now ? NULL : refusal(task, token, NULL), result);
    if (now) {
        task->claimable_ms = task->expires_ms = model->now_ms + ttl;
        expect_task(model, task, result);
    }
    value_unref(result);
}

static void do_update(struct model *model) {
    struct model_task *task = any_task(model);
    const char *token = pick(2) ? any_token(task) : NULL, *code = NULL;
    tn_value patch = value_object(), arguments = with(value_object(), "task_id", task->id);
    int64_t payload = pick(2) ? (int64_t)pick(10) : -1;
    int to = pick(2) ? (int)pick(4) : -1;
    if (payload >= 0) patch = value_set_take(patch, "payload", with_int(value_object(), "n", payload));
    if (to >= 0) patch = with(patch, "state", state_names[to]);
    if (token) arguments = with(arguments, "claim_token", token);
    bool holds = token && held(model, task, token), changes = to >= 0 && (enum model_state)to != task->state;
    bool allowed = (task->state == FAILED && to == QUEUED) || (task->state == RUNNING && to == QUEUED && holds);
    if (token && !holds)
        code = "CLAIM_LOST";
    else if (changes && !allowed)
        code = "INVALID_TRANSITION";
    tn_value result = kernel_ask_take(&model->kernel, "task.update", value_set_take(arguments, "patch", patch));
    expect_code(model, "update", code, result);
    if (!code) {
        if (payload >= 0) task->payload = payload;
        if (changes) {
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
    tn_value result = kernel_ask_take(&model->kernel, "task.get", with(value_object(), "task_id", task->id));
    expect_code(model, "get", NULL, result);
    expect_task(model, task, result);
    if (value_get(result, "claim_token")) disagree(model, "get", "no token", "one");
    value_unref(result);
}

static void do_list(struct model *model) {
    uint32_t state = pick(4), limit = 1 + pick(30), from = pick(model->count), seen = 0;
    bool reverse = pick(2), more = false;
    tn_value arguments = with(with_int(value_object(), "limit", limit), "after", model->tasks[from].id);
    arguments = value_set_take(arguments, "reverse", value_bool(reverse));
    arguments = value_set_take(arguments, "filter", with(value_object(), "state", state_names[state]));
    tn_value result = kernel_ask_take(&model->kernel, "task.list", arguments);
    expect_code(model, "list", NULL, result);
    tn_value list = value_get(result, "tasks");
    for (int64_t i = reverse ? (int64_t)from - 1 : (int64_t)from + 1; i >= 0 && i < (int64_t)model->count && !more;
         i += reverse ? -1 : 1) {
        if (model->tasks[i].state != (enum model_state)state) continue;
        more = seen == limit;
        if (more) break;
        if (seen == value_count(list)) disagree(model, "list", "another Task", "its end");
        expect_task(model, &model->tasks[i], value_at(list, seen++));
    }
    if (seen != value_count(list)) disagree(model, "list", "its end", "another Task");
    if (value_to_bool(value_get(result, "more")) != more) disagree(model, "list", "the other", "more");
    value_unref(result);
}

static void run_model(const char *store, uint64_t seed, uint32_t operations) {
    static void (*const kinds[])(struct model *) = {do_create, do_claim, do_claim, do_end,    do_end,
                                                    do_renew,  do_get,   do_list,  do_update, do_update};
    struct model *model = mem_zalloc(sizeof *model);
    model->seed = seed;
    random_state = seed * 0x9e3779b97f4a7c15 + 1;
    kernel_open(&model->kernel, store);
    do_create(model);
    for (model->at = 0; model->at < operations; model->at++) {
        kinds[pick(sizeof kinds / sizeof *kinds)](model);
        if (pick(4)) continue;
        uint32_t ms = pick(300);
        loop_fake_advance(model->kernel.state.loop, ms);
        model->now_ms += ms;
    }
    for (int i = 0; i < 3; i++) assert_true(model->agreed[i] > operations / 100);
    kernel_close(&model->kernel);
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

static void memory_keeps_the_model(void **user) {
    (void)user;
    random_operations("memory", 10, 1000);
}

static void sqlite_keeps_the_model(void **user) {
    (void)user;
    random_operations("sqlite", 5, 1000);
}

/* ---- Claimers ---- */

#define CLAIMERS 16

struct claimer {
    char id[40], token[40]; /* of the Task that it has; "" none */
    uint32_t n;             /* its number */
    bool dies;              /* comes back for it when it is too late */
};

static void fill(struct kernel *kernel, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        tn_value arguments = with(value_object(), "task_type", "work");
        arguments = value_set_take(arguments, "payload", with_int(value_object(), "n", (int64_t)i));
        tn_value task = kernel_ask_take(kernel, "task.create", arguments);
        if (!task) fail_msg("%s", kernel->error.message);
        value_unref(task);
    }
}

/* False: there is nothing to claim. */
static bool claim(struct kernel *kernel, struct claimer *claimer, uint32_t who, const char *ttl) {
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

/* NULL, or the code of the refusal. */
static const char *complete(struct kernel *kernel, struct claimer *claimer) {
    tn_value arguments = with(with(value_object(), "task_id", claimer->id), "claim_token", claimer->token);
    tn_value task = kernel_ask_take(kernel, "task.complete", arguments);
    claimer->token[0] = 0;
    if (!task) return kernel->error.code;
    value_unref(task);
    return NULL;
}

static int64_t count_state(struct kernel *kernel, const char *state) {
    tn_value query = with(value_object(), "collection", "tasks"), found = NULL;
    query = value_set_take(query, "where", with(value_object(), "state", state));
    if (store_query_wait(kernel->state.store, value_set_take(value_object(), "count", query), &found, NULL) != TN_OK)
        fail_msg("the store cannot count");
    int64_t count = value_to_int(found);
    value_unref(found);
    return count;
}

/* Claimers take turns at random; one claim in eight is ended too late, and the Task then claimed again. */
static void interleaved(const char *store, uint32_t tasks) {
    struct kernel kernel;
    struct claimer claimers[CLAIMERS] = {0};
    uint32_t done = 0, lost = 0, claims = 0, idle = 0;
    struct timespec began, ended;
    if (!kernel_has(store)) skip();
    unsigned char *times = mem_zalloc(tasks); /* that each was done */
    random_state = 7;
    kernel_open(&kernel, store);
    fill(&kernel, tasks);
    clock_gettime(CLOCK_MONOTONIC, &began);
    while (done < tasks) {
        uint32_t who = pick(CLAIMERS);
        struct claimer *claimer = &claimers[who];
        if (claimer->token[0]) {
            if (claimer->dies && pick(4)) continue;
            if (claimer->dies) loop_fake_advance(kernel.state.loop, 1000); /* its time is up, and that of others */
            const char *code = complete(&kernel, claimer);
            if (code) assert_string_equal(code, "CLAIM_LOST");
            assert_true(code || !claimer->dies);
            lost += code != NULL;
            done += code == NULL;
            if (!code) times[claimer->n]++;
        } else if (claim(&kernel, claimer, who, "1")) {
            claimer->dies = pick(8) == 0;
            claims++;
        } else if (++idle % CLAIMERS == 0) {
            loop_fake_advance(kernel.state.loop, 1000); /* those that are left are claimed by somebody dead */
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
    kernel_close(&kernel);
}

static uint32_t task_count(uint32_t otherwise) {
    const char *wanted = getenv("TENON_TASKS");
    return wanted ? (uint32_t)strtoul(wanted, NULL, 10) : otherwise;
}

static void memory_does_each_once(void **user) {
    (void)user;
    interleaved("memory", task_count(500));
}

static void sqlite_does_each_once(void **user) {
    (void)user;
    interleaved("sqlite", task_count(10000));
}

/* ---- Claimers in processes of their own ---- */

#define PROCESSES  4
#define TASKS_EACH 250 /* on the average */

/* Says on the pipe which Tasks it has done. One that dies is killed while it has one. */
static _Noreturn void worker(const char *folder, uint32_t who, int out, bool dies) {
    struct kernel kernel;
    struct claimer claimer = {0};
    uint32_t made = 0;
    kernel_open_in(&kernel, "sqlite", folder, true);
    for (;;) {
        if (!claim(&kernel, &claimer, who, dies ? "0.001" : "600")) {
            /* Those of the one that dies come back when their time is up. */
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
    struct kernel kernel;
    unsigned char times[PROCESSES * TASKS_EACH] = {0};
    int ends[2];
    pid_t children[PROCESSES];
    uint32_t n;
    (void)user;
    if (!kernel_has("sqlite")) skip();
    kernel_open_in(&kernel, "sqlite", NULL, true);
    fill(&kernel, PROCESSES * TASKS_EACH);
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
                        (WIFEXITED(status) && WEXITSTATUS(status) == 0)); /* it may have had few */
        else
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (uint32_t i = 0; i < PROCESSES * TASKS_EACH; i++)
        if (times[i] != 1) fail_msg("Task %u was done %d times", i, times[i]);
    kernel_open_in(&kernel, "sqlite", folder, true);
    assert_int_equal(count_state(&kernel, "done"), PROCESSES * TASKS_EACH);
    kernel_close(&kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_keeps_the_model), cmocka_unit_test(sqlite_keeps_the_model),
        cmocka_unit_test(memory_does_each_once),  cmocka_unit_test(sqlite_does_each_once),
        cmocka_unit_test(processes_do_each_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
