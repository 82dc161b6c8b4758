/*
 * gemini_test.c - the Gemini provider as it is installed, over a host and an HTTP of the test's own.
 *
 * tests/corpus/gemini has what is asked, the request that is to be made of it, what the service says, and what becomes
 * of that. Recorded answers are tests/providers/gemini_recorded.py's.
 *
 * A case: `config`, `section` (of tenon.yaml), `input`; then, as far as it has them, `url` and `request` (the first
 * one's body), `stream` (a chunk a line, framed as the service does) or `answer` (with `status`), `deltas`, `output`,
 * or `error`: a code, then parts of the message or of the error as JSON, a line each.
 */
#include "tests/unit/corpus.h"

#ifdef TENON_GEMINI_PLUGIN
#include "tests/unit/gemini_fixture.h"
#include "tests/unit/sanitized.h"

/* ---- The corpus ---- */

static void expect_json(const struct corpus_case *test, const char *name, tn_value found) {
    const char *text = corpus_section(test, name);
    if (!text) return;
    tn_value expected = tn_test_json(text);
    if (!expected) fail_msg("%s:%zu: `%s`, section `%s` is not valid JSON", test->path, test->line, test->name, name);
    bool same = found && value_equal(found, expected);
    char *shown = found && !same ? json_text(found, JSON_COMPACT) : NULL;
    if (!same)
        (void)fprintf(stderr, "%s:%zu: `%s`, section `%s`\nexpected:\n%s\nfound:\n%s\n", test->path, test->line,
                      test->name, name, text, shown ? shown : "nothing");
    mem_free(shown);
    value_unref(expected);
    assert_true(same);
}

static void expect_url(const struct corpus_case *test) {
    const char *expected = corpus_section(test, "url");
    if (!expected) return;
    tn_value request = fake_http_request(0), query = value_get(request, "query");
    struct buffer found;
    buffer_init(&found, SIZE_MAX);
    buffer_text(&found, value_chars(value_get(request, "url"), NULL));
    if (value_get(query, "alt")) buffer_format(&found, "?alt=%s", value_chars(value_get(query, "alt"), NULL));
    corpus_expect(test, "url", buffer_cstr(&found));
    buffer_finish(&found);
}

/* As Google frames it: "data: JSON", CR LF, CR LF. Free it. */
static char *framed(const char *lines, size_t *length) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    for (const char *at = lines; *at;) {
        size_t line = strcspn(at, "\n");
        if (line > 0) {
            buffer_text(&out, "data: ");
            buffer_append(&out, at, line);
            buffer_text(&out, "\r\n\r\n");
        }
        at += line + (at[line] == '\n');
    }
    *length = out.length;
    char *text = strdup(buffer_cstr(&out));
    buffer_finish(&out);
    return text;
}

static void expect_error(const struct corpus_case *test, const struct tn_test_task *task) {
    const char *lines = corpus_section(test, "error");
    if (!lines) return;
    char *shown = task->error ? json_text(task->error, JSON_COMPACT) : NULL;
    for (const char *at = lines; *at;) {
        size_t length = strcspn(at, "\n");
        char line[512];
        assert_true(length < sizeof line);
        memcpy(line, at, length);
        line[length] = 0;
        bool first = at == lines;
        const char *code = task->error ? value_chars(value_get(task->error, "code"), NULL) : "";
        if (first ? strcmp(code, line) != 0 : !shown || !strstr(shown, line)) {
            (void)fprintf(stderr, "%s:%zu: `%s`\nexpected in the error: %s\nfound: %s\n", test->path, test->line,
                          test->name, line, shown ? shown : "no error");
            fail_msg("%s:%zu: `%s`: another error", test->path, test->line, test->name);
        }
        at += length + (at[length] == '\n');
    }
    mem_free(shown);
}

static void answer(const struct corpus_case *test, size_t step) {
    const char *stream = corpus_section(test, "stream"), *whole = corpus_section(test, "answer");
    const char *status = corpus_section(test, "status");
    if (fake_http.count == 0) return;
    if (stream) {
        size_t length = 0;
        char *bytes = framed(stream, &length);
        fake_http_stream(0, bytes, length, step);
        free(bytes);
        if (fake_http.exchanges[0].open) fake_http_end(0, 200, NULL);
    } else if (whole) {
        fake_http_end(0, status ? atoi(status) : 200, whole);
    } else {
        tn_test_cancel(&tn_test.tasks[0]);
    }
}

static void run_case(const struct corpus_case *test, size_t step) {
    const char *config = corpus_section(test, "config");
    const char *section = corpus_section(test, "section");
    gemini_begin(section ? section : "{}");
    int32_t status = tn_test_create("gemini", config ? config : "{\"model\": \"gemini-2.5-flash\"}");
    if (corpus_section(test, "refused")) {
        assert_int_not_equal(status, TN_OK);
        if (!strstr(tn_test.refusal, corpus_section(test, "refused"))) fail_msg("%s: %s", test->name, tn_test.refusal);
        gemini_end();
        return;
    }
    if (status != TN_OK) fail_msg("%s:%zu: `%s`: %s", test->path, test->line, test->name, tn_test.refusal);
    struct tn_test_task *task = tn_test_start(corpus_need(test, "input"));
    if (corpus_section(test, "request") || corpus_section(test, "url")) {
        if (fake_http.count == 0) {
            char *shown = task->error ? json_text(task->error, JSON_COMPACT) : NULL;
            fail_msg("%s:%zu: `%s`: nothing was sent: %s", test->path, test->line, test->name, shown ? shown : "");
        }
        expect_json(test, "request", value_get(fake_http_request(0), "json"));
        expect_json(test, "headers", value_get(fake_http_request(0), "headers"));
        expect_url(test);
    }
    answer(test, step);
    if (corpus_section(test, "output") && task->error) {
        char *shown = json_text(task->error, JSON_COMPACT);
        (void)fprintf(stderr, "%s:%zu: `%s` failed: %s\n", test->path, test->line, test->name, shown);
        mem_free(shown);
    }
    expect_json(test, "output", task->output);
    expect_json(test, "deltas", tn_test.emitted);
    expect_error(test, task);
    gemini_end();
}

static void check_case(const struct corpus_case *test, void *user) {
    (void)user;
    run_case(test, 4096);
    if (corpus_section(test, "stream")) run_case(test, 1);
}

static void test_requests(void **state) {
    (void)state;
    corpus_each("tests/corpus/gemini/requests.txt", check_case, NULL);
}

static void test_answers(void **state) {
    (void)state;
    corpus_each("tests/corpus/gemini/answers.txt", check_case, NULL);
}

static void test_errors(void **state) {
    (void)state;
    corpus_each("tests/corpus/gemini/errors.txt", check_case, NULL);
}

static void test_arguments(void **state) {
    (void)state;
    corpus_each("tests/corpus/gemini/arguments.txt", check_case, NULL);
}

/* The audio of an answer may have 64 MiB: the eleventh piece of 6 MiB is too much. */
static void test_audio_limit(void **state) {
    (void)state;
    if (SANITIZED) skip();         /* 88 MiB of base64 take a sanitizer many seconds */
    const size_t piece = 8u << 20; /* of base64 */
    struct buffer event;
    uint32_t sent = 0;
    buffer_init(&event, SIZE_MAX);
    buffer_text(
        &event,
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"inlineData\":{\"mimeType\":\"audio/pcm\",\"data\":\"");
    memset(buffer_extend(&event, piece), 'A', piece);
    buffer_text(&event, "\"}}]}}]}\n\n");
    gemini_begin("{}");
    assert_int_equal(tn_test_create("gemini", "{\"model\": \"m\"}"), TN_OK);
    struct tn_test_task *task = tn_test_start("{\"messages\": \"x\"}");
    for (; !task->error && sent < 20; sent++) fake_http_stream(0, buffer_cstr(&event), event.length, event.length);
    assert_int_equal(sent, 11);
    assert_string_equal(value_chars(value_get(task->error, "code"), NULL), "LIMIT");
    gemini_end();
    buffer_finish(&event);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_requests, gemini_forget),    cmocka_unit_test_setup(test_answers, gemini_forget),
        cmocka_unit_test_setup(test_errors, gemini_forget),      cmocka_unit_test_setup(test_arguments, gemini_forget),
        cmocka_unit_test_setup(test_audio_limit, gemini_forget),
    };
    return cmocka_run_group_tests(tests, gemini_load, NULL);
}

#else
int main(void) {
    puts("skipped: built without the Gemini provider");
    return 0;
}
#endif
