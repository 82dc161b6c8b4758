/*
 * http_record_test.c - exchanges kept as files, and answers given from them: the same, byte for byte and piece by
 * piece.
 */
#include "tests/unit/http_fixture.h"
#include <dirent.h>

static char recordings[96];

static void fresh(void) {
    char command[160];
    snprintf(recordings, sizeof recordings, "%s/recordings", folder);
    snprintf(command, sizeof command, "rm -rf %s", recordings);
    assert_int_equal(system(command), 0);
}

static tn_value recorded(const char *name) {
    char path[256];
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    snprintf(path, sizeof path, "%s/%s", recordings, name);
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("there is no %s", path);
    for (int c; (c = fgetc(file)) != EOF;) buffer_char(&text, (char)c);
    fclose(file);
    tn_value value = parse(buffer_cstr(&text));
    buffer_finish(&text);
    return value;
}

static void expect_recorded(const char *name, const char *json) {
    tn_value found = recorded(name), expected = parse(json);
    if (!value_identical(found, expected)) {
        char *text = json_text(found, JSON_COMPACT);
        fail_msg("%s is\n%s\nexpected\n%s", name, text, json);
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

static char *all_told(void) {
    char *text = mem_text(buffer_cstr(&told));
    buffer_clear(&told);
    return text;
}

/* ---- The same again ---- */

static const char *const scripts[][8] = {
    /* request, then events: the letter says which */
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

static void play_script(size_t index) {
    ask(scripts[index][0]);
    settle();
    for (size_t i = 1; scripts[index][i]; i++) {
        const char *line = scripts[index][i];
        int32_t event = *line == 'H'   ? TN_HTTP_HEAD
                        : *line == 'D' ? TN_HTTP_DATA
                        : *line == 'E' ? TN_HTTP_END
                                       : TN_HTTP_FAILED;
        say((uint32_t)index, event, line + 1);
    }
}

static void same_again(void **state) {
    (void)state;
    fresh();
    char *live[SCRIPTS];
    begin(&(struct stage){.record = recordings});
    for (size_t i = 0; i < SCRIPTS; i++) {
        play_script(i);
        live[i] = all_told();
        assert_true(strlen(live[i]) > 0);
    }
    end();
    /* No provider: none is needed. In another order, and all at once. */
    begin(&(struct stage){.replay = recordings, .no_provider = true});
    for (size_t i = SCRIPTS; i-- > 0;) {
        ask(scripts[i][0]);
        expect_told("");
        settle();
        expect_told(live[i]);
        mem_free(live[i]);
    }
    assert_int_equal(http_open_count(host->http), 0);
    end();
}

static void form(void **state) {
    (void)state;
    fresh();
    setenv("KEY", "hush-hush/42", 1);
    begin(&(struct stage){.record = recordings, .effects = "[\"network.http\",\"secret\"]"});
    ask("{\"url\":\"https://acme.example/v1/"
        "chat?key=plain&a=b\",\"receive\":\"bytes\",\"headers\":{\"Authorization\":[\"Bearer "
        "\",{\"secret\":\"KEY\"}],\"X-Api-Key\":\"plain\",\"Accept\":\"x\",\"gone\":{\"secret\":\"NONE\",\"optional\":"
        "true}},"
        "\"query\":{\"access_token\":[\"t\",{\"secret\":\"KEY\"}],\"n\":[1,2],\"s\":[\"a \",{\"secret\":\"KEY\"}]},"
        "\"json\":{\"echo\":\"hush-hush/42\"}}");
    settle();
    say(0, TN_HTTP_HEAD,
        "{\"status\":200,\"headers\":{\"set-cookie\":\"s=1\",\"echo\":\"hush-hush/42\"},\"attempt\":2}");
    /* A secret over three pieces. */
    say(0, TN_HTTP_DATA, "{\"$bytes\":\"YSBodXNoLQ==\"}"); /* "a hush-" */
    say(0, TN_HTTP_DATA, "{\"$bytes\":\"aHVzaA==\"}");     /* "hush" */
    say(0, TN_HTTP_DATA, "{\"$bytes\":\"LzQyIGI=\"}");     /* "/42 b" */
    say(0, TN_HTTP_END, "{\"status\":200,\"headers\":{},\"attempts\":2,\"ms\":3}");
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
    /* One that is cancelled, and one that the host's end cancels. */
    assert_int_equal(interface_http.cancel(me, ask("{\"url\":\"http://acme.example/cancelled\"}")), TN_OK);
    uint64_t exchange = ask("{\"url\":\"http://acme.example/cancelled\",\"receive\":\"lines\"}");
    settle();
    say(1, TN_HTTP_HEAD, OK_HEAD);
    say(1, TN_HTTP_DATA, "\"one\"");
    assert_int_equal(interface_http.cancel(me, exchange), TN_OK);
    expect_recorded(
        "000002-GET-acme.example-cancelled.json",
        "{\"format\":\"tenon-http/1\",\"plugin\":\"test.asks\",\"request\":{\"method\":\"GET\",\"url\":\"http://"
        "acme.example/cancelled\",\"receive\":\"lines\"},\"response\":{\"status\":200,\"headers\":{\"x\":\"y\"},"
        "\"attempt\":1,\"data\":[\"one\"],\"cancelled\":true}}");
    ask("{\"url\":\"http://acme.example/\"}");
    settle();
    end();
    unsetenv("KEY");
    expect_recorded(
        "000003-GET-acme.example.json",
        "{\"format\":\"tenon-http/1\",\"plugin\":\"test.asks\",\"request\":{\"method\":\"GET\",\"url\":\"http://"
        "acme.example/\",\"receive\":\"whole\"},\"response\":{\"cancelled\":true}}");
    /* Numbers go on; what is no recording is nobody's. */
    write_recording("notes.txt", "mine");
    begin(&(struct stage){.record = recordings});
    ask("{\"url\":\"http://acme.example/more\"}");
    settle();
    end();
    value_unref(recorded("000004-GET-acme.example-more.json"));
    /* Secrets need not be there; nothing comes of one that was cancelled, but what came before. */
    begin(&(struct stage){.replay = recordings, .effects = "[\"network.http\",\"secret\"]", .no_provider = true});
    ask("{\"url\":\"https://acme.example/v1/"
        "chat?key=another&a=b\",\"receive\":\"bytes\",\"query\":{\"access_token\":{\"secret\":"
        "\"KEY\"},\"n\":[1,2],\"s\":[\"a \",{\"secret\":\"KEY\"}]},\"json\":{\"echo\":\"{secret:KEY}\"}}");
    settle();
    expect_told(
        "HEAD {\"status\":200,\"headers\":{\"set-cookie\":\"{redacted}\",\"echo\":\"{secret:KEY}\"},\"attempt\":2}\n"
        "DATA {\"$bytes\":\"YSB7c2VjcmV0OktFWX0=\"}\nDATA {\"$bytes\":\"\"}\nDATA {\"$bytes\":\"IGI=\"}\n"
        "END "
        "{\"status\":200,\"headers\":{\"set-cookie\":\"{redacted}\",\"echo\":\"{secret:KEY}\"},\"attempts\":2,\"ms\":0}"
        "\n");
    exchange = ask("{\"url\":\"http://acme.example/cancelled\",\"receive\":\"lines\"}");
    settle();
    expect_told("HEAD " OK_HEAD "\nDATA \"one\"\n");
    assert_int_equal(interface_http.cancel(me, exchange), TN_OK);
    end();
}

/* ---- Matching ---- */

static void order(void **state) {
    (void)state;
    fresh();
    begin(&(struct stage){.record = recordings});
    for (uint32_t i = 0; i < 3; i++) {
        char end_of[64];
        ask("{\"url\":\"http://acme.example/same\"}");
        settle();
        snprintf(end_of, sizeof end_of, "{\"code\":\"TLS\",\"message\":\"%u\"}", i);
        say(i, TN_HTTP_FAILED, end_of);
    }
    end();
    begin(&(struct stage){.replay = recordings});
    for (uint32_t i = 0; i < 3; i++)
        ask("{\"url\":\"http://acme.example/same\",\"headers\":{\"any\":\"\"},\"max_bytes\":5}");
    settle();
    expect_told("FAILED {\"code\":\"TLS\",\"message\":\"0\"}\nFAILED {\"code\":\"TLS\",\"message\":\"1\"}\nFAILED "
                "{\"code\":\"TLS\","
                "\"message\":\"2\"}\n");
    expect_refused("{\"url\":\"http://acme.example/same\"}", "NOT_RECORDED", "was recorded 3 times in");
    end();
}

/* Nothing of it is written down but its numbers, and it is found again, whatever it was sent to and with. */
static void private_is_kept_private(void **state) {
    (void)state;
    fresh();
    begin(&(struct stage){.record = recordings});
    ask("{\"url\":\"http://acme.example/token?who=me\",\"private\":\"acme-token\",\"headers\":{\"a\":\"hush\"},"
        "\"body\":\"refresh=hush\"}");
    settle();
    say(0, TN_HTTP_HEAD, OK_HEAD);
    say(0, TN_HTTP_END,
        "{\"status\":200,\"headers\":{},\"body\":{\"$bytes\":"
        "\"eyJ0b2tlbiI6Imh1c2giLCJzIjozNjAwLCJsIjpbImh1c2giLHRydWVdfQ==\"},\"attempts\":1,\"ms\":2}");
    ask("{\"url\":\"http://acme.example/token\",\"private\":\"acme-token\"}");
    settle();
    say(1, TN_HTTP_HEAD, OK_HEAD);
    say(1, TN_HTTP_END, "{\"status\":200,\"headers\":{},\"body\":{\"$bytes\":\"aHVzaA==\"},\"attempts\":1,\"ms\":2}");
    end();
    expect_recorded("000001-PRIVATE-acme-token.json",
                    "{\"format\":\"tenon-http/1\",\"plugin\":\"test.asks\",\"request\":{\"method\":\"PRIVATE\",\"url\":"
                    "\"private://acme-token\",\"receive\":\"whole\"},\"response\":{\"status\":200,\"headers\":{\"x\":"
                    "\"y\"},\"attempt\":1,\"end\":{\"body\":\"{\\\"token\\\":\\\"{redacted}\\\",\\\"s\\\":3600,"
                    "\\\"l\\\":[\\\"{redacted}\\\",true]}\",\"attempts\":1,\"ms\":0}}}");
    expect_recorded("000002-PRIVATE-acme-token.json",
                    "{\"format\":\"tenon-http/1\",\"plugin\":\"test.asks\",\"request\":{\"method\":\"PRIVATE\",\"url\":"
                    "\"private://acme-token\",\"receive\":\"whole\"},\"response\":{\"status\":200,\"headers\":{\"x\":"
                    "\"y\"},\"attempt\":1,\"end\":{\"body\":\"{redacted}\",\"attempts\":1,\"ms\":0}}}");
    buffer_clear(&told);
    begin(&(struct stage){.replay = recordings});
    ask("{\"url\":\"http://acme.example/elsewhere\",\"private\":\"acme-token\"}");
    settle();
    char *given = all_told();
    assert_non_null(strstr(given, "END"));
    mem_free(given);
    expect_refused("{\"url\":\"http://acme.example/token\"}", "NOT_RECORDED", "");
    expect_refused("{\"url\":\"http://acme.example/\",\"private\":\"not a name\"}", "INVALID_INPUT", "expected a name");
    expect_refused("{\"url\":\"http://acme.example/\",\"private\":1}", "INVALID_INPUT", "expected a name");
    expect_refused("{\"url\":\"http://acme.example/\",\"private\":\"a\",\"receive\":\"lines\"}", "INVALID_INPUT",
                   "what is `private` is received");
    end();
}

static void nearest(void **state) {
    (void)state;
    fresh();
    begin(&(struct stage){.record = recordings});
    ask("{\"url\":\"http://acme.example/"
        "chat\",\"json\":{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"n\":1}}");
    ask("{\"url\":\"http://acme.example/list?page=1\"}");
    settle();
    end();
    begin(&(struct stage){.replay = recordings});
    expect_refused("{\"url\":\"http://acme.example/"
                   "chat\",\"json\":{\"n\":1,\"messages\":[{\"role\":\"user\",\"content\":\"ho\"}]}}",
                   "NOT_RECORDED",
                   "the nearest one, 000001-POST-acme.example-chat.json, differs in `json/messages/0/content`: found "
                   "\\\"ho\\\", recorded \\\"hi\\\"");
    expect_refused("{\"url\":\"http://acme.example/list?page=2\"}", "NOT_RECORDED",
                   "differs in `url`: found \\\"http://acme.example/list?page=2\\\", recorded "
                   "\\\"http://acme.example/list?page=1\\\"");
    expect_refused("{\"url\":\"http://acme.example/list?page=1\",\"receive\":\"lines\"}", "NOT_RECORDED",
                   "differs in `receive`");
    expect_refused("{\"url\":\"http://acme.example/chat\",\"json\":{\"messages\":[]}}", "NOT_RECORDED",
                   "differs in `json/messages/0`: found nothing");
    /* What is not allowed is not allowed in a replay either. */
    expect_refused("{\"url\":\"http://other.example/list?page=1\"}", "PERMISSION_DENIED", "other.example");
    expect_refused("{\"url\":\"http://acme.example/\",\"x\":1}", "INVALID_INPUT", "`x`");
    end();
}

/* ---- What is paused waits, in a replay as well ---- */

static void pauses(void **state) {
    (void)state;
    fresh();
    write_recording(
        "1.json",
        "{\"format\":\"tenon-http/1\",\"request\":{\"method\":\"GET\",\"url\":\"http://acme.example/\",\"receive\":"
        "\"lines\"},\"response\":{\"status\":200,\"headers\":{},\"data\":[\"a\",\"b\"],\"end\":{}}}");
    begin(&(struct stage){.replay = recordings});
    uint64_t exchange = ask("{\"url\":\"http://acme.example\",\"receive\":\"lines\"}");
    assert_int_equal(interface_http.pause(me, exchange), TN_OK);
    settle();
    expect_told("");
    assert_int_equal(interface_http.resume(me, exchange), TN_OK);
    settle();
    expect_told("HEAD {\"status\":200,\"headers\":{},\"attempt\":1}\nDATA \"a\"\nDATA \"b\"\nEND "
                "{\"status\":200,\"headers\":{},\"attempts\":1,\"ms\":0}\n");
    end();
    begin(&(struct stage){.replay = recordings});
    cancels = ask("{\"url\":\"http://acme.example\",\"receive\":\"lines\"}");
    settle();
    expect_told("HEAD {\"status\":200,\"headers\":{},\"attempt\":1}\n");
    end();
}

/* ---- Folders that are none ---- */

static void expect_no_host(const char *record, const char *replay, const char *words) {
    struct error error = ERROR_INIT;
    host = host_new(&(struct host_options){.no_config = true, .record_dir = record, .replay_dir = replay}, &error);
    assert_null(host);
    if (!strstr(error.message, words)) fail_msg("expected: %s\nin: %s", words, error.message);
    error_finish(&error);
}

static void folders(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"{", "line 1"},
        {"{}", "no recording of the form `tenon-http/1`"},
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
         "is not of the kind that `receive` says"},
        {"{\"format\":\"tenon-http/"
         "1\",\"request\":{\"url\":\"x\",\"method\":\"GET\",\"receive\":\"whole\"},\"response\":{\"failed\":1}}",
         "has no `code` and `message`"},
    };
    char file[160];
    fresh();
    expect_no_host(NULL, recordings, "cannot be read");
    assert_int_equal(mkdir(recordings, 0777), 0);
    expect_no_host(NULL, recordings, "has no recordings");
    expect_no_host(recordings, recordings, "do not go together");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_recording("1.json", bad[i].text);
        expect_no_host(NULL, recordings, bad[i].words);
        expect_no_host(NULL, recordings, "/1.json");
    }
    snprintf(file, sizeof file, "%s/1.json", recordings);
    expect_no_host(file, NULL, "is no folder");
    setenv("TENON_HTTP_REPLAY", recordings, 1);
    expect_no_host(NULL, NULL, "/1.json");
    setenv("TENON_HTTP_RECORD", recordings, 1);
    expect_no_host(NULL, NULL, "do not go together");
    unsetenv("TENON_HTTP_RECORD");
    begin(&(struct stage){.record = recordings}); /* what is said wins */
    end();
    unsetenv("TENON_HTTP_REPLAY");
}

/* A token that a plugin has got by itself, and whatever a server says of it. */
#define TOKEN "t0ken-of-the-plugin/42"

static void expect_not_recorded(const char *name, const char *text) {
    tn_value found = recorded(name);
    char *json = json_text(found, JSON_COMPACT);
    if (strstr(json, text)) fail_msg("%s has `%s` in it:\n%s", name, text, json);
    mem_free(json);
    value_unref(found);
}

static void credentials_of_plugins(void **state) {
    (void)state;
    fresh();
    begin(&(struct stage){.record = recordings});
    const char *request = "{\"url\":\"http://acme.example/\",\"receive\":\"bytes\",\"headers\":{\"Authorization\":"
                          "\"Bearer " TOKEN "\",\"DPoP\":\"proof.of.the-plugin\",\"cookie\":\"short=1; "
                          "id=session-of-the-plugin\",\"x-other\":\"not-a-credential\"},\"json\":\"" TOKEN "\"}";
    ask(request);
    settle();
    say(0, TN_HTTP_HEAD,
        "{\"status\":401,\"headers\":{\"www-authenticate\":\"Bearer scope=\\\"" TOKEN "\\\"\",\"location\":"
        "\"http://x/t0ken-of-the-plugin%2F42\",\"echo\":\"proof.of.the-plugin session-of-the-plugin short=1 "
        "not-a-credential\"}}");
    expect_told("HEAD {\"status\":401,\"headers\":{\"www-authenticate\":\"Bearer "
                "scope=\\\"{redacted}\\\"\",\"location\":\"http://x/{redacted}\",\"echo\":\"{redacted} {redacted} "
                "short=1 not-a-credential\"}}\n");
    say(0, TN_HTTP_FAILED, "{\"code\":\"TLS\",\"message\":\"of " TOKEN "\"}");
    expect_told("FAILED {\"code\":\"TLS\",\"message\":\"of {redacted}\"}\n");
    expect_not_recorded("000001-POST-acme.example.json", "of-the-plugin");
    /* The body of a success is the plugin's, and the recording's not; another exchange's neither. */
    ask("{\"url\":\"http://acme.example/\",\"receive\":\"bytes\"}");
    settle();
    say(1, TN_HTTP_HEAD, OK_HEAD);
    say(1, TN_HTTP_DATA, "{\"$bytes\":\"dDBrZW4tb2YtdA==\"}"); /* "t0ken-of-t" */
    say(1, TN_HTTP_DATA, "{\"$bytes\":\"aGUtcGx1Z2luLzQy\"}"); /* "he-plugin/42" */
    say(1, TN_HTTP_END, "{\"status\":200,\"headers\":{}}");
    expect_recorded("000002-GET-acme.example.json",
                    "{\"format\":\"tenon-http/1\",\"plugin\":\"test.asks\",\"request\":{\"method\":\"GET\",\"url\":"
                    "\"http://acme.example/\",\"receive\":\"bytes\"},\"response\":{\"status\":200,\"headers\":{\"x\":"
                    "\"y\"},\"attempt\":1,\"data\":[\"{redacted}\",\"\"],\"end\":{\"attempts\":1,\"ms\":0}}}");
    interface_core.log(me, LOG_ERROR, "sent " TOKEN " on");
    expect_in(&logged, "sent {redacted} on");
    buffer_clear(&told);
    /* Those that were sent long ago have made room; one that is sent again and again has not. */
    for (int i = 0; i < 100; i++) {
        char other[200];
        snprintf(other, sizeof other,
                 "{\"url\":\"http://acme.example/\",\"headers\":{\"authorization\":\"%s\",\"x-api-key\":"
                 "\"number-%03d-of-many\"}}",
                 TOKEN, i);
        ask(other);
        settle();
    }
    interface_core.log(me, LOG_ERROR, TOKEN " number-000-of-many number-099-of-many");
    expect_in(&logged, "{redacted} number-000-of-many {redacted}");
    end();
    /* A replay finds it by what was written. */
    begin(&(struct stage){.replay = recordings, .no_provider = true});
    ask(request);
    settle();
    expect_in(&told, "HEAD {\"status\":401");
    end();
}

/* A disk that is full costs the recording, and nothing else. */
static void full_disk(void **state) {
    (void)state;
    fresh();
    begin(&(struct stage){.record = recordings});
    ask("{\"url\":\"http://acme.example/\"}");
    settle();
    assert_int_equal(rmdir(recordings), 0);
    say(0, TN_HTTP_FAILED, "{\"code\":\"TLS\",\"message\":\"no\"}");
    expect_told("FAILED {\"code\":\"TLS\",\"message\":\"no\"}\n");
    expect_in(&logged, "000001-GET-acme.example.json: not recorded: No such file or directory; the run goes on");
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_again),
        cmocka_unit_test(form),
        cmocka_unit_test(order),
        cmocka_unit_test(nearest),
        cmocka_unit_test(private_is_kept_private),
        cmocka_unit_test(pauses),
        cmocka_unit_test(folders),
        cmocka_unit_test(credentials_of_plugins),
        cmocka_unit_test(full_disk),
    };
    RUN_TESTS(tests);
}
