/*
 * http_service_test.c - the host between plugins that ask for HTTP and one that provides it.
 */
#include "tests/unit/http_fixture.h"

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
        {"{\"url\":\"http://acme.example\",\"headers\":{\"A\":\"1\",\"a\":\"2\"}}", "`a` is there twice"},
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

static bool is_sent(void *user) { return (void)user, sent_count > 0; }
static bool is_counted(void *user) { return (*(int *)user)-- <= 0; }

#define FAILED_BAD                                                                                                     \
    "FAILED {\"code\":\"SECRET_NOT_FOUND\",\"message\":\"the secret `BAD` cannot be had: sh: the command failed\","    \
    "\"retryable\":false}\n"

/* While a command runs, the loop does what else there is; whoever waits may give up, and one that fails tells all. */
static void commands_and_the_loop(void **state) {
    (void)state;
    char config[512], path[128];
    static const char slow[] = "{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"KEY\"},\"b\":{"
                               "\"secret\":\"NEXT\"}}}",
                      quick[] = "{\"url\":\"http://acme.example/quick\"}",
                      bad[] = "{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"BAD\"}}}";
    snprintf(path, sizeof path, "%s/go", folder);
    snprintf(
        config, sizeof config,
        "secrets:\n  KEY: {command: [sh, -c, \"i=0; while [ ! -e %s ] && [ $i -lt 500 ]; do i=$((i+1)); sleep 0.01; "
        "done; echo longsecret\"]}\n  NEXT: {command: [echo, another-one]}\n  BAD: {command: [sh, -c, exit 3]}\n"
        "  LAST: {command: [sleep, '0.1']}\n",
        path);
    begin(&(struct stage){.effects = "[\"network.http\",\"secret\"]", .config = config});
    uint64_t first = ask(slow);
    ask(slow);
    ask(quick);
    assert_true(loop_run(host->loop, is_sent, NULL));
    expect_sent(0, "{\"url\":\"http://acme.example/quick\",\"method\":\"GET\",\"headers\":{},\"receive\":\"whole\"}");
    assert_int_equal(interface_http.cancel(me, first), TN_OK);
    fclose(fopen(path, "w"));
    settle();
    assert_int_equal(sent_count, 2);
    expect_sent(1, "{\"url\":\"http://acme.example/\",\"method\":\"GET\",\"headers\":{\"a\":\"longsecret\",\"b\":"
                   "\"another-one\"},\"receive\":\"whole\"}");
    expect_told("");
    for (int i = 0; i < 2; i++) ask(bad);
    settle();
    expect_told(FAILED_BAD FAILED_BAD);
    /* One that runs when all ends is waited for, and nobody is told. */
    int turns = 2;
    ask("{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"LAST\"}}}");
    loop_run(host->loop, is_counted, &turns);
    assert_int_equal(sent_count, 2);
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
        cmocka_unit_test(forwards),
        cmocka_unit_test(streams),
        cmocka_unit_test(faults),
        cmocka_unit_test(permission),
        cmocka_unit_test(secrets),
        cmocka_unit_test(commands),
        cmocka_unit_test(commands_and_the_loop),
        cmocka_unit_test(redirects),
        cmocka_unit_test(providers),
        cmocka_unit_test(hostile),
        cmocka_unit_test(limits),
    };
    RUN_TESTS(tests);
}
