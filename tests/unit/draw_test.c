/*
 * draw_test.c - drawings of documents in every form, documents inside nodes, and the limits.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/draw/draw.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "tests/unit/corpus.h"
#include "tests/unit/fake_catalog.h"

/* Reads a document that must have no errors. */
static struct document *read_text(const char *text, size_t length) {
    struct fake_catalog fake;
    fake_catalog_init(&fake);
    struct source *source = source_new("drawn.yaml", text, length);
    struct diagnostics *found = diagnostics_new();
    struct document *document = document_read(source, &fake.catalog, found);
    for (size_t i = 0; i < diagnostics_count(found); i++)
        if (diagnostics_at(found, i)->severity == DIAGNOSTIC_ERROR) fail_msg("%s", diagnostics_at(found, i)->message);
    diagnostics_free(found);
    source_unref(source);
    fake_catalog_finish(&fake);
    return document;
}

/* Every kind of arrow, and labels with characters that a form must replace. */
static const char every_arrow[] = "version: \"1.0\"\n"
                                  "agent: {name: \"a \\\"b\\\" \\\\ <c>\"}\n"
                                  "channels: [{name: n, type: last_value, default: 0}, {name: items, type: append}]\n"
                                  "nodes:\n"
                                  "  - {id: a, type: passthrough}\n"
                                  "  - {id: b, type: passthrough, defer: true, on_error: {to: c}}\n"
                                  "  - {id: c, type: go, config: {to: w}}\n"
                                  "  - {id: w, type: passthrough}\n"
                                  "edges:\n"
                                  "  - {from: START, to: [a, b]}\n"
                                  "  - from: a\n"
                                  "    type: conditional\n"
                                  "    conditions:\n"
                                  "      - expression: |\n"
                                  "          state.n > 1 &&\n"
                                  "            \"x|y\" != \"<z>\"\n"
                                  "        to: c\n"
                                  "      - {expression: default, to: END}\n"
                                  "  - {from: [b, c], to: w}\n"
                                  "  - {from: w, type: map, over: state.items, as: item, to: w, empty: END}\n";

static const char every_arrow_text[] = "○ START\n"
                                       "    ──▶ a\n"
                                       "    ──▶ b\n"
                                       "● a  (passthrough)\n"
                                       "    ┄┄▶ c  when state.n > 1 && \"x|y\" != \"<z>\"\n"
                                       "    ┄┄▶ END  otherwise\n"
                                       "● b  (passthrough)  deferred\n"
                                       "    ──▶ w  (join)\n"
                                       "    ┄┄▶ c  on error\n"
                                       "● c  (go)\n"
                                       "    ──▶ w  (join)\n"
                                       "    ┄┄▶ w  chosen by the node\n"
                                       "● w  (passthrough)\n"
                                       "    ┄┄▶ w  for each of state.items\n"
                                       "    ┄┄▶ END  if the list is empty\n";

static const char every_arrow_mermaid[] =
    "graph TD\n"
    "    START([START]) --> n0[\"a\"]\n"
    "    START([START]) --> n1[\"b\"]\n"
    "    n0[\"a\"] -.->|\"state.n #gt; 1 && #quot;x#124;y#quot; != #quot;#lt;z#gt;#quot;\"| n2[\"c\"]\n"
    "    n0[\"a\"] -.->|\"default\"| END_([END])\n"
    "    n1[\"b\"] -->|\"join\"| n3[\"w\"]\n"
    "    n2[\"c\"] -->|\"join\"| n3[\"w\"]\n"
    "    n3[\"w\"] -.->|\"state.items\"| n3[\"w\"]\n"
    "    n3[\"w\"] -.->|\"empty\"| END_([END])\n"
    "    n1[\"b\"] -.->|\"on error\"| n2[\"c\"]\n"
    "    n2[\"c\"] -.->|\"chosen\"| n3[\"w\"]\n";

static const char every_arrow_dot[] =
    "digraph \"a \\\"b\\\" \\\\ <c>\" {\n"
    "    node [shape=box, style=rounded];\n"
    "    \"START\" [shape=circle];\n"
    "    \"END\" [shape=doublecircle];\n"
    "    \"START\" -> \"a\";\n"
    "    \"START\" -> \"b\";\n"
    "    \"a\" -> \"c\" [label=\"state.n > 1 && \\\"x|y\\\" != \\\"<z>\\\"\", style=dashed];\n"
    "    \"a\" -> \"END\" [label=\"default\", style=dashed];\n"
    "    \"b\" -> \"w\" [label=\"join\"];\n"
    "    \"c\" -> \"w\" [label=\"join\"];\n"
    "    \"w\" -> \"w\" [label=\"state.items\", style=dashed];\n"
    "    \"w\" -> \"END\" [label=\"empty\", style=dashed];\n"
    "    \"b\" -> \"c\" [label=\"on error\", style=dashed];\n"
    "    \"c\" -> \"w\" [label=\"chosen\", style=dashed];\n"
    "}\n";

static const char every_arrow_json[] =
    "{\"name\":\"a \\\"b\\\" \\\\ <c>\",\"nodes\":[{\"id\":\"a\",\"type\":\"passthrough\"},"
    "{\"id\":\"b\",\"type\":\"passthrough\"},{\"id\":\"c\",\"type\":\"go\"},{\"id\":\"w\",\"type\":\"passthrough\"}],"
    "\"edges\":[{\"from\":\"START\",\"to\":\"a\"},{\"from\":\"START\",\"to\":\"b\"},"
    "{\"from\":\"a\",\"to\":\"c\",\"label\":\"state.n > 1 &&\\n  \\\"x|y\\\" != \\\"<z>\\\"\\n\",\"dashed\":true},"
    "{\"from\":\"a\",\"to\":\"END\",\"label\":\"default\",\"dashed\":true},"
    "{\"from\":\"b\",\"to\":\"w\",\"label\":\"join\"},{\"from\":\"c\",\"to\":\"w\",\"label\":\"join\"},"
    "{\"from\":\"w\",\"to\":\"w\",\"label\":\"state.items\",\"dashed\":true},"
    "{\"from\":\"w\",\"to\":\"END\",\"label\":\"empty\",\"dashed\":true},"
    "{\"from\":\"b\",\"to\":\"c\",\"label\":\"on error\",\"dashed\":true},"
    "{\"from\":\"c\",\"to\":\"w\",\"label\":\"chosen\",\"dashed\":true}]}\n";

static const struct {
    const char *name, *drawing;
} every_form[] = {
    {"text", every_arrow_text},
    {"mermaid", every_arrow_mermaid},
    {"dot", every_arrow_dot},
    {"json", every_arrow_json},
};

static enum draw_format format_named(const char *name) {
    enum draw_format format;
    if (!draw_format_find(name, &format)) fail_msg("the format `%s` is unknown", name);
    return format;
}

/* Returns the drawing; free it with mem_free. */
static char *drawing(const struct document *document, const struct draw_inside *inside, const char *format) {
    struct error error = ERROR_INIT;
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    assert_int_equal(draw_document(&out, document, inside, format_named(format), &error), TN_OK);
    assert_null(error.code);
    return buffer_detach(&out, NULL);
}

static void draws_every_arrow(void **state) {
    (void)state;
    struct document *document = read_text(every_arrow, sizeof every_arrow - 1);
    for (size_t i = 0; i < sizeof every_form / sizeof *every_form; i++) {
        char *got = drawing(document, NULL, every_form[i].name);
        assert_string_equal(got, every_form[i].drawing);
        mem_free(got);
    }
    document_unref(document);
}

static void knows_the_names_of_formats(void **state) {
    (void)state;
    char names[] = DRAW_FORMATS, *rest = names;
    unsigned seen = 0;
    for (const char *name; (name = strtok_r(rest, "|", &rest)) != NULL;) seen |= 1u << format_named(name);
    assert_int_equal(seen, 1u << DRAW_TEXT | 1u << DRAW_MERMAID | 1u << DRAW_DOT | 1u << DRAW_JSON | 1u << DRAW_SVG |
                               1u << DRAW_HTML);
    static const char *const unknown[] = {"", "JSON", "text ", DRAW_FORMATS};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        enum draw_format format = DRAW_DOT;
        assert_false(draw_format_find(unknown[i], &format));
        assert_int_equal(format, DRAW_DOT);
    }
}

/* A `command` may continue to any node, so a node without an arrow to it is not a mistake. It is drawn last. */
static void text_lists_nodes_by_depth(void **state) {
    (void)state;
    static const char text[] = "version: \"1.0\"\n"
                               "nodes:\n"
                               "  - {id: island, type: passthrough}\n"
                               "  - {id: last, type: passthrough}\n"
                               "  - {id: first, type: command}\n"
                               "  - {id: second, type: passthrough}\n"
                               "edges:\n"
                               "  - {from: second, to: last}\n"
                               "  - {from: first, to: second}\n"
                               "  - {from: START, to: first}\n"
                               "  - {from: last, to: [first, END]}\n"
                               "  - {from: island, to: END}\n";
    struct document *document = read_text(text, sizeof text - 1);
    char *got = drawing(document, NULL, "text");
    assert_string_equal(got, "○ START\n"
                             "    ──▶ first\n"
                             "● first  (command)\n"
                             "    ──▶ second\n"
                             "● second  (passthrough)\n"
                             "    ──▶ last\n"
                             "● last  (passthrough)\n"
                             "    ──▶ first\n"
                             "    ──▶ END\n"
                             "● island  (passthrough)\n"
                             "    ──▶ END\n");
    mem_free(got);
    document_unref(document);
}

/* ---- Documents inside nodes ---- */

struct nest {
    const struct document *document;
    const struct nest *inside[3]; /* of its first node */
};

static const struct document *nest_find(const struct draw_inside *self, uint32_t node, uint32_t index,
                                        struct draw_inside *inner) {
    const struct nest *nest = self->user, *found = node == 0 ? nest->inside[index] : NULL;
    if (!found) return NULL;
    *inner = (struct draw_inside){nest_find, found};
    return found->document;
}

static struct document *read_single(const char *id) {
    tn_value text = value_format("version: \"1.0\"\nagent: {name: of_%s}\nnodes: [{id: %s, type: passthrough}]\n"
                                 "edges: [{from: START, to: %s}, {from: %s, to: END}]\n",
                                 id, id, id, id);
    size_t length;
    const char *chars = value_chars(text, &length);
    struct document *document = read_text(chars, length);
    value_unref(text);
    return document;
}

static void draws_documents_inside_nodes(void **state) {
    (void)state;
    struct document *a = read_single("a"), *b = read_single("b"), *c = read_single("c");
    const struct nest deep = {c, {NULL}}, middle = {b, {&deep}}, outer = {a, {&middle, &deep}};
    const struct draw_inside inside = {nest_find, &outer};
    static const struct {
        const char *format, *drawing;
    } cases[] = {
        {"text", "○ START\n    ──▶ a\n● a  (passthrough)\n    ──▶ END\n"
                 "\n◎ inside a\n○ START\n    ──▶ b\n● b  (passthrough)\n    ──▶ END\n"
                 "\n◎ inside a/b\n○ START\n    ──▶ c\n● c  (passthrough)\n    ──▶ END\n"
                 "\n◎ inside a\n○ START\n    ──▶ c\n● c  (passthrough)\n    ──▶ END\n"},
        {"mermaid", "graph TD\n"
                    "    START([START]) --> n0[\"a\"]\n"
                    "    n0[\"a\"] --> END_([END])\n"
                    "    subgraph n0_0_[\"a\"]\n"
                    "    n0_0_START([START]) --> n0_0_n0[\"b\"]\n"
                    "    n0_0_n0[\"b\"] --> n0_0_END_([END])\n"
                    "    subgraph n0_0_n0_0_[\"b\"]\n"
                    "    n0_0_n0_0_START([START]) --> n0_0_n0_0_n0[\"c\"]\n"
                    "    n0_0_n0_0_n0[\"c\"] --> n0_0_n0_0_END_([END])\n"
                    "    end\n"
                    "    end\n"
                    "    subgraph n0_1_[\"a\"]\n"
                    "    n0_1_START([START]) --> n0_1_n0[\"c\"]\n"
                    "    n0_1_n0[\"c\"] --> n0_1_END_([END])\n"
                    "    end\n"},
        {"json", "{\"name\":\"of_a\",\"nodes\":[{\"id\":\"a\",\"type\":\"passthrough\",\"graphs\":["
                 "{\"name\":\"of_b\",\"nodes\":[{\"id\":\"b\",\"type\":\"passthrough\",\"graphs\":["
                 "{\"name\":\"of_c\",\"nodes\":[{\"id\":\"c\",\"type\":\"passthrough\"}],"
                 "\"edges\":[{\"from\":\"START\",\"to\":\"c\"},{\"from\":\"c\",\"to\":\"END\"}]}]}],"
                 "\"edges\":[{\"from\":\"START\",\"to\":\"b\"},{\"from\":\"b\",\"to\":\"END\"}]},"
                 "{\"name\":\"of_c\",\"nodes\":[{\"id\":\"c\",\"type\":\"passthrough\"}],"
                 "\"edges\":[{\"from\":\"START\",\"to\":\"c\"},{\"from\":\"c\",\"to\":\"END\"}]}]}],"
                 "\"edges\":[{\"from\":\"START\",\"to\":\"a\"},{\"from\":\"a\",\"to\":\"END\"}]}\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = drawing(a, &inside, cases[i].format);
        assert_string_equal(got, cases[i].drawing);
        mem_free(got);
    }
    char *dot = drawing(a, &inside, "dot");
    assert_non_null(strstr(dot, "    subgraph \"cluster a/\" {\n    label=\"a/\";\n    \"a/START\" [shape=circle];\n"));
    assert_non_null(strstr(dot, "    subgraph \"cluster a/b/\" {\n"));
    assert_non_null(strstr(dot, "    \"a/b/START\" -> \"a/b/c\";\n    \"a/b/c\" -> \"a/b/END\";\n    }\n"));
    mem_free(dot);
    document_unref(a);
    document_unref(b);
    document_unref(c);
}

/* ---- Limits ---- */

static void drawing_stays_below_the_limit(void **state) {
    (void)state;
    struct document *document = read_text(every_arrow, sizeof every_arrow - 1);
    for (size_t i = 0; i < sizeof every_form / sizeof *every_form; i++) {
        size_t whole = strlen(every_form[i].drawing);
        for (size_t limit = 1; limit <= whole; limit++) {
            struct error error = ERROR_INIT;
            struct buffer out;
            buffer_init(&out, limit);
            int32_t status = draw_document(&out, document, NULL, format_named(every_form[i].name), &error);
            assert_true(out.length <= limit);
            assert_memory_equal(buffer_cstr(&out), every_form[i].drawing, out.length);
            assert_int_equal(status, limit < whole ? TN_LIMIT : TN_OK);
            if (status == TN_LIMIT) assert_non_null(strstr(error.message, "is larger than"));
            buffer_finish(&out);
            error_finish(&error);
        }
    }
    document_unref(document);
}

/* An edge from all of `nodes` nodes to all of them. */
static struct document *read_mesh(unsigned nodes) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "version: \"1.0\"\nagent: {name: mesh}\nnodes:\n");
    for (unsigned i = 0; i < nodes; i++) buffer_format(&text, "  - {id: n%u, type: passthrough}\n", i);
    buffer_text(&text, "edges:\n  - {from: START, to: n0}\n  - from: [n0");
    for (unsigned i = 1; i < nodes; i++) buffer_format(&text, ", n%u", i);
    buffer_text(&text, "]\n    to: [END");
    for (unsigned i = 0; i < nodes; i++) buffer_format(&text, ", n%u", i);
    buffer_text(&text, "]\n");
    struct document *document = read_text(buffer_cstr(&text), text.length);
    buffer_finish(&text);
    return document;
}

static void arrows_are_limited(void **state) {
    (void)state;
    struct document *mesh = read_mesh(1000);
    for (size_t i = 0; i < sizeof every_form / sizeof *every_form; i++) {
        struct error error = ERROR_INIT;
        struct buffer out;
        buffer_init(&out, SIZE_MAX);
        assert_int_equal(draw_document(&out, mesh, NULL, format_named(every_form[i].name), &error), TN_LIMIT);
        assert_string_equal(error.code, "LIMIT");
        assert_non_null(strstr(error.message, "the drawing of `mesh` has more than 1000000 nodes and arrows"));
        assert_int_equal(out.length, 0);
        buffer_finish(&out);
        error_finish(&error);
    }
    struct error error = ERROR_INIT;
    assert_null(draw_json(mesh, NULL, &error));
    assert_string_equal(error.code, "LIMIT");
    error_finish(&error);
    assert_int_equal(draw_check_arrows(mesh, NULL, 50000, &error), TN_LIMIT);
    assert_non_null(strstr(error.message, "more than 50000 nodes and arrows"));
    error_finish(&error);
    /* The limit is for all documents of a drawing. */
    struct document *single = read_single("a");
    const struct nest inner = {mesh, {NULL}}, outer = {single, {&inner}};
    assert_null(draw_json(single, &(struct draw_inside){nest_find, &outer}, &error));
    error_finish(&error);
    assert_int_equal(draw_check_arrows(single, &(struct draw_inside){nest_find, &outer}, 50000, &error), TN_LIMIT);
    error_finish(&error);
    assert_int_equal(draw_check_arrows(single, NULL, 50000, &error), TN_OK);
    tn_value drawn = draw_json(single, NULL, &error);
    assert_int_equal(value_count(value_get(drawn, "edges")), 2);
    value_unref(drawn);
    document_unref(single);
    document_unref(mesh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_every_arrow),
        cmocka_unit_test(knows_the_names_of_formats),
        cmocka_unit_test(text_lists_nodes_by_depth),
        cmocka_unit_test(draws_documents_inside_nodes),
        cmocka_unit_test(drawing_stays_below_the_limit),
        cmocka_unit_test(arrows_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
