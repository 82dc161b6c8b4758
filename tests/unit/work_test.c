/*
 * work_test.c - workers: every way in which a claimed Task ends, and what a worker claims.
 *
 * The clock is fake: retries and renewals take no time. Each test has a host with a tenon.yaml, a store in SQLite and
 * some strategies.
 */
#include "tests/unit/state_fixture.h"

#include "host/base/config/config.h"
#include "host/data/thread/thread_admin.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution_thread.h"
#include "host/work/run_result.h"
#include "host/work/task_worker.h"
#include "host/work/work_type.h"

#define HEAD                                                                                                           \
    "version: '1.0'\nagent: {name: strategy}\n"                                                                        \
    "output: {type: object, properties: {user_output: {type: [string, 'null']}, task_state: {enum: [done, failed, "    \
    "running]}, error: {type: [object, 'null']}}}\n"                                                                   \
    "channels: [{name: task, type: last_value}, {name: runner_id, type: last_value}, {name: n, type: last_value, "     \
    "default: 0}, {name: user_output, type: last_value}, {name: task_state, type: last_value, default: done}, "        \
    "{name: error, type: last_value}]\n"

#define ONE_NODE "edges: [{from: START, to: node}, {from: node, to: END}]\n"

static const struct {
    const char *name, *text;
} strategies[] = {
    {"greet", HEAD "nodes: [{id: node, type: set, config: {values: {user_output: '\"Hello \" + state.task.payload.name "
                   "+ \" from \" + state.runner_id + \", attempt \" + string(run.metadata.attempt)'}}}]\n" ONE_NODE},
    {"decides", HEAD "nodes: [{id: node, type: set, config: {values: {task_state: '\"failed\"', error: '{\"code\": "
                     "\"NO_BOOK\", \"message\": \"there is no such book\"}'}}}]\n" ONE_NODE},
    {"breaks", HEAD "nodes: [{id: node, type: fail, config: {code: BROKEN, message: it broke}}]\n" ONE_NODE},
    {"odd", HEAD "nodes: [{id: node, type: set, config: {values: {task_state: '\"finished\"'}}}]\n" ONE_NODE},
    {"asks", HEAD "nodes:\n  - {id: count, type: set, config: {values: {n: state.n + 1}}}\n"
                  "  - {id: ask, type: test.ask, config: {out: user_output, schema: {type: string}}}\n"
                  "edges: [{from: START, to: count}, {from: count, to: ask}, {from: ask, to: END}]\n"},
    {"slow", HEAD "nodes:\n  - {id: count, type: set, config: {values: {n: state.n + 1}}}\n"
                  "  - {id: wait, type: delay, config: {ms: 70000}}\n"
                  "  - {id: last, type: set, config: {values: {user_output: 'string(state.n)'}}}\n"
                  "edges: [{from: START, to: count}, {from: count, to: wait}, {from: wait, to: last}, {from: last, to: "
                  "END}]\n"},
    {"shouts",
     HEAD "nodes: [{id: node, type: set, config: {values: {task_state: '\"failed\"', error: '{\"code\": "
          "\"LOUD\", \"message\": state.task.payload.text, \"again\": state.task.payload.text}'}}}]\n" ONE_NODE},
    {"again",
     HEAD "nodes: [{id: node, type: set, config: {values: {n: state.n + 1, user_output: 'string(state.n + 1)', "
          "task_state: 'state.n < 1 ? \"running\" : \"done\"'}}}]\n" ONE_NODE},
};

static const char config_text[] =
    "store: {use: sqlite, path: ./store.db}\n"
    "work:\n"
    "  greet: {strategy: ./greet.yaml, priority: 1}\n"
    "  decides: {strategy: ./decides.yaml}\n"
    "  breaks: {strategy: ./breaks.yaml, retries: {max_attempts: 3, initial: 10s, factor: "
    "3, max: 1m}}\n"
    "  odd: {strategy: ./odd.yaml}\n"
    "  asks: {strategy: ./asks.yaml}\n"
    "  slow: {strategy: ./slow.yaml, ttl: 60s, concurrency: 2}\n"
    "  again: {strategy: ./again.yaml}\n"
    "  shouts: {strategy: ./shouts.yaml}\n"
    "  coded: {runner: test.runner, options: {greeting: Good day}, retries: "
    "{max_attempts: 2}}\n";

struct worked {
    struct host *host;
    struct kernel kernel;
    struct work_types *types;
    struct task_worker *worker;
    char folder[64];
    int64_t values;
    bool ended;
    /* Of the Tasks that have ended, in this order. */
    enum work_outcome outcomes[16];
    char tasks[16][64], codes[16][64], outputs[16][128];
    size_t count, awaited;
    uint32_t running, most_running;
};

static void write_text(const char *folder, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void worked_open_host(struct worked *worked) {
    const char *const paths[] = {TENON_TEST_NODES, TENON_CORE_PLUGIN, TENON_STORE_PLUGINS "/sqlite.so",
                                 TENON_STORE_PLUGINS "/state.so", NULL};
    char config[128];
    struct error error = ERROR_INIT;
    snprintf(config, sizeof config, "%s/tenon.yaml", worked->folder);
    worked->host = host_new(
        &(struct host_options){
            .plugin_paths = paths, .no_installed = true, .config_file = config, .allow_drafts = true},
        &error);
    if (!worked->host) fail_msg("%s", error.message);
    loop_fake_clock(host_loop(worked->host));
    assert_int_equal(kernel_open(host_state(worked->host), &worked->kernel, &error), TN_OK);
}

static void worked_open(struct worked *worked) {
    memset(worked, 0, sizeof *worked);
    worked->values = value_live_count();
    snprintf(worked->folder, sizeof worked->folder, "/tmp/tenon-work-XXXXXX");
    assert_non_null(mkdtemp(worked->folder));
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.yaml", strategies[i].name);
        write_text(worked->folder, name, strategies[i].text);
    }
    write_text(worked->folder, "tenon.yaml", config_text);
    worked_open_host(worked);
}

static void worked_close(struct worked *worked) {
    task_worker_free(worked->worker);
    work_types_free(worked->types);
    host_free(worked->host);
    (void)nftw(worked->folder, kernel_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(value_live_count(), worked->values);
}

/* ---- The kernel ---- */

static tn_value ask_kernel(struct worked *worked, const char *operation, const char *json) {
    tn_value arguments = NULL, result = NULL;
    struct error error = ERROR_INIT;
    if (json_read(json, strlen(json), NULL, &arguments, &error) != TN_OK) fail_msg("%s: %s", json, error.message);
    if (kernel_call_wait(&worked->kernel, operation, arguments, &result, &error) != TN_OK)
        fail_msg("%s: %s", operation, error.message);
    return result;
}

/* Copies the id of the new Task. */
static void create_task_with(struct worked *worked, const char *type, const char *payload, char id[64]) {
    char json[256];
    snprintf(json, sizeof json, "{\"task_type\": \"%s\", \"payload\": %s}", type, payload);
    tn_value task = ask_kernel(worked, "task.create", json);
    snprintf(id, 64, "%s", value_chars(value_get(task, "task_id"), NULL));
    value_unref(task);
}

static void create_task(struct worked *worked, const char *type, char id[64]) {
    create_task_with(worked, type, "{\"name\": \"Ada\"}", id);
}

static tn_value get_task(struct worked *worked, const char *id) {
    char json[128];
    snprintf(json, sizeof json, "{\"task_id\": \"%s\"}", id);
    return ask_kernel(worked, "task.get", json);
}

static void expect_task(struct worked *worked, const char *id, const char *state, int64_t attempts) {
    tn_value task = get_task(worked, id);
    if (!value_text_is(value_get(task, "state"), state))
        fail_msg("found %s, expected %s", value_chars(value_get(task, "state"), NULL), state);
    assert_int_equal(value_to_int(value_get(task, "attempts")), attempts);
    value_unref(task);
}

/* ---- Workers ---- */

static void on_claimed(void *user, struct work_item *item) {
    struct worked *worked = user;
    (void)item;
    worked->running++;
    if (worked->running > worked->most_running) worked->most_running = worked->running;
}

static void on_finished(void *user, struct work_item *item) {
    struct worked *worked = user;
    const struct error *error = work_item_error(item);
    size_t at = worked->count++;
    assert_true(at < 16);
    worked->running--;
    worked->outcomes[at] = work_item_outcome(item);
    snprintf(worked->tasks[at], sizeof worked->tasks[at], "%s", work_item_id(item));
    snprintf(worked->codes[at], sizeof worked->codes[at], "%s", error->code ? error->code : "");
    if (work_item_output(item))
        snprintf(worked->outputs[at], sizeof worked->outputs[at], "%s", value_chars(work_item_output(item), NULL));
}

static void on_ended(void *user) { ((struct worked *)user)->ended = true; }

static bool worker_has_ended(void *user) { return ((struct worked *)user)->ended; }

static void start_worker(struct worked *worked, struct task_worker_options options) {
    struct error error = ERROR_INIT;
    task_worker_free(worked->worker);
    work_types_free(worked->types);
    worked->types = NULL;
    worked->ended = false;
    worked->count = 0;
    /* Without the default types, which would handle the notifications. */
    tn_value configured = config_work(host_config(worked->host)), names = value_array();
    for (size_t i = 0; i < value_count(configured); i++)
        names = value_push_take(names, value_ref(value_key_at(configured, i)));
    if (work_types_new(host_engine(worked->host), names, &worked->types, &error) != TN_OK)
        fail_msg("%s", error.message);
    value_unref(names);
    options.engine = host_engine(worked->host);
    options.kernel = host_state(worked->host);
    options.types = worked->types;
    options.name = "worker-1";
    options.claimed = on_claimed;
    options.finished = on_finished;
    options.ended = on_ended;
    options.user = worked;
    worked->worker = task_worker_new(&options, &error);
    if (!worked->worker) fail_msg("%s", error.message);
    task_worker_start(worked->worker);
}

static void wait_for_end(struct worked *worked) {
    assert_true(loop_run(host_loop(worked->host), worker_has_ended, worked));
}

static bool has_count(void *user) {
    const struct worked *worked = user;
    return worked->count >= worked->awaited;
}

/* Runs until this many Tasks have ended. */
static void run_until_count(struct worked *worked, size_t count) {
    worked->awaited = count;
    assert_true(loop_run(host_loop(worked->host), has_count, worked));
}

/* Handles what is claimable, until nothing is. */
static void work_until_empty(struct worked *worked) {
    start_worker(worked, (struct task_worker_options){.mode = TASK_WORKER_EMPTY});
    wait_for_end(worked);
}

static void work_once(struct worked *worked) {
    start_worker(worked, (struct task_worker_options){.mode = TASK_WORKER_ONCE});
    wait_for_end(worked);
}

static void expect_end(const struct worked *worked, size_t at, enum work_outcome outcome, const char *code) {
    assert_true(at < worked->count);
    if (worked->outcomes[at] != outcome || strcmp(worked->codes[at], code) != 0)
        fail_msg("found %s `%s`, expected %s `%s`", work_outcome_name(worked->outcomes[at]), worked->codes[at],
                 work_outcome_name(outcome), code);
}

/* How often the strategy has started with an input. */
static size_t count_inputs(struct worked *worked, const char *id) {
    tn_value history = NULL;
    struct error error = ERROR_INIT;
    size_t inputs = 0;
    assert_int_equal(thread_history_wait(host_store(worked->host, NULL), id, 100, &history, &error), TN_OK);
    for (size_t i = 0; i < value_count(history); i++)
        inputs += value_text_is(value_get(value_at(history, i), "source"), "input");
    value_unref(history);
    return inputs;
}

/* Changes the record of a Task as no operation of the kernel does. */
static void change_record_take(struct worked *worked, const char *id, tn_value patch) {
    tn_value batch = value_push_take(value_array(), store_merge("tasks", id, patch));
    struct store_wait wait = {.done = false};
    store_commit_take(host_store(worked->host, NULL), batch, store_wait_done, &wait);
    assert_int_equal(store_wait_end(&wait, host_loop(worked->host), NULL, NULL), TN_OK);
}

/* ---- Outcomes ---- */

static void a_task_is_done(void **state) {
    struct worked worked;
    char id[64];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "greet", id);
    work_until_empty(&worked);
    expect_end(&worked, 0, WORK_DONE, "");
    assert_string_equal(worked.outputs[0], "Hello Ada from worker-1, attempt 1");
    tn_value task = get_task(&worked, id);
    assert_true(value_text_is(value_get(task, "user_output"), worked.outputs[0]));
    assert_true(value_text_is(value_get(task, "state"), "done"));
    value_unref(task);
    worked_close(&worked);
}

static void a_decision_is_not_retried(void **state) {
    struct worked worked;
    char id[64];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "decides", id);
    work_until_empty(&worked);
    assert_int_equal(worked.count, 1);
    expect_end(&worked, 0, WORK_FAILED, "NO_BOOK");
    expect_task(&worked, id, "failed", 1);
    create_task(&worked, "odd", id);
    work_until_empty(&worked);
    expect_end(&worked, 0, WORK_FAILED, "INVALID_OUTPUT");
    worked_close(&worked);
}

static void a_failed_task_can_be_queued_again(void **state) {
    struct worked worked;
    char id[64], json[160];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "decides", id);
    work_until_empty(&worked);
    snprintf(json, sizeof json, "{\"task_id\": \"%s\", \"patch\": {\"state\": \"queued\"}}", id);
    value_unref(ask_kernel(&worked, "task.update", json));
    work_until_empty(&worked);
    expect_end(&worked, 0, WORK_FAILED, "NO_BOOK");
    expect_task(&worked, id, "failed", 1); /* a new run, with a new count of attempts */
    assert_int_equal(count_inputs(&worked, id), 2);
    worked_close(&worked);
}

/* 60,000 bytes twice are more than a Task's error can have. */
static void a_result_that_cannot_be_written_fails_the_task(void **state) {
    struct worked worked;
    static char text[60001];
    char id[64];
    (void)state;
    worked_open(&worked);
    memset(text, 'x', sizeof text - 1);
    tn_value payload = value_set_take(value_object(), "text", value_text(text)), task = NULL;
    tn_value arguments = value_set_take(value_object(), "task_type", value_text("shouts"));
    arguments = value_set_take(arguments, "payload", payload);
    assert_int_equal(kernel_call_wait(&worked.kernel, "task.create", arguments, &task, NULL), TN_OK);
    snprintf(id, sizeof id, "%s", value_chars(value_get(task, "task_id"), NULL));
    value_unref(task);
    work_until_empty(&worked);
    expect_end(&worked, 0, WORK_FAILED, "INVALID_RESULT");
    expect_task(&worked, id, "failed", 1);
    worked_close(&worked);
}

static void failures_are_retried_with_a_growing_delay(void **state) {
    struct worked worked;
    char id[64];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "breaks", id);
    int64_t began = loop_wall_ms(host_loop(worked.host));
    start_worker(&worked, (struct task_worker_options){.mode = TASK_WORKER_FOREVER});
    run_until_count(&worked, 3);
    task_worker_drain(worked.worker);
    wait_for_end(&worked);
    expect_end(&worked, 0, WORK_RETRIED, "BROKEN");
    expect_end(&worked, 1, WORK_RETRIED, "BROKEN");
    expect_end(&worked, 2, WORK_FAILED, "BROKEN");
    int64_t took = loop_wall_ms(host_loop(worked.host)) - began;
    assert_true(took >= 40000 && took < 41000); /* 10 s and 30 s, and the polling */
    tn_value task = get_task(&worked, id), history = value_get(task, "history");
    assert_int_equal(value_count(history), 3);
    assert_true(value_text_is(value_get(value_at(history, 0), "outcome"), "retried"));
    assert_true(value_text_is(value_get(value_at(history, 2), "outcome"), "failed"));
    value_unref(task);
    worked_close(&worked);
}

static void a_strategy_may_not_be_finished(void **state) {
    struct worked worked;
    char id[64];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "again", id);
    start_worker(&worked, (struct task_worker_options){.mode = TASK_WORKER_FOREVER});
    run_until_count(&worked, 2);
    task_worker_drain(worked.worker);
    wait_for_end(&worked);
    expect_end(&worked, 0, WORK_RELEASED, "");
    expect_end(&worked, 1, WORK_DONE, "");
    assert_string_equal(worked.outputs[1], "2"); /* on the state of the first run */
    worked_close(&worked);
}

/* ---- Runners ---- */

static void a_runner_handles_tasks(void **state) {
    static const struct {
        const char *payload, *code;
        enum work_outcome outcome;
    } rows[] = {
        {"{}", "", WORK_DONE},
        {"{\"outcome\": \"failed\"}", "FAILED", WORK_FAILED},
        {"{\"outcome\": \"running\"}", "", WORK_RELEASED},
        {"{\"outcome\": \"breaks\"}", "BROKEN", WORK_RETRIED},
        {"{\"outcome\": \"odd\"}", "INVALID_RESULT", WORK_FAILED},
        {"{\"outcome\": \"asks\"}", "INTERRUPTED", WORK_FAILED},
    };
    struct worked worked;
    char id[64];
    (void)state;
    worked_open(&worked);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        create_task_with(&worked, "coded", rows[i].payload, id);
        start_worker(&worked, (struct task_worker_options){.mode = TASK_WORKER_ONCE, .task_id = id});
        wait_for_end(&worked);
        expect_end(&worked, 0, rows[i].outcome, rows[i].code);
        if (i) continue;
        assert_string_equal(worked.outputs[0], "Good day");
        tn_value task = get_task(&worked, id);
        assert_true(value_text_is(value_at(value_get(task, "artifact_refs"), 0), "worker-1"));
        value_unref(task);
    }
    worked_close(&worked);
}

/* ---- Waiting ---- */

static tn_value find_notification(struct worked *worked) {
    return ask_kernel(worked, "task.list", "{\"filter\": {\"task_type\": \"notification\"}}");
}

static void answer(struct worked *worked, const char *id, const char *interrupt, const char *text) {
    struct error error = ERROR_INIT;
    tn_value answers = value_set_take(value_object(), interrupt, value_text(text));
    if (thread_answer_wait(host_engine(worked->host), id, answers, &error) != TN_OK) fail_msg("%s", error.message);
    value_unref(answers);
}

static void a_question_waits_without_a_worker(void **state) {
    struct worked worked;
    char id[64], interrupt[64];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "asks", id);
    work_until_empty(&worked);
    assert_int_equal(worked.count, 1);
    expect_end(&worked, 0, WORK_WAITING, "");
    tn_value task = get_task(&worked, id);
    assert_true(value_text_is(value_get(task, "state"), "queued"));
    assert_true(value_to_bool(value_get(task, "waiting")));
    assert_int_equal(value_to_int(value_get(task, "attempts")), 0);
    value_unref(task);
    tn_value list = find_notification(&worked), payload = value_get(value_at(value_get(list, "tasks"), 0), "payload");
    assert_int_equal(value_count(value_get(list, "tasks")), 1);
    assert_true(value_text_is(value_get(payload, "related_task_id"), id));
    snprintf(interrupt, sizeof interrupt, "%s", value_chars(value_get(payload, "interrupt_id"), NULL));
    assert_non_null(strstr(value_chars(value_get(payload, "message"), NULL), "may I?"));
    value_unref(list);
    /* Nothing is claimable until the answer. */
    work_until_empty(&worked);
    assert_int_equal(worked.count, 0);
    answer(&worked, id, interrupt, "yes");
    work_until_empty(&worked);
    expect_end(&worked, 0, WORK_DONE, "");
    assert_string_equal(worked.outputs[0], "yes");
    expect_task(&worked, id, "done", 1);
    worked_close(&worked);
}

static void a_wake_without_an_answer_waits_again(void **state) {
    struct worked worked;
    char id[64], json[128];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "asks", id);
    work_until_empty(&worked);
    snprintf(json, sizeof json, "{\"task_id\": \"%s\"}", id);
    value_unref(ask_kernel(&worked, "task.wake", json));
    work_until_empty(&worked);
    expect_end(&worked, 0, WORK_WAITING, "");
    tn_value list = find_notification(&worked);
    assert_int_equal(value_count(value_get(list, "tasks")), 1); /* a person is notified once */
    value_unref(list);
    worked_close(&worked);
}

/* ---- Claims ---- */

static void a_claim_is_renewed(void **state) {
    struct worked worked;
    char id[64];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "slow", id);
    work_once(&worked); /* takes 70 seconds, with claims of 60 */
    expect_end(&worked, 0, WORK_DONE, "");
    assert_string_equal(worked.outputs[0], "1");
    expect_task(&worked, id, "done", 1);
    worked_close(&worked);
}

static bool one_is_running(void *user) { return ((const struct worked *)user)->running > 0; }

/* Runs until the Task is in its slow node. */
static void run_into_wait(struct worked *worked, const char *id) {
    tn_value record = NULL;
    struct error error = ERROR_INIT;
    assert_true(loop_run(host_loop(worked->host), one_is_running, worked));
    for (int64_t steps = 0; steps < 1;) {
        if (thread_show_wait(host_store(worked->host, NULL), id, &record, &error) == TN_OK) {
            tn_value step = value_get(record, "step");
            steps = step ? value_to_int(step) : 0;
            value_unref(record);
        }
        error_finish(&error);
    }
}

static void a_lost_claim_cancels_the_run(void **state) {
    struct worked worked;
    char id[64], json[256];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "slow", id);
    start_worker(&worked, (struct task_worker_options){.mode = TASK_WORKER_ONCE});
    run_into_wait(&worked, id);
    /* The process was suspended for longer than the claim, and another worker was faster. */
    loop_hold(host_loop(worked.host));
    loop_fake_advance(host_loop(worked.host), 61000);
    snprintf(json, sizeof json, "{\"claimer_id\": \"other\", \"ttl_seconds\": 1000, \"filter\": {\"task_id\": \"%s\"}}",
             id);
    tn_value other = ask_kernel(&worked, "task.claim", json);
    loop_release(host_loop(worked.host));
    assert_true(value_is(other, TN_OBJECT));
    wait_for_end(&worked);
    expect_end(&worked, 0, WORK_LOST, "CLAIM_LOST");
    tn_value task = get_task(&worked, id);
    assert_true(value_text_is(value_get(task, "claimed_by"), "other"));
    assert_true(value_text_is(value_get(task, "state"), "running"));
    value_unref(task);
    value_unref(other);
    worked_close(&worked);
}

static void a_drained_worker_returns_its_tasks(void **state) {
    struct worked worked;
    char id[64];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "slow", id);
    start_worker(&worked, (struct task_worker_options){.mode = TASK_WORKER_FOREVER});
    run_into_wait(&worked, id);
    task_worker_cancel(worked.worker);
    wait_for_end(&worked);
    expect_end(&worked, 0, WORK_RELEASED, "");
    expect_task(&worked, id, "queued", 0);
    work_until_empty(&worked); /* continues; the first node does not run again */
    expect_end(&worked, 0, WORK_DONE, "");
    assert_string_equal(worked.outputs[0], "1");
    worked_close(&worked);
}

static void attempts_that_never_end_are_limited(void **state) {
    struct worked worked;
    char id[64], json[256];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "greet", id);
    snprintf(json, sizeof json, "{\"claimer_id\": \"dies\", \"ttl_seconds\": 1, \"filter\": {\"task_id\": \"%s\"}}",
             id);
    for (int i = 0; i < 3; i++) {
        value_unref(ask_kernel(&worked, "task.claim", json));
        loop_fake_advance(host_loop(worked.host), 2000);
    }
    work_until_empty(&worked);
    expect_end(&worked, 0, WORK_FAILED, "ATTEMPTS_EXHAUSTED");
    tn_value task = get_task(&worked, id), history = value_get(task, "history");
    assert_int_equal(value_count(history), 4);
    for (size_t i = 0; i < 3; i++) assert_true(value_text_is(value_get(value_at(history, i), "outcome"), "expired"));
    value_unref(task);
    worked_close(&worked);
}

/* A worker was killed between the end of the run and the end of the Task. */
static void a_result_in_the_thread_is_used(void **state) {
    struct worked worked;
    char id[64], json[256];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "greet", id);
    snprintf(json, sizeof json, "{\"claimer_id\": \"other\", \"ttl_seconds\": 1, \"filter\": {\"task_id\": \"%s\"}}",
             id);
    work_until_empty(&worked);
    /* As if task.complete had not been written. */
    tn_value patch = value_set_take(value_object(), "state", value_text("running"));
    patch = value_set_take(value_set_take(patch, "claimable_ms", value_int(0)), "history", value_null());
    change_record_take(&worked, id, patch);
    work_until_empty(&worked);
    expect_end(&worked, 0, WORK_DONE, "");
    assert_string_equal(worked.outputs[0], "Hello Ada from worker-1, attempt 1"); /* the first one ran */
    worked_close(&worked);
}

/* The thread has the result of the last attempt that was allowed: the Task still ends with it. */
static void a_result_counts_after_the_last_attempt(void **state) {
    struct worked worked;
    char id[64];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "greet", id);
    work_until_empty(&worked);
    tn_value patch = value_set_take(value_object(), "state", value_text("running"));
    patch = value_set_take(value_set_take(patch, "claimable_ms", value_int(0)), "attempts", value_int(3));
    change_record_take(&worked, id, value_set_take(patch, "history", value_null()));
    work_until_empty(&worked);
    expect_end(&worked, 0, WORK_DONE, "");
    expect_task(&worked, id, "done", 4);
    worked_close(&worked);
}

/* A failed Task is queued again, and the first worker that claims it dies: the old decision is not taken again. */
static void an_old_decision_does_not_count(void **state) {
    struct worked worked;
    char id[64], json[256];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "decides", id);
    work_until_empty(&worked);
    snprintf(json, sizeof json, "{\"task_id\": \"%s\", \"patch\": {\"state\": \"queued\"}}", id);
    value_unref(ask_kernel(&worked, "task.update", json));
    snprintf(json, sizeof json, "{\"claimer_id\": \"dies\", \"ttl_seconds\": 1, \"filter\": {\"task_id\": \"%s\"}}",
             id);
    value_unref(ask_kernel(&worked, "task.claim", json));
    loop_fake_advance(host_loop(worked.host), 2000);
    work_until_empty(&worked);
    expect_end(&worked, 0, WORK_FAILED, "NO_BOOK");
    assert_int_equal(count_inputs(&worked, id), 2); /* it has run again */
    worked_close(&worked);
}

static void types_take_turns(void **state) {
    struct worked worked;
    char id[64], last[64];
    size_t at = 0;
    (void)state;
    worked_open(&worked);
    for (int i = 0; i < 8; i++) create_task(&worked, "decides", id);
    create_task(&worked, "again", last);
    start_worker(&worked, (struct task_worker_options){.mode = TASK_WORKER_FOREVER, .concurrency = 1});
    run_until_count(&worked, 10);
    task_worker_drain(worked.worker);
    wait_for_end(&worked);
    while (strcmp(worked.tasks[at], last) != 0) at++;
    assert_true(at < 8);
    worked_close(&worked);
}

static void a_runner_that_was_claimed_too_late_does_not_start(void **state) {
    struct worked worked;
    char id[64];
    (void)state;
    worked_open(&worked);
    create_task_with(&worked, "coded", "{}", id);
    start_worker(&worked, (struct task_worker_options){.mode = TASK_WORKER_FOREVER});
    loop_run_turn(host_loop(worked.host)); /* the claim is under way */
    task_worker_cancel(worked.worker);
    wait_for_end(&worked);
    if (worked.count) expect_end(&worked, 0, WORK_RELEASED, "");
    expect_task(&worked, id, "queued", 0);
    worked_close(&worked);
}

static void limits_of_types_and_of_the_worker(void **state) {
    struct worked worked;
    char id[64];
    (void)state;
    worked_open(&worked);
    for (int i = 0; i < 5; i++) create_task(&worked, "slow", id);
    work_until_empty(&worked);
    assert_int_equal(worked.count, 5);
    assert_int_equal(worked.most_running, 2); /* of the type */
    for (int i = 0; i < 5; i++) create_task(&worked, "greet", id);
    worked.most_running = 0;
    start_worker(&worked, (struct task_worker_options){.mode = TASK_WORKER_EMPTY, .concurrency = 3});
    wait_for_end(&worked);
    assert_int_equal(worked.count, 5);
    assert_int_equal(worked.most_running, 3);
    worked_close(&worked);
}

static void priority_decides_the_order(void **state) {
    struct worked worked;
    char other[64], greet[64];
    (void)state;
    worked_open(&worked);
    create_task(&worked, "decides", other);
    create_task(&worked, "greet", greet);
    work_once(&worked);
    assert_int_equal(worked.count, 1);
    assert_string_equal(worked.tasks[0], greet);
    start_worker(&worked, (struct task_worker_options){.mode = TASK_WORKER_ONCE, .task_id = greet});
    wait_for_end(&worked);
    assert_int_equal(worked.count, 0); /* it is done */
    worked_close(&worked);
}

static void wrong_types_are_refused(void **state) {
    struct worked worked;
    struct error error = ERROR_INIT;
    struct work_types *types = NULL;
    (void)state;
    worked_open(&worked);
    tn_value names = value_push_take(value_array(), value_text("gret"));
    assert_int_equal(work_types_new(host_engine(worked.host), names, &types, &error), TN_NOT_FOUND);
    assert_non_null(strstr(error.message, "did you mean `greet`"));
    error_finish(&error);
    value_unref(names);
    write_text(worked.folder, "greet.yaml",
               "version: '1.0'\nagent: {name: x}\nnodes: [{id: n, type: passthrough}]\n"
               "edges: [{from: START, to: n}, {from: n, to: END}]\n");
    names = value_push_take(value_array(), value_text("greet"));
    assert_int_not_equal(work_types_new(host_engine(worked.host), names, &types, &error), TN_OK);
    assert_non_null(strstr(error.message, "`task`"));
    error_finish(&error);
    value_unref(names);
    worked_close(&worked);
}

static void run_results_are_checked(void **state) {
    static const struct {
        const char *json, *part; /* NULL: it is right */
    } rows[] = {
        {"{\"task_state\": \"done\"}", NULL},
        {"{\"task_state\": \"running\", \"user_output\": null}", NULL},
        {"{\"task_state\": \"failed\", \"error\": \"no\"}", NULL},
        {"{\"task_state\": \"failed\"}", NULL},
        {"[]", "expected an object"},
        {"{}", "found nothing, expected `done`"},
        {"{\"task_state\": 1}", "found int"},
        {"{\"task_state\": \"done\", \"user_output\": 1}", "`user_output`"},
        {"{\"task_state\": \"done\", \"artifact_refs\": [1]}", "`artifact_refs`"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct run_result result = RUN_RESULT_INIT;
        struct error error = ERROR_INIT;
        tn_value output = NULL;
        assert_int_equal(json_read(rows[i].json, strlen(rows[i].json), NULL, &output, NULL), TN_OK);
        int32_t status = run_result_read(output, &result, &error);
        assert_int_equal(status == TN_OK, rows[i].part == NULL);
        if (rows[i].part) assert_non_null(strstr(error.message, rows[i].part));
        if (!rows[i].part) assert_int_equal(result.error.code != NULL, result.state == RUN_RESULT_FAILED);
        run_result_finish(&result);
        error_finish(&error);
        value_unref(output);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_is_done),
        cmocka_unit_test(a_decision_is_not_retried),
        cmocka_unit_test(a_failed_task_can_be_queued_again),
        cmocka_unit_test(a_result_that_cannot_be_written_fails_the_task),
        cmocka_unit_test(failures_are_retried_with_a_growing_delay),
        cmocka_unit_test(a_strategy_may_not_be_finished),
        cmocka_unit_test(a_runner_handles_tasks),
        cmocka_unit_test(a_question_waits_without_a_worker),
        cmocka_unit_test(a_wake_without_an_answer_waits_again),
        cmocka_unit_test(a_claim_is_renewed),
        cmocka_unit_test(a_lost_claim_cancels_the_run),
        cmocka_unit_test(a_drained_worker_returns_its_tasks),
        cmocka_unit_test(attempts_that_never_end_are_limited),
        cmocka_unit_test(a_result_in_the_thread_is_used),
        cmocka_unit_test(a_result_counts_after_the_last_attempt),
        cmocka_unit_test(an_old_decision_does_not_count),
        cmocka_unit_test(types_take_turns),
        cmocka_unit_test(a_runner_that_was_claimed_too_late_does_not_start),
        cmocka_unit_test(limits_of_types_and_of_the_worker),
        cmocka_unit_test(priority_decides_the_order),
        cmocka_unit_test(wrong_types_are_refused),
        cmocka_unit_test(run_results_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
