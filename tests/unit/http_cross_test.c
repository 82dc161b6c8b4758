/*
 * http_cross_test.c - requests of a plugin (tests/plugins/asks.c) that runs here, and in a process of its own.
 *
 * The provider is the test's, and answers by the path: /lines gives so many as `n` says, and stops while it is paused;
 * /whole gives the request back; /never nothing. What the plugin is told must be the same both ways.
 */
#include "host/call/worker.h"
#include "host/http/http.h"
#include "host/plugin/registry.h"
#include "tests/unit/engine_fixture.h"
#include <stdlib.h>
#include <tenon/http.h>
#include <unistd.h>

/* ---- The provider ---- */

struct answer {
    struct answer *next;
    uint64_t number;
    tn_http_handler handler;
    void *user;
    struct loop_work work;
    int64_t lines, given;
    int64_t given_at_pause; /* at the first; -1: there was none */
    tn_value request;
    bool head, paused, over, cancelled;
};

static struct answer *answers;
static struct host *host;

static void tell(struct answer *answer, int32_t event, const char *json) {
    tn_value value = NULL;
    assert_int_equal(json_read(json, strlen(json), NULL, &value, NULL), TN_OK);
    answer->over = event == TN_HTTP_END;
    answer->handler(answer->user, event, value);
    value_unref(value);
}

static void step(struct loop_work *work) {
    struct answer *answer = (struct answer *)(void *)((char *)work - offsetof(struct answer, work));
    const char *url = value_chars(value_get(answer->request, "url"), NULL);
    char line[64];
    if (strstr(url, "/never") || answer->cancelled || answer->paused) return;
    if (!answer->head) {
        answer->head = true;
        tell(answer, TN_HTTP_HEAD, "{\"status\":200,\"headers\":{\"a\":\"b\"},\"attempt\":1}");
    } else if (answer->given < answer->lines) {
        snprintf(line, sizeof line, "\"line %lld\"", (long long)++answer->given);
        tell(answer, TN_HTTP_DATA, line);
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
        answer->over = true;
        answer->handler(answer->user, TN_HTTP_END, end);
        value_unref(end);
    }
    if (!answer->over && !answer->cancelled && !answer->paused) loop_defer(host->loop, &answer->work);
}

static int32_t provider_send(const void *self, tn_value request, tn_http_handler handler, void *user,
                             uint64_t *exchange) {
    struct answer *answer = mem_zalloc(sizeof *answer);
    const char *n = strstr(value_chars(value_get(request, "url"), NULL), "?n=");
    (void)self;
    *answer = (struct answer){.next = answers,
                              .number = answers ? answers->number + 1 : 1,
                              .handler = handler,
                              .user = user,
                              .work.run = step,
                              .lines = n ? atoi(n + 3) : 0,
                              .given_at_pause = -1,
                              .request = value_ref(request)};
    answers = answer;
    *exchange = answer->number;
    loop_defer(host->loop, &answer->work);
    return TN_OK;
}

static struct answer *find(uint64_t number) {
    struct answer *answer = answers;
    while (answer && answer->number != number) answer = answer->next;
    assert_non_null(answer);
    return answer;
}

static int32_t provider_pause(const void *self, uint64_t exchange) {
    struct answer *answer = find(exchange);
    (void)self;
    answer->paused = true;
    if (answer->given_at_pause < 0) answer->given_at_pause = answer->given;
    return TN_OK;
}

static int32_t provider_resume(const void *self, uint64_t exchange) {
    (void)self;
    find(exchange)->paused = false;
    loop_defer(host->loop, &find(exchange)->work);
    return TN_OK;
}

static int32_t provider_cancel(const void *self, uint64_t exchange) {
    (void)self;
    find(exchange)->cancelled = true;
    loop_undefer(host->loop, &find(exchange)->work);
    return TN_OK;
}

static const tn_http_draft provided = {sizeof provided, 0,   provider_send, provider_pause, provider_resume,
                                       provider_cancel, NULL};

static const void *offer(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_HTTP_DRAFT) == 0 ? &provided : NULL;
}

static const tn_plugin provider = {sizeof provider, 0, NULL, offer};

/* ---- The stage ---- */

static char config_file[64];

static void begin(bool apart) {
    static const char *const paths[] = {TENON_TEST_PLUGINS "/asks", NULL}, *const isolate[] = {"test.asks", NULL};
    struct error error = ERROR_INIT;
    host = host_new(
        &(struct host_options){
            .plugin_paths = paths, .config_file = config_file, .allow_drafts = true, .isolate = apart ? isolate : NULL},
        &error);
    if (!host) fail_msg("%s", error.message);
    const char *json = "{\"plugin\":{\"id\":\"test.fake\",\"version\":\"1.0.0\",\"title\":\"HTTP\",\"provides\":"
                       "[\"" TN_HTTP_DRAFT "\"]}}";
    tn_value manifest = NULL;
    assert_int_equal(json_read(json, strlen(json), NULL, &manifest, NULL), TN_OK);
    if (registry_add_native(host->registry, manifest, &provider, "test", &error) != TN_OK)
        fail_msg("%s", error.message);
    value_unref(manifest);
    error_finish(&error);
}

static void end(void) {
    host_free(host);
    for (struct answer *answer = answers, *next; answer; answer = next) {
        next = answer->next;
        value_unref(answer->request);
        mem_free(answer);
    }
    answers = NULL;
}

static bool none_open(void *user) {
    (void)user;
    return http_open_count(host->http) == 0;
}

/* What a run of that node with that config gives, or its error; mem_free it. */
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
    /* A task that was given up ends in its own time. */
    if (!loop_run(host->loop, none_open, NULL)) fail_msg("%s: an exchange stays open", config);
    return result;
}

#define LINES(n) "{request: {url: \"http://acme.example/lines?n=" #n "\", receive: lines}"

static void same_both_ways(void **state) {
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
        int64_t given[2] = {-1, -1};
        for (int apart = 0; apart < 2; apart++) {
            begin(apart);
            results[apart] = run(cases[i].node, cases[i].config, "");
            if (!strstr(results[apart], cases[i].expected))
                fail_msg("%s, %s: %s\nexpected: %s", cases[i].config, apart ? "apart" : "here", results[apart],
                         cases[i].expected);
            if (answers) given[apart] = answers->given_at_pause;
            end();
        }
        if (strcmp(results[0], results[1]) != 0)
            fail_msg("%s: here:\n%s\napart:\n%s", cases[i].config, results[0], results[1]);
        if (strstr(cases[i].config, "slow")) {
            assert_int_equal(given[0], 1);
            assert_int_equal(given[1], 64); /* as much as may be on the way */
        }
        mem_free(results[0]);
        mem_free(results[1]);
    }
}

/* ---- Ends ---- */

static void a_task_is_cancelled(void **state) {
    (void)state;
    static const char *const nodes[] = {"stream", "wait"};
    for (int i = 0; i < 4; i++) {
        begin(i / 2);
        char *result = run(nodes[i % 2], "{request: {url: \"http://acme.example/never\"}}", ", timeout: 200ms");
        if (strncmp(result, "TIMEOUT", 7) != 0) fail_msg("%s", result);
        assert_true(answers->cancelled);
        mem_free(result);
        end();
    }
}

static void a_process_dies(void **state) {
    (void)state;
    begin(true);
    char *result = run("stream", LINES(1000) ", die: 3}", "");
    if (strncmp(result, "PLUGIN_CRASHED", 14) != 0) fail_msg("%s", result);
    assert_true(answers->cancelled);
    assert_true(answers->given < 1000);
    mem_free(result);
    end();
}

/* What does not fit through, here fits. */
static void too_long(void **state) {
    (void)state;
    begin(true);
    char *result = run("stream", "{request: {url: \"http://acme.example/big\"}}", "");
    if (!strstr(result, "FAILED {\\\"code\\\":\\\"LIMIT\\\"")) fail_msg("%.300s", result);
    mem_free(result);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_both_ways),
        cmocka_unit_test(a_task_is_cancelled),
        cmocka_unit_test(a_process_dies),
        cmocka_unit_test(too_long),
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
