/*
 * graph_check_test.c - documents that are checked as texts: mistakes of the language, and configs that components
 * refuse.
 */
#include "host/engine/graph/graph_check.h"
#include "tests/unit/engine_fixture.h"

/* Checks the text and returns its document. */
static struct document *check_text(struct host *host, const char *text, enum source_origin from,
                                   struct diagnostics *found) {
    struct source *source = source_new("draft.yaml", text, strlen(text));
    source_set_origin(source, from, NULL);
    struct document *document = graph_check(host_engine(host), source, &(struct graph_origin){0}, found);
    source_unref(source);
    return document;
}

static const char good[] = "version: \"1.0\"\n"
                           "nodes: [{id: a, type: passthrough}]\n"
                           "edges: [{from: START, to: a}, {from: a, to: END}]\n";

static const char unknown_node[] = "version: \"1.0\"\n"
                                   "nodes: [{id: a, type: passthrough}]\n"
                                   "edges: [{from: START, to: b}, {from: a, to: END}]\n";

/* The config has the form of its schema, but the component needs `{results}`. */
static const char refused[] =
    "version: \"1.0\"\n"
    "channels: [{name: in, type: last_value, default: []}, {name: out, type: last_value}]\n"
    "nodes:\n"
    "  - id: sum\n"
    "    type: map_reduce\n"
    "    config: {model: scripted, over_key: in, output_key: out, map_prompt: \"{item}\", reduce_prompt: All}\n"
    "edges: [{from: START, to: sum}, {from: sum, to: END}]\n";

static void finds_nothing_in_a_good_text(void **state) {
    struct diagnostics *found = diagnostics_new();
    struct document *document = check_text(*state, good, SOURCE_WITHOUT_FILE, found);
    assert_int_equal(diagnostics_count(found), 0);
    assert_int_equal(document->node_count, 1);
    assert_string_equal(value_chars(document->nodes[0].id, NULL), "a");
    document_unref(document);
    diagnostics_free(found);
}

static void finds_mistakes_of_the_language(void **state) {
    struct diagnostics *found = diagnostics_new();
    struct document *document = check_text(*state, unknown_node, SOURCE_WITHOUT_FILE, found);
    assert_true(diagnostics_errors(found) > 0);
    for (size_t i = 0; i < diagnostics_count(found); i++)
        assert_int_not_equal(diagnostics_at(found, i)->code, ADL_E069);
    assert_int_equal(document->node_count, 1);
    document_unref(document);
    diagnostics_free(found);
}

/* The only mistake is reported at its place. */
static void expect_refused(const struct diagnostics *found, size_t index) {
    const struct diagnostic *it = diagnostics_at(found, index);
    struct source_place place = source_locate(it->source, it->span.start);
    assert_int_equal(it->code, ADL_E069);
    assert_string_equal(source_name(it->source), "draft.yaml");
    assert_non_null(strstr(it->message, "`reduce_prompt` has no `{results}`"));
    assert_int_equal(place.line + 1, 6);
    assert_memory_equal(source_text(it->source) + it->span.start, "All", 3);
}

static void finds_what_a_component_refuses(void **state) {
    static const enum source_origin origins[] = {SOURCE_WITHOUT_FILE, SOURCE_OF_OPERATOR};
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        struct diagnostics *found = diagnostics_new();
        document_unref(check_text(*state, refused, origins[i], found));
        assert_int_equal(diagnostics_errors(found), 1);
        expect_refused(found, 0);
        diagnostics_free(found);
    }
}

/* Errors of an earlier document in the same collection do not keep the next one from being built. */
static void checks_several_documents_into_one_collection(void **state) {
    struct diagnostics *found = diagnostics_new();
    document_unref(check_text(*state, unknown_node, SOURCE_WITHOUT_FILE, found));
    size_t before = diagnostics_count(found);
    document_unref(check_text(*state, refused, SOURCE_WITHOUT_FILE, found));
    assert_int_equal(diagnostics_count(found), before + 1);
    expect_refused(found, before);
    diagnostics_free(found);
}

/* A failure without a place is reported at the beginning: the graph is nested too deep to be built. */
static void reports_a_failure_without_a_place(void **state) {
    struct diagnostics *found = diagnostics_new();
    struct source *source = source_new("draft.yaml", good, sizeof good - 1);
    const struct graph_origin deep = {.depth = DOCUMENT_SUBGRAPH_DEPTH_MAX + 1};
    document_unref(graph_check(host_engine(*state), source, &deep, found));
    assert_int_equal(diagnostics_count(found), 1);
    assert_int_equal(diagnostics_at(found, 0)->code, ADL_E069);
    assert_int_equal(diagnostics_at(found, 0)->span.end, 0);
    assert_non_null(strstr(diagnostics_at(found, 0)->message, "nested more than"));
    source_unref(source);
    diagnostics_free(found);
}

static int open_host(void **state) {
    fixture_agents = true;
    *state = host_for_tests();
    return 0;
}

static int close_host(void **state) {
    host_free(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_nothing_in_a_good_text),
        cmocka_unit_test(finds_mistakes_of_the_language),
        cmocka_unit_test(finds_what_a_component_refuses),
        cmocka_unit_test(checks_several_documents_into_one_collection),
        cmocka_unit_test(reports_a_failure_without_a_place),
    };
    return cmocka_run_group_tests(tests, open_host, close_host);
}
