/*
 * documents_test.c - documents that are kept: when an equal text is not read again, and when it is.
 */
#include "host/engine/graph/documents.h"
#include "host/plugin/registry/registry.h"
#include "tests/unit/engine_fixture.h"
#include <stdio.h>
#include <unistd.h>

static const char good[] = "version: \"1.0\"\n"
                           "nodes: [{id: a, type: passthrough}]\n"
                           "edges: [{from: START, to: a}, {from: a, to: END}]\n";

/* Reads the text twice. The result is that of the first time; *again is that of the second, which has as many findings.
 */
static struct document *read_twice(struct host *host, const char *name, const char *text, struct document **again,
                                   size_t *findings) {
    struct document *documents[2];
    size_t counts[2];
    for (size_t i = 0; i < 2; i++) {
        struct diagnostics *found = diagnostics_new();
        struct source *source = source_new(name, text, strlen(text));
        source_set_origin(source, SOURCE_OF_OPERATOR, NULL);
        documents[i] = documents_read(host_engine(host), source, found);
        counts[i] = diagnostics_count(found);
        source_unref(source);
        diagnostics_free(found);
    }
    assert_int_equal(counts[0], counts[1]);
    *findings = counts[0];
    *again = documents[1];
    return documents[0];
}

static bool is_kept(struct host *host, const char *name, const char *text, size_t *findings) {
    struct document *again, *first = read_twice(host, name, text, &again, findings);
    bool kept = first == again;
    document_unref(first);
    document_unref(again);
    return kept;
}

static void keeps_what_has_no_findings(void **state) {
    size_t findings;
    assert_true(is_kept(*state, "good.yaml", good, &findings));
    assert_int_equal(findings, 0);
    static const char unknown[] = "version: \"1.0\"\nnodes: [{id: a, type: none}]\nedges: [{from: START, to: a}]\n";
    assert_false(is_kept(*state, "unknown.yaml", unknown, &findings));
    assert_true(findings > 0);
}

static void tells_names_and_texts_apart(void **state) {
    struct document *again, *first, *other, *changed;
    size_t findings;
    first = read_twice(*state, "one.yaml", good, &again, &findings);
    document_unref(again);
    other = read_twice(*state, "other.yaml", good, &again, &findings);
    document_unref(again);
    changed = read_twice(*state, "one.yaml",
                         "version: \"1.0\"\n"
                         "nodes: [{id: b, type: passthrough}]\n"
                         "edges: [{from: START, to: b}, {from: b, to: END}]\n",
                         &again, &findings);
    document_unref(again);
    assert_ptr_not_equal(first, other);
    assert_ptr_not_equal(first, changed);
    assert_string_equal(value_chars(changed->nodes[0].id, NULL), "b");
    document_unref(first);
    document_unref(other);
    document_unref(changed);
}

/* A file can change, so what reads one is read again. */
static void reads_again_what_names_files(void **state) {
    char folder[] = "/tmp/documents-XXXXXX", inner[64], outer[64], text[256];
    size_t findings;
    assert_non_null(mkdtemp(folder));
    snprintf(inner, sizeof inner, "%s/inner.yaml", folder);
    snprintf(outer, sizeof outer, "%s/outer.yaml", folder);
    FILE *file = fopen(inner, "w");
    assert_non_null(file);
    fputs(good, file);
    fclose(file);
    snprintf(text, sizeof text,
             "version: \"1.0\"\nnodes: [{id: a, type: subgraph, config: {document: inner.yaml}}]\n"
             "edges: [{from: START, to: a}, {from: a, to: END}]\n");
    assert_false(is_kept(*state, outer, text, &findings));
    assert_int_equal(findings, 0);
    remove(inner);
    rmdir(folder);
}

/* The oldest is replaced, and all are read again after the components have changed. */
static void forgets(void **state) {
    char name[32];
    size_t findings;
    struct document *again, *later, *first = read_twice(*state, "0.yaml", good, &again, &findings);
    document_unref(again);
    for (uint32_t i = 1; i <= DOCUMENTS_MAX; i++) {
        snprintf(name, sizeof name, "%u.yaml", i);
        assert_true(is_kept(*state, name, good, &findings));
    }
    later = read_twice(*state, "0.yaml", good, &again, &findings);
    assert_ptr_not_equal(first, later);
    document_unref(again);
    document_unref(first);
    struct registry *registry = host_registry(*state);
    uint64_t generation = registry_generation(registry);
    struct error error = ERROR_INIT;
    assert_int_equal(registry_add_file(registry, TENON_STORE_PLUGINS "/agents.so", "test", &error), TN_OK);
    assert_true(registry_generation(registry) > generation);
    first = read_twice(*state, "0.yaml", good, &again, &findings);
    assert_ptr_not_equal(first, later);
    document_unref(again);
    document_unref(first);
    document_unref(later);
}

static int open_host(void **state) {
    *state = host_for_tests();
    return 0;
}

static int close_host(void **state) {
    host_free(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_has_no_findings),
        cmocka_unit_test(tells_names_and_texts_apart),
        cmocka_unit_test(reads_again_what_names_files),
        cmocka_unit_test(forgets),
    };
    return cmocka_run_group_tests(tests, open_host, close_host);
}
