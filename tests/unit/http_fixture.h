/*
 * http_fixture.h - a host with two test plugins: a client, which sends HTTP requests, and a provider of HTTP.
 *
 * The provider stores each request in `sent`; the test reports its events with provider_report. The client's handler
 * appends each event that it receives to `received`, one line per event. No request leaves the process.
 *
 *     fixture_open(&(struct fixture_options){.effects = "[\"network.http\"]"});
 *     send_request("{\"url\": \"http://acme.example\"}");
 *     run_loop();                                      // sent[0] is set
 *     provider_report(0, TN_HTTP_HEAD, OK_HEAD);
 *     expect_received("HEAD " OK_HEAD "\n");
 *     fixture_close();
 */
#ifndef TENON_TESTS_HTTP_FIXTURE_H
#define TENON_TESTS_HTTP_FIXTURE_H

#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/net/http.h"
#include "host/net/http_abi.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tenon/http_client.h>
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
static int32_t provider_send_status; /* the status that provider_send returns */
static const char
    *provider_end_inside_send; /* if set, provider_send reports a HEAD and an END with this value before it returns */
static uint64_t cancel_inside_cancel; /* if not 0, provider_cancel makes the client cancel this exchange */
static const tn_host *client;         /* the interface of the client that was added last */
static tn_value parse_json(const char *json);

static int32_t provider_send(void *self, tn_value request, tn_http_handler handler, void *user, uint64_t *exchange) {
    assert_ptr_equal(self, sent);
    if (provider_send_status) return provider_send_status;
    assert_true(sent_count < SENT_MAX);
    sent[sent_count] = (struct sent){value_ref(request), handler, user, false, false};
    *exchange = ++sent_count;
    if (provider_end_inside_send) {
        tn_value value = parse_json(provider_end_inside_send);
        handler(user, TN_HTTP_HEAD, value);
        handler(user, TN_HTTP_END, value);
        value_unref(value);
    }
    return TN_OK;
}

static int32_t provider_pause(void *self, uint64_t exchange) {
    (void)self;
    sent[exchange - 1].paused = true;
    return TN_OK;
}

static int32_t provider_resume(void *self, uint64_t exchange) {
    (void)self;
    sent[exchange - 1].paused = false;
    return TN_OK;
}

static int32_t provider_cancel(void *self, uint64_t exchange) {
    (void)self;
    assert_true(exchange > 0 && exchange <= sent_count);
    sent[exchange - 1].cancelled = true;
    if (cancel_inside_cancel) {
        uint64_t client_exchange = cancel_inside_cancel;
        cancel_inside_cancel = 0;
        assert_int_equal(interface_http.cancel(client, client_exchange), TN_OK);
    }
    return TN_OK;
}

static const tn_http_client_draft provided = {sizeof provided, provider_send, provider_pause, provider_resume,
                                              provider_cancel};

static const void *provider_interface(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_HTTP_CLIENT_DRAFT) == 0 ? &provided : NULL;
}

static const tn_plugin provider = {sizeof provider, sent, provider_interface};

/* ---- The client ---- */

static int32_t client_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    (void)self, (void)id, (void)length, (void)config, (void)binder, (void)instance;
    return TN_OK;
}
static int32_t client_start(void *instance, tn_task task, tn_value input) {
    (void)instance, (void)task, (void)input;
    return TN_OK;
}
FIXTURE_UNUSED static void client_destroy(void *instance) { (void)instance; }
static const tn_component_1 client_components = {
    sizeof client_components, client_create, client_start, NULL, NULL, client_destroy};
static const void *client_interface(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_COMPONENT_1) == 0 ? &client_components : NULL;
}
static const tn_plugin client_plugin = {sizeof client_plugin, NULL, client_interface};

/* ---- The fixture ---- */

static struct host *host;
static struct buffer received;   /* the events of the client's handler, one line per event */
static struct buffer logged;     /* the log of the host */
static uint64_t cancel_on_event; /* if not 0, the handler cancels this exchange at its next event */
static char folder[64];

FIXTURE_UNUSED static tn_value parse_json(const char *json) {
    tn_value value = NULL;
    if (json_read(json, strlen(json), NULL, &value, NULL) != TN_OK) fail_msg("expected JSON, found: %s", json);
    return value;
}

FIXTURE_UNUSED static void fixture_on_log(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)level;
    buffer_format(&logged, "%s: %s\n", who ? who : "", line);
}

FIXTURE_UNUSED static void client_on_event(void *user, int32_t event, tn_value value) {
    static const char *const names[] = {"?", "HEAD", "DATA", "END", "FAILED"};
    tn_value shown = value_ref(value);
    if (event == TN_HTTP_END) shown = value_set_take(shown, "ms", value_int(0));
    char *text = json_text(shown, JSON_COMPACT);
    buffer_format(&received, "%s%s %s\n", user ? (const char *)user : "", names[event], text);
    mem_free(text);
    value_unref(shown);
    if (cancel_on_event) {
        uint64_t exchange = cancel_on_event;
        cancel_on_event = 0;
        assert_int_equal(interface_http.cancel(client, exchange), TN_OK);
        assert_int_equal(interface_http.cancel(client, exchange), TN_STALE);
    }
}

FIXTURE_UNUSED static void add_plugin(const char *manifest, const tn_plugin *plugin) {
    struct error error = ERROR_INIT;
    tn_value value = parse_json(manifest);
    if (registry_add_native(host_registry(host), value, plugin, "test", &error) != TN_OK) fail_msg("%s", error.message);
    value_unref(value);
}

FIXTURE_UNUSED static void add_client(const char *id, const char *effects) {
    char manifest[1024];
    snprintf(manifest, sizeof manifest,
             "{\"plugin\":{\"id\":\"%s\",\"version\":\"1.0.0\",\"title\":\"Asks\"},\"components\":[{\"kind\":\"node\","
             "\"id\":\"%s.ask\",\"title\":\"Asks\",\"documentation\":\"Asks.\",\"style\":\"async\",\"effects\":%s}]}",
             id, id, effects);
    add_plugin(manifest, &client_plugin);
    client = plugin_host(registry_plugin(host_registry(host), id));
}

#define PROVIDER(id)                                                                                                   \
    "{\"plugin\":{\"id\":\"" id "\",\"version\":\"1.0.0\",\"title\":\"HTTP\",\"provides\":[\"" TN_HTTP_CLIENT_DRAFT    \
    "\"]}}"

struct fixture_options {
    const char *config, *effects, *record, *replay, *use;
    bool no_provider;
};

FIXTURE_UNUSED static void fixture_open(const struct fixture_options *stage) {
    struct error error = ERROR_INIT;
    char path[128] = "";
    memset(sent, 0, sent_count * sizeof *sent);
    sent_count = 0;
    provider_send_status = TN_OK;
    provider_end_inside_send = NULL;
    cancel_on_event = cancel_inside_cancel = 0;
    buffer_init(&received, SIZE_MAX);
    buffer_init(&logged, SIZE_MAX);
    log_set_sink(NULL, fixture_on_log, NULL);
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
    loop_fake_clock(host_loop(host));
    if (!stage->no_provider) add_plugin(PROVIDER("test.fake"), &provider);
    add_client("test.asks", stage->effects ? stage->effects : "[\"network.http:acme.example\",\"secret:KEY\"]");
}

FIXTURE_UNUSED static void run_loop(void) { loop_run(host_loop(host), NULL, NULL); }

FIXTURE_UNUSED static void fixture_close(void) {
    if (host) {
        host_free(host);
        host = NULL;
    }
    for (uint32_t i = 0; i < sent_count; i++) value_unref(sent[i].request);
    buffer_finish(&received);
    buffer_finish(&logged);
    log_set_sink(NULL, NULL, NULL);
}

static uint64_t send_request(const char *request) {
    uint64_t exchange = 0;
    tn_value value = parse_json(request);
    assert_int_equal(interface_http.send(client, value, client_on_event, NULL, &exchange), TN_OK);
    assert_int_not_equal(exchange, 0);
    value_unref(value);
    return exchange;
}

/* Makes the provider report an event of request number `index`. */
FIXTURE_UNUSED static void provider_report(uint32_t index, int32_t event, const char *json) {
    tn_value value = parse_json(json);
    assert_true(index < sent_count);
    sent[index].handler(sent[index].user, event, value);
    value_unref(value);
}

FIXTURE_UNUSED static void expect_received(const char *text) {
    if (strcmp(buffer_cstr(&received), text) != 0)
        fail_msg("received:\n%s\nexpected:\n%s", buffer_cstr(&received), text);
    buffer_clear(&received);
}

FIXTURE_UNUSED static void expect_in(const struct buffer *buffer, const char *text) {
    if (!strstr(buffer_cstr(buffer), text)) fail_msg("expected: %s\nin: %s", text, buffer_cstr(buffer));
}

/* Sends a request. Expects FAILED with this code and a message that contains `words`. The provider gets no request. */
FIXTURE_UNUSED static void expect_rejected(const char *request, const char *code, const char *words) {
    char start_of[128];
    uint32_t before = sent_count;
    send_request(request);
    expect_received(""); /* send calls no handler */
    run_loop();
    snprintf(start_of, sizeof start_of, "FAILED {\"code\":\"%s\"", code);
    if (strncmp(buffer_cstr(&received), start_of, strlen(start_of)) != 0)
        fail_msg("%s: expected %s, received: %s", request, code, buffer_cstr(&received));
    expect_in(&received, words);
    buffer_clear(&received);
    assert_int_equal(sent_count, before);
    assert_int_equal(http_open_count(host_http(host)), 0);
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

/* Runs the tests in a new temporary folder and removes the folder. */
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
