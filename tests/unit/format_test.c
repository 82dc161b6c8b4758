/*
 * format_test.c - the cases of tests/corpus/format, and cases that text files cannot express.
 *
 * `in` is formatted (with a newline at its end); `out` is the result, by default the same text; `found` lists the codes
 * of the diagnostics instead. Every result is formatted again and must not change.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/format/format.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "corpus.h"

/* Returns the formatted text, or the codes found, one per line; free it with mem_free. */
static char *run(const char *name, const char *text, size_t length, int32_t *status) {
    struct source *source = source_new(name, text, length);
    struct diagnostics *found = diagnostics_new();
    char *result = NULL;
    size_t result_length = 0;
    *status = format_source(source, found, &result, &result_length);
    if (*status == TN_OK) {
        assert_int_equal(strlen(result), result_length);
    } else {
        struct buffer codes;
        buffer_init(&codes, SIZE_MAX);
        assert_null(result);
        for (size_t i = 0; i < diagnostics_count(found); i++)
            buffer_format(&codes, "%s\n", diagnostic_info(diagnostics_at(found, i)->code)->code + 4);
        result = buffer_detach(&codes, NULL);
    }
    diagnostics_free(found);
    source_unref(source);
    return result;
}

static void check_case(const struct corpus_case *test, void *user) {
    const char *name = user;
    struct buffer in;
    buffer_init(&in, SIZE_MAX);
    buffer_text(&in, corpus_need(test, "in"));
    buffer_char(&in, '\n');
    int32_t status;
    char *got = run(name, in.data, in.length, &status);
    if (corpus_section(test, "found")) {
        corpus_expect(test, "found", got);
        assert_int_equal(status, TN_INVALID);
    } else {
        corpus_expect(test, corpus_section(test, "out") ? "out" : "in", got);
        assert_int_equal(status, TN_OK);
        char *again = run(name, got, strlen(got), &status);
        assert_string_equal(again, got);
        mem_free(again);
    }
    mem_free(got);
    buffer_finish(&in);
}

static char yaml_name[] = "case.yaml", json_name[] = "case.json";

static void test_yaml(void **state) {
    (void)state;
    corpus_each("tests/corpus/format/yaml.txt", check_case, yaml_name);
}

static void test_json(void **state) {
    (void)state;
    corpus_each("tests/corpus/format/json.txt", check_case, json_name);
}

static void expect(const char *text, const char *expected) {
    int32_t status;
    char *got = run(yaml_name, text, strlen(text), &status);
    assert_string_equal(got, expected);
    mem_free(got);
}

static void test_ends(void **state) {
    (void)state;
    expect("", "");
    expect("\n\n", "");
    expect("a: 1", "a: 1\n");
    expect("a: 1\n\n\n", "a: 1\n");
    expect("a: 1 # c", "a: 1  # c\n");
    expect("\xef\xbb\xbf"
           "a: 1\n",
           "a: 1\n");
    expect("a: |\n  x", "a: |-\n  x\n"); /* its text has no newline */
    expect("a: |+\n  x", "a: |-\n  x\n");
    expect("a: |+\n  x\n\n\n", "a: |+\n  x\n\n\n"); /* here they are text */
    expect("a: |\n  x\n\n\n", "a: |\n  x\n");
    expect("a: |\n\n\n", "a: |\n");
}

/* In the corpus, a line with --- begins a section. */
static void test_document_start(void **state) {
    (void)state;
    expect("---\n- x\n", "---\n- x\n");
    expect("%YAML 1.2\n---  # c\n\na:   1\n", "%YAML 1.2\n---  # c\n\na: 1\n");
    expect("---  \n\n\na:   1\n", "---\n\na: 1\n");
    expect("--- &a\na: 1\n", "--- &a\na: 1\n");
    expect("---\n{a: 1}\n", "--- {a: 1}\n");
    expect("---   a\n  b\n...\n", "--- a\n  b\n...\n");
    expect("--- |\n  a\n", "--- |\n  a\n");
    expect("--- ...\n", "--- ...\n");
}

static void test_line_ends(void **state) {
    (void)state;
    expect("a: 1  \r\n\r\n\r\n# c \r\nb: |\r\n   x\r\n   y\r\n", "a: 1\r\n\r\n# c\r\nb: |\r\n  x\r\n  y\r\n");
    expect("a:  1\nb: 2\r\nc: 3\r\n", "a: 1\r\nb: 2\r\nc: 3\r\n"); /* most lines decide */
    expect("a:  1\r\nb: 2\n", "a: 1\nb: 2\n");
    expect("a: [1,\r  2]\rb: 'x\r  y'\r", "a: [1,\n  2]\nb: 'x\n  y'\n");
}

/*
 * The complete example with each line dropped, and each prefix: formatted, or refused for its own mistake; never E016.
 */
static void test_variants(void **state) {
    (void)state;
    size_t length;
    char *text = corpus_load(TENON_SOURCE_DIR "/tests/fuzz/seeds/format/everything.yaml", &length);
    for (size_t start = 0; start < length;) {
        const char *newline = memchr(text + start, '\n', length - start);
        size_t end = newline ? (size_t)(newline - text) + 1 : length;
        struct buffer variant;
        buffer_init(&variant, SIZE_MAX);
        buffer_append(&variant, text, start);
        for (int prefix = 0; prefix < 2; prefix++) {
            int32_t status;
            char *got = run(yaml_name, buffer_cstr(&variant), variant.length, &status);
            if (status != TN_OK && strstr(got, "E016")) fail_msg("refused:\n%s", buffer_cstr(&variant));
            mem_free(got);
            buffer_append(&variant, text + end, length - end);
        }
        buffer_finish(&variant);
        start = end;
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml),      cmocka_unit_test(test_json),     cmocka_unit_test(test_ends),
        cmocka_unit_test(test_line_ends), cmocka_unit_test(test_variants), cmocka_unit_test(test_document_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
