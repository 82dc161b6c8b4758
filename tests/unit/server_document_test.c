/*
 * server_document_test.c - the methods of documents: checks, formats, drawings, schemas.
 */
#include "tests/unit/server_fixture.h"

#include "host/server/document_open.h"
#include <stdio.h>
#include <unistd.h>

#define HELLO                                                                                                          \
    "version: \"1.0\"\nagent: {name: hello}\nchannels: [{name: name, type: last_value, default: world}, "              \
    "{name: greeting, type: last_value}]\nnodes: [{id: greet, type: prompt, config: {template: \"Hello, {name}!\", "   \
    "output_key: greeting}}]\nedges: [{from: START, to: greet}, {from: greet, to: END}]\n"
/* Its plugin is missing. */
#define STRANGE                                                                                                        \
    "version: \"1.0\"\nagent: {name: strange}\nnodes: [{id: a, type: acme.none}]\nedges: [{from: START, to: a}, "      \
    "{from: a, to: END}]\n"

static tn_value text_params(const char *text, const char *more) {
    return value_set_take(served_json(more), "text", value_text(text));
}

static tn_value result_for(struct served *served, const char *name, const char *text, const char *more) {
    return served_result_take(served, name, text_params(text, more));
}

/* The error of a call that fails with this code; a new reference. */
static tn_value error_for(struct served *served, const char *name, tn_value params_take, const char *code) {
    tn_value outcome = served_call_as(served, served->client, name, params_take);
    tn_value error = value_get(outcome, "error");
    if (!value_text_is(value_get(error, "code"), code)) {
        char *text = json_text(outcome, JSON_COMPACT);
        fail_msg("%s: %s\nexpected: %s", name, text, code);
    }
    error = value_ref(error);
    value_unref(outcome);
    return error;
}

static void has(tn_value text, const char *part) {
    if (!strstr(value_chars(text, NULL), part)) fail_msg("%s\nexpected: %s", value_chars(text, NULL), part);
}

/* ---- check ---- */

static void documents_are_checked(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_READ);
    tn_value params = value_set_take(value_object(), "text", value_text(HELLO));
    tn_value result = served_result_take(&served, "document/check", params);
    assert_true(value_to_bool(value_get(result, "valid")));
    value_unref(result);
    result = result_for(&served, "document/check", "version: \"1.0\"\nagent: {name: x}\nnods: []\n",
                        "{\"name\":\"x.yaml\"}");
    assert_false(value_to_bool(value_get(result, "valid")));
    assert_int_equal(value_to_int(value_get(result, "errors")), value_count(value_get(result, "diagnostics")));
    tn_value first = value_at(value_get(result, "diagnostics"), 0);
    assert_true(value_text_is(value_get(first, "file"), "x.yaml"));
    value_unref(result);
    /* A component refuses its configuration: only a build finds that. */
    result = result_for(&served, "document/check", STRANGE, "{}");
    assert_false(value_to_bool(value_get(result, "valid")));
    has(value_get(value_at(value_get(result, "diagnostics"), 0), "message"), "acme.none");
    value_unref(result);
    served_expect_error(&served, "document/check", "{\"document\":\"/no/such.yaml\"}", "IO", "/no/such.yaml");
    served_expect_error(&served, "document/check", "{}", "INVALID_INPUT", "document/check");
    served_close(&served);
}

/* They name paths of the host, so only clients that may name files see them. */
static void mistakes_in_the_configuration_are_shown(void **state) {
    struct served served;
    (void)state;
    served_open_with(&served, METHOD_READ,
                     "models: {default: \"acme:tiny\"}\ntools: {approval: {t.delte: deny}}\n"
                     "files: {roots: [/no/such/folder]}\n");
    tn_value result = result_for(&served, "document/check", HELLO "budget: {cost: 1}\n", "{}");
    tn_value warnings = value_get(result, "config_warnings");
    assert_true(value_to_bool(value_get(result, "valid")));
    assert_int_equal(value_to_int(value_get(result, "warnings")), 0);
    assert_int_equal(value_count(warnings), 4);
    has(value_at(warnings, 0), "budget.cost has no effect");
    has(value_at(warnings, 1), "models.default: no plugin provides the model provider `acme`");
    has(value_at(warnings, 2), "tools.approval: `t.delte` matches no known tool and has no effect; did you mean");
    has(value_at(warnings, 3), "files.roots: /no/such/folder does not exist");
    value_unref(result);
    struct client *stranger =
        client_new(served.server, &(struct client_options){.name = "stranger", .scope = METHOD_RUN});
    tn_value outcome = served_call_as(&served, stranger, "document/check", text_params(HELLO, "{}"));
    assert_true(value_to_bool(value_get(value_get(outcome, "result"), "valid")));
    assert_null(value_get(value_get(outcome, "result"), "config_warnings"));
    value_unref(outcome);
    served_close(&served);
}

static void texts_are_limited(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_READ);
    /* Two bytes for each character: the schema counts characters. */
    size_t length = DOCUMENT_TEXT_MAX + 4;
    char *text = mem_alloc(length + 1);
    for (size_t i = 0; i < length; i += 2) memcpy(text + i, "\xC3\xA4", 2);
    text[length] = 0;
    tn_value error = error_for(&served, "document/check", text_params(text, "{}"), "LIMIT");
    has(value_get(error, "message"), "4194308 bytes");
    value_unref(error);
    error = error_for(&served, "document/format", text_params(text, "{}"), "LIMIT");
    value_unref(error);
    mem_free(text);
    served_close(&served);
}

/* A plugin cannot name files of the host, and its texts cannot, either. */
static void plugins_name_no_files(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_READ);
    struct client *plugin =
        client_new(served.server, &(struct client_options){.name = "plugin x", .scope = METHOD_ADMIN, .plugin = true});
    served_expect_error_as(&served, plugin, "document/check", "{\"document\":\"/etc/passwd\"}", "PERMISSION_DENIED",
                           "pack:NAME/FILE");
    served_expect_error_as(&served, plugin, "document/graph", "{\"document\":\"a.yaml\",\"inside\":true}",
                           "PERMISSION_DENIED", "pack:NAME/FILE");
    served_close(&served);
}

/* ---- format ---- */

static void texts_are_formatted(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_READ);
    served_expect(&served, "document/format", "{\"text\":\"nodes:   [ ]\\n\"}",
                  "{\"text\":\"nodes: []\\n\",\"changed\":true}");
    served_expect(&served, "document/format", "{\"text\":\"nodes: []\\n\"}",
                  "{\"text\":\"nodes: []\\n\",\"changed\":false}");
    served_expect(&served, "document/format", "{\"text\":\"{\\\"nodes\\\":[]}\",\"name\":\"a.json\"}",
                  "{\"text\":\"{\\n  \\\"nodes\\\": []\\n}\\n\",\"changed\":true}");
    tn_value error = error_for(&served, "document/format", text_params("nodes: [\n", "{}"), "INVALID_GRAPH");
    assert_true(value_count(value_get(value_get(error, "detail"), "diagnostics")) > 0);
    value_unref(error);
    served_close(&served);
}

/* ---- graph ---- */

static void documents_are_drawn(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_READ);
    tn_value drawn = result_for(&served, "document/graph", HELLO, "{}");
    has(value_get(drawn, "drawing"), "greet");
    value_unref(drawn);
    drawn = result_for(&served, "document/graph", HELLO, "{\"format\":\"mermaid\"}");
    has(value_get(drawn, "drawing"), "graph TD");
    value_unref(drawn);
    drawn = result_for(&served, "document/graph", HELLO, "{\"format\":\"dot\"}");
    has(value_get(drawn, "drawing"), "digraph");
    value_unref(drawn);
    drawn = result_for(&served, "document/graph", HELLO, "{\"format\":\"json\"}");
    assert_int_equal(value_count(value_get(value_get(drawn, "graph"), "edges")), 2);
    value_unref(drawn);
    /* Without its plugin it can be drawn from outside only. */
    drawn = result_for(&served, "document/graph", STRANGE, "{\"format\":\"json\"}");
    assert_int_equal(value_count(value_get(value_get(drawn, "graph"), "nodes")), 1);
    value_unref(drawn);
    tn_value error = error_for(&served, "document/graph", text_params(STRANGE, "{\"inside\":true}"), "INVALID_GRAPH");
    value_unref(error);
    error = error_for(&served, "document/graph", text_params("version: \"1.0\"\n", "{}"), "INVALID_GRAPH");
    assert_true(value_count(value_get(value_get(error, "detail"), "diagnostics")) > 0);
    value_unref(error);
    served_close(&served);
}

static void documents_are_drawn_inside(void **state) {
    char folder[] = "/tmp/tenon-server-document-XXXXXX";
    struct served served;
    (void)state;
    assert_non_null(mkdtemp(folder));
    served_open(&served, METHOD_READ);
    tn_value inner = value_format("%s/inner.yaml", folder), outer = value_format("%s/outer.yaml", folder);
    FILE *file = fopen(value_chars(inner, NULL), "w");
    assert_non_null(file);
    fputs(HELLO, file);
    fclose(file);
    file = fopen(value_chars(outer, NULL), "w");
    assert_non_null(file);
    fputs("version: \"1.0\"\nagent: {name: outer}\nchannels: [{name: name, type: last_value}, {name: greeting, type: "
          "last_value}]\nnodes: [{id: sub, type: subgraph, config: {document: inner.yaml}}]\nedges: [{from: START, to: "
          "sub}, {from: sub, to: END}]\n",
          file);
    fclose(file);
    tn_value params =
        value_set_take(served_json("{\"format\":\"json\",\"inside\":true}"), "document", value_ref(outer));
    tn_value drawn = served_result_take(&served, "document/graph", params);
    tn_value node = value_at(value_get(value_get(drawn, "graph"), "nodes"), 0);
    assert_int_equal(value_count(value_get(node, "graphs")), 1);
    value_unref(drawn);
    params = value_set_take(value_object(), "document", value_ref(outer));
    drawn = served_result_take(&served, "document/check", params);
    assert_true(value_to_bool(value_get(drawn, "valid")));
    value_unref(drawn);
    unlink(value_chars(inner, NULL));
    unlink(value_chars(outer, NULL));
    rmdir(folder);
    value_unref(inner);
    value_unref(outer);
    served_close(&served);
}

/* An edge from `count` nodes to all of them. */
static tn_value mesh(unsigned count) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "version: \"1.0\"\nagent: {name: mesh}\nchannels: [{name: a, type: last_value}]\nnodes:\n");
    for (unsigned i = 0; i < count; i++) buffer_format(&text, "  - {id: n%u, type: set, config: {values: {}}}\n", i);
    for (unsigned end = 0; end < 2; end++) {
        buffer_text(&text, end ? "], to: [" : "edges:\n  - {from: START, to: n0}\n  - {from: [");
        for (unsigned i = 0; i < count; i++) buffer_format(&text, "%sn%u", i ? ", " : "", i);
    }
    buffer_text(&text, "]}\n");
    tn_value made = value_text(buffer_cstr(&text));
    buffer_finish(&text);
    return made;
}

/* A short text has many arrows: they are counted before they are drawn. */
static void large_drawings_are_refused(void **state) {
    static const struct {
        const char *format, *limit;
    } formats[] = {{"text", "50000"}, {"mermaid", "50000"}, {"dot", "50000"},
                   {"json", "50000"}, {"svg", "10000"},     {"html", "10000"}};
    struct served served;
    (void)state;
    served_open(&served, METHOD_READ);
    tn_value small = mesh(50), large = mesh(300);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        tn_value params = value_set_take(value_object(), "format", value_text(formats[i].format));
        tn_value fits = value_set_take(value_ref(params), "text", value_ref(small));
        value_unref(served_result_take(&served, "document/graph", fits));
        params = value_set_take(params, "text", value_ref(large));
        tn_value error = error_for(&served, "document/graph", params, "LIMIT");
        char words[40];
        snprintf(words, sizeof words, "more than %s nodes and arrows", formats[i].limit);
        has(value_get(error, "message"), words);
        value_unref(error);
    }
    value_unref(small);
    value_unref(large);
    served_close(&served);
}

/* ---- schema ---- */

static void schemas_have_names(void **state) {
    struct served served;
    const char *name;
    (void)state;
    served_open(&served, METHOD_READ);
    tn_value result = served_result(&served, "document/schema", "{}");
    assert_true(value_is(value_get(value_get(result, "schema"), "properties"), TN_OBJECT));
    value_unref(result);
    value_unref(served_result(&served, "document/schema", "{\"name\":\"manifest\"}"));
    value_unref(served_result(&served, "document/schema", "{\"name\":\"config\"}"));
    for (size_t i = 0; (name = payload_name(i)) != NULL; i++) {
        tn_value params = value_set_take(value_object(), "name", value_text(name));
        value_unref(served_result_take(&served, "document/schema", params));
    }
    served_expect_error(&served, "document/schema", "{\"name\":\"nothing\"}", "NOT_FOUND", "adl|config|manifest|node");
    served_close(&served);
}

/* ---- describe ---- */

#define DESCRIBED                                                                                                      \
    "version: \"1.0\"\nagent: {name: d, description: Describes}\ninput: {type: object}\nchannels: [{name: messages, "  \
    "type: "                                                                                                           \
    "reduce, reducer: messages}, {name: n, type: reduce, reducer: sum}, {name: e, type: ephemeral}]\nnodes: [{id: a, " \
    "type: passthrough}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n"

static void documents_are_described(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_READ);
    tn_value result = result_for(&served, "document/describe", DESCRIBED, "{}");
    char *text = json_text(result, JSON_COMPACT);
    assert_string_equal(text,
                        "{\"name\":\"d\",\"description\":\"Describes\",\"input\":{\"type\":\"object\"},\"channels\":["
                        "{\"name\":\"messages\",\"type\":\"reduce\",\"reducer\":\"messages\"},{\"name\":\"n\",\"type\":"
                        "\"reduce\",\"reducer\":\"sum\"},{\"name\":\"e\",\"type\":\"ephemeral\"}],\"roles\":{}}");
    mem_free(text);
    value_unref(result);
    tn_value error = error_for(&served, "document/describe", text_params("nods: []\n", "{}"), "INVALID_GRAPH");
    value_unref(error);
    served_expect_error(&served, "document/describe", "{\"document\":\"/no/such.yaml\"}", "IO", "/no/such.yaml");
    served_close(&served);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_checked),      cmocka_unit_test(texts_are_limited),
        cmocka_unit_test(plugins_name_no_files),      cmocka_unit_test(texts_are_formatted),
        cmocka_unit_test(documents_are_drawn),        cmocka_unit_test(documents_are_drawn_inside),
        cmocka_unit_test(large_drawings_are_refused), cmocka_unit_test(schemas_have_names),
        cmocka_unit_test(documents_are_described),    cmocka_unit_test(mistakes_in_the_configuration_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
