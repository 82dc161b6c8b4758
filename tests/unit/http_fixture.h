/*
 * http_fixture.h - a host, a plugin that asks for HTTP and one that provides it, both played by the test.
 *
 * The provider does nothing by itself: it keeps what it is sent, and the test says what comes back. What the asking
 * plugin's handler is told is written down, a line each.
 *
 *     begin(&(struct stage){.effects = "[\"network.http\"]"});
 *     ask("{\"url\": \"http://acme.example\"}");
 *     settle();                                        // now sent[0] is there
 *     say(0, TN_HTTP_HEAD, OK_HEAD);
 *     expect_told("HEAD " OK_HEAD "\n");
 *     end();
 */
#ifndef TENON_TESTS_HTTP_FIXTURE_H
#define TENON_TESTS_HTTP_FIXTURE_H

#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/host.h"
#include "host/http/http.h"
#include "host/interface/interface.h"
#include "host/log.h"
#include "host/loop/loop.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define FIXTURE_UNUSED __attribute__((unused))

/* ---- The provider ---- */

#define SENT_MAX 70000

static struct sent {
    tn_value request;
    tn_http_handler handler;
    void *user;
    bool cancelled, paused;
} sent[SENT_MAX];
static uint32_t sent_count;
static int32_t refuses;         /* what send returns */
static const char *says_inside; /* an END that comes inside send */
static tn_value parse(const char *json);

static int32_t provider_send(const void *self, tn_value request, tn_http_handler handler, void *user,
                             uint64_t *exchange) {
    assert_ptr_equal(self, sent);
    if (refuses) return refuses;
    assert_true(sent_count < SENT_MAX);
    sent[sent_count] = (struct sent){value_ref(request), handler, user, false, false};
    *exchange = ++sent_count;
    if (says_inside) {
        tn_value value = parse(says_inside);
        handler(user, TN_HTTP_HEAD, value);
        handler(user, TN_HTTP_END, value);
        value_unref(value);
    }
    return TN_OK;
}

static int32_t provider_pause(const void *self, uint64_t exchange) {
    (void)self;
    sent[exchange - 1].paused = true;
    return TN_OK;
}

static int32_t provider_resume(const void *self, uint64_t exchange) {
    (void)self;
    sent[exchange - 1].paused = false;
    return TN_OK;
}

static int32_t provider_cancel(const void *self, uint64_t exchange) {
    (void)self;
    assert_true(exchange > 0 && exchange <= sent_count);
    sent[exchange - 1].cancelled = true;
    return TN_OK;
}

static const tn_http_draft provided = {sizeof provided, 0,   provider_send, provider_pause, provider_resume,
                                       provider_cancel, NULL};

static const void *provider_offer(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_HTTP_DRAFT) == 0 ? &provided : NULL;
}

static const tn_plugin provider = {sizeof provider, 0, sent, provider_offer};

/* ---- The plugin that asks ---- */

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    (void)self, (void)id, (void)config, (void)binder, (void)instance;
    return TN_OK;
}
static int32_t start(void *instance, tn_task task, tn_value input) {
    (void)instance, (void)task, (void)input;
    return TN_OK;
}
FIXTURE_UNUSED static void destroy(void *instance) { (void)instance; }
static const tn_component_1 components = {sizeof components, 0, create, start, NULL, NULL, destroy};
static const void *asker_offer(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
}
static const tn_plugin asker = {sizeof asker, 0, NULL, asker_offer};

/* ---- The stage ---- */

static struct host *host;
static const tn_host *me;    /* the asking plugin's */
static struct buffer told;   /* what its handler was told */
static struct buffer logged; /* by the host */
static uint64_t cancels;     /* an exchange that the handler cancels, at its next event */
static char folder[64];

FIXTURE_UNUSED static tn_value parse(const char *json) {
    tn_value value = NULL;
    if (json_read(json, strlen(json), NULL, &value, NULL) != TN_OK) fail_msg("no JSON: %s", json);
    return value;
}

FIXTURE_UNUSED static void on_log(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)level;
    buffer_format(&logged, "%s: %s\n", who ? who : "", line);
}

FIXTURE_UNUSED static void on_event(void *user, int32_t event, tn_value value) {
    static const char *const names[] = {"?", "HEAD", "DATA", "END", "FAILED"};
    tn_value shown = value_ref(value);
    if (event == TN_HTTP_END) shown = value_set_take(shown, "ms", value_int(0));
    char *text = json_text(shown, JSON_COMPACT);
    buffer_format(&told, "%s%s %s\n", user ? (const char *)user : "", names[event], text);
    mem_free(text);
    value_unref(shown);
    if (cancels) {
        uint64_t exchange = cancels;
        cancels = 0;
        assert_int_equal(interface_http.cancel(me, exchange), TN_OK);
        assert_int_equal(interface_http.cancel(me, exchange), TN_STALE);
    }
}

FIXTURE_UNUSED static void add_plugin(const char *manifest, const tn_plugin *plugin) {
    struct error error = ERROR_INIT;
    tn_value value = parse(manifest);
    if (registry_add_native(host->registry, value, plugin, "test", &error) != TN_OK) fail_msg("%s", error.message);
    value_unref(value);
}

FIXTURE_UNUSED static void add_asker(const char *id, const char *effects) {
    char manifest[1024];
    snprintf(manifest, sizeof manifest,
             "{\"plugin\":{\"id\":\"%s\",\"version\":\"1.0.0\",\"title\":\"Asks\"},\"components\":[{\"kind\":\"node\","
             "\"id\":\"%s.ask\",\"title\":\"Asks\",\"documentation\":\"Asks.\",\"style\":\"async\",\"effects\":%s}]}",
             id, id, effects);
    add_plugin(manifest, &asker);
    me = plugin_host(registry_plugin(host->registry, id));
}

#define PROVIDER(id)                                                                                                   \
    "{\"plugin\":{\"id\":\"" id "\",\"version\":\"1.0.0\",\"title\":\"HTTP\",\"provides\":[\"" TN_HTTP_DRAFT "\"]}}"

struct stage {
    const char *config, *effects, *record, *replay, *use;
    bool no_provider;
};

FIXTURE_UNUSED static void begin(const struct stage *stage) {
    struct error error = ERROR_INIT;
    char path[128] = "";
    memset(sent, 0, sent_count * sizeof *sent);
    sent_count = 0;
    refuses = TN_OK;
    says_inside = NULL;
    cancels = 0;
    buffer_init(&told, SIZE_MAX);
    buffer_init(&logged, SIZE_MAX);
    log_set_sink(on_log, NULL);
    snprintf(path, sizeof path, "%s/tenon.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "http: %s\n%s", stage->use ? stage->use : "test.fake", stage->config ? stage->config : "");
    assert_int_equal(fclose(file), 0);
    host = host_new(
        &(struct host_options){
            .config_file = path, .allow_drafts = true, .record_dir = stage->record, .replay_dir = stage->replay},
        &error);
    if (!host) fail_msg("%s", error.message);
    loop_fake_clock(host->loop);
    if (!stage->no_provider) add_plugin(PROVIDER("test.fake"), &provider);
    add_asker("test.asks", stage->effects ? stage->effects : "[\"network.http:acme.example\",\"secret:KEY\"]");
}

FIXTURE_UNUSED static void settle(void) { loop_run(host->loop, NULL, NULL); }

FIXTURE_UNUSED static void end(void) {
    if (host) {
        host_free(host);
        host = NULL;
    }
    for (uint32_t i = 0; i < sent_count; i++) value_unref(sent[i].request);
    buffer_finish(&told);
    buffer_finish(&logged);
    log_set_sink(NULL, NULL);
}

static uint64_t ask(const char *request) {
    uint64_t exchange = 0;
    tn_value value = parse(request);
    assert_int_equal(interface_http.send(me, value, on_event, NULL, &exchange), TN_OK);
    assert_int_not_equal(exchange, 0);
    value_unref(value);
    return exchange;
}

/* What the provider says of the n-th that it was sent. */
FIXTURE_UNUSED static void say(uint32_t index, int32_t event, const char *json) {
    tn_value value = parse(json);
    assert_true(index < sent_count);
    sent[index].handler(sent[index].user, event, value);
    value_unref(value);
}

FIXTURE_UNUSED static void expect_told(const char *text) {
    if (strcmp(buffer_cstr(&told), text) != 0) fail_msg("told:\n%s\nexpected:\n%s", buffer_cstr(&told), text);
    buffer_clear(&told);
}

FIXTURE_UNUSED static void expect_in(const struct buffer *buffer, const char *text) {
    if (!strstr(buffer_cstr(buffer), text)) fail_msg("expected: %s\nin: %s", text, buffer_cstr(buffer));
}

/* Sends it and expects FAILED with that code and words, and nothing at the provider. */
FIXTURE_UNUSED static void expect_refused(const char *request, const char *code, const char *words) {
    char start_of[128];
    uint32_t before = sent_count;
    ask(request);
    expect_told(""); /* never inside send */
    settle();
    snprintf(start_of, sizeof start_of, "FAILED {\"code\":\"%s\"", code);
    if (strncmp(buffer_cstr(&told), start_of, strlen(start_of)) != 0)
        fail_msg("%s: expected %s, told: %s", request, code, buffer_cstr(&told));
    expect_in(&told, words);
    buffer_clear(&told);
    assert_int_equal(sent_count, before);
    assert_int_equal(http_open_count(host->http), 0);
}

FIXTURE_UNUSED static const char *sent_text(uint32_t index) {
    static char text[4096];
    char *json = json_text(sent[index].request, JSON_COMPACT);
    snprintf(text, sizeof text, "%s", json);
    mem_free(json);
    return text;
}

FIXTURE_UNUSED static void expect_sent(uint32_t index, const char *text) {
    assert_true(index < sent_count);
    if (strcmp(sent_text(index), text) != 0) fail_msg("sent:\n%s\nexpected:\n%s", sent_text(index), text);
}

#define OK_HEAD "{\"status\":200,\"headers\":{\"x\":\"y\"},\"attempt\":1}"
#define OK_END  "{\"status\":200,\"headers\":{\"x\":\"y\"},\"body\":{\"$bytes\":\"aGk=\"},\"attempts\":1,\"ms\":7}"

/* All tests of a program, in a folder of its own. */
#define RUN_TESTS(tests)                                                                                               \
    do {                                                                                                               \
        char command[128];                                                                                             \
        strcpy(folder, "/tmp/tenon-http-XXXXXX");                                                                      \
        if (!mkdtemp(folder)) return 1;                                                                                \
        int failed = cmocka_run_group_tests(tests, NULL, NULL);                                                        \
        snprintf(command, sizeof command, "rm -rf %s", folder);                                                        \
        return system(command) != 0 || failed;                                                                         \
    } while (0)

#endif
