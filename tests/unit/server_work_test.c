/*
 * server_work_test.c - workers of a server: start, stop and end, events, counts, limits, rights, and single Tasks.
 *
 * The clock is fake. While a worker waits for Tasks, the loop always has a timer, so these tests wait for conditions.
 */
#include "tests/unit/server_state_fixture.h"

#include "host/base/trace.h"
#include "host/server/server_internal.h"
#include "host/server/server_work.h"
#include <ftw.h>

#define STRATEGY(nodes, edges)                                                                                         \
    "version: '1.0'\nagent: {name: strategy}\n"                                                                        \
    "output: {type: object, properties: {user_output: {type: [string, 'null']}, task_state: {enum: [done, failed, "    \
    "running]}, error: {type: [object, 'null']}}}\n"                                                                   \
    "channels: [{name: task, type: last_value}, {name: user_output, type: last_value}, {name: task_state, type: "      \
    "last_value, default: done}, {name: error, type: last_value}]\nnodes: " nodes "\nedges: " edges "\n"
#define ONE "[{from: START, to: n}, {from: n, to: END}]"

static const char *const files[][2] = {
    {"greet.yaml",
     STRATEGY("[{id: n, type: set, config: {values: {user_output: '\"Hello \" + state.task.payload.text'}}}]", ONE)},
    {"breaks.yaml", STRATEGY("[{id: n, type: fail, config: {code: BROKEN, message: it broke}}]", ONE)},
    {"asks.yaml", STRATEGY("[{id: n, type: test.ask, config: {out: user_output}}]", ONE)},
    {"slow.yaml", STRATEGY("[{id: n, type: delay, config: {ms: 600000000}}]", ONE)},
    {"tenon.yaml", "store: {use: memory}\n"
                   "work:\n"
                   "  user_request: {strategy: ./greet.yaml}\n"
                   "  breaks: {strategy: ./breaks.yaml, retries: {max_attempts: 2, initial: 1s}}\n"
                   "  asks: {strategy: ./asks.yaml}\n"
                   "  slow: {strategy: ./slow.yaml}\n"},
};

static char folder[64];

static int remove_one(const char *path, const struct stat *what, int type, struct FTW *where) {
    (void)what, (void)type, (void)where;
    return remove(path);
}

static void works_open(struct served *served, enum method_scope scope) {
    static unsigned count;
    const char *const paths[] = {TENON_TEST_NODES, TENON_CORE_PLUGIN, TENON_STORE_PLUGINS "/memory.so", NULL};
    char path[256];
    struct error error = ERROR_INIT;
    snprintf(folder, sizeof folder, "/tmp/tenon-works-XXXXXX");
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i][0]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(files[i][1], file);
        assert_int_equal(fclose(file), 0);
    }
    *served = (struct served){.events = value_array()};
    served->host = host_new(
        &(struct host_options){
            .plugin_paths = paths, .no_installed = true, .config_file = path, .quiet = true, .allow_drafts = true},
        &error);
    if (!served->host) fail_msg("%s", error.message);
    loop_fake_clock(host_loop(served->host));
    tn_value store = value_set_take(value_object(), "use", value_text("memory"));
    host_set_store_options_take(served->host, value_set_take(store, "path", value_format("work-%u", ++count)));
    served->server = server_new(served->host);
    server_validate_results(served->server, true);
    served->client = served_client(served, "test", scope);
}

static void works_close(struct served *served) {
    served_close(served);
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The id of a new worker; a new reference. */
static tn_value worker_of(struct served *served, const char *params) {
    return member_take(served_result(served, "work/start", params), "worker_id");
}

static tn_value task_of(struct served *served, const char *params) {
    return member_take(served_result(served, "task/create", params), "task_id");
}

/* The description when the worker has ended; a new reference. */
static tn_value ended_worker(struct served *served, tn_value id) {
    tn_value worker = call_on(served, "work/wait", "worker_id", id, "{}");
    is_text(worker, "status", "ended");
    return worker;
}

static void counts_are(tn_value worker, const char *member, int64_t expected) {
    int64_t total = 0;
    tn_value types = value_get(worker, "types");
    for (size_t i = 0; i < value_count(types); i++) total += value_to_int(value_get(value_at(types, i), member));
    assert_int_equal(total, expected);
}

struct awaited {
    struct served *served;
    const char *event;
    size_t count;
};

static bool event_has_come(void *user) {
    const struct awaited *awaited = user;
    return served_count(awaited->served, awaited->event) >= awaited->count;
}

static void await_event(struct served *served, const char *event, size_t count) {
    struct awaited awaited = {served, event, count};
    assert_true(loop_run(host_loop(served->host), event_has_come, &awaited));
}

static void watch(struct served *served) {
    value_unref(
        served_result(served, "event/subscribe", "{\"events\":[\"task/claimed\",\"task/event\",\"task/ended\"]}"));
}

/* ---- A worker ---- */

static void a_worker_handles_tasks(void **state) {
    struct served served;
    struct served_call wait;
    (void)state;
    works_open(&served, METHOD_ADMIN);
    watch(&served);
    tn_value id = worker_of(&served, "{\"name\":\"w\",\"concurrency\":2}");
    served_start(&served, served.client, "work/wait", with_text(value_object(), "worker_id", id), &wait);
    tn_value task = task_of(&served, "{\"task_type\":\"user_request\",\"payload\":{\"text\":\"you\"}}");
    await_event(&served, "task/ended", 1);
    tn_value claimed = served_last(&served, "task/claimed"), ended = served_last(&served, "task/ended");
    assert_true(value_equal(value_get(claimed, "task_id"), task));
    assert_true(value_equal(value_get(claimed, "worker_id"), id));
    assert_int_equal(value_to_int(value_get(claimed, "attempt")), 1);
    is_text(ended, "outcome", "done");
    is_text(ended, "user_output", "Hello you");
    assert_null(value_get(ended, "error"));
    assert_false(wait.ended);
    tn_value worker = call_on(&served, "work/get", "worker_id", id, "{}");
    is_text(worker, "status", "running");
    is_text(worker, "client", "test");
    is_text(worker, "name", "w");
    counts_are(worker, "done", 1);
    counts_are(worker, "running", 0);
    value_unref(worker);
    call_for(&served, "work/stop", "worker_id", id, "{}");
    tn_value outcome = served_finish(&served, &wait);
    is_text(value_get(outcome, "result"), "status", "ended");
    counts_are(value_get(outcome, "result"), "claimed", 1);
    value_unref(outcome);
    call_for(&served, "work/stop", "worker_id", id, "{\"cancel\":true}"); /* no effect */
    value_unref(ended_worker(&served, id));
    value_unref(task);
    value_unref(id);
    works_close(&served);
}

static tn_value span_of(const struct served *served, const char *kind) {
    for (size_t i = 0; i < value_count(served->events); i++) {
        tn_value params = value_get(value_at(served->events, i), "params");
        if (value_text_is(value_get(params, "kind"), kind)) return params;
    }
    fail_msg("there is no span of a %s", kind);
    return NULL;
}

/* The span of the Task begins a trace, and is around that of its run. With `sample`, it is marked as sampled. */
static void a_task_is_traced(const char *sample, const char *flags) {
    struct served served;
    works_open(&served, METHOD_ADMIN);
    watch(&served);
    value_unref(served_result(&served, "event/subscribe", sample));
    tn_value id = worker_of(&served, "{}");
    tn_value task = task_of(&served, "{\"task_type\":\"user_request\",\"payload\":{\"text\":\"you\"}}");
    await_event(&served, "task/ended", 1);
    tn_value span = span_of(&served, "task"), run = span_of(&served, "run");
    is_text(span, "name", "user_request");
    is_text(span, "outcome", "done");
    assert_int_equal(value_to_int(value_get(span, "attempt")), 1);
    assert_true(value_equal(value_get(value_get(span, "context"), "task_id"), task));
    assert_true(value_equal(value_get(value_get(run, "context"), "thread_id"), task));
    assert_null(value_get(run, "parent"));
    char expected[TRACE_PARENT_TEXT];
    trace_parent_write(value_chars(value_get(span, "id"), NULL), NULL, 1, expected);
    memcpy(expected + 53, flags, 2);
    is_text(value_get(run, "context"), "traceparent", expected);
    value_unref(task);
    value_unref(id);
    works_close(&served);
}

static void tasks_are_traced(void **state) {
    (void)state;
    a_task_is_traced("{\"events\":[\"span/ended\"]}", "01");
    a_task_is_traced("{\"events\":[\"span/ended\"],\"sample\":0}", "00");
}

static void workers_end_by_themselves(void **state) {
    struct served served;
    (void)state;
    works_open(&served, METHOD_ADMIN);
    tn_value id = worker_of(&served, "{\"mode\":\"once\"}"), worker = ended_worker(&served, id);
    counts_are(worker, "claimed", 0);
    value_unref(worker);
    value_unref(id);
    for (int i = 0; i < 3; i++)
        value_unref(task_of(&served, "{\"task_type\":\"user_request\",\"payload\":{\"text\":\"you\"}}"));
    id = worker_of(&served, "{\"mode\":\"once\"}");
    worker = ended_worker(&served, id);
    counts_are(worker, "done", 1);
    value_unref(worker);
    value_unref(id);
    id = worker_of(&served, "{\"mode\":\"empty\",\"types\":[\"user_request\"]}");
    worker = ended_worker(&served, id);
    counts_are(worker, "done", 2);
    assert_int_equal(value_count(value_get(worker, "types")), 1);
    value_unref(worker);
    value_unref(id);
    works_close(&served);
}

static void outcomes_are_reported(void **state) {
    struct served served;
    (void)state;
    works_open(&served, METHOD_ADMIN);
    watch(&served);
    value_unref(task_of(&served, "{\"task_type\":\"breaks\"}"));
    tn_value id = worker_of(&served, "{\"types\":[\"breaks\"]}");
    await_event(&served, "task/ended", 1);
    is_text(served_last(&served, "task/ended"), "outcome", "retried");
    is_text(value_get(served_last(&served, "task/ended"), "error"), "code", "BROKEN");
    await_event(&served, "task/ended", 2);
    is_text(served_last(&served, "task/ended"), "outcome", "failed");
    assert_int_equal(value_to_int(value_get(served_last(&served, "task/claimed"), "attempt")), 2);
    value_unref(id);
    value_unref(task_of(&served, "{\"task_type\":\"asks\"}"));
    id = worker_of(&served, "{\"types\":[\"asks\"],\"mode\":\"empty\"}");
    tn_value worker = ended_worker(&served, id);
    counts_are(worker, "waiting", 1);
    is_text(served_last(&served, "task/ended"), "outcome", "waiting");
    assert_int_equal(value_count(value_get(served_last(&served, "task/ended"), "interrupts")), 1);
    value_unref(worker);
    value_unref(id);
    works_close(&served);
}

static void mistakes_start_no_worker(void **state) {
    struct served served;
    (void)state;
    works_open(&served, METHOD_ADMIN);
    served_expect_error(&served, "work/start", "{\"types\":[\"user_requests\"]}", "NOT_FOUND", "user_request");
    served_expect_error(&served, "work/start", "{\"types\":[]}", "INVALID_INPUT", "types");
    served_expect_error(&served, "work/start", "{\"mode\":\"twice\"}", "INVALID_INPUT", "mode");
    served_expect_error(&served, "work/get", "{\"worker_id\":\"x\"}", "NOT_FOUND", "has no worker `x`");
    served_expect_error(&served, "work/wait", "{\"worker_id\":\"x\"}", "NOT_FOUND", "work/list");
    served_expect_error(&served, "work/stop", "{\"worker_id\":\"x\"}", "NOT_FOUND", "work/list");
    served_expect(&served, "work/list", "{}", "{\"workers\":[]}");
    struct client *other = served_client(&served, "other", METHOD_RUN);
    served_expect_error_as(&served, other, "work/start", "{}", "PERMISSION_DENIED", "admin");
    served_expect_error_as(&served, other, "work/stop", "{\"worker_id\":\"x\"}", "PERMISSION_DENIED", "admin");
    client_free(other);
    works_close(&served);
}

/* ---- Limits, the end of the server ---- */

static void workers_are_limited(void **state) {
    struct served served;
    (void)state;
    works_open(&served, METHOD_ADMIN);
    for (unsigned i = 0; i < SERVER_WORKERS_KEPT + 3; i++) {
        tn_value id = worker_of(&served, "{\"mode\":\"once\",\"types\":[\"slow\"]}");
        value_unref(ended_worker(&served, id));
        value_unref(id);
    }
    assert_int_equal(count_of_take(served_result(&served, "work/list", "{}"), "workers"), SERVER_WORKERS_KEPT);
    for (unsigned i = 0; i < SERVER_WORKERS_MAX; i++) value_unref(worker_of(&served, "{\"types\":[\"slow\"]}"));
    served_expect_error(&served, "work/start", "{\"types\":[\"slow\"]}", "LIMIT", "has 64 workers");
    assert_int_equal(count_of_take(served_result(&served, "work/list", "{}"), "workers"),
                     SERVER_WORKERS_KEPT + SERVER_WORKERS_MAX);
    works_close(&served);
}

static bool is_drained(void *user) { return server_is_drained(user); }

static void workers_drain_with_the_server(void **state) {
    struct served served;
    (void)state;
    works_open(&served, METHOD_ADMIN);
    tn_value id = worker_of(&served, "{}");
    assert_false(server_is_drained(served.server));
    server_drain(served.server);
    served_expect_error(&served, "work/start", "{}", "CANCELLED", "starts no more workers");
    assert_true(loop_run(host_loop(served.host), is_drained, served.server));
    value_unref(ended_worker(&served, id));
    value_unref(id);
    works_close(&served);
}

/* The Task of a run in the middle of a node returns to the queue, and its attempt is not counted. */
static void the_end_of_the_server_returns_tasks(void **state) {
    struct served served;
    (void)state;
    works_open(&served, METHOD_ADMIN);
    watch(&served);
    struct client *other = served_client(&served, "other", METHOD_ADMIN);
    tn_value task = task_of(&served, "{\"task_type\":\"slow\"}");
    tn_value started = served_call_as(&served, other, "work/start", served_json("{\"types\":[\"slow\"]}"));
    tn_value id = value_ref(value_get(value_get(started, "result"), "worker_id"));
    value_unref(started);
    client_free(other); /* the worker belongs to the server */
    await_event(&served, "task/claimed", 1);
    tn_value worker = call_on(&served, "work/get", "worker_id", id, "{}");
    assert_null(value_get(worker, "client"));
    counts_are(worker, "running", 1);
    assert_int_equal(server_workers_tasks(server_workers_of(served.server)), 1);
    value_unref(worker);
    call_for(&served, "work/stop", "worker_id", id, "{\"cancel\":true}");
    worker = ended_worker(&served, id);
    assert_int_equal(server_workers_tasks(server_workers_of(served.server)), 0);
    counts_are(worker, "released", 1);
    value_unref(worker);
    value_unref(id);
    tn_value shown = call_on(&served, "task/get", "task_id", task, "{}");
    is_text(shown, "state", "queued");
    assert_int_equal(value_to_int(value_get(shown, "attempts")), 0);
    value_unref(shown);
    value_unref(task);
    value_unref(worker_of(&served, "{\"types\":[\"slow\"]}"));
    await_event(&served, "task/claimed", 2);
    works_close(&served); /* ends the second worker */
}

/* ---- One Task ---- */

static void a_request_is_answered(void **state) {
    struct served served;
    (void)state;
    works_open(&served, METHOD_RUN);
    value_unref(task_of(&served, "{\"task_type\":\"user_request\",\"payload\":{\"text\":\"older\"}}"));
    watch(&served);
    tn_value asked = served_result(&served, "work/ask", "{\"text\":\"you\",\"modes\":[\"updates\"]}");
    tn_value task_id = value_ref(value_get(asked, "task_id")), worker_id = value_ref(value_get(asked, "worker_id"));
    value_unref(asked);
    tn_value worker = ended_worker(&served, worker_id);
    counts_are(worker, "done", 1);
    value_unref(worker);
    tn_value task = call_on(&served, "task/get", "task_id", task_id, "{}");
    is_text(task, "state", "done");
    is_text(task, "user_output", "Hello you");
    value_unref(task);
    assert_int_equal(served_count(&served, "task/event"), 1);
    is_text(value_get(served_last(&served, "task/event"), "event"), "type", "updates");
    value_unref(task_id);
    value_unref(worker_id);
    works_close(&served);
}

/* The questions are answered, and the same Task is continued; no notification is created. */
static void a_question_is_answered(void **state) {
    struct served served;
    (void)state;
    works_open(&served, METHOD_RUN);
    tn_value asked = served_result(&served, "work/ask", "{\"payload\":{},\"type\":\"asks\"}");
    tn_value task_id = value_ref(value_get(asked, "task_id")), worker_id = value_ref(value_get(asked, "worker_id"));
    value_unref(asked);
    value_unref(ended_worker(&served, worker_id));
    tn_value thread = call_on(&served, "thread/get", "thread_id", task_id, "{}");
    tn_value interrupt = value_get(value_at(value_get(thread, "interrupts"), 0), "id");
    tn_value answers = value_set_key_take(value_object(), value_ref(interrupt), value_text("yes"));
    tn_value params = value_set_take(with_text(value_object(), "thread_id", task_id), "answers", answers);
    value_unref(served_result_take(&served, "thread/answer", params));
    value_unref(thread);
    value_unref(worker_id);
    worker_id = member_take(call_on(&served, "work/ask", "task_id", task_id, "{\"type\":\"asks\"}"), "worker_id");
    value_unref(ended_worker(&served, worker_id));
    tn_value task = call_on(&served, "task/get", "task_id", task_id, "{}");
    is_text(task, "user_output", "yes");
    value_unref(task);
    assert_int_equal(
        count_of_take(served_result(&served, "task/list", "{\"filter\":{\"task_type\":\"notification\"}}"), "tasks"),
        0);
    value_unref(task_id);
    value_unref(worker_id);
    works_close(&served);
}

static void requests_are_refused(void **state) {
    struct served served;
    (void)state;
    works_open(&served, METHOD_RUN);
    served_expect_error(&served, "work/ask", "{}", "INVALID_INPUT", "work/ask");
    served_expect_error(&served, "work/ask", "{\"text\":\"a\",\"payload\":{}}", "INVALID_INPUT", "work/ask");
    served_expect_error(&served, "work/ask", "{\"text\":\"a\",\"type\":\"nothing\"}", "NOT_FOUND", "nothing");
    struct client *plugin =
        client_new(served.server, &(struct client_options){.name = "plugin p", .scope = METHOD_ADMIN, .plugin = true});
    served_expect_error_as(&served, plugin, "work/ask", "{\"text\":\"a\"}", "PERMISSION_DENIED", "task/create");
    client_free(plugin);
    struct client *reader = served_client(&served, "reader", METHOD_READ);
    served_expect_error_as(&served, reader, "work/ask", "{\"text\":\"a\"}", "PERMISSION_DENIED", "run");
    client_free(reader);
    assert_int_equal(count_of_take(served_result(&served, "task/list", "{}"), "tasks"), 0);
    server_drain(served.server);
    served_expect_error(&served, "work/ask", "{\"text\":\"a\"}", "CANCELLED", "starts no more workers");
    works_close(&served);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_handles_tasks),
        cmocka_unit_test(workers_end_by_themselves),
        cmocka_unit_test(outcomes_are_reported),
        cmocka_unit_test(mistakes_start_no_worker),
        cmocka_unit_test(workers_are_limited),
        cmocka_unit_test(workers_drain_with_the_server),
        cmocka_unit_test(the_end_of_the_server_returns_tasks),
        cmocka_unit_test(tasks_are_traced),
        cmocka_unit_test(a_request_is_answered),
        cmocka_unit_test(a_question_is_answered),
        cmocka_unit_test(requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
