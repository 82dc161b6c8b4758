/*
 * http_record_test.c - recordings of HTTP exchanges: what the host writes to files, and their replay. A replay
 * delivers the same bytes in the same pieces.
 */
#include "host/net/http_abi.h"
#include "tests/unit/http_fixture.h"
#include <dirent.h>

static char recordings[96];

static void reset_recordings(void) {
    char command[160];
    snprintf(recordings, sizeof recordings, "%s/recordings", folder);
    snprintf(command, sizeof command, "rm -rf %s", recordings);
    assert_int_equal(system(command), 0);
}

static tn_value read_recording(const char *name) {
    char path[256];
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    snprintf(path, sizeof path, "%s/%s", recordings, name);
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("%s does not exist", path);
    for (int c; (c = fgetc(file)) != EOF;) buffer_char(&text, (char)c);
    fclose(file);
    tn_value value = parse_json(buffer_cstr(&text));
    buffer_finish(&text);
    return value;
}

static void expect_recorded(const char *name, const char *json) {
    tn_value found = read_recording(name), expected = parse_json(json);
    if (!value_identical(found, expected)) {
        char *text = json_text(found, JSON_COMPACT);
        fail_msg("%s\nfound:\n%s\nexpected:\n%s", name, text, json);
    }
    value_unref(found);
    value_unref(expected);
}

static void write_recording(const char *name, const char *text) {
    char path[256];
    mkdir(recordings, 0777);
    snprintf(path, sizeof path, "%s/%s", recordings, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The events that the client has received so far; clears `received`. Free the result. */
static char *take_received(void) {
    char *text = mem_text(buffer_cstr(&received));
    buffer_clear(&received);
    return text;
}

/* ---- A replay delivers what was recorded ---- */

static const char *const scripts[][8] = {
    /* the request, then events: a letter (HEAD, DATA, END, FAILED) and its value */
    {"{\"url\":\"http://acme.example/whole\",\"json\":{\"b\":1,\"a\":[true]}}", "H" OK_HEAD,
     "E{\"status\":200,\"headers\":{\"x\":\"y\"},\"body\":{\"$bytes\":\"aGk=\"},\"attempts\":2,\"ms\":0}"},
    {"{\"url\":\"http://acme.example/binary\",\"body\":{\"$bytes\":\"/wA=\"},\"method\":\"PUT\"}",
     "H{\"status\":404,\"headers\":{},\"attempt\":3}",
     "E{\"status\":404,\"headers\":{},\"body\":{\"$bytes\":\"/w==\"},\"attempts\":3,\"ms\":0}"},
    {"{\"url\":\"http://acme.example/bytes\",\"receive\":\"bytes\"}", "H" OK_HEAD, "D{\"$bytes\":\"4g==\"}",
     "D{\"$bytes\":\"gqw=\"}", "D{\"$bytes\":\"\"}", "D{\"$bytes\":\"AA==\"}",
     "E{\"status\":200,\"headers\":{\"x\":\"y\"},\"attempts\":1,\"ms\":0}"},
    {"{\"url\":\"http://acme.example/events?q=1\",\"receive\":\"events\"}", "H" OK_HEAD,
     "D{\"event\":\"message\",\"data\":\"{\\\"a\\\":1}\"}", "D{\"event\":\"x\",\"data\":\"\\n\",\"id\":\"7\"}",
     "F{\"code\":\"CONNECTION_LOST\",\"message\":\"gone\",\"retryable\":true}"},
    {"{\"url\":\"http://acme.example/lines\",\"receive\":\"lines\"}", "H" OK_HEAD, "D\"\\u20ac\"", "D\"\"",
     "E{\"status\":200,\"headers\":{\"x\":\"y\"},\"attempts\":1,\"ms\":0}"},
    {"{\"url\":\"http://acme.example/refused\"}", "F{\"code\":\"TLS\",\"message\":\"no\",\"detail\":{\"a\":[1]}}"},
};
#define SCRIPTS (sizeof scripts / sizeof *scripts)

static void run_script(size_t index) {
    send_request(scripts[index][0]);
    run_loop();
    for (size_t i = 1; scripts[index][i]; i++) {
        const char *line = scripts[index][i];
        int32_t event = *line == 'H'   ? TN_HTTP_HEAD
                        : *line == 'D' ? TN_HTTP_DATA
                        : *line == 'E' ? TN_HTTP_END
                                       : TN_HTTP_FAILED;
        provider_report((uint32_t)index, event, line + 1);
    }
}

static void replay_delivers_the_recorded_events(void **state) {
    (void)state;
    reset_recordings();
    char *live[SCRIPTS];
    fixture_open(&(struct fixture_options){.record = recordings});
    for (size_t i = 0; i < SCRIPTS; i++) {
        run_script(i);
        live[i] = take_received();
        assert_true(strlen(live[i]) > 0);
    }
    fixture_close();
    /* A replay needs no provider. The order of the requests may differ. */
    fixture_open(&(struct fixture_options){.replay = recordings, .no_provider = true});
    for (size_t i = SCRIPTS; i-- > 0;) {
        send_request(scripts[i][0]);
        expect_received("");
        run_loop();
        expect_received(live[i]);
        mem_free(live[i]);
    }
    assert_int_equal(http_open_count(host_http(host)), 0);
    fixture_close();
}

static void recording_has_no_secrets(void **state) {
    (void)state;
    reset_recordings();
    setenv("KEY", "hush-hush/42", 1);
    fixture_open(&(struct fixture_options){.record = recordings, .effects = "[\"network.http\",\"secret\"]"});
    send_request(
        "{\"url\":\"https://acme.example/v1/"
        "chat?key=plain&a=b\",\"receive\":\"bytes\",\"headers\":{\"Authorization\":[\"Bearer "
        "\",{\"secret\":\"KEY\"}],\"X-Api-Key\":\"plain\",\"Accept\":\"x\",\"gone\":{\"secret\":\"NONE\",\"optional\":"
        "true}},"
        "\"query\":{\"access_token\":[\"t\",{\"secret\":\"KEY\"}],\"n\":[1,2],\"s\":[\"a \",{\"secret\":\"KEY\"}]},"
        "\"json\":{\"echo\":\"hush-hush/42\"}}");
    run_loop();
    provider_report(0, TN_HTTP_HEAD,
                    "{\"status\":200,\"headers\":{\"set-cookie\":\"s=1\",\"echo\":\"hush-hush/42\"},\"attempt\":2}");
    /* A secret that is divided between three pieces. */
    provider_report(0, TN_HTTP_DATA, "{\"$bytes\":\"YSBodXNoLQ==\"}"); /* "a hush-" */
    provider_report(0, TN_HTTP_DATA, "{\"$bytes\":\"aHVzaA==\"}");     /* "hush" */
    provider_report(0, TN_HTTP_DATA, "{\"$bytes\":\"LzQyIGI=\"}");     /* "/42 b" */
    provider_report(0, TN_HTTP_END, "{\"status\":200,\"headers\":{},\"attempts\":2,\"ms\":3}");
    expect_recorded(
        "000001-POST-acme.example-v1-chat.json",
        "{\"format\":\"tenon-http/1\",\"plugin\":\"test.asks\",\"request\":{\"method\":\"POST\",\"url\":\"https://"
        "acme.example/v1/"
        "chat?key={redacted}&a=b&access_token={secret:KEY}&n=1&n=2&s=a {secret:KEY}\",\"headers\":{\"authorization\":"
        "\"{secret:KEY}\",\"x-api-key\":\"{redacted}\",\"accept\":\"x\",\"gone\":\"{secret:NONE}\"},\"json\":{\"echo\":"
        "\"{secret:KEY}\"},\"receive\":\"bytes\"},\"response\":{\"status\":200,\"headers\":{\"set-cookie\":\"{redacted}"
        "\",\"echo\":"
        "\"{secret:KEY}\"},\"attempt\":2,\"data\":[\"a {secret:KEY}\",\"\",\" "
        "b\"],\"end\":{\"attempts\":2,\"ms\":0}}}");
    /* An exchange that the client cancels, and one that is open when the host is freed. */
    assert_int_equal(interface_http.cancel(client, send_request("{\"url\":\"http://acme.example/cancelled\"}")), TN_OK);
    uint64_t exchange = send_request("{\"url\":\"http://acme.example/cancelled\",\"receive\":\"lines\"}");
    run_loop();
    provider_report(1, TN_HTTP_HEAD, OK_HEAD);
    provider_report(1, TN_HTTP_DATA, "\"one\"");
    assert_int_equal(interface_http.cancel(client, exchange), TN_OK);
    expect_recorded(
        "000002-GET-acme.example-cancelled.json",
        "{\"format\":\"tenon-http/1\",\"plugin\":\"test.asks\",\"request\":{\"method\":\"GET\",\"url\":\"http://"
        "acme.example/cancelled\",\"receive\":\"lines\"},\"response\":{\"status\":200,\"headers\":{\"x\":\"y\"},"
        "\"attempt\":1,\"data\":[\"one\"],\"cancelled\":true}}");
    send_request("{\"url\":\"http://acme.example/\"}");
    run_loop();
    fixture_close();
    unsetenv("KEY");
    expect_recorded(
        "000003-GET-acme.example.json",
        "{\"format\":\"tenon-http/1\",\"plugin\":\"test.asks\",\"request\":{\"method\":\"GET\",\"url\":\"http://"
        "acme.example/\",\"receive\":\"whole\"},\"response\":{\"cancelled\":true}}");
    /* Numbering continues after the last recording. Other files in the folder are ignored. */
    write_recording("notes.txt", "mine");
    fixture_open(&(struct fixture_options){.record = recordings});
    send_request("{\"url\":\"http://acme.example/more\"}");
    run_loop();
    fixture_close();
    value_unref(read_recording("000004-GET-acme.example-more.json"));
    /*
     * A replay does not need the secrets. The replay of a cancelled exchange delivers only the events before the
     * cancellation.
     */
    fixture_open(&(struct fixture_options){
        .replay = recordings, .effects = "[\"network.http\",\"secret\"]", .no_provider = true});
    send_request("{\"url\":\"https://acme.example/v1/"
                 "chat?key=another&a=b\",\"receive\":\"bytes\",\"query\":{\"access_token\":{\"secret\":"
                 "\"KEY\"},\"n\":[1,2],\"s\":[\"a \",{\"secret\":\"KEY\"}]},\"json\":{\"echo\":\"{secret:KEY}\"}}");
    run_loop();
    expect_received(
        "HEAD {\"status\":200,\"headers\":{\"set-cookie\":\"{redacted}\",\"echo\":\"{secret:KEY}\"},\"attempt\":2}\n"
        "DATA {\"$bytes\":\"YSB7c2VjcmV0OktFWX0=\"}\nDATA {\"$bytes\":\"\"}\nDATA {\"$bytes\":\"IGI=\"}\n"
        "END "
        "{\"status\":200,\"headers\":{\"set-cookie\":\"{redacted}\",\"echo\":\"{secret:KEY}\"},\"attempts\":2,\"ms\":0}"
        "\n");
    exchange = send_request("{\"url\":\"http://acme.example/cancelled\",\"receive\":\"lines\"}");
    run_loop();
    expect_received("HEAD " OK_HEAD "\nDATA \"one\"\n");
    assert_int_equal(interface_http.cancel(client, exchange), TN_OK);
    fixture_close();
}

/* ---- Matching ---- */

static void replay_keeps_the_order_of_equal_requests(void **state) {
    (void)state;
    reset_recordings();
    fixture_open(&(struct fixture_options){.record = recordings});
    for (uint32_t i = 0; i < 3; i++) {
        char end_of[64];
        send_request("{\"url\":\"http://acme.example/same\"}");
        run_loop();
        snprintf(end_of, sizeof end_of, "{\"code\":\"TLS\",\"message\":\"%u\"}", i);
        provider_report(i, TN_HTTP_FAILED, end_of);
    }
    fixture_close();
    fixture_open(&(struct fixture_options){.replay = recordings});
    for (uint32_t i = 0; i < 3; i++)
        send_request("{\"url\":\"http://acme.example/same\",\"headers\":{\"any\":\"\"},\"max_bytes\":5}");
    run_loop();
    expect_received("FAILED {\"code\":\"TLS\",\"message\":\"0\"}\nFAILED {\"code\":\"TLS\",\"message\":\"1\"}\nFAILED "
                    "{\"code\":\"TLS\","
                    "\"message\":\"2\"}\n");
    expect_rejected("{\"url\":\"http://acme.example/same\"}", "NOT_RECORDED", "was recorded 3 times in");
    fixture_close();
}

/* The idempotency key of an MCP call differs each time. Other members of `_meta` are compared. */
static void replay_does_not_compare_idempotency_keys(void **state) {
    static const char *const metas[] = {"", ",\"_meta\":{\"dev.tenon/idempotency-key\":\"a.0\"}",
                                        ",\"_meta\":{\"dev.tenon/idempotency-key\":\"b.0\",\"progressToken\":1}",
                                        ",\"_meta\":{\"progressToken\":1,\"dev.tenon/idempotency-key\":\"c.0\"}",
                                        ",\"_meta\":{\"progressToken\":2,\"dev.tenon/idempotency-key\":\"a.0\"}"};
    char requests[5][200];
    (void)state;
    for (size_t i = 0; i < 5; i++)
        snprintf(requests[i], sizeof requests[i],
                 "{\"url\":\"http://acme.example/mcp\",\"json\":{\"params\":{\"name\":\"t\"%s}}}", metas[i]);
    for (size_t i = 0; i < 4; i += 2) { /* an old recording without a key, and one that has another key */
        reset_recordings();
        fixture_open(&(struct fixture_options){.record = recordings});
        send_request(requests[i]);
        run_loop();
        provider_report(0, TN_HTTP_FAILED, "{\"code\":\"TLS\",\"message\":\"no\"}");
        fixture_close();
        fixture_open(&(struct fixture_options){.replay = recordings});
        send_request(requests[i + 1]);
        run_loop();
        expect_received("FAILED {\"code\":\"TLS\",\"message\":\"no\"}\n");
        expect_rejected(requests[i + 1], "NOT_RECORDED", "was recorded 1 time in");
        expect_rejected(requests[4], "NOT_RECORDED",
                        i ? "differs in `json/params/_meta/progressToken`" : "`json/params/_meta`");
        fixture_close();
    }
}

/*
 * A `private` request is recorded without its URL, headers, body and texts; only numbers and booleans of a JSON
 * response remain. A replay finds it by its name, whatever the URL and headers are.
 */
static void private_requests_are_redacted(void **state) {
    (void)state;
    reset_recordings();
    fixture_open(&(struct fixture_options){.record = recordings});
    send_request(
        "{\"url\":\"http://acme.example/token?who=me\",\"private\":\"acme-token\",\"headers\":{\"a\":\"hush\"},"
        "\"body\":\"refresh=hush\"}");
    run_loop();
    provider_report(0, TN_HTTP_HEAD, OK_HEAD);
    provider_report(0, TN_HTTP_END,
                    "{\"status\":200,\"headers\":{},\"body\":{\"$bytes\":"
                    "\"eyJ0b2tlbiI6Imh1c2giLCJzIjozNjAwLCJsIjpbImh1c2giLHRydWVdfQ==\"},\"attempts\":1,\"ms\":2}");
    send_request("{\"url\":\"http://acme.example/token\",\"private\":\"acme-token\"}");
    run_loop();
    provider_report(1, TN_HTTP_HEAD, OK_HEAD);
    provider_report(1, TN_HTTP_END,
                    "{\"status\":200,\"headers\":{},\"body\":{\"$bytes\":\"aHVzaA==\"},\"attempts\":1,\"ms\":2}");
    fixture_close();
    expect_recorded("000001-PRIVATE-acme-token.json",
                    "{\"format\":\"tenon-http/1\",\"plugin\":\"test.asks\",\"request\":{\"method\":\"PRIVATE\",\"url\":"
                    "\"private://acme-token\",\"receive\":\"whole\"},\"response\":{\"status\":200,\"headers\":{\"x\":"
                    "\"y\"},\"attempt\":1,\"end\":{\"body\":\"{\\\"token\\\":\\\"{redacted}\\\",\\\"s\\\":3600,"
                    "\\\"l\\\":[\\\"{redacted}\\\",true]}\",\"attempts\":1,\"ms\":0}}}");
    expect_recorded("000002-PRIVATE-acme-token.json",
                    "{\"format\":\"tenon-http/1\",\"plugin\":\"test.asks\",\"request\":{\"method\":\"PRIVATE\",\"url\":"
                    "\"private://acme-token\",\"receive\":\"whole\"},\"response\":{\"status\":200,\"headers\":{\"x\":"
                    "\"y\"},\"attempt\":1,\"end\":{\"body\":\"{redacted}\",\"attempts\":1,\"ms\":0}}}");
    buffer_clear(&received);
    fixture_open(&(struct fixture_options){.replay = recordings});
    send_request("{\"url\":\"http://acme.example/elsewhere\",\"private\":\"acme-token\"}");
    run_loop();
    char *events = take_received();
    assert_non_null(strstr(events, "END"));
    mem_free(events);
    expect_rejected("{\"url\":\"http://acme.example/token\"}", "NOT_RECORDED", "");
    expect_rejected("{\"url\":\"http://acme.example/\",\"private\":\"not a name\"}", "INVALID_INPUT",
                    "expected a name");
    expect_rejected("{\"url\":\"http://acme.example/\",\"private\":1}", "INVALID_INPUT", "expected a name");
    expect_rejected("{\"url\":\"http://acme.example/\",\"private\":\"a\",\"receive\":\"lines\"}", "INVALID_INPUT",
                    "a `private` request requires");
    fixture_close();
}

static void unrecorded_request_names_the_nearest(void **state) {
    (void)state;
    reset_recordings();
    fixture_open(&(struct fixture_options){.record = recordings});
    send_request("{\"url\":\"http://acme.example/"
                 "chat\",\"json\":{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"n\":1}}");
    send_request("{\"url\":\"http://acme.example/list?page=1\"}");
    run_loop();
    fixture_close();
    fixture_open(&(struct fixture_options){.replay = recordings});
    expect_rejected("{\"url\":\"http://acme.example/"
                    "chat\",\"json\":{\"n\":1,\"messages\":[{\"role\":\"user\",\"content\":\"ho\"}]}}",
                    "NOT_RECORDED",
                    "the nearest one, 000001-POST-acme.example-chat.json, differs in `json/messages/0/content`: found "
                    "\\\"ho\\\", recorded \\\"hi\\\"");
    expect_rejected("{\"url\":\"http://acme.example/list?page=2\"}", "NOT_RECORDED",
                    "differs in `url`: found \\\"http://acme.example/list?page=2\\\", recorded "
                    "\\\"http://acme.example/list?page=1\\\"");
    expect_rejected("{\"url\":\"http://acme.example/list?page=1\",\"receive\":\"lines\"}", "NOT_RECORDED",
                    "differs in `receive`");
    expect_rejected("{\"url\":\"http://acme.example/chat\",\"json\":{\"messages\":[]}}", "NOT_RECORDED",
                    "differs in `json/messages/0`: found nothing");
    /* A replay checks permissions and validity, too. */
    expect_rejected("{\"url\":\"http://other.example/list?page=1\"}", "PERMISSION_DENIED", "other.example");
    expect_rejected("{\"url\":\"http://acme.example/\",\"x\":1}", "INVALID_INPUT", "`x`");
    fixture_close();
}

/* ---- A replay can be paused and cancelled ---- */

static void replay_pauses_and_cancels(void **state) {
    (void)state;
    reset_recordings();
    write_recording(
        "1.json",
        "{\"format\":\"tenon-http/1\",\"request\":{\"method\":\"GET\",\"url\":\"http://acme.example/\",\"receive\":"
        "\"lines\"},\"response\":{\"status\":200,\"headers\":{},\"data\":[\"a\",\"b\"],\"end\":{}}}");
    fixture_open(&(struct fixture_options){.replay = recordings});
    uint64_t exchange = send_request("{\"url\":\"http://acme.example\",\"receive\":\"lines\"}");
    assert_int_equal(interface_http.pause(client, exchange), TN_OK);
    run_loop();
    expect_received("");
    assert_int_equal(interface_http.resume(client, exchange), TN_OK);
    run_loop();
    expect_received("HEAD {\"status\":200,\"headers\":{},\"attempt\":1}\nDATA \"a\"\nDATA \"b\"\nEND "
                    "{\"status\":200,\"headers\":{},\"attempts\":1,\"ms\":0}\n");
    fixture_close();
    fixture_open(&(struct fixture_options){.replay = recordings});
    cancel_on_event = send_request("{\"url\":\"http://acme.example\",\"receive\":\"lines\"}");
    run_loop();
    expect_received("HEAD {\"status\":200,\"headers\":{},\"attempt\":1}\n");
    fixture_close();
}

/* ---- Invalid folders ---- */

static void expect_host_new_fails(const char *record, const char *replay, const char *words) {
    struct error error = ERROR_INIT;
    host = host_new(&(struct host_options){.no_config = true, .record_dir = record, .replay_dir = replay}, &error);
    assert_null(host);
    if (!strstr(error.message, words)) fail_msg("expected: %s\nin: %s", words, error.message);
    error_finish(&error);
}

static void rejects_invalid_folders_and_recordings(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"{", "line 1"},
        {"{}", "not a recording of the format `tenon-http/1`"},
        {"{\"format\":\"tenon-http/1\",\"request\":{\"url\":\"x\"}}", "has no `method`, `url` and `receive`"},
        {"{\"format\":\"tenon-http/"
         "1\",\"request\":{\"url\":\"x\",\"method\":\"GET\",\"receive\":\"whole\"},\"response\":{}}",
         "needs one of `end`, `failed` and `cancelled`"},
        {"{\"format\":\"tenon-http/"
         "1\",\"request\":{\"url\":\"x\",\"method\":\"GET\",\"receive\":\"whole\"},\"response\":{\"end\":{}}}",
         "has no `status`"},
        {"{\"format\":\"tenon-http/"
         "1\",\"request\":{\"url\":\"x\",\"method\":\"GET\",\"receive\":\"lines\"},\"response\":{\"status\":200,"
         "\"headers\":{},\"data\":[1],\"end\":{}}}",
         "does not match `receive`"},
        {"{\"format\":\"tenon-http/"
         "1\",\"request\":{\"url\":\"x\",\"method\":\"GET\",\"receive\":\"whole\"},\"response\":{\"failed\":1}}",
         "has no `code` and `message`"},
    };
    char file[160];
    reset_recordings();
    expect_host_new_fails(NULL, recordings, "cannot read the folder");
    assert_int_equal(mkdir(recordings, 0777), 0);
    expect_host_new_fails(NULL, recordings, "has no recordings");
    expect_host_new_fails(recordings, recordings, "at the same time");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_recording("1.json", bad[i].text);
        expect_host_new_fails(NULL, recordings, bad[i].words);
        expect_host_new_fails(NULL, recordings, "/1.json");
    }
    snprintf(file, sizeof file, "%s/1.json", recordings);
    expect_host_new_fails(file, NULL, "is not a writable folder");
    setenv("TENON_HTTP_REPLAY", recordings, 1);
    expect_host_new_fails(NULL, NULL, "/1.json");
    setenv("TENON_HTTP_RECORD", recordings, 1);
    expect_host_new_fails(NULL, NULL, "at the same time");
    unsetenv("TENON_HTTP_RECORD");
    fixture_open(&(struct fixture_options){.record = recordings}); /* the option has priority over the environment */
    fixture_close();
    unsetenv("TENON_HTTP_REPLAY");
}

/* A token that the plugin got without the host, and responses of a server that repeat it. */
#define TOKEN "t0ken-of-the-plugin/42"

static void expect_not_recorded(const char *name, const char *text) {
    tn_value found = read_recording(name);
    char *json = json_text(found, JSON_COMPACT);
    if (strstr(json, text)) fail_msg("%s contains `%s`:\n%s", name, text, json);
    mem_free(json);
    value_unref(found);
}

static void redacts_credentials_of_plugins(void **state) {
    (void)state;
    reset_recordings();
    fixture_open(&(struct fixture_options){.record = recordings});
    const char *request = "{\"url\":\"http://acme.example/\",\"receive\":\"bytes\",\"headers\":{\"Authorization\":"
                          "\"Bearer " TOKEN "\",\"DPoP\":\"proof.of.the-plugin\",\"cookie\":\"short=1; "
                          "id=session-of-the-plugin\",\"x-other\":\"not-a-credential\"},\"json\":\"" TOKEN "\"}";
    send_request(request);
    run_loop();
    provider_report(
        0, TN_HTTP_HEAD,
        "{\"status\":401,\"headers\":{\"www-authenticate\":\"Bearer scope=\\\"" TOKEN "\\\"\",\"location\":"
        "\"http://x/t0ken-of-the-plugin%2F42\",\"echo\":\"proof.of.the-plugin session-of-the-plugin short=1 "
        "not-a-credential\"}}");
    expect_received("HEAD {\"status\":401,\"headers\":{\"www-authenticate\":\"Bearer "
                    "scope=\\\"{redacted}\\\"\",\"location\":\"http://x/{redacted}\",\"echo\":\"{redacted} {redacted} "
                    "short=1 not-a-credential\"}}\n");
    provider_report(0, TN_HTTP_FAILED, "{\"code\":\"TLS\",\"message\":\"of " TOKEN "\"}");
    expect_received("FAILED {\"code\":\"TLS\",\"message\":\"of {redacted}\"}\n");
    expect_not_recorded("000001-POST-acme.example.json", "of-the-plugin");
    /* The client gets the body of a success unchanged; the recording has it redacted, in every exchange. */
    send_request("{\"url\":\"http://acme.example/\",\"receive\":\"bytes\"}");
    run_loop();
    provider_report(1, TN_HTTP_HEAD, OK_HEAD);
    provider_report(1, TN_HTTP_DATA, "{\"$bytes\":\"dDBrZW4tb2YtdA==\"}"); /* "t0ken-of-t" */
    provider_report(1, TN_HTTP_DATA, "{\"$bytes\":\"aGUtcGx1Z2luLzQy\"}"); /* "he-plugin/42" */
    provider_report(1, TN_HTTP_END, "{\"status\":200,\"headers\":{}}");
    expect_recorded("000002-GET-acme.example.json",
                    "{\"format\":\"tenon-http/1\",\"plugin\":\"test.asks\",\"request\":{\"method\":\"GET\",\"url\":"
                    "\"http://acme.example/\",\"receive\":\"bytes\"},\"response\":{\"status\":200,\"headers\":{\"x\":"
                    "\"y\"},\"attempt\":1,\"data\":[\"{redacted}\",\"\"],\"end\":{\"attempts\":1,\"ms\":0}}}");
    interface_core.log(client, LOG_ERROR, "sent " TOKEN " on", TN_Z);
    expect_in(&logged, "sent {redacted} on");
    buffer_clear(&received);
    /* The host remembers a limited number of credentials: the oldest ones are dropped, those in use are kept. */
    for (int i = 0; i < 100; i++) {
        char other[200];
        snprintf(other, sizeof other,
                 "{\"url\":\"http://acme.example/\",\"headers\":{\"authorization\":\"%s\",\"x-api-key\":"
                 "\"number-%03d-of-many\"}}",
                 TOKEN, i);
        send_request(other);
        run_loop();
    }
    interface_core.log(client, LOG_ERROR, TOKEN " number-000-of-many number-099-of-many", TN_Z);
    expect_in(&logged, "{redacted} number-000-of-many {redacted}");
    fixture_close();
    /* A replay with the token finds the redacted recording. */
    fixture_open(&(struct fixture_options){.replay = recordings, .no_provider = true});
    send_request(request);
    run_loop();
    expect_in(&received, "HEAD {\"status\":401");
    fixture_close();
}

/* If a recording cannot be written, the run continues and the log has a message. */
static void run_continues_if_recording_fails(void **state) {
    (void)state;
    reset_recordings();
    fixture_open(&(struct fixture_options){.record = recordings});
    send_request("{\"url\":\"http://acme.example/\"}");
    run_loop();
    assert_int_equal(rmdir(recordings), 0);
    provider_report(0, TN_HTTP_FAILED, "{\"code\":\"TLS\",\"message\":\"no\"}");
    expect_received("FAILED {\"code\":\"TLS\",\"message\":\"no\"}\n");
    expect_in(&logged, "000001-GET-acme.example.json: not recorded: No such file or directory; the run continues");
    fixture_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay_delivers_the_recorded_events),
        cmocka_unit_test(recording_has_no_secrets),
        cmocka_unit_test(replay_keeps_the_order_of_equal_requests),
        cmocka_unit_test(replay_does_not_compare_idempotency_keys),
        cmocka_unit_test(unrecorded_request_names_the_nearest),
        cmocka_unit_test(private_requests_are_redacted),
        cmocka_unit_test(replay_pauses_and_cancels),
        cmocka_unit_test(rejects_invalid_folders_and_recordings),
        cmocka_unit_test(redacts_credentials_of_plugins),
        cmocka_unit_test(run_continues_if_recording_fails),
    };
    RUN_TESTS(tests);
}
