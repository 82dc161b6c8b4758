/*
 * gemini_auth_test.c - who the Gemini provider says it is, to whom, and where its models are.
 *
 * Credentials are files in a folder of the test's own; tokens are got over an HTTP that answers what the test says, and
 * end by the test's clock. That a signature is right is tests/e2e/gemini.sh's.
 */
#include "tests/unit/corpus.h"

#ifdef TENON_GEMINI_PLUGIN
#include "tests/unit/gemini_fixture.h"
#include <sys/stat.h>
#include <unistd.h>

#define HELLO    "{\"messages\": [\"x\"]}"
#define ANSWER   "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"}]},\"finishReason\":\"STOP\"}]}"
#define ON_P1    "{\"model\": \"gemini-2.5-flash\", \"project\": \"p1\", \"stream\": false}"
#define MACHINE  "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"
#define TOKEN(t) "{\"access_token\": \"" t "\", \"expires_in\": 3600, \"token_type\": \"Bearer\"}"
#define USER                                                                                                           \
    "{\"type\": \"authorized_user\", \"client_id\": \"me\", \"client_secret\": \"s&cret\", \"refresh_token\": "        \
    "\"1//re fresh\", \"quota_project_id\": \"payer\"}"

static char folder[] = "/tmp/tenon-gemini-XXXXXX";

static void write_credentials(const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/credentials.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    setenv("GOOGLE_APPLICATION_CREDENTIALS", path, 1);
}

static int auth_load(void **state) {
    assert_non_null(mkdtemp(folder));
    return gemini_load(state);
}

static int auth_forget(void **state) {
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    return gemini_forget(state);
}

static int auth_remove(void **state) {
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/credentials.json", folder);
    (void)unlink(path);
    return rmdir(folder);
}

static const char *url_of(uint32_t index) { return value_chars(value_get(fake_http_request(index), "url"), NULL); }

static tn_value header_of(uint32_t index, const char *name) {
    return value_get(value_get(fake_http_request(index), "headers"), name);
}

static void expect_failed(const struct tn_test_task *task, const char *code, const char *words) {
    assert_true(tn_test_failed(task, code));
    const char *message = value_chars(value_get(task->error, "message"), NULL);
    if (!strstr(message, words)) fail_msg("expected `%s` in: %s", words, message);
}

/* ---- Keys ---- */

static void test_second_secret(void **state) {
    (void)state;
    gemini_begin("{}");
    struct tn_test_task *task = tn_test_run("gemini", "{\"model\": \"m\", \"stream\": false}", HELLO);
    assert_true(tn_test_is(header_of(0, "x-goog-api-key"), "[{\"secret\":\"GEMINI_API_KEY\"}]"));
    fake_http_fail(0, "SECRET_NOT_FOUND", false);
    assert_true(tn_test_is(header_of(1, "x-goog-api-key"), "{\"secret\":\"GOOGLE_API_KEY\"}"));
    fake_http_end(1, 200, ANSWER);
    assert_int_equal(task->state, TN_TEST_COMPLETED);
    /* The address is remembered. If it is unreachable too, the error names both, and both are tried again next time. */
    task = tn_test_start(HELLO);
    assert_true(tn_test_is(header_of(2, "x-goog-api-key"), "{\"secret\":\"GOOGLE_API_KEY\"}"));
    fake_http_fail(2, "SECRET_NOT_FOUND", false);
    expect_failed(task, "AUTH", "neither the secret GEMINI_API_KEY nor GOOGLE_API_KEY is available");
    task = tn_test_start(HELLO);
    assert_true(tn_test_is(header_of(3, "x-goog-api-key"), "[{\"secret\":\"GEMINI_API_KEY\"}]"));
    fake_http_end(3, 200, ANSWER);
    assert_int_equal(task->state, TN_TEST_COMPLETED);
    gemini_end();
}

static void test_own_key_has_no_second(void **state) {
    (void)state;
    gemini_begin("{}");
    struct tn_test_task *task = tn_test_run("gemini", "{\"model\": \"m\", \"api_key\": {\"secret\": \"MINE\"}}", HELLO);
    fake_http_fail(0, "SECRET_NOT_FOUND", false);
    assert_true(tn_test_failed(task, "AUTH"));
    assert_int_equal(fake_http.count, 1);
    gemini_end();
}

/* A key that is not accepted is not tried again. */
static void test_wrong_key(void **state) {
    (void)state;
    gemini_begin("{}");
    struct tn_test_task *task = tn_test_run("gemini", "{\"model\": \"m\"}", HELLO);
    fake_http_end(0, 401, "{\"error\": {\"status\": \"UNAUTHENTICATED\"}}");
    assert_true(tn_test_failed(task, "AUTH"));
    assert_int_equal(fake_http.count, 1);
    gemini_end();
}

/* ---- Places ---- */

static const char *request_url(const char *section, const char *config) {
    static char found[512];
    gemini_begin(section);
    struct tn_test_task *task = tn_test_run("gemini", config, HELLO);
    if (fake_http.count == 1 && strstr(url_of(0), "token")) fake_http_end(0, 200, TOKEN("t"));
    uint32_t last = fake_http.count - 1;
    snprintf(found, sizeof found, "%s", url_of(last));
    fake_http_end(last, 200, ANSWER);
    assert_int_equal(task->state, TN_TEST_COMPLETED);
    gemini_end();
    return found;
}

static void test_places(void **state) {
    (void)state;
    write_credentials(USER);
#define V1           "/v1beta1/projects/p1/locations/"
#define MODEL        "/publishers/google/models/m:generateContent"
#define CONFIG(more) "{\"model\": \"m\", \"stream\": false" more "}"
    assert_string_equal(request_url("{}", CONFIG(", \"project\": \"p1\"")),
                        "https://asia-northeast1-aiplatform.googleapis.com" V1 "asia-northeast1" MODEL);
    assert_string_equal(request_url("{}", CONFIG(", \"project\": \"p1\", \"location\": \"global\"")),
                        "https://aiplatform.googleapis.com" V1 "global" MODEL);
    assert_string_equal(request_url("{}", CONFIG(", \"project\": \"p1\", \"location\": \"eu\"")),
                        "https://aiplatform.eu.rep.googleapis.com" V1 "eu" MODEL);
    assert_string_equal(request_url("{\"project\": \"p1\", \"location\": \"europe-west4\"}", CONFIG("")),
                        "https://europe-west4-aiplatform.googleapis.com" V1 "europe-west4" MODEL);
    assert_string_equal(request_url("{\"vertex_url\": \"http://127.0.0.1:9/v1\"}", CONFIG(", \"project\": \"p1\"")),
                        "http://127.0.0.1:9/v1/projects/p1/locations/asia-northeast1" MODEL);
    assert_string_equal(
        request_url("{}", CONFIG(", \"project\": \"p1\", \"base_url\": \"https://x.googleapis.com/v1/\"")),
        "https://x.googleapis.com/v1/projects/p1/locations/asia-northeast1" MODEL);
    assert_string_equal(request_url("{}", "{\"model\": \"anthropic/claude\", \"stream\": false, \"project\": \"p1\"}"),
                        "https://asia-northeast1-aiplatform.googleapis.com" V1
                        "asia-northeast1/publishers/anthropic/models/claude:generateContent");
    assert_string_equal(
        request_url("{}",
                    "{\"model\": \"projects/1/locations/us-central1/endpoints/2\", \"stream\": false, \"project\": "
                    "\"p1\", \"location\": \"us-central1\"}"),
        "https://us-central1-aiplatform.googleapis.com/v1beta1/projects/1/locations/us-central1/endpoints/"
        "2:generateContent");
    setenv("VERTEX_PROJECT_ID", "p1", 1);
    setenv("VERTEX_LOCATION", "us-east5", 1);
    assert_string_equal(request_url("{}", CONFIG("")),
                        "https://us-east5-aiplatform.googleapis.com" V1 "us-east5" MODEL);
    assert_string_equal(request_url("{\"location\": \"us-west1\"}", CONFIG("")),
                        "https://us-west1-aiplatform.googleapis.com" V1 "us-west1" MODEL);
    assert_string_equal(request_url("{}", CONFIG(", \"api_key\": \"k\"")),
                        "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent");
    assert_string_equal(request_url("{\"project\": \"p2\"}", CONFIG(", \"base_url\": \"http://127.0.0.1:9/v1\"")),
                        "http://127.0.0.1:9/v1/models/m:generateContent");
    assert_string_equal(request_url("{}", CONFIG(", \"api_key\": \"k\", \"project\": \"p1\"")),
                        "https://us-east5-aiplatform.googleapis.com" V1 "us-east5" MODEL);
    unsetenv("VERTEX_PROJECT_ID");
    unsetenv("VERTEX_LOCATION");
}

/* ---- Tokens ---- */

static void test_one_token_for_all(void **state) {
    (void)state;
    write_credentials(USER);
    gemini_begin("{}");
    struct tn_test_task *first = tn_test_run("gemini", ON_P1, HELLO), *second = tn_test_start(HELLO);
    assert_int_equal(fake_http.count, 1);
    assert_string_equal(url_of(0), "https://oauth2.googleapis.com/token");
    assert_true(
        tn_test_is(value_get(fake_http_request(0), "body"),
                   "\"grant_type=refresh_token&client_id=me&client_secret=s%26cret&refresh_token=1%2F%2Fre%20fresh\""));
    assert_true(tn_test_is(header_of(0, "content-type"), "\"application/x-www-form-urlencoded\""));
    fake_http_end(0, 200, TOKEN("ya29.a"));
    assert_int_equal(fake_http.count, 3);
    for (uint32_t i = 1; i < 3; i++) {
        assert_true(tn_test_is(header_of(i, "authorization"), "\"Bearer ya29.a\""));
        assert_true(tn_test_is(header_of(i, "x-goog-user-project"), "\"payer\""));
        assert_null(header_of(i, "x-goog-api-key"));
        fake_http_end(i, 200, ANSWER);
    }
    assert_int_equal(first->state, TN_TEST_COMPLETED);
    assert_int_equal(second->state, TN_TEST_COMPLETED);
    /* Kept until four minutes before its end. */
    tn_test_advance((3600 - 241) * 1000);
    (void)tn_test_start(HELLO);
    assert_int_equal(fake_http.count, 4);
    fake_http_end(3, 200, ANSWER);
    tn_test_advance(2000);
    (void)tn_test_start(HELLO);
    assert_string_equal(url_of(4), "https://oauth2.googleapis.com/token");
    fake_http_end(4, 200, TOKEN("ya29.b"));
    assert_true(tn_test_is(header_of(5, "authorization"), "\"Bearer ya29.b\""));
    fake_http_end(5, 200, ANSWER);
    gemini_end();
}

/* Another instance, made after the first is gone, has the same credentials and uses the same token. */
static void test_token_outlives_its_model(void **state) {
    (void)state;
    write_credentials(USER);
    gemini_begin("{}");
    (void)tn_test_run("gemini", ON_P1, HELLO);
    fake_http_end(0, 200, TOKEN("ya29.a"));
    fake_http_end(1, 200, ANSWER);
    tn_test.components->destroy(tn_test.instance);
    (void)tn_test_run("gemini", ON_P1, HELLO);
    assert_int_equal(fake_http.count, 3);
    assert_true(tn_test_is(header_of(2, "authorization"), "\"Bearer ya29.a\""));
    fake_http_end(2, 200, ANSWER);
    gemini_end();
}

static void test_refused_token(void **state) {
    (void)state;
    write_credentials(USER);
    gemini_begin("{}");
    struct tn_test_task *task = tn_test_run("gemini", ON_P1, HELLO);
    fake_http_end(0, 200, TOKEN("old"));
    fake_http_end(1, 401, "{\"error\": {\"status\": \"UNAUTHENTICATED\"}}");
    assert_string_equal(url_of(2), "https://oauth2.googleapis.com/token");
    fake_http_end(2, 200, TOKEN("new"));
    assert_true(tn_test_is(header_of(3, "authorization"), "\"Bearer new\""));
    assert_true(value_equal(value_get(fake_http_request(1), "json"), value_get(fake_http_request(3), "json")));
    fake_http_end(3, 401, "{\"error\": {\"status\": \"UNAUTHENTICATED\"}}");
    expect_failed(task, "AUTH", "their roles in `project`");
    assert_int_equal(fake_http.count, 4);
    /* Two calls that are refused with one token get one new token. */
    (void)tn_test_start(HELLO);
    (void)tn_test_start(HELLO);
    assert_int_equal(fake_http.count, 6);
    fake_http_end(4, 401, "{}");
    fake_http_end(5, 401, "{}");
    assert_int_equal(fake_http.count, 7);
    fake_http_end(6, 200, TOKEN("newest"));
    fake_http_end(7, 200, ANSWER);
    fake_http_end(8, 200, ANSWER);
    assert_int_equal(tn_test.tasks[1].state, TN_TEST_COMPLETED);
    assert_int_equal(tn_test.tasks[2].state, TN_TEST_COMPLETED);
    gemini_end();
}

static void test_cancelled_while_waiting(void **state) {
    (void)state;
    write_credentials(USER);
    gemini_begin("{}");
    struct tn_test_task *first = tn_test_run("gemini", ON_P1, HELLO), *second = tn_test_start(HELLO);
    tn_test_cancel(first);
    assert_true(tn_test_failed(first, "CANCELLED"));
    fake_http_end(0, 200, TOKEN("t"));
    assert_int_equal(fake_http.count, 2);
    tn_test_cancel(second);
    assert_true(fake_http.exchanges[1].cancelled);
    gemini_end();
    /* All waiting calls are cancelled: the token is fetched, and no call is notified. */
    gemini_begin("{}");
    tn_test_cancel(tn_test_run("gemini", ON_P1, HELLO));
    fake_http_end(0, 200, TOKEN("t"));
    gemini_end();
    /* The same if the model is destroyed before the token arrives. */
    gemini_begin("{}");
    tn_test_cancel(tn_test_run("gemini", ON_P1, HELLO));
    tn_test.components->destroy(tn_test.instance);
    tn_test.instance = NULL;
    assert_true(fake_http.exchanges[0].cancelled);
    gemini_end();
}

static void test_no_token(void **state) {
    static const struct {
        int64_t status;
        const char *body, *code, *words;
    } cases[] = {
        {400, "{\"error\": \"invalid_grant\", \"error_description\": \"Bad Request\"}", "AUTH", "invalid_grant"},
        {401, "no JSON", "AUTH", "gcloud auth application-default login"},
        {503, "{}", "OVERLOADED", "try again later"},
        {200, "{}", "INVALID_RESPONSE", "without an access_token"},
        {200, "<html>", "INVALID_RESPONSE", "without an access_token"},
        {200, "{\"access_token\": 5}", "INVALID_RESPONSE", "without an access_token"},
    };
    (void)state;
    write_credentials(USER);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gemini_begin("{}");
        struct tn_test_task *task = tn_test_run("gemini", ON_P1, HELLO), *other = tn_test_start(HELLO);
        fake_http_end(0, cases[i].status, cases[i].body);
        expect_failed(task, cases[i].code, cases[i].words);
        assert_true(tn_test_failed(other, cases[i].code));
        /* The token is not kept: the next call requests a new one. */
        task = tn_test_start(HELLO);
        fake_http_fail(1, "CONNECT", true);
        expect_failed(task, "CONNECT", "no access token");
        assert_true(tn_test_is(value_get(task->error, "retryable"), "true"));
        gemini_end();
    }
}

/* An invalid lifetime counts as one hour. A token with a very short lifetime is used only by the calls that wait. */
static void test_odd_lives(void **state) {
    static const struct {
        const char *body;
        bool kept;
    } cases[] = {
        {"{\"access_token\": \"t\"}", true},
        {"{\"access_token\": \"t\", \"expires_in\": 9223372036854775807}", true},
        {"{\"access_token\": \"t\", \"expires_in\": -9223372036854775807}", true},
        {"{\"access_token\": \"t\", \"expires_in\": \"soon\"}", true},
        {"{\"access_token\": \"t\", \"expires_in\": 240}", false},
        {"{\"access_token\": \"t\", \"expires_in\": 0}", false},
    };
    (void)state;
    write_credentials(USER);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gemini_begin("{}");
        struct tn_test_task *task = tn_test_run("gemini", ON_P1, HELLO);
        fake_http_end(0, 200, cases[i].body);
        assert_true(tn_test_is(header_of(1, "authorization"), "\"Bearer t\""));
        fake_http_end(1, 200, ANSWER);
        assert_int_equal(task->state, TN_TEST_COMPLETED);
        (void)tn_test_start(HELLO);
        assert_int_equal(strstr(url_of(2), "token") == NULL, cases[i].kept);
        tn_test_cancel(&tn_test.tasks[1]);
        gemini_end();
    }
}

static void test_unsendable(void **state) {
    (void)state;
    write_credentials(USER);
    gemini_begin("{}");
    fake_http.status = TN_LIMIT;
    struct tn_test_task *task = tn_test_run("gemini", ON_P1, HELLO);
    assert_int_equal(task->state, TN_TEST_OPEN); /* never inside */
    tn_test_advance(0);
    expect_failed(task, "AUTH", "could not be sent");
    gemini_end();
}

/* ---- Credentials ---- */

static void test_machine(void **state) {
    (void)state;
    gemini_begin("{}");
    struct tn_test_task *task = tn_test_run("gemini", ON_P1, HELLO);
    assert_string_equal(url_of(0), MACHINE);
    assert_true(tn_test_is(header_of(0, "metadata-flavor"), "\"Google\""));
    assert_null(value_get(fake_http_request(0), "body"));
    fake_http_end(0, 200, TOKEN("m"));
    assert_true(tn_test_is(header_of(1, "authorization"), "\"Bearer m\""));
    assert_null(header_of(1, "x-goog-user-project"));
    fake_http_end(1, 200, ANSWER);
    assert_int_equal(task->state, TN_TEST_COMPLETED);
    gemini_end();
    gemini_begin("{}");
    task = tn_test_run("gemini", ON_P1, HELLO);
    fake_http_fail(0, "CONNECT", true);
    expect_failed(task, "AUTH", "found no credentials for Vertex");
    gemini_end();
}

static void test_gclouds_own_file(void **state) {
    char path[160];
    (void)state;
    setenv("CLOUDSDK_CONFIG", folder, 1);
    snprintf(path, sizeof path, "%s/application_default_credentials.json", folder);
    write_credentials(USER);
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    char from[160];
    snprintf(from, sizeof from, "%s/credentials.json", folder);
    assert_int_equal(rename(from, path), 0);
    gemini_begin("{\"token_url\": \"http://127.0.0.1:9/token\"}");
    (void)tn_test_run("gemini", ON_P1, HELLO);
    assert_string_equal(url_of(0), "http://127.0.0.1:9/token");
    fake_http_end(0, 200, TOKEN("t"));
    fake_http_end(1, 200, ANSWER);
    gemini_end();
    assert_int_equal(unlink(path), 0);
    unsetenv("CLOUDSDK_CONFIG");
}

/* The error names the problem of a file, but not its contents. */
static void test_bad_files(void **state) {
    static const char *const files[][2] = {
        {"secret-text", "expected credentials of Google Cloud"},
        {"[\"secret-text\"]", "expected credentials of Google Cloud"},
        {"{\"type\": \"external_account\", \"x\": \"secret-text\"}", "unknown credentials type \"external_account\""},
        {"{\"type\": \"authorized_user\", \"client_id\": \"secret-text\"}", "`client_secret` is missing"},
        {"{\"type\": \"service_account\", \"client_email\": \"a@b\"}", "`private_key` is missing"},
        {"{\"type\": \"service_account\", \"client_email\": \"a@b\", \"private_key\": \"secret-text\"}",
         "expected an RSA key"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_credentials(files[i][0]);
        gemini_begin("{}");
        struct tn_test_task *task = tn_test_run("gemini", ON_P1, HELLO);
        assert_int_equal(fake_http.count, 0);
        tn_test_advance(0);
        expect_failed(task, "AUTH", files[i][1]);
        assert_null(strstr(value_chars(value_get(task->error, "message"), NULL), "secret-text"));
        gemini_end();
    }
    setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/file", 1);
    gemini_begin("{}");
    struct tn_test_task *task = tn_test_run("gemini", ON_P1, HELLO);
    tn_test_advance(0);
    expect_failed(task, "AUTH", "/nonexistent/file: No such file or directory");
    gemini_end();
}

/* The operator's file goes before the environment's; one that is too long is not read to its end. */
static void test_named_file(void **state) {
    char section[512], *large = malloc(70000);
    (void)state;
    assert_non_null(large);
    write_credentials(USER);
    snprintf(section, sizeof section, "{\"credentials\": \"%s/credentials.json\"}", folder);
    setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/file", 1);
    gemini_begin(section);
    struct tn_test_task *task = tn_test_run("gemini", ON_P1, HELLO);
    assert_int_equal(fake_http.count, 1);
    tn_test_cancel(task);
    gemini_end();
    memset(large, ' ', 69999);
    large[69999] = 0;
    memcpy(large, USER, sizeof USER - 1);
    write_credentials(large);
    gemini_begin(section);
    task = tn_test_run("gemini", ON_P1, HELLO);
    tn_test_advance(0);
    expect_failed(task, "AUTH", "at most 64 KiB");
    gemini_end();
    free(large);
}

/* ---- Embeddings: how many texts one request takes ---- */

static void test_batches(void **state) {
    struct buffer input;
    (void)state;
    buffer_init(&input, SIZE_MAX);
    buffer_text(&input, "{\"embed\": [\"0\"");
    for (int i = 1; i < 101; i++) buffer_format(&input, ", \"%d\"", i);
    buffer_text(&input, "]}");
    gemini_begin("{}");
    struct tn_test_task *task = tn_test_run("gemini", "{\"model\": \"gemini-embedding-001\"}", buffer_cstr(&input));
    tn_value requests = value_get(value_get(fake_http_request(0), "json"), "requests");
    assert_int_equal(value_count(requests), 100);
    buffer_clear(&input);
    buffer_text(&input, "{\"embeddings\": [{\"values\": [0]}");
    for (int i = 1; i < 100; i++) buffer_format(&input, ", {\"values\": [%d]}", i);
    buffer_text(&input, "]}");
    fake_http_end(0, 200, buffer_cstr(&input));
    requests = value_get(value_get(fake_http_request(1), "json"), "requests");
    assert_int_equal(value_count(requests), 1);
    fake_http_end(1, 200, "{\"embeddings\": [{\"values\": [100]}]}");
    assert_int_equal(task->state, TN_TEST_COMPLETED);
    tn_value vectors = value_get(task->output, "embeddings");
    assert_int_equal(value_count(vectors), 101);
    assert_true(tn_test_is(value_at(vectors, 100), "[100]"));
    buffer_finish(&input);
    gemini_end();
}

static void test_embeddings_of_vertex(void **state) {
    (void)state;
    write_credentials(USER);
    gemini_begin("{}");
    struct tn_test_task *task = tn_test_run("gemini", "{\"model\": \"text-embedding-005\", \"project\": \"p1\"}",
                                            "{\"embed\": [\"a\", \"b\"], \"options\": {\"dimensions\": 2, \"extra\": "
                                            "{\"taskType\": \"CLUSTERING\"}}}");
    fake_http_end(0, 200, TOKEN("t"));
    assert_non_null(strstr(url_of(1), "text-embedding-005:predict"));
    assert_true(tn_test_is(value_get(fake_http_request(1), "json"),
                           "{\"instances\":[{\"content\":\"a\",\"task_type\":\"CLUSTERING\"},{\"content\":\"b\",\"task_"
                           "type\":\"CLUSTERING\"}],\"parameters\":{\"outputDimensionality\":2}}"));
    fake_http_end(1, 200,
                  "{\"predictions\":[{\"embeddings\":{\"values\":[1,2],\"statistics\":{\"token_count\":3}}},"
                  "{\"embeddings\":{\"values\":[3,4],\"statistics\":{\"token_count\":4}}}]}");
    assert_true(tn_test_is(task->output,
                           "{\"embeddings\":[[1,2],[3,4]],\"usage\":{\"input_tokens\":7,\"output_tokens\":0,"
                           "\"total_tokens\":7}}"));
    tn_test.components->destroy(tn_test.instance);
    /* Newer models take one text at a time. */
    task = tn_test_run("gemini", "{\"model\": \"gemini-embedding-2\", \"project\": \"p1\"}",
                       "{\"embed\": [\"a\", \"b\"]}");
    assert_non_null(strstr(url_of(2), "gemini-embedding-2:embedContent"));
    assert_true(tn_test_is(value_get(fake_http_request(2), "json"),
                           "{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"embedContentConfig\":{}}"));
    fake_http_end(2, 200, "{\"embedding\":{\"values\":[1]},\"usageMetadata\":{\"promptTokenCount\":2}}");
    assert_true(tn_test_is(value_get(fake_http_request(3), "json"),
                           "{\"content\":{\"parts\":[{\"text\":\"b\"}]},\"embedContentConfig\":{}}"));
    fake_http_end(3, 200, "{\"embedding\":{\"values\":[2]},\"usageMetadata\":{\"promptTokenCount\":3}}");
    assert_true(tn_test_is(task->output, "{\"embeddings\":[[1],[2]],\"usage\":{\"input_tokens\":5,\"output_tokens\":0,"
                                         "\"total_tokens\":5}}"));
    gemini_end();
}

/* ---- Memory ---- */

#define CHUNKED                                                                                                        \
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true},{\"text\":\"a\"}]}}]}\r\n\r\n" \
    "data: "                                                                                                           \
    "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"partialArgs\":[{\"jsonPath\":"      \
    "\"$.a[1].b\",\"stringValue\":\"s\",\"willContinue\":true}],\"willContinue\":true}}]}}]}\r\n\r\n"                  \
    "data: "                                                                                                           \
    "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{}},{\"inlineData\":{\"mimeType\":\"image/png\","     \
    "\"data\":\"AAAA\"}}]},\"finishReason\":\"STOP\"}]}\r\n\r\n"

/* True: nothing failed. */
static bool run_denied(uint64_t nth) {
    gemini_begin("{}");
    tn_test.deny = nth;
    int32_t status = tn_test_create("gemini", "{\"model\": \"m\", \"project\": \"p1\"}");
    if (status == TN_OK) {
        struct tn_test_task *task = tn_test_start("{\"messages\": [\"x\"], \"tools\": [{\"name\": \"a.b\"}]}");
        tn_test_advance(0);
        if (fake_http.count == 1 && task->state == TN_TEST_OPEN) fake_http_end(0, 200, TOKEN("t"));
        if (fake_http.count == 2) fake_http_stream(1, CHUNKED, sizeof CHUNKED - 1, 7);
        if (fake_http.count == 2 && fake_http.exchanges[1].open) fake_http_end(1, 200, NULL);
        assert_int_not_equal(task->state, TN_TEST_OPEN);
        assert_true(task->state == TN_TEST_COMPLETED || tn_test.deny == 0);
    } else {
        assert_int_equal(status, TN_NO_MEMORY);
        tn_test.instance = NULL;
    }
    bool all = tn_test.deny > 0;
    tn_test.deny = 0;
    gemini_end();
    return all;
}

/* Every allocation fails once: the task ends, and nothing is left behind. */
static void test_no_memory(void **state) {
    uint64_t nth = 1;
    (void)state;
    write_credentials(USER);
    while (!run_denied(nth)) nth++;
    assert_true(nth > 20);
}

#define TEST(function) cmocka_unit_test_setup(function, auth_forget)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_second_secret),
        TEST(test_own_key_has_no_second),
        TEST(test_wrong_key),
        TEST(test_places),
        TEST(test_one_token_for_all),
        TEST(test_token_outlives_its_model),
        TEST(test_refused_token),
        TEST(test_cancelled_while_waiting),
        TEST(test_no_token),
        TEST(test_odd_lives),
        TEST(test_unsendable),
        TEST(test_machine),
        TEST(test_gclouds_own_file),
        TEST(test_bad_files),
        TEST(test_named_file),
        TEST(test_batches),
        TEST(test_embeddings_of_vertex),
        TEST(test_no_memory),
    };
    return cmocka_run_group_tests(tests, auth_load, auth_remove);
}

#else
int main(void) {
    puts("skipped: built without the Gemini provider");
    return 0;
}
#endif
