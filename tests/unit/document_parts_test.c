/* document_parts_test.c - the parts of reading a document: durations, versions, names, places in scalars, SHA-256. */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/duration.h"
#include "adl/document/inner_file.h"
#include "adl/document/names.h"
#include "adl/document/place.h"
#include "adl/document/version.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "tests/unit/corpus.h"
#include <tenon/util/sha256.h>

static void durations(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum duration_problem problem;
        int64_t milliseconds;
    } cases[] = {
        {"30s", DURATION_OK, 30000},        {"500ms", DURATION_OK, 500},
        {"0.5s", DURATION_OK, 500},         {"10m", DURATION_OK, 600000},
        {"1h", DURATION_OK, 3600000},       {"7d", DURATION_OK, 604800000},
        {"1.5h", DURATION_OK, 5400000},     {"30", DURATION_OK, 30000},
        {"0.1", DURATION_OK, 100},          {"0s", DURATION_OK, 0},
        {".5s", DURATION_OK, 500},          {"366d", DURATION_OK, DURATION_MAX_MS},
        {"367d", DURATION_TOO_LONG, 0},     {"99999999999999999999s", DURATION_TOO_LONG, 0},
        {"0.0001s", DURATION_TOO_SHORT, 0}, {"", DURATION_MALFORMED, 0},
        {"s", DURATION_MALFORMED, 0},       {".s", DURATION_MALFORMED, 0},
        {"-1s", DURATION_MALFORMED, 0},     {"1 s", DURATION_MALFORMED, 0},
        {"1sec", DURATION_MALFORMED, 0},    {"1e3s", DURATION_MALFORMED, 0},
        {"1h30m", DURATION_MALFORMED, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t milliseconds = -7;
        enum duration_problem problem = duration_read(cases[i].text, strlen(cases[i].text), &milliseconds);
        int64_t expected = cases[i].problem == DURATION_OK ? cases[i].milliseconds : -7;
        if (problem != cases[i].problem || milliseconds != expected)
            fail_msg("`%s`: %d, %lld", cases[i].text, problem, (long long)milliseconds);
    }
    int64_t milliseconds = 0;
    assert_int_equal(duration_from_seconds(1.5, &milliseconds), DURATION_OK);
    assert_int_equal(milliseconds, 1500);
    assert_int_equal(duration_from_seconds(-1, &milliseconds), DURATION_MALFORMED);
    assert_int_equal(duration_from_seconds(1e300, &milliseconds), DURATION_TOO_LONG);
    assert_int_equal(duration_from_seconds(1e-9, &milliseconds), DURATION_TOO_SHORT);
}

static void constraints(void **state) {
    (void)state;
    static const struct {
        const char *constraint, *version;
        int holds;
    } cases[] = {
        {">= 1.2", "1.2.0", 1},
        {">= 1.2", "1.1.9", 0},
        {">= 1.2, < 2", "1.9.9", 1},
        {">=1.2 <2", "2.0.0", 0},
        {"> 1.2", "1.2.5", 0},
        {"> 1.2", "1.3.0", 1},
        {"<= 2", "2.9.0", 1},
        {"<= 2", "3.0.0", 0},
        {"= 1.2", "1.2.9", 1},
        {"= 1.2.3", "1.2.4", 0},
        {"== 1.2.3", "1.2.3", 1},
        {"!= 1.4", "1.4.2", 0},
        {"!= 1.4", "1.5.0", 1},
        {"^1.2", "1.9.0", 1},
        {"^1.2", "2.0.0", 0},
        {"^0.3", "0.3.9", 1},
        {"^0.3", "0.4.0", 0},
        {"^0.0.3", "0.0.4", 0},
        {"^0", "0.9.0", 1},
        {"~1.2", "1.2.9", 1},
        {"~1.2", "1.3.0", 0},
        {"~1", "1.9.0", 1},
        {"~1.2.3", "1.2.9", 1},
        {"1.x", "1.7.2", 1},
        {"1.x", "2.0.0", 0},
        {"1.2.*", "1.2.7", 1},
        {"*", "0.0.1", 1},
        {">= 1.0.0-beta", "1.0.0-rc.1", 1},
        {">= 1.0", "2.0.0-beta", 0},
        {"= 1.0.0-rc.1", "1.0.0-rc.1", 1},
        {">= 1.0.0-rc.2", "1.0.0-rc.10", 1},
        {"< 1.0.0-rc.2", "1.0.0-rc.alpha", 0},
        {"1.2", "1.2.0", -1},
        {">=", "1.0.0", -1},
        {"=> 1", "1.0.0", -1},
        {"", "1.0.0", -1},
        {">= 1.2.3.4", "1.2.3", -1},
        {"^1.x", "1.0.0", -1},
        {">= 99999999999", "1.0.0", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct version version;
        size_t at;
        assert_true(version_parse(cases[i].version, strlen(cases[i].version), &version));
        int holds = constraint_holds(cases[i].constraint, strlen(cases[i].constraint), &version, &at);
        if (holds != cases[i].holds) fail_msg("`%s` of %s: %d", cases[i].constraint, cases[i].version, holds);
    }
    struct version version;
    assert_false(version_parse("1.", 2, &version));
    assert_false(version_parse("v1", 2, &version));
    assert_true(version_parse("1.2.3-a.1+b", 11, &version));
}

static void names_are_found_and_guessed(void **state) {
    (void)state;
    struct names names = NAMES_INIT;
    char texts[500][16];
    for (uint32_t i = 0; i < 500; i++) {
        snprintf(texts[i], sizeof texts[i], "step-%u", i);
        assert_int_equal(names_add(&names, texts[i], strlen(texts[i])), i);
    }
    assert_int_equal(names_add(&names, "step-7", 6), 7);
    assert_int_equal(names_find(&names, "step-499", 8), 499);
    assert_int_equal(names_find(&names, "step-500", 8), -1);
    static const char *const near[][2] = {
        {"sstep-499", "step-499"}, {"stp-123", "step-123"},   {"setp-42", "step-42"},
        {"Step_300", "step-300"},  {"step-4999", "step-499"}, {"nothing like it", NULL},
    };
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        struct nearest nearest;
        nearest_init(&nearest, near[i][0], strlen(near[i][0]));
        names_nearest(&names, &nearest);
        const char *meant = nearest_result(&nearest);
        if (!near[i][1] ? meant != NULL : !meant || strcmp(meant, near[i][1]) != 0)
            fail_msg("`%s` is near `%s`", near[i][0], meant ? meant : "nothing");
    }
    names_finish(&names);
    assert_int_equal(names_find(&names, "step-1", 6), -1);
}

/* The scalar's value, a part of it, and the source of that part. */
static void places_in_scalars(void **state) {
    (void)state;
    static const struct {
        const char *name, *source, *part, *expected;
    } cases[] = {
        {"a.yaml", "v: state.a > 3\n", "a >", "a >"},
        {"a.yaml", "v: 'it''s state.a'\n", "state.a", "state.a"},
        {"a.yaml", "v: 'it''s'\n", "'", "''"},
        {"a.yaml", "v: \"a \\\"b\\\" \\u00e9 cd\"\n", "\"b\"", "\\\"b\\\""},
        {"a.yaml", "v: \"a \\\"b\\\" \\u00e9 cd\"\n", "cd", "cd"},
        {"a.json", "{\"v\": \"a \\ud83d\\ude00 b\"}", "b", "b"},
        {"a.json", "{\"v\": \"a \\ud83d\\ude00 b\"}", "\xf0\x9f\x98\x80", "\\ud83d\\ude00"},
        {"a.yaml", "v: >-\n    one\n    two three\n", "two", "two"},
        {"a.yaml", "v: |\n    one\n\n      two\n    three\n", "three", "three"},
        {"a.yaml", "v: |\n    one\n\n      two\n    three\n", "two", "two"},
        {"a.yaml", "v: one\n   two\n   three\n", "three", "three"},
        {"a.yaml", "v: \"one\n   two \\\n   three\"\n", "three", "three"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct source *source = source_new(cases[i].name, cases[i].source, strlen(cases[i].source));
        struct diagnostics *found = diagnostics_new();
        struct tree *tree = tree_read(source, NULL, found);
        const struct tree_node *node = tree_get(tree_root(tree), "v");
        size_t length;
        const char *text = tree_text(tree, node, &length);
        const char *at = strstr(text, cases[i].part);
        assert_non_null(at);
        struct span part = {(uint32_t)(at - text), (uint32_t)(at - text + (ptrdiff_t)strlen(cases[i].part))};
        struct span span = place_in_scalar(source, node, text, length, part);
        if (span.end - span.start != strlen(cases[i].expected) ||
            memcmp(cases[i].source + span.start, cases[i].expected, span.end - span.start) != 0)
            fail_msg("%s: found `%.*s`, expected `%s`", cases[i].source, (int)(span.end - span.start),
                     cases[i].source + span.start, cases[i].expected);
        tree_free(tree);
        diagnostics_free(found);
        source_unref(source);
    }
}

static void sha256_is_the_standard(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t times;
        const char *hash;
    } cases[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"aaaaaaaaaa", 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tn_sha256 sha;
        char text[TN_SHA256_TEXT];
        tn_sha256_init(&sha);
        for (size_t k = 0; k < cases[i].times; k++) tn_sha256_update(&sha, cases[i].text, strlen(cases[i].text));
        tn_sha256_finish_text(&sha, text);
        assert_string_equal(text, cases[i].hash);
    }
}

/* What is a document, read as a tree and by its text alone. */
static void documents_are_recognized(void **state) {
    (void)state;
    enum { NO, TEXT_ONLY, YES };
    static const struct {
        const char *name, *text;
        int is;
        bool resembles;
    } cases[] = {
        {"a.yaml", "version: \"1.0\"\nagent: {name: a}\nnodes: []\nedges: []\n", YES, true},
        {"a.yaml", "# first\r\n---\r\nnodes:\r\nedges:\r\n", YES, true},
        {"a.yaml", "\xEF\xBB\xBFnodes: []\ragent: {}\r", YES, true},
        {"a.yaml", "\"nodes\": []\n'channels' : []\n", YES, true},
        {"a.yaml", "{nodes: [], edges: []}", YES, true},
        {"a.yaml", "# first\n---\n{nodes: [],\n edges: []}", YES, true},
        {"a.yaml", "  {version: 1, agent: {}, channels: []}", YES, true},
        {"a.json", "{\"nodes\": [], \"edges\": []}", YES, true},
        {"a.json", "{\n  \"nodes\" : [{\"id\": \"a\"}],\n  \"agent\": {}\n}", YES, true},
        {"a.yaml", "version: \"1.0\"\nagent: {name: a}\nchannels: []\n", YES, true}, /* nodes follow */
        {"a.yaml", "nodes: [\nedges: [\n", YES, true},                               /* half of it is written */
        {"a.yaml", "nodes: []\n", NO, true},                                         /* as of kind, or RKE */
        {"a.yaml", "version: 2\nnodes: []\n", NO, true},
        {"a.yaml", "agent: {}\nedges: []\n", NO, false},
        {"a.yaml", "version: 1\nagent: {}\n", NO, false},
        {"a.yaml", "a:\n  nodes: []\n  edges: []\n", NO, false},
        {"a.yaml", "my-nodes: []\nnodes-too: []\nedges: []\n", NO, false},
        {"a.json", "{\"a\": {\"nodes\": [], \"edges\": []}}", TEXT_ONLY, false},
        {"a.json", "{\"my_nodes\": [], \"nodes_\": [], \"edges\": []}", NO, false},
        {"a.yaml", "Version: 1\nagents: {}\nnode: []\nEdges: []\n", NO, true},
        {"a.yaml", "nodes\nedges\n", NO, false},
        {"a.yaml", "", NO, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct source *source = source_new(cases[i].name, cases[i].text, strlen(cases[i].text));
        if (inner_file_looks_like_document(source) != (cases[i].is != NO) ||
            inner_file_is_document(source) != (cases[i].is == YES) ||
            inner_file_resembles_document(source) != cases[i].resembles)
            fail_msg("%s: looks %d, is %d, resembles %d", cases[i].text, inner_file_looks_like_document(source),
                     inner_file_is_document(source), inner_file_resembles_document(source));
        source_unref(source);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations),
        cmocka_unit_test(constraints),
        cmocka_unit_test(names_are_found_and_guessed),
        cmocka_unit_test(places_in_scalars),
        cmocka_unit_test(documents_are_recognized),
        cmocka_unit_test(sha256_is_the_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
