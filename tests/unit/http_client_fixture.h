/*
 * http_client_fixture.h - the plugin tenon.http as a host loads it, a server of its own (tests/e2e/http_server.py), and
 * exchanges between the two.
 *
 *     fixture_begin("{}", NULL, NULL);                               // the plugin's section of tenon.yaml; no TLS
 *     struct got *got = exchange("{\"url\": \"HTTP/hello\"}");       // sent, and waited for
 *     assert_string_equal(got->trace, "HE");                         // HEAD, DATA, END, FAILED by their first letters
 *     fixture_end();                                                 // nothing is left
 *
 * In a request HTTP, OTHER, HTTPS, H2 and PROXY stand for the server's origins.
 */
#ifndef TENON_TESTS_HTTP_CLIENT_FIXTURE_H
#define TENON_TESTS_HTTP_CLIENT_FIXTURE_H

#include "tests/unit/corpus.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <tenon/http.h>
#include <unistd.h>

#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/host.h"
#include "host/interface/interface.h"
#include "host/loop/loop.h"
#include "host/plugin/plugin.h"
#include "host/plugin/plugin_internal.h"
#include "host/plugin/registry.h"

#define FIXTURE_UNUSED __attribute__((unused))
#define TRACE_MAX      64
#define GOT_MAX        4096
#define SAFETY_S       120 /* a test that waits so long waits for ever */

/* An exchange as its handler has seen it. Freed by fixture_end. */
struct got {
    uint64_t exchange;
    char trace[TRACE_MAX]; /* further DATA is counted, and not in it */
    size_t count;          /* of DATA */
    tn_value head, data, end, error;
    void (*then)(struct got *got, int32_t event); /* called in the handler; may be NULL */
    bool sending, over;
};

static struct host fixture_host;
static const tn_http_draft *http;
static tn_value fixture_config, fixture_ports;
static int64_t fixture_values;
static pid_t fixture_server;
static int fixture_server_input;
static struct got *fixture_got[GOT_MAX];
static size_t fixture_got_count;

/* ---- The server ---- */

static void fixture_start_server(const char *certificate, const char *key) {
    int input[2], output[2];
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    /* Not by fork: a name that nobody waits for any more may be being resolved on a thread of libcurl's. */
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
        fail_msg("the server did not start: is python3 there?");
    posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 0; i < 5; i++) mem_free(arguments[i]);
    close(input[0]);
    close(output[1]);
    fixture_server_input = input[1];
    char line[512];
    FILE *said = fdopen(output[0], "r");
    if (!fgets(line, sizeof line, said)) fail_msg("the server did not start: is python3 there?");
    fclose(said);
    assert_int_equal(json_read(line, strlen(line), NULL, &fixture_ports, NULL), TN_OK);
}

static void fixture_stop_server(void) {
    close(fixture_server_input);
    waitpid(fixture_server, NULL, 0);
}

/* HTTP… in a text becomes http://127.0.0.1:PORT…; mem_free it. */
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

static const void *fixture_self(void) { return plugin_self(registry_plugin(fixture_host.registry, "tenon.http")); }

/* Certificate and key may be NULL: no TLS. */
FIXTURE_UNUSED static void fixture_begin(const char *config, const char *certificate, const char *key) {
    struct error error = ERROR_INIT;
    alarm(SAFETY_S);
    fixture_values = value_live_count();
    fixture_start_server(certificate, key);
    fixture_config = fixture_json(config);
    fixture_host.loop = loop_new(NULL);
    loop_enter(fixture_host.loop);
    fixture_host.registry = registry_new(&(struct registry_options){
        .interfaces = interface_table, .allow_drafts = true, .config = fixture_section, .user = &fixture_host});
    if (registry_add_file(fixture_host.registry, TENON_HTTP_PLUGIN, "a test", &error) != TN_OK ||
        plugin_load(registry_plugin(fixture_host.registry, "tenon.http"), &error) != TN_OK)
        fail_msg("%s", error.message);
    http = plugin_interface(registry_plugin(fixture_host.registry, "tenon.http"), TN_HTTP_DRAFT);
    assert_non_null(http);
    assert_int_equal(http->size, sizeof(tn_http_draft));
}

FIXTURE_UNUSED static void fixture_end(void) {
    for (size_t i = 0; i < fixture_got_count; i++) {
        struct got *got = fixture_got[i];
        value_unref(got->head);
        value_unref(got->data);
        value_unref(got->end);
        value_unref(got->error);
        mem_free(got);
    }
    fixture_got_count = 0;
    registry_free(fixture_host.registry);
    loop_free(fixture_host.loop);
    fixture_stop_server();
    value_unref(fixture_config);
    value_unref(fixture_ports);
    assert_int_equal(value_live_count(), fixture_values);
    alarm(0);
}

/* ---- Exchanges ---- */

static void fixture_set(tn_value *place, tn_value value) {
    assert_null(*place);
    *place = value_ref(value);
}

static void fixture_handler(void *user, int32_t event, tn_value value) {
    struct got *got = user;
    assert_false(got->sending); /* never inside send */
    assert_false(got->over);    /* nothing after the end */
    size_t length = strlen(got->trace);
    if (length + 1 < sizeof got->trace) got->trace[length] = "?HDEF"[event];
    switch (event) {
    case TN_HTTP_HEAD: fixture_set(&got->head, value); break;
    case TN_HTTP_DATA:
        got->count++;
        got->data = value_push_take(got->data ? got->data : value_array(), value_ref(value));
        break;
    case TN_HTTP_END: fixture_set(&got->end, value); break;
    default: fixture_set(&got->error, value);
    }
    got->over = event == TN_HTTP_END || event == TN_HTTP_FAILED;
    if (got->then) got->then(got, event);
}

FIXTURE_UNUSED static struct got *send_then(const char *request, void (*then)(struct got *got, int32_t event)) {
    struct got *got = mem_zalloc(sizeof *got);
    assert_true(fixture_got_count < GOT_MAX);
    fixture_got[fixture_got_count++] = got;
    got->then = then;
    tn_value value = fixture_json(request);
    got->sending = true;
    assert_int_equal(http->send(fixture_self(), value, fixture_handler, got, &got->exchange), TN_OK);
    got->sending = false;
    assert_int_not_equal(got->exchange, 0);
    value_unref(value);
    return got;
}

static bool fixture_is_over(void *user) { return ((struct got *)user)->over; }

FIXTURE_UNUSED static bool fixture_run(bool (*done)(void *user), void *user) {
    loop_expect(fixture_host.loop);
    bool is_done = loop_run(fixture_host.loop, done, user);
    loop_unexpect(fixture_host.loop);
    return is_done;
}

static bool fixture_second_look(void *user) { return (*(int *)user)++ > 0; }

/* Whatever the loop has to do once, waiting for it where that is nothing. */
FIXTURE_UNUSED static void fixture_turn(void) {
    int looks = 0;
    (void)fixture_run(fixture_second_look, &looks);
}

FIXTURE_UNUSED static void wait_for(struct got *got) { assert_true(fixture_run(fixture_is_over, got)); }

/* Sent, and waited for. */
FIXTURE_UNUSED static struct got *exchange(const char *request) {
    struct got *got = send_then(request, NULL);
    wait_for(got);
    assert_int_equal(http->cancel(fixture_self(), got->exchange), TN_STALE);
    return got;
}

FIXTURE_UNUSED static const char *text_at(tn_value value, const char *key) {
    tn_value found = value_get(value, key);
    return value_is(found, TN_STRING) ? value_chars(found, NULL) : "";
}

FIXTURE_UNUSED static int64_t status_of(const struct got *got) {
    if (!got->end) fail_msg("%s: %s", text_at(got->error, "code"), text_at(got->error, "message"));
    return value_to_int(value_get(got->end, "status"));
}

/* The body of an END, as a NUL-terminated text; "" where there is none. */
FIXTURE_UNUSED static const char *body_of(const struct got *got) {
    static char text[65536];
    size_t length = 0;
    tn_value body = value_get(got->end, "body");
    const void *bytes = body ? value_data(body, &length) : NULL;
    if (length >= sizeof text) length = sizeof text - 1;
    if (bytes) memcpy(text, bytes, length);
    text[length] = '\0';
    return text;
}

/* What /echo has answered; borrowed from the fixture until the next call. */
FIXTURE_UNUSED static tn_value echo_of(const struct got *got) {
    static tn_value echo;
    value_unref(echo);
    echo = NULL;
    if (!got) return NULL;
    const char *text = body_of(got);
    assert_int_equal(json_read(text, strlen(text), NULL, &echo, NULL), TN_OK);
    return echo;
}

FIXTURE_UNUSED static const char *header_of(const struct got *got, const char *name) {
    return text_at(value_get(got->end, "headers"), name);
}

/* DATA as JSON. */
FIXTURE_UNUSED static void data_is(const struct got *got, const char *expected) {
    char *text = got->data ? json_text(got->data, JSON_COMPACT) : mem_text("[]");
    assert_string_equal(text, expected);
    mem_free(text);
}

/* It has failed so; `part` of the message may be NULL. */
FIXTURE_UNUSED static void fails(const struct got *got, const char *code, bool retryable, const char *part) {
    const char *message = text_at(got->error, "message");
    if (strcmp(text_at(got->error, "code"), code) != 0 || (part && !strstr(message, part)))
        fail_msg("expected %s: %s\nfound    %s: %s (%s)", code, part ? part : "", text_at(got->error, "code"), message,
                 got->trace);
    tn_value truth = value_get(got->error, "retryable");
    assert_int_equal(truth && value_to_bool(truth), retryable);
}

#endif
