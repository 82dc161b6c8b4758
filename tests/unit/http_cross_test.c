/*
 * http_cross_test.c - HTTP requests of a plugin (tests/plugins/asks.c) in the host's process and isolated in another
 * process.
 *
 * The test provides HTTP. The response depends on the path: /lines?n=N sends N lines and stops while it is paused,
 * /whole sends the request as the body, /big sends 50 MiB, and /never sends nothing but advances a fake clock by
 * NEVER_MS. The plugin must receive the same events in both processes.
 */
#include "host/base/container_of.h"
#include "host/net/http.h"
#include "host/plugin/call/worker.h"
#include "host/plugin/registry/registry.h"
#include "tests/unit/engine_fixture.h"
#include <stdlib.h>
#include <tenon/http_client.h>
#include <unistd.h>

#define NEVER_MS 60000

/* ---- The provider ---- */

struct answer {
    struct answer *next;
    uint64_t number;
    tn_http_handler handler;
    void *user;
    struct loop_work work;
    int64_t lines, lines_sent;
    int64_t lines_at_first_pause; /* lines sent before the first pause; -1 if it was not paused */
    tn_value request;
    bool head, paused, done, cancelled;
};

static struct answer *answers;
static struct host *host;

static void answer_report(struct answer *answer, int32_t event, const char *json) {
    tn_value value = NULL;
    assert_int_equal(json_read(json, strlen(json), NULL, &value, NULL), TN_OK);
    answer->done = event == TN_HTTP_END;
    answer->handler(answer->user, event, value);
    value_unref(value);
}

static void answer_step(struct loop_work *work) {
    struct answer *answer = CONTAINER_OF(work, struct answer, work);
    const char *url = value_chars(value_get(answer->request, "url"), NULL);
    char line[64];
    if (strstr(url, "/never")) loop_fake_advance(host_loop(host), NEVER_MS);
    if (strstr(url, "/never") || answer->cancelled || answer->paused) return;
    if (!answer->head) {
        answer->head = true;
        answer_report(answer, TN_HTTP_HEAD, "{\"status\":200,\"headers\":{\"a\":\"b\"},\"attempt\":1}");
    } else if (answer->lines_sent < answer->lines) {
        /* In one turn of the loop, so that the number of lines before a pause does not depend on the plugin's speed. */
        while (answer->lines_sent < answer->lines && !answer->paused && !answer->cancelled) {
            snprintf(line, sizeof line, "\"line %lld\"", (long long)++answer->lines_sent);
            answer_report(answer, TN_HTTP_DATA, line);
        }
    } else {
        tn_value end = NULL;
        const char *json = "{\"status\":200,\"headers\":{\"a\":\"b\"},\"attempts\":1}";
        assert_int_equal(json_read(json, strlen(json), NULL, &end, NULL), TN_OK);
        if (strstr(url, "/big")) {
            char *big = mem_zalloc(50u << 20);
            end = value_set_take(end, "body", value_bytes(big, 50u << 20));
            mem_free(big);
        } else if (strstr(url, "/whole")) {
            char *text = json_text(answer->request, JSON_COMPACT);
            end = value_set_take(end, "body", value_bytes(text, strlen(text)));
            mem_free(text);
        }
        answer->done = true;
        answer->handler(answer->user, TN_HTTP_END, end);
        value_unref(end);
    }
    if (!answer->done && !answer->cancelled && !answer->paused) loop_defer(host_loop(host), &answer->work);
}

static int32_t provider_send(void *self, tn_value request, tn_http_handler handler, void *user, uint64_t *exchange) {
    struct answer *answer = mem_zalloc(sizeof *answer);
    const char *n = strstr(value_chars(value_get(request, "url"), NULL), "?n=");
    (void)self;
    *answer = (struct answer){.next = answers,
                              .number = answers ? answers->number + 1 : 1,
                              .handler = handler,
                              .user = user,
                              .work.run = answer_step,
                              .lines = n ? atoi(n + 3) : 0,
                              .lines_at_first_pause = -1,
                              .request = value_ref(request)};
    answers = answer;
    *exchange = answer->number;
    loop_defer(host_loop(host), &answer->work);
    return TN_OK;
}

static struct answer *answer_lookup(uint64_t number) {
    struct answer *answer = answers;
    while (answer && answer->number != number) answer = answer->next;
    assert_non_null(answer);
    return answer;
}

static int32_t provider_pause(void *self, uint64_t exchange) {
    struct answer *answer = answer_lookup(exchange);
    (void)self;
    answer->paused = true;
    if (answer->lines_at_first_pause < 0) answer->lines_at_first_pause = answer->lines_sent;
    return TN_OK;
}

static int32_t provider_resume(void *self, uint64_t exchange) {
    (void)self;
    answer_lookup(exchange)->paused = false;
    loop_defer(host_loop(host), &answer_lookup(exchange)->work);
    return TN_OK;
}

static int32_t provider_cancel(void *self, uint64_t exchange) {
    (void)self;
    answer_lookup(exchange)->cancelled = true;
    loop_undefer(host_loop(host), &answer_lookup(exchange)->work);
    return TN_OK;
}

static const tn_http_client_draft provided = {sizeof provided, provider_send, provider_pause, provider_resume,
                                              provider_cancel};

static const void *provider_interface(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_HTTP_CLIENT_DRAFT) == 0 ? &provided : NULL;
}

static const tn_plugin provider = {sizeof provider, NULL, provider_interface};

/* ---- The host ---- */

static char config_file[64];

static void open_host(bool isolated) {
    static const char *const paths[] = {TENON_TEST_PLUGINS "/asks", NULL}, *const isolate[] = {"test.asks", NULL};
    struct error error = ERROR_INIT;
    host = host_new(&(struct host_options){.plugin_paths = paths,
                                           .config_file = config_file,
                                           .allow_drafts = true,
                                           .isolate = isolated ? isolate : NULL},
                    &error);
    if (!host) fail_msg("%s", error.message);
    const char *json = "{\"plugin\":{\"id\":\"test.fake\",\"version\":\"1.0.0\",\"title\":\"HTTP\",\"provides\":"
                       "[\"" TN_HTTP_CLIENT_DRAFT "\"]}}";
    tn_value manifest = NULL;
    assert_int_equal(json_read(json, strlen(json), NULL, &manifest, NULL), TN_OK);
    if (registry_add_native(host_registry(host), manifest, &provider, "test", &error) != TN_OK)
        fail_msg("%s", error.message);
    value_unref(manifest);
    error_finish(&error);
}

static void close_host(void) {
    workers_settle(host_loop(host)); /* the task of a worker can end before the worker returns */
    host_free(host);
    for (struct answer *answer = answers, *next; answer; answer = next) {
        next = answer->next;
        value_unref(answer->request);
        mem_free(answer);
    }
    answers = NULL;
}

static bool no_exchange_is_open(void *user) {
    (void)user;
    return http_open_count(host_http(host)) == 0;
}

/* Runs a node of the plugin. Returns its output, or its error; free the result with mem_free. */
static char *run(const char *node, const char *config, const char *more) {
    char text[2048];
    struct watched watched;
    struct run_options options = RUN_OPTIONS_INIT;
    snprintf(text, sizeof text,
             "version: \"1.0\"\nagent: {name: asks}\nchannels: [{name: out, type: last_value}]\n"
             "nodes: [{id: ask, type: test.asks.%s%s, config: %s}]\nedges: [{from: START, to: ask}, {from: ask, to: "
             "END}]\n",
             node, more, config);
    struct graph *graph = graph_for_tests(host, "ask.yaml", text, NULL);
    watched_init(&watched);
    watched.name = config;
    watched_run(host, &watched, graph, options, NULL);
    char *result = run_status(watched.run) == RUN_DONE ? state_text(watched.run) : error_text(watched.run);
    watched_finish(&watched);
    graph_unref(graph);
    /* A cancelled task may end later than the run. */
    if (!loop_run(host_loop(host), no_exchange_is_open, NULL)) fail_msg("%s: an exchange is still open", config);
    return result;
}

#define LINES(n) "{request: {url: \"http://acme.example/lines?n=" #n "\", receive: lines}"

static void same_events_isolated_and_not(void **state) {
    (void)state;
    static const struct {
        const char *node, *config, *expected;
    } cases[] = {
        {"stream", LINES(3) "}",
         "[\"HEAD {\\\"status\\\":200,\\\"headers\\\":{\\\"a\\\":\\\"b\\\"},\\\"attempt\\\":1}\",\"DATA \\\"line "
         "1\\\"\","},
        {"stream", LINES(1000) "}", "\"DATA \\\"line 1000\\\"\",\"END {"},
        {"stream", LINES(1000) ", slow: true}", "\"DATA \\\"line 1000\\\"\",\"END {"},
        {"stream", LINES(1000) ", leave: 2}", "\"DATA \\\"line 2\\\"\"]"},
        {"stream",
         "{request: {url: \"http://acme.example/whole\", headers: {a: [\"Bearer \", {secret: KEY}]}, json: {x: [1]}}}",
         "\"END "},
        {"stream", "{request: {url: \"http://other.example\"}}", "add \\\\\\\"network.http:other.example\\\\\\\""},
        {"stream", "{request: 3}", "INVALID_INPUT"},
        {"wait", "{request: {url: \"http://acme.example/whole\", headers: {a: {secret: KEY}}}}", "\"OK {"},
        {"wait", "{request: {url: \"http://acme.example/whole\", receive: lines}}", "\"OK {"},
        {"wait", "{request: {url: \"http://acme.example\", headers: {a: {secret: OTHER}}}}",
         "\"FAILED {\\\"code\\\":\\\"PERMISSION_DENIED\\\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *results[2];
        int64_t lines_sent[2] = {-1, -1};
        for (int isolated = 0; isolated < 2; isolated++) {
            open_host(isolated);
            results[isolated] = run(cases[i].node, cases[i].config, "");
            if (!strstr(results[isolated], cases[i].expected))
                fail_msg("%s, %s: %s\nexpected: %s", cases[i].config, isolated ? "isolated" : "in process",
                         results[isolated], cases[i].expected);
            if (answers) lines_sent[isolated] = answers->lines_at_first_pause;
            close_host();
        }
        if (strcmp(results[0], results[1]) != 0)
            fail_msg("%s: in process:\n%s\nisolated:\n%s", cases[i].config, results[0], results[1]);
        if (strstr(cases[i].config, "slow")) {
            assert_int_equal(lines_sent[0], 1);
            assert_int_equal(lines_sent[1], 64); /* the buffer between the processes holds 64 lines */
        }
        mem_free(results[0]);
        mem_free(results[1]);
    }
}

/* ---- Cancellation and failures ---- */

static void timeout_cancels_the_exchange(void **state) {
    (void)state;
    static const char *const nodes[] = {"stream", "wait"};
    for (int i = 0; i < 4; i++) {
        open_host(i / 2);
        loop_fake_clock(host_loop(host)); /* the time is up when the provider has the request, and not earlier */
        char *result = run(nodes[i % 2], "{request: {url: \"http://acme.example/never\"}}", ", timeout: 60s");
        if (strncmp(result, "TIMEOUT", 7) != 0) fail_msg("%s", result);
        assert_true(answers->cancelled);
        mem_free(result);
        close_host();
    }
}

static void crash_cancels_the_exchange(void **state) {
    (void)state;
    open_host(true);
    char *result = run("stream", LINES(1000) ", die: 3}", "");
    if (strncmp(result, "PLUGIN_CRASHED", 14) != 0) fail_msg("%s", result);
    assert_true(answers->cancelled);
    assert_true(answers->lines_sent < 1000);
    mem_free(result);
    close_host();
}

/* A body that exceeds the limit of a message between the processes fails with LIMIT. */
static void too_long_body_fails_if_isolated(void **state) {
    (void)state;
    open_host(true);
    char *result = run("stream", "{request: {url: \"http://acme.example/big\"}}", "");
    if (!strstr(result, "FAILED {\\\"code\\\":\\\"LIMIT\\\"")) fail_msg("%.300s", result);
    mem_free(result);
    close_host();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_events_isolated_and_not),
        cmocka_unit_test(timeout_cancels_the_exchange),
        cmocka_unit_test(crash_cancels_the_exchange),
        cmocka_unit_test(too_long_body_fails_if_isolated),
    };
    strcpy(config_file, "/tmp/tenon-cross-XXXXXX");
    int descriptor = mkstemp(config_file);
    if (descriptor < 0 || write(descriptor, "http: test.fake\n", 16) != 16 || close(descriptor) != 0) return 1;
    setenv("KEY", "hush-hush", 1);
    setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    workers_stop();
    unlink(config_file);
    return failed;
}
