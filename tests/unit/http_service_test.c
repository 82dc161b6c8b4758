/*
 * http_service_test.c - the host between plugins that ask for HTTP and one that provides it, both played here.
 *
 * The provider does nothing by itself: it keeps what it is sent, and the test says what comes back. What the asking
 * plugin's handler is told is written down, a line each.
 */
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
static void destroy(void *instance) { (void)instance; }
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

static tn_value parse(const char *json) {
    tn_value value = NULL;
    if (json_read(json, strlen(json), NULL, &value, NULL) != TN_OK) fail_msg("no JSON: %s", json);
    return value;
}

static void on_log(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)level;
    buffer_format(&logged, "%s: %s\n", who ? who : "", line);
}

static void on_event(void *user, int32_t event, tn_value value) {
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

static void add_plugin(const char *manifest, const tn_plugin *plugin) {
    struct error error = ERROR_INIT;
    tn_value value = parse(manifest);
    if (registry_add_native(host->registry, value, plugin, "test", &error) != TN_OK) fail_msg("%s", error.message);
    value_unref(value);
}

static void add_asker(const char *id, const char *effects) {
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

static void begin(const struct stage *stage) {
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

static void settle(void) { loop_run(host->loop, NULL, NULL); }

static void end(void) {
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
static void say(uint32_t index, int32_t event, const char *json) {
    tn_value value = parse(json);
    assert_true(index < sent_count);
    sent[index].handler(sent[index].user, event, value);
    value_unref(value);
}

static void expect_told(const char *text) {
    if (strcmp(buffer_cstr(&told), text) != 0) fail_msg("told:\n%s\nexpected:\n%s", buffer_cstr(&told), text);
    buffer_clear(&told);
}

static void expect_in(const struct buffer *buffer, const char *text) {
    if (!strstr(buffer_cstr(buffer), text)) fail_msg("expected: %s\nin: %s", text, buffer_cstr(buffer));
}

/* Sends it and expects FAILED with that code and words, and nothing at the provider. */
static void expect_refused(const char *request, const char *code, const char *words) {
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

static const char *sent_text(uint32_t index) {
    static char text[4096];
    char *json = json_text(sent[index].request, JSON_COMPACT);
    snprintf(text, sizeof text, "%s", json);
    mem_free(json);
    return text;
}

static void expect_sent(uint32_t index, const char *text) {
    assert_true(index < sent_count);
    if (strcmp(sent_text(index), text) != 0) fail_msg("sent:\n%s\nexpected:\n%s", sent_text(index), text);
}

#define OK_HEAD "{\"status\":200,\"headers\":{\"x\":\"y\"},\"attempt\":1}"
#define OK_END  "{\"status\":200,\"headers\":{\"x\":\"y\"},\"body\":{\"$bytes\":\"aGk=\"},\"attempts\":1,\"ms\":7}"

/* ---- Forwarding ---- */

static void forwards(void **state) {
    (void)state;
    begin(&(struct stage){.config = NULL});
    uint64_t exchange = ask("{\"url\":\"https://ACME.example:443/a b?x=1\",\"method\":\"GET\"}");
    settle();
    expect_told("FAILED {\"code\":\"INVALID_INPUT\",\"message\":\"a request's `url`: found "
                "\\\"https://ACME.example:443/a b?x=1\\\": it "
                "has a space or a control character in it; percent-encode it\",\"retryable\":false}\n");
    assert_int_equal(interface_http.cancel(me, exchange), TN_STALE);
    exchange = ask(
        "{\"url\":\"https://ACME.example:443/v1/%C3%A4?x=1#f\",\"query\":{\"q\":\"a&b\",\"n\":3,\"l\":[\"1\",\"2\"]},"
        "\"headers\":{\"Accept\":\"text/plain\"},\"json\":{\"a\":[1,2.5]},\"timeout\":{\"idle_ms\":5},"
        "\"retry\":{\"max_attempts\":3},\"max_bytes\":100}");
    expect_told("");
    settle();
    expect_sent(
        0,
        "{\"url\":\"https://acme.example/v1/%C3%A4?x=1&q=a%26b&n=3&l=1&l=2\",\"method\":\"POST\",\"headers\":{"
        "\"Accept\":\"text/plain\",\"content-type\":\"application/json\"},\"body\":\"{\\\"a\\\":[1,2.5]}\",\"receive\":"
        "\"whole\",\"timeout\":{\"idle_ms\":5},\"retry\":{\"max_attempts\":3},\"max_bytes\":100}");
    say(0, TN_HTTP_HEAD, OK_HEAD);
    say(0, TN_HTTP_END, OK_END);
    expect_told(
        "HEAD " OK_HEAD
        "\nEND {\"status\":200,\"headers\":{\"x\":\"y\"},\"body\":{\"$bytes\":\"aGk=\"},\"attempts\":1,\"ms\":0}\n");
    assert_int_equal(interface_http.pause(me, exchange), TN_STALE);
    assert_int_equal(interface_http.resume(me, exchange), TN_STALE);
    assert_int_equal(interface_http.cancel(me, exchange), TN_STALE);
    assert_int_equal(http_open_count(host->http), 0);
    end();
}

/* Pieces, back-pressure, and a handler that cancels. */
static void streams(void **state) {
    (void)state;
    begin(&(struct stage){.config = NULL});
    uint64_t exchange = ask("{\"url\":\"http://acme.example\",\"receive\":\"lines\"}");
    assert_int_equal(interface_http.pause(me, exchange), TN_OK);
    settle();
    expect_sent(0, "{\"url\":\"http://acme.example/\",\"method\":\"GET\",\"headers\":{},\"receive\":\"lines\"}");
    assert_true(sent[0].paused);
    assert_int_equal(interface_http.resume(me, exchange), TN_OK);
    assert_false(sent[0].paused);
    say(0, TN_HTTP_HEAD, OK_HEAD);
    say(0, TN_HTTP_DATA, "\"one\"");
    cancels = exchange;
    say(0, TN_HTTP_DATA, "\"two\"");
    assert_true(sent[0].cancelled);
    say(0, TN_HTTP_DATA, "\"three\"");
    say(0, TN_HTTP_END, OK_END);
    expect_told("HEAD " OK_HEAD "\nDATA \"one\"\nDATA \"two\"\n");
    expect_in(&logged, "of an exchange that is over");
    /* One that has not begun, and one that is foreign. */
    exchange = ask("{\"url\":\"http://acme.example\"}");
    const tn_host *first = me;
    add_asker("test.other", "[]");
    assert_int_equal(interface_http.cancel(me, exchange), TN_STALE);
    assert_int_equal(interface_http.cancel(first, exchange), TN_OK);
    settle();
    assert_int_equal(sent_count, 1);
    end();
}

/* ---- What is wrong with a request ---- */

static void faults(void **state) {
    (void)state;
    static const struct {
        const char *request, *words;
    } cases[] = {
        {"[]", "found array, expected an object"},
        {"{}", "`url`: it is missing"},
        {"{\"url\":1}", "found int, expected a string"},
        {"{\"url\":\"ftp://acme.example\"}", "expected http://… or https://…"},
        {"{\"url\":\"https://\"}", "it has no host"},
        {"{\"url\":\"https://u:p@acme.example\"}", "it has a user name"},
        {"{\"url\":\"https://acme.example:99999\"}", "its port is no number from 1 to 65535"},
        {"{\"url\":\"https://b\u00fccher.example\"}", "xn--"},
        {"{\"url\":\"https://acme.example\\\\@evil.example\"}", "it has a user name; send an"},
        {"{\"url\":\"http://acme.example\",\"metod\":\"GET\"}", "did you mean `method`"},
        {"{\"url\":\"http://acme.example\",\"method\":\"G T\"}", "expected a method's name"},
        {"{\"url\":\"http://acme.example\",\"method\":\"CONNECT\"}", "expected a method's name"},
        {"{\"url\":\"http://acme.example\",\"headers\":[]}", "`headers`: found array"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"a b\":\"\"}}", "is no header's name"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"a\":\"x\\r\\ny: z\"}}", "`headers.a`: it has a line end"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"a\":1}}",
         "`headers.a`: found int, expected a string, {secret"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"Host\":\"x\"}}", "follows from the rest"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":1}}}", "not {secret: NAME, optional?: true}"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"a\":[]}}", "an empty array"},
        {"{\"url\":\"http://acme.example\",\"query\":{\"a\":null}}", "`query.a`: found null"},
        {"{\"url\":\"http://acme.example\",\"query\":{\"a\":[1,{}]}}", "`query.a`"},
        {"{\"url\":\"http://acme.example\",\"body\":1}", "`body`: found int"},
        {"{\"url\":\"http://acme.example\",\"body\":\"\",\"json\":1}", "there is a `body` as well"},
        {"{\"url\":\"http://acme.example\",\"receive\":\"all\"}", "\"whole\", \\\"bytes\\\""},
        {"{\"url\":\"http://acme.example\",\"timeout\":{\"idel_ms\":1}}", "did you mean `idle_ms`"},
        {"{\"url\":\"http://acme.example\",\"timeout\":{\"idle_ms\":0}}",
         "`timeout.idle_ms`: found 0, expected a whole number from 1"},
        {"{\"url\":\"http://acme.example\",\"retry\":{}}", "`max_attempts` is missing"},
        {"{\"url\":\"http://acme.example\",\"retry\":{\"max_attempts\":11}}", "from 2 to 10"},
        {"{\"url\":\"http://acme.example\",\"redirects\":21}", "from 0 to 20"},
        {"{\"url\":\"http://acme.example\",\"max_bytes\":67108865}", "from 1 to 67108864"},
    };
    begin(&(struct stage){.config = NULL});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(cases[i].request, "INVALID_INPUT",
                       strstr(cases[i].words, "whole\", ") ? "expected \\\"whole\\\"" : cases[i].words);
    uint64_t exchange = 0;
    tn_value request = parse("{}");
    assert_int_equal(interface_http.send(me, NULL, on_event, NULL, &exchange), TN_INVALID);
    assert_int_equal(interface_http.send(me, request, NULL, NULL, &exchange), TN_INVALID);
    assert_int_equal(interface_http.send(me, request, on_event, NULL, NULL), TN_INVALID);
    assert_int_equal(interface_http.send(NULL, request, on_event, NULL, &exchange), TN_INVALID);
    assert_int_equal(interface_http.cancel(me, 0), TN_STALE);
    assert_int_equal(interface_http.cancel(me, UINT64_MAX), TN_STALE);
    value_unref(request);
    end();
}

/* ---- Permission ---- */

static void permission(void **state) {
    (void)state;
    static const struct {
        const char *effects, *url;
        bool allowed;
    } cases[] = {
        {"[]", "http://acme.example", false},
        {"[\"network.http\"]", "http://anything.example:81", true},
        {"[\"network.https\"]", "http://acme.example", false},
        {"[\"network.http:acme.example\"]", "https://ACME.example:8443/x", true},
        {"[\"network.http:Acme.Example\"]", "https://acme.example./x", true},
        {"[\"network.http:acme.example\"]", "https://api.acme.example", false},
        {"[\"network.http:acme.example\"]", "https://acme.example.evil.example", false},
        {"[\"network.http:acme.example:443\"]", "https://acme.example", true},
        {"[\"network.http:acme.example:443\"]", "http://acme.example", false},
        {"[\"network.http:*.acme.example\"]", "http://a.b.acme.example", true},
        {"[\"network.http:*.acme.example\"]", "http://acme.example", false},
        {"[\"network.http:*.acme.example\"]", "http://evilacme.example", false},
        {"[\"network.http:*.acme.example:80\"]", "http://a.acme.example:80", true},
        {"[\"network.http:*.acme.example:80\"]", "http://a.acme.example:81", false},
        {"[\"network.http:[::1]:8080\"]", "http://[::1]:8080/", true},
        {"[\"network.http:[::1]\"]", "http://[::1]:8080/", true},
        {"[\"network.http:[::1]\"]", "http://[::2]/", false},
        {"[\"network.http:127.0.0.1\"]", "http://0x7f.1/", false},
        {"[\"network.http:*\"]", "http://acme.example/", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char request[256];
        begin(&(struct stage){.effects = cases[i].effects});
        snprintf(request, sizeof request, "{\"url\":\"%s\"}", cases[i].url);
        if (cases[i].allowed) {
            ask(request);
            settle();
            if (sent_count != 1) fail_msg("%s, %s: %s", cases[i].effects, cases[i].url, buffer_cstr(&told));
        } else {
            expect_refused(request, "PERMISSION_DENIED", "add \\\"network.http:");
        }
        end();
    }
}

/* ---- Secrets ---- */

#define SECRET "hush-hush/42"

static void secrets(void **state) {
    (void)state;
    setenv("KEY", SECRET, 1);
    setenv("OTHER", "xx", 1);
    begin(&(struct stage){.effects = "[\"network.http\",\"secret:KEY\",\"secret:NONE\",\"secret:LIMITED\"]",
                          .config = "secrets: {LIMITED: {env: KEY, hosts: [a.example, \"*.b.example:80\"]}}\n"});
    ask("{\"url\":\"http://acme.example/?a=1\",\"headers\":{\"authorization\":[\"Bearer "
        "\",{\"secret\":\"KEY\"}],\"x\":{"
        "\"secret\":\"NONE\",\"optional\":true}},\"query\":{\"key\":{\"secret\":\"KEY\"},\"gone\":[\"a\",{\"secret\":"
        "\"NONE\","
        "\"optional\":true}]},\"body\":[\"k=\",{\"secret\":\"KEY\"}]}");
    settle();
    expect_sent(0, "{\"url\":\"http://acme.example/?a=1&key=hush-hush%2F42\",\"method\":\"POST\",\"headers\":{"
                   "\"authorization\":\"Bearer hush-hush/42\"},\"body\":\"k=hush-hush/42\",\"receive\":\"whole\"}");
    /* Whatever comes back in a head or an error, it is not there; a body is the plugin's affair. */
    say(0, TN_HTTP_HEAD, "{\"status\":500,\"headers\":{\"echo\":\"key=hush-hush%2F42, hush-hush/42\"}}");
    say(0, TN_HTTP_FAILED,
        "{\"code\":\"CONNECTION_LOST\",\"message\":\"GET "
        "/?key=hush-hush%2F42\",\"detail\":{\"a\":[\"hush-hush/42\"]}}");
    expect_told("HEAD {\"status\":500,\"headers\":{\"echo\":\"key={secret:KEY}, {secret:KEY}\"}}\nFAILED {\"code\":"
                "\"CONNECTION_LOST\",\"message\":\"GET /?key={secret:KEY}\",\"detail\":{\"a\":[\"{secret:KEY}\"]}}\n");
    interface_core.log(plugin_host(registry_plugin(host->registry, "test.fake")), LOG_ERROR, "sent hush-hush/42 on");
    expect_in(&logged, "test.fake: sent {secret:KEY} on");
    expect_refused("{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"NONE\"}}}", "SECRET_NOT_FOUND",
                   "the secret `NONE` cannot be had");
    expect_refused("{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"OTHER\"}}}", "PERMISSION_DENIED",
                   "add \\\"secret:OTHER\\\"");
    expect_refused("{\"url\":\"http://b.example\",\"headers\":{\"a\":{\"secret\":\"LIMITED\"}}}", "PERMISSION_DENIED",
                   "`secrets.LIMITED.hosts`");
    ask("{\"url\":\"http://x.b.example\",\"headers\":{\"a\":{\"secret\":\"LIMITED\"}}}");
    settle();
    assert_int_equal(sent_count, 2);
    say(1, TN_HTTP_FAILED, "{\"code\":\"TLS\",\"message\":\"\"}");
    buffer_clear(&told);
    setenv("NONE", "two\nlines", 1);
    expect_refused("{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"NONE\"}}}", "INVALID_INPUT",
                   "the secret in it has a line end inside");
    unsetenv("NONE");
    end();
    unsetenv("KEY");
    unsetenv("OTHER");
}

static size_t lines_of(const char *path) {
    size_t lines = 0;
    FILE *file = fopen(path, "r");
    for (int c; file && (c = fgetc(file)) != EOF;) lines += c == '\n';
    if (file) fclose(file);
    return lines;
}

/* A command is run once; again after a 401, and then not at once. */
static void commands(void **state) {
    (void)state;
    char config[256], path[128];
    static const char request[] = "{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"KEY\"}}}";
    snprintf(path, sizeof path, "%s/ran", folder);
    snprintf(config, sizeof config, "secrets: {KEY: {command: [sh, -c, \"echo x >>%s; echo longsecret\"]}}\n", path);
    begin(&(struct stage){.config = config});
    for (int i = 0; i < 3; i++) ask(request);
    settle();
    assert_int_equal(sent_count, 3);
    assert_int_equal(lines_of(path), 1);
    say(0, TN_HTTP_HEAD, "{\"status\":401,\"headers\":{}}");
    say(0, TN_HTTP_END, "{\"status\":401,\"headers\":{}}");
    ask(request);
    settle();
    assert_int_equal(lines_of(path), 1);
    loop_fake_advance(host->loop, 60000);
    for (int i = 0; i < 2; i++) ask(request);
    settle();
    assert_int_equal(lines_of(path), 2);
    end();
}

/* ---- Redirects ---- */

#define TO(status, location) "{\"status\":" #status ",\"headers\":{\"location\":\"" location "\"}}"

static void redirect_of(uint32_t index, const char *head) {
    say(index, TN_HTTP_HEAD, head);
    say(index, TN_HTTP_END, head);
}

static void redirects(void **state) {
    (void)state;
    setenv("KEY", SECRET, 1);
    begin(&(struct stage){.effects = "[\"network.http:acme.example\",\"network.http:other.example\",\"secret\"]"});
    /* Not asked for: the answer is what it is. */
    ask("{\"url\":\"http://acme.example/a\"}");
    settle();
    redirect_of(0, TO(302, "/b"));
    expect_in(&told, "END {\"status\":302");
    buffer_clear(&told);
    /* On the same origin everything goes along; a POST becomes a GET. */
    ask("{\"url\":\"http://acme.example/a/"
        "b?q=1\",\"redirects\":3,\"headers\":{\"x-k\":{\"secret\":\"KEY\"},\"Content-Language\":\"en\"},"
        "\"json\":1}");
    settle();
    redirect_of(1, TO(307, "../c"));
    expect_sent(2, "{\"url\":\"http://acme.example/c\",\"method\":\"POST\",\"headers\":{\"x-k\":\"hush-hush/"
                   "42\",\"Content-Language\":"
                   "\"en\",\"content-type\":\"application/json\"},\"body\":\"1\",\"receive\":\"whole\"}");
    redirect_of(2, TO(302, "?r"));
    expect_sent(3, "{\"url\":\"http://acme.example/c?r\",\"method\":\"GET\",\"headers\":{\"x-k\":\"hush-hush/"
                   "42\"},\"receive\":\"whole\"}");
    /* Elsewhere, secrets stay behind. */
    redirect_of(3, TO(302, "http://other.example"));
    expect_sent(4, "{\"url\":\"http://other.example/\",\"method\":\"GET\",\"headers\":{},\"receive\":\"whole\"}");
    redirect_of(4, TO(302, "/again"));
    expect_told(
        "FAILED {\"code\":\"PROTOCOL\",\"message\":\"the server redirects more than 3 times, which is all that is "
        "followed\",\"retryable\":false}\n");
    static const struct {
        const char *request, *head, *code, *words;
    } refused[] = {
        {"{\"url\":\"http://acme.example\",\"redirects\":1}", TO(301, "http://evil.example"), "PERMISSION_DENIED",
         "network.http:evil.example"},
        {"{\"url\":\"https://acme.example\",\"redirects\":1}", TO(301, "http://acme.example"), "PERMISSION_DENIED",
         "is not encrypted"},
        {"{\"url\":\"http://acme.example\",\"redirects\":1,\"body\":{\"secret\":\"KEY\"}}",
         TO(308, "http://other.example"), "PERMISSION_DENIED", "the body would have to go"},
        {"{\"url\":\"http://acme.example\",\"redirects\":1,\"query\":{\"k\":{\"secret\":\"KEY\"}}}",
         TO(302, "http://other.example/?k=hush-hush%2F42"), "PERMISSION_DENIED", "with a secret in the URL"},
        {"{\"url\":\"http://acme.example\",\"redirects\":1}", TO(302, "file:///etc/passwd"), "PROTOCOL",
         "no http or https URL"},
        {"{\"url\":\"http://acme.example\",\"redirects\":1}", TO(302, "http://u@acme.example"), "PROTOCOL",
         "it has a user name"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        uint32_t before = sent_count;
        ask(refused[i].request);
        settle();
        redirect_of(before, refused[i].head);
        assert_int_equal(sent_count, before + 1);
        expect_in(&told, refused[i].code);
        expect_in(&told, refused[i].words);
        buffer_clear(&told);
    }
    /* The total time is one for all legs. */
    ask("{\"url\":\"http://acme.example\",\"redirects\":2,\"timeout\":{\"total_ms\":100}}");
    settle();
    loop_fake_advance(host->loop, 60);
    redirect_of(sent_count - 1, TO(302, "/x"));
    expect_in(&(struct buffer){.data = (char *)(uintptr_t)sent_text(sent_count - 1), .length = 1}, "\"total_ms\":40");
    loop_fake_advance(host->loop, 60);
    redirect_of(sent_count - 1, TO(302, "/x"));
    expect_in(&told, "\"TIMEOUT\"");
    end();
    unsetenv("KEY");
}

/* ---- Providers ---- */

static void providers(void **state) {
    (void)state;
    begin(&(struct stage){.use = "test.nobody"});
    expect_refused("{\"url\":\"http://acme.example\"}", "UNSUPPORTED", "is called `test.nobody`");
    end();
    begin(&(struct stage){.config = NULL});
    refuses = TN_LIMIT;
    expect_refused("{\"url\":\"http://acme.example\"}", "LIMIT", "does not take the request (status -5)");
    refuses = TN_OK;
    /* One that answers inside send. */
    says_inside = OK_HEAD;
    ask("{\"url\":\"http://acme.example\"}");
    expect_told("");
    settle();
    expect_told("HEAD " OK_HEAD
                "\nEND {\"status\":200,\"headers\":{\"x\":\"y\"},\"attempt\":1,\"attempts\":1,\"ms\":0}\n");
    cancels = ask("{\"url\":\"http://acme.example\"}");
    settle();
    expect_told("HEAD " OK_HEAD "\n");
    assert_true(sent[1].cancelled);
    end();
}

static void hostile(void **state) {
    (void)state;
    static const struct {
        int32_t events[3];
        const char *values[3], *words;
    } cases[] = {
        {{TN_HTTP_END}, {OK_END}, "gave an end and no head"},
        {{TN_HTTP_DATA}, {"\"x\""}, "gave data before a head"},
        {{TN_HTTP_HEAD, TN_HTTP_HEAD}, {OK_HEAD, OK_HEAD}, "gave two heads"},
        {{TN_HTTP_HEAD}, {"null"}, "gave a head that is not"},
        {{TN_HTTP_HEAD}, {"{\"status\":200,\"headers\":{\"a\":1}}"}, "gave a head that is not"},
        {{TN_HTTP_HEAD, TN_HTTP_DATA}, {OK_HEAD, "{}"}, "gave data of another kind"},
        {{TN_HTTP_HEAD, TN_HTTP_END}, {OK_HEAD, "[]"}, "gave an end that is not"},
        {{TN_HTTP_FAILED}, {"{}"}, "failed without saying why"},
        {{17}, {"{}"}, "gave an event that there is not"},
    };
    begin(&(struct stage){.config = NULL});
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ask("{\"url\":\"http://acme.example\",\"receive\":\"lines\"}");
        settle();
        for (int j = 0; j < 3 && cases[i].events[j]; j++) say(i, cases[i].events[j], cases[i].values[j]);
        expect_in(&told, "FAILED {\"code\":\"PROTOCOL\"");
        expect_in(&told, cases[i].words);
        assert_true(sent[i].cancelled);
        buffer_clear(&told);
        say(i, TN_HTTP_END, OK_END);
        expect_told("");
    }
    /* Twice the end, also after many others. */
    uint32_t first = sent_count;
    ask("{\"url\":\"http://acme.example\"}");
    settle();
    for (int i = 0; i < 1000; i++) {
        ask("{\"url\":\"http://acme.example\"}");
        settle();
        say(first, i ? TN_HTTP_END : TN_HTTP_FAILED, "{\"code\":\"TLS\",\"message\":\"no\"}");
        say(sent_count - 1, TN_HTTP_FAILED, "{\"code\":\"TLS\",\"message\":\"no\"}");
    }
    size_t ends = 0;
    for (const char *at = buffer_cstr(&told); (at = strstr(at, "FAILED")); at++) ends++;
    assert_int_equal(ends, 1001);
    assert_int_equal(http_open_count(host->http), 0);
    end();
}

/* ---- Limits, and ends ---- */

static void limits(void **state) {
    (void)state;
    begin(&(struct stage){.config = NULL});
    tn_value request = parse("{\"url\":\"http://acme.example\"}");
    uint64_t exchange, first = 0;
    for (uint32_t i = 0; i < HTTP_EXCHANGES_MAX; i++) {
        assert_int_equal(interface_http.send(me, request, on_event, NULL, &exchange), TN_OK);
        if (!first) first = exchange;
    }
    assert_int_equal(interface_http.send(me, request, on_event, NULL, &exchange), TN_LIMIT);
    settle();
    assert_int_equal(sent_count, HTTP_EXCHANGES_MAX);
    assert_int_equal(interface_http.cancel(me, first), TN_OK);
    assert_int_equal(interface_http.send(me, request, on_event, NULL, &exchange), TN_OK);
    const tn_host *full = me;
    add_asker("test.other", "[\"network.http\"]"); /* the limit is each plugin's own */
    assert_int_equal(interface_http.send(me, request, on_event, NULL, &exchange), TN_OK);
    settle();
    /* One that goes takes its own along, and no others. */
    struct error error = ERROR_INIT;
    assert_int_equal(registry_unload(host->registry, "test.asks", NULL, NULL, &error), TN_OK);
    assert_int_equal(http_open_count(host->http), 1);
    assert_int_equal(interface_http.cancel(full, first), TN_STALE);
    expect_told("");
    error_finish(&error);
    value_unref(request);
    end(); /* and the host all that is left */
    assert_true(sent[sent_count - 1].cancelled);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forwards),   cmocka_unit_test(streams),   cmocka_unit_test(faults),
        cmocka_unit_test(permission), cmocka_unit_test(secrets),   cmocka_unit_test(commands),
        cmocka_unit_test(redirects),  cmocka_unit_test(providers), cmocka_unit_test(hostile),
        cmocka_unit_test(limits),
    };
    char name[] = "/tmp/tenon-http-XXXXXX";
    if (!mkdtemp(name)) return 1;
    strcpy(folder, name);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failed;
}
