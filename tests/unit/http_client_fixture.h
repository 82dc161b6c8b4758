/*
 * http_client_fixture.h - the plugin tenon.http, loaded by a registry as in a host, and a server process
 * (tests/e2e/http_server.py) to which the tests send requests.
 *
 *     fixture_open("{}", NULL, NULL);                               // the plugin's configuration; no TLS
 *     struct transfer *transfer = run_transfer("{\"url\": \"HTTP/hello\"}");  // sends and waits
 *     assert_string_equal(transfer->trace, "HE");                         // the events: HEAD, END
 *     fixture_close();                                                 // also checks that no value leaked
 *
 * In requests, HTTP/, OTHER/, HTTPS/, H2/ and PROXY/ are replaced by the URLs of the server.
 */
#ifndef TENON_TESTS_HTTP_CLIENT_FIXTURE_H
#define TENON_TESTS_HTTP_CLIENT_FIXTURE_H

#include "tests/unit/corpus.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <tenon/http_client.h>
#include <unistd.h>

#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/assembly/abi_table.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/registry.h"

#define FIXTURE_UNUSED __attribute__((unused))
#define TRACE_MAX      64
#define TRANSFERS_MAX  4096
#define SAFETY_S       120 /* the alarm ends a test that hangs */

/* A request and the events that its handler received. Freed by fixture_close. */
struct transfer {
    uint64_t exchange;
    char trace[TRACE_MAX]; /* the first letter of each event, up to TRACE_MAX - 1 events */
    size_t count;          /* number of DATA events */
    tn_value head, data, end, error;
    void (*on_event)(struct transfer *transfer, int32_t event); /* called by the handler; may be NULL */
    bool sending, done;                                         /* send has not returned; END or FAILED was received */
};

static struct {
    struct loop *loop;
    struct registry *registry;
    struct config *config;
    struct http *http;
} fixture_host;
static const tn_http_client_draft *http;
static tn_value fixture_config, fixture_ports;
static int64_t fixture_values;
static pid_t fixture_server;
static int fixture_server_input;
static struct transfer *fixture_transfers[TRANSFERS_MAX];
static size_t fixture_transfer_count;

/* ---- The server ---- */

static void fixture_start_server(const char *certificate, const char *key) {
    int input[2], output[2];
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    /* posix_spawn, not fork: a resolver thread of libcurl may still be running. */
    char *arguments[] = {mem_text("python3"),
                         mem_text(TENON_SOURCE_DIR "/tests/e2e/http_server.py"),
                         certificate ? mem_text("--tls") : NULL,
                         certificate ? mem_text(certificate) : NULL,
                         certificate ? mem_text(key) : NULL,
                         NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    if (posix_spawnp(&fixture_server, "python3", &actions, NULL, arguments, environ) != 0)
        fail_msg("the server did not start: python3 is required");
    posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 0; i < 5; i++) mem_free(arguments[i]);
    close(input[0]);
    close(output[1]);
    fixture_server_input = input[1];
    char line[512];
    FILE *ports = fdopen(output[0], "r");
    if (!fgets(line, sizeof line, ports)) fail_msg("the server printed no ports: python3 is required");
    fclose(ports);
    assert_int_equal(json_read(line, strlen(line), NULL, &fixture_ports, NULL), TN_OK);
}

static void fixture_stop_server(void) {
    close(fixture_server_input);
    waitpid(fixture_server, NULL, 0);
}

/* Replaces HTTP/ and the others by http://127.0.0.1:PORT/. Free the result with mem_free. */
FIXTURE_UNUSED static char *fixture_text(const char *text) {
    static const struct {
        const char *word, *scheme, *port;
    } words[] = {{"HTTPS/", "https", "https"},
                 {"HTTP/", "http", "http"},
                 {"OTHER/", "http", "other"},
                 {"PROXY/", "http", "proxy"},
                 {"H2/", "https", "h2"}};
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    while (*text) {
        size_t i = 0;
        while (i < 5 && strncmp(text, words[i].word, strlen(words[i].word)) != 0) i++;
        if (i == 5) {
            buffer_char(&out, *text++);
            continue;
        }
        buffer_format(&out, "%s://127.0.0.1:%d/", words[i].scheme,
                      (int)value_to_int(value_get(fixture_ports, words[i].port)));
        text += strlen(words[i].word);
    }
    return buffer_detach(&out, NULL);
}

FIXTURE_UNUSED static tn_value fixture_json(const char *text) {
    char *whole = fixture_text(text);
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(whole, strlen(whole), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", whole, error.message);
    mem_free(whole);
    return value;
}

/* ---- The host ---- */

static int32_t fixture_section(void *user, const char *plugin_id, tn_value *out, struct error *error) {
    (void)user, (void)plugin_id, (void)error;
    *out = value_ref(fixture_config);
    return TN_OK;
}

static void *fixture_self(void) { return plugin_self(registry_plugin(fixture_host.registry, "tenon.http")); }

/* Without a certificate and key (NULL), the server has no TLS ports. */
FIXTURE_UNUSED static void fixture_open(const char *config, const char *certificate, const char *key) {
    struct error error = ERROR_INIT;
    alarm(SAFETY_S);
    fixture_values = value_live_count();
    fixture_start_server(certificate, key);
    fixture_config = fixture_json(config);
    fixture_host.loop = loop_new(NULL);
    loop_enter(fixture_host.loop);
    fixture_host.registry = registry_new(&(struct registry_options){
        .interfaces = interface_table, .allow_drafts = true, .config = fixture_section, .loop = fixture_host.loop});
    if (registry_add_file(fixture_host.registry, TENON_HTTP_PLUGIN, "a test", &error) != TN_OK ||
        plugin_load(registry_plugin(fixture_host.registry, "tenon.http"), &error) != TN_OK)
        fail_msg("%s", error.message);
    http = plugin_interface(registry_plugin(fixture_host.registry, "tenon.http"), TN_HTTP_CLIENT_DRAFT);
    assert_non_null(http);
    assert_int_equal(http->size, sizeof(tn_http_client_draft));
}

FIXTURE_UNUSED static void fixture_close(void) {
    for (size_t i = 0; i < fixture_transfer_count; i++) {
        struct transfer *transfer = fixture_transfers[i];
        value_unref(transfer->head);
        value_unref(transfer->data);
        value_unref(transfer->end);
        value_unref(transfer->error);
        mem_free(transfer);
    }
    fixture_transfer_count = 0;
    registry_free(fixture_host.registry);
    loop_free(fixture_host.loop);
    fixture_stop_server();
    value_unref(fixture_config);
    value_unref(fixture_ports);
    assert_int_equal(value_live_count(), fixture_values);
    alarm(0);
}

/* ---- Requests ---- */

static void fixture_set(tn_value *place, tn_value value) {
    assert_null(*place);
    *place = value_ref(value);
}

static void fixture_handler(void *user, int32_t event, tn_value value) {
    struct transfer *transfer = user;
    assert_false(transfer->sending); /* send calls no handler */
    assert_false(transfer->done);    /* no event follows END or FAILED */
    size_t length = strlen(transfer->trace);
    if (length + 1 < sizeof transfer->trace) transfer->trace[length] = "?HDEF"[event];
    switch (event) {
    case TN_HTTP_HEAD: fixture_set(&transfer->head, value); break;
    case TN_HTTP_DATA:
        transfer->count++;
        transfer->data = value_push_take(transfer->data ? transfer->data : value_array(), value_ref(value));
        break;
    case TN_HTTP_END: fixture_set(&transfer->end, value); break;
    default: fixture_set(&transfer->error, value);
    }
    transfer->done = event == TN_HTTP_END || event == TN_HTTP_FAILED;
    if (transfer->on_event) transfer->on_event(transfer, event);
}

FIXTURE_UNUSED static struct transfer *start_transfer(const char *request,
                                                      void (*on_event)(struct transfer *transfer, int32_t event)) {
    struct transfer *transfer = mem_zalloc(sizeof *transfer);
    assert_true(fixture_transfer_count < TRANSFERS_MAX);
    fixture_transfers[fixture_transfer_count++] = transfer;
    transfer->on_event = on_event;
    tn_value value = fixture_json(request);
    transfer->sending = true;
    assert_int_equal(http->send(fixture_self(), value, fixture_handler, transfer, &transfer->exchange), TN_OK);
    transfer->sending = false;
    assert_int_not_equal(transfer->exchange, 0);
    value_unref(value);
    return transfer;
}

static bool transfer_is_done(void *user) { return ((struct transfer *)user)->done; }

FIXTURE_UNUSED static bool fixture_run(bool (*done)(void *user), void *user) {
    loop_expect(fixture_host.loop);
    bool is_done = loop_run(fixture_host.loop, done, user);
    loop_unexpect(fixture_host.loop);
    return is_done;
}

static bool fixture_turn_is_done(void *user) { return (*(int *)user)++ > 0; }

/* Runs the loop once: executes what is due, or waits for the next event. */
FIXTURE_UNUSED static void fixture_run_turns(void) {
    int looks = 0;
    (void)fixture_run(fixture_turn_is_done, &looks);
}

FIXTURE_UNUSED static void wait_for_transfer(struct transfer *transfer) {
    assert_true(fixture_run(transfer_is_done, transfer));
}

/* Sends a request and waits for its END or FAILED. */
FIXTURE_UNUSED static struct transfer *run_transfer(const char *request) {
    struct transfer *transfer = start_transfer(request, NULL);
    wait_for_transfer(transfer);
    assert_int_equal(http->cancel(fixture_self(), transfer->exchange), TN_STALE);
    return transfer;
}

FIXTURE_UNUSED static const char *text_at(tn_value value, const char *key) {
    tn_value found = value_get(value, key);
    return value_is(found, TN_STRING) ? value_chars(found, NULL) : "";
}

FIXTURE_UNUSED static int64_t status_of(const struct transfer *transfer) {
    if (!transfer->end) fail_msg("%s: %s", text_at(transfer->error, "code"), text_at(transfer->error, "message"));
    return value_to_int(value_get(transfer->end, "status"));
}

/* The body of END as text; "" without a body. Valid until the next call. */
FIXTURE_UNUSED static const char *body_of(const struct transfer *transfer) {
    static char text[65536];
    size_t length = 0;
    tn_value body = value_get(transfer->end, "body");
    const void *bytes = body ? value_data(body, &length) : NULL;
    if (length >= sizeof text) length = sizeof text - 1;
    if (bytes) memcpy(text, bytes, length);
    text[length] = '\0';
    return text;
}

/* The response of /echo as a value. Valid until the next call; NULL releases it. */
FIXTURE_UNUSED static tn_value echo_of(const struct transfer *transfer) {
    static tn_value echo;
    value_unref(echo);
    echo = NULL;
    if (!transfer) return NULL;
    const char *text = body_of(transfer);
    assert_int_equal(json_read(text, strlen(text), NULL, &echo, NULL), TN_OK);
    return echo;
}

FIXTURE_UNUSED static const char *header_of(const struct transfer *transfer, const char *name) {
    return text_at(value_get(transfer->end, "headers"), name);
}

/* Expects this JSON array of DATA values. */
FIXTURE_UNUSED static void expect_data(const struct transfer *transfer, const char *expected) {
    char *text = transfer->data ? json_text(transfer->data, JSON_COMPACT) : mem_text("[]");
    assert_string_equal(text, expected);
    mem_free(text);
}

/* Expects FAILED with this code. The message must contain `part`, unless it is NULL. */
FIXTURE_UNUSED static void expect_failure(const struct transfer *transfer, const char *code, bool retryable,
                                          const char *part) {
    const char *message = text_at(transfer->error, "message");
    if (strcmp(text_at(transfer->error, "code"), code) != 0 || (part && !strstr(message, part)))
        fail_msg("expected %s: %s\nfound    %s: %s (%s)", code, part ? part : "", text_at(transfer->error, "code"),
                 message, transfer->trace);
    tn_value truth = value_get(transfer->error, "retryable");
    assert_int_equal(truth && value_to_bool(truth), retryable);
}

#endif
