/*
 * lsp_life_test.c - the language server while checks run on threads: typing, closing, shutting down, other plugins and
 * configurations in between; limits; and clients that may not name files.
 */
#include "tests/unit/lsp_fixture.h"

#define NODE(id, type) "  - {id: " id ", type: " type "}\n"
#define DOCUMENT(nodes)                                                                                                \
    "version: \"1.0\"\nagent: {name: a}\nchannels: [{name: out, type: last_value}]\nnodes:\n" nodes                    \
    "edges: [{from: START, to: n}, {from: n, to: "                                                                     \
    "END}]\n"
#define GOOD    DOCUMENT("  - {id: n, type: prompt, config: {template: hello, output_key: out}}\n")
#define UNKNOWN DOCUMENT(NODE("n", "nosuch"))
#define OF_GOOD DOCUMENT(NODE("n", "test.one"))

/* A document with so many nodes of an unknown type; free it with mem_free. */
static char *long_document(size_t count) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "version: \"1.0\"\nagent: {name: a}\nchannels: []\nnodes:\n");
    for (size_t i = 0; i < count; i++) buffer_format(&text, "  - {id: n%zu, type: nosuch%zu}\n", i, i);
    buffer_text(&text, "edges: [{from: START, to: n0}, {from: n0, to: END}]\n");
    return buffer_detach(&text, NULL);
}

/* ---- The newest text ---- */

static void requests_are_answered_while_typing(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    char *text = long_document(200);
    editor_did_open(&editor, "a.yaml", text);
    const char *uri = editor_uri(&editor, "a.yaml");
    for (int i = 0; i < 60; i++) {
        editor_notify(&editor, "textDocument/didChange",
                      "{\"textDocument\":{\"uri\":\"%s\",\"version\":%d},\"contentChanges\":[{\"range\":{\"start\":{"
                      "\"line\":0,\"character\":0},\"end\":{\"line\":0,\"character\":0}},\"text\":\"# %d\\n\"}]}",
                      uri, i + 2, i);
        (void)editor_ask(&editor, i % 2 ? "textDocument/hover" : "textDocument/completion", AT, uri, 4, 3);
        (void)editor_ask(&editor, "textDocument/definition", AT, uri, i + 5, 8);
        if (i % 7 == 0) editor_notify(&editor, "$/cancelRequest", "{\"id\":%d}", editor.last_id);
        if (i % 3 == 0) wire_turn(&editor.wire);
    }
    editor_expect_answers(&editor);
    char *items = editor_pull(&editor, uri);
    assert_non_null(strstr(items, "\"line\":64")); /* the first node, below 60 comments and 4 lines */
    assert_null(strstr(items, "\"line\":63,"));
    mem_free(items);
    mem_free(text);
    editor_close(&editor);
}

/*
 * A person types faster than a long document is checked: diagnostics, which follow a check of the newest text, do not
 * come, but answers do.
 */
static void requests_do_not_wait_for_the_end_of_typing(void **state) {
    struct editor editor;
    size_t answered = 0;
    int id = 0;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    char *text = long_document(500);
    editor_did_open(&editor, "a.yaml", text);
    const char *uri = editor_uri(&editor, "a.yaml");
    for (int i = 0; i < 20000 && answered <= editor_count(&editor, "textDocument/publishDiagnostics"); i++) {
        editor_notify(&editor, "textDocument/didChange",
                      "{\"textDocument\":{\"uri\":\"%s\",\"version\":%d},\"contentChanges\":[{\"range\":{\"start\":{"
                      "\"line\":4,\"character\":0},\"end\":{\"line\":4,\"character\":0}},\"text\":\"#\\n\"}]}",
                      uri, i + 2);
        if (!id) id = editor_ask(&editor, "textDocument/foldingRange", OF, uri);
        loop_run_turn(editor.wire.loop);
        editor_receive(&editor);
        if (!editor.answered[id]) continue;
        assert_true(value_count(editor_result(&editor, id)) > 0);
        answered++;
        id = 0;
    }
    assert_true(answered > editor_count(&editor, "textDocument/publishDiagnostics"));
    mem_free(text);
    editor_close(&editor);
}

static void formatting_does_not_wait_for_a_check(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    char *text = long_document(300);
    editor_did_open(&editor, "a.yaml", text);
    editor_set(&editor, "a.yaml", "version:   \"1.0\"\nnodes:\nedges:\n");
    int id = editor_ask(&editor, "textDocument/formatting", OF, editor_uri(&editor, "a.yaml"));
    editor_expect(&editor, id, "\"newText\":\"version: ", "\"line\":0");
    assert_int_equal(editor_count(&editor, "textDocument/publishDiagnostics"), 0);
    editor_set(&editor, "a.yaml", "other:   1\n");
    id = editor_ask(&editor, "textDocument/formatting", OF, editor_uri(&editor, "a.yaml"));
    editor_expect_result(&editor, id, "[]");
    mem_free(text);
    editor_close(&editor);
}

/* Half of a surrogate pair, which an editor in JavaScript can send, counts as one character. */
static void half_of_a_pair_is_a_character(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    editor_did_open(&editor, "a.yaml", UNKNOWN);
    struct buffer message;
    buffer_init(&message, SIZE_MAX);
    buffer_format(
        &message,
        "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didChange\",\"params\":{\"textDocument\":{\"uri\":"
        "\"%s\"},\"contentChanges\":[{\"range\":{\"start\":{\"line\":4,\"character\":0},\"end\":{\"line\":4,"
        "\"character\":0}},\"text\":\"# \\ud83d\"},{\"range\":{\"start\":{\"line\":4,\"character\":3},\"end\":"
        "{\"line\":4,\"character\":3}},\"text\":\"\\ude00 \\ud83dx\\n\"}]}}\n",
        editor_uri(&editor, "a.yaml"));
    editor_send_text(&editor, message.data, message.length);
    buffer_finish(&message);
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "{\"line\":5,\"character\":18}");
    editor_close(&editor);
}

static void a_document_is_closed_while_it_is_checked(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    char *text = long_document(300);
    for (int i = 0; i < 10; i++) {
        editor_did_open(&editor, "a.yaml", text);
        const char *uri = editor_uri(&editor, "a.yaml");
        int hover = editor_ask(&editor, "textDocument/hover", AT, uri, 4, 3);
        int lens = editor_ask(&editor, "textDocument/codeLens", OF, uri);
        if (i % 2) wire_turn(&editor.wire);
        editor_did_close(&editor, "a.yaml");
        editor_did_close(&editor, "a.yaml"); /* unknown now */
        editor_set(&editor, "a.yaml", "x");
        (void)editor_answer(&editor, hover);
        (void)editor_answer(&editor, lens);
    }
    editor_did_open(&editor, "a.yaml", UNKNOWN);
    editor_did_open(&editor, "a.yaml", GOOD); /* twice */
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "");
    mem_free(text);
    editor_close(&editor);
}

static struct host *open_project_host(void *user, const char *config, struct error *error) {
    const char *const paths[] = {TENON_TEST_NODES, TENON_CORE_PLUGIN, NULL};
    (void)user;
    return host_new(
        &(struct host_options){.plugin_paths = paths, .no_installed = true, .config_file = config, .quiet = true},
        error);
}

/* Whatever is open: a check, an index, requests that wait for one of them, cancelled ones. */
static void a_connection_ends_in_every_state(void **state) {
    char *text = long_document(300), folder[400];
    (void)state;
    for (int i = 0; i < 24; i++) {
        struct editor editor;
        editor_open(&editor, &(struct editor_options){.files = true, .open = open_project_host});
        editor_write(&editor, "b.yaml", text);
        (void)snprintf(folder, sizeof folder, "%s/project", editor.folder);
        assert_int_equal(mkdir(folder, 0700), 0);
        editor_write(&editor, "project/tenon.yaml", "{}\n");
        editor_write(&editor, "project/c.yaml", GOOD);
        editor_did_open(&editor, "a.yaml", i % 3 ? text : GOOD);
        const char *uri = editor_uri(&editor, "a.yaml");
        if (i % 4 == 1) editor_expect_items(&editor, uri, i % 3 ? "nosuch" : "");
        int id = editor_ask(&editor, "textDocument/references", AT, uri, 4, 9);
        (void)editor_ask(&editor, "workspace/symbol", "{\"query\":\"n\"}");
        (void)editor_ask(&editor, "textDocument/hover", AT, uri, 4, 9);
        if (i % 4 == 2) editor_notify(&editor, "$/cancelRequest", "{\"id\":%d}", id);
        for (int turn = 0; turn < i; turn++) loop_run_turn(editor.wire.loop);
        if (i % 4 == 3) {
            int shutdown = editor_ask(&editor, "shutdown", "null");
            editor_expect_result(&editor, shutdown, "null");
            editor_expect_answers(&editor);
            editor_notify(&editor, "exit", "null");
            (void)loop_run(editor.wire.loop, editor_is_closed, &editor);
            assert_int_equal(editor.code, 0);
        }
        editor_drop(&editor);
    }
    mem_free(text);
}

/* The call of a method ends long after its connection: the language server must not use the connection then. */
static void a_call_outlives_the_connection(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    loop_fake_clock(editor.wire.loop); /* the call is abandoned after CALL_GRACE_MS */
    editor_did_open(&editor, "a.yaml", OF_GOOD);
    (void)editor_ask(&editor, "tool/call", "{\"tool\":\"t.deaf\"}");
    wire_turn(&editor.wire);
    connection_close(editor.connection);
    while (!editor.wire.ended) wire_turn(&editor.wire);
    wire_turn(&editor.wire);
    assert_false(editor.closed);
    tn_value listed = served_result(editor.served, "plugin/load", "{\"file\":\"" TENON_TEST_PLUGINS "/good/good.so\"}");
    value_unref(listed);
    for (int i = 0; i < 20; i++) wire_turn(&editor.wire);
    (void)loop_run(editor.wire.loop, editor_is_closed, &editor);
    editor_drop(&editor);
}

/* A document that is opened again has other diagnostics than before: an old resultId does not mean `unchanged`. */
static void a_result_id_is_used_once(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    const char *uri = editor_uri(&editor, "a.yaml");
    editor_did_open(&editor, "a.yaml", UNKNOWN);
    tn_value report = editor_result(&editor, editor_ask(&editor, "textDocument/diagnostic", OF, uri));
    const char *first = value_chars(value_get(report, "resultId"), NULL);
    editor_did_close(&editor, "a.yaml");
    editor_did_open(&editor, "a.yaml", GOOD);
    int id = editor_ask(&editor, "textDocument/diagnostic",
                        "{\"textDocument\":{\"uri\":\"%s\"},\"previousResultId\":\"%s\"}", uri, first);
    editor_expect(&editor, id, "\"kind\":\"full\"", "\"items\":[]");
    editor_close(&editor);
}

/* ---- Documents in each other ---- */

#define OUTER(inner) DOCUMENT("  - {id: n, type: subgraph, config: {document: " inner "}}\n")

/* A mistake in the innermost one is reported in all, and each is checked once for it. */
static void documents_around_a_changed_one_are_checked(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    editor_write(&editor, "a.yaml", OUTER("b.yaml"));
    editor_write(&editor, "b.yaml", OUTER("c.yaml"));
    editor_write(&editor, "c.yaml", GOOD);
    editor_did_open(&editor, "a.yaml", OUTER("b.yaml"));
    editor_did_open(&editor, "b.yaml", OUTER("c.yaml"));
    editor_did_open(&editor, "c.yaml", GOOD);
    editor_wait_notes(&editor, "textDocument/publishDiagnostics", 3);
    for (int i = 0; i < 4; i++) {
        size_t before = editor_count(&editor, "textDocument/publishDiagnostics");
        editor_set(&editor, "c.yaml", i % 2 ? GOOD : UNKNOWN);
        editor_expect_items(&editor, editor_uri(&editor, "c.yaml"), i % 2 ? "" : "nosuch");
        editor_expect_items(&editor, editor_uri(&editor, "b.yaml"), i % 2 ? "" : "nosuch");
        editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), i % 2 ? "" : "nosuch");
        editor_receive(&editor);
        assert_int_equal(editor_count(&editor, "textDocument/publishDiagnostics") - before, 3);
    }
    editor_close(&editor);
}

/* What a check has read and could not use matters, too; and so does a text that was never a document. */
static void texts_become_documents(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    editor_write(&editor, "a.yaml", OUTER("b.yaml"));
    editor_write(&editor, "b.yaml", "b: 1\n");
    editor_did_open(&editor, "a.yaml", OUTER("b.yaml"));
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "is not a document");
    editor_did_open(&editor, "b.yaml", GOOD); /* an editor that has kept a text that was not saved */
    for (int i = 0; i < 3; i++) {
        editor_expect_items(&editor, editor_uri(&editor, "b.yaml"), "");
        editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "");
        editor_set(&editor, "b.yaml", "b: 2\n");
        editor_expect_items(&editor, editor_uri(&editor, "b.yaml"), "");
        editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "is not a document");
        editor_set(&editor, "b.yaml", GOOD);
    }
    editor_did_close(&editor, "b.yaml");
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "is not a document");
    editor_close(&editor);
}

/* ---- Components and configurations ---- */

static void plugins_come_and_go(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    editor_did_open(&editor, "a.yaml", OF_GOOD);
    const char *uri = editor_uri(&editor, "a.yaml");
    editor_expect_items(&editor, uri, "test.one");
    for (int i = 0; i < 6; i++) {
        int load = editor_ask(&editor, "plugin/load", "{\"file\":\"" TENON_TEST_PLUGINS "/good/good.so\"}");
        editor_set(&editor, "a.yaml", i % 2 ? OF_GOOD : OF_GOOD "# a comment\n");
        (void)editor_ask(&editor, "textDocument/hover", AT, uri, 4, 20);
        (void)editor_result(&editor, load);
        if (i % 2 == 0) editor_expect_items(&editor, uri, "");
        int unload = editor_ask(&editor, "plugin/unload", "{\"plugin\":\"test.good\"}");
        (void)editor_ask(&editor, "textDocument/completion", AT, uri, 4, 20);
        editor_set(&editor, "a.yaml", OF_GOOD "# another\n");
        (void)editor_result(&editor, unload);
        if (i % 3 == 0) editor_expect_items(&editor, uri, "test.one");
    }
    editor_close(&editor);
}

static void a_project_follows_its_configuration(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true, .open = open_project_host});
    editor_write(&editor, "tenon.yaml", "models: {slow: \"scripted:x\"}\n");
    editor_did_open(&editor, "a.yaml", GOOD);
    const char *uri = editor_uri(&editor, "a.yaml");
    editor_expect_items(&editor, uri, "");
    for (int i = 0; i < 4; i++) {
        /* also one that is not valid: then the host of the server is used */
        editor_write(&editor, "tenon.yaml", i % 2 ? "models: {quick: \"scripted:x\"}\n" : "models: [\n");
        editor_notify(&editor, "workspace/didChangeWatchedFiles", "{\"changes\":[{\"uri\":\"%s\",\"type\":2}]}",
                      editor_uri(&editor, "tenon.yaml"));
        (void)editor_ask(&editor, "textDocument/completion", AT, uri, 4, 20);
        if (i % 2) editor_set(&editor, "a.yaml", GOOD "# more\n");
        editor_expect_items(&editor, uri, "");
    }
    editor_did_open(&editor, "tenon.yaml", "modles: {}\n");
    editor_expect_items(&editor, editor_uri(&editor, "tenon.yaml"), "modles");
    editor_close(&editor);
}

/* ---- Several documents ---- */

#define WITH_CHANNEL                                                                                                   \
    "version: \"1.0\"\nagent: {name: a}\nchannels: [{name: text, type: last_value}]\nnodes:\n"                         \
    "  - {id: n, type: prompt, config: {template: \"{text}\", output_key: text}}\n"                                    \
    "edges: [{from: START, to: n}, {from: n, to: END}]\n"
#define AROUND                                                                                                         \
    "version: \"1.0\"\nagent: {name: b}\nchannels: [{name: mine, type: last_value}]\nnodes:\n"                         \
    "  - {id: n, type: subgraph, config: {document: a.yaml, input: {mine: text}}}\n"                                   \
    "edges: [{from: START, to: n}, {from: n, to: END}]\n"

static void a_name_is_renamed_in_files_that_are_not_open(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    editor_write(&editor, "a.yaml", WITH_CHANNEL);
    editor_write(&editor, "b.yaml", AROUND);
    editor_did_open(&editor, "a.yaml", WITH_CHANNEL);
    const char *uri = editor_uri(&editor, "a.yaml");
    int id = editor_ask(&editor, "textDocument/references", AT, uri, 2, 20);
    editor_expect(&editor, id, "/a.yaml", "/b.yaml");
    id = editor_ask(&editor, "textDocument/rename",
                    "{\"textDocument\":{\"uri\":\"%s\"},\"position\":{\"line\":2,\"character\":20},\"newName\":\"t2\"}",
                    uri);
    editor_expect(&editor, id, "a.yaml\",\"version\":1}", "b.yaml\",\"version\":null}");
    editor_close(&editor);
}

/* A file that is open under two names is changed once, under the name of the request. */
static void a_file_has_two_names(void **state) {
    struct editor editor;
    char command[400];
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    editor_write(&editor, "a.yaml", WITH_CHANNEL);
    (void)snprintf(command, sizeof command, "%s/link.yaml", editor.folder);
    assert_int_equal(symlink("a.yaml", command), 0);
    editor_did_open(&editor, "a.yaml", WITH_CHANNEL);
    editor_did_open(&editor, "link.yaml", WITH_CHANNEL);
    const char *const names[] = {"a.yaml", "link.yaml", "a.yaml"};
    for (size_t i = 0; i < 3; i++) {
        int id = editor_ask(
            &editor, "textDocument/rename",
            "{\"textDocument\":{\"uri\":\"%s\"},\"position\":{\"line\":2,\"character\":20},\"newName\":\"t2\"}",
            editor_uri(&editor, names[i]));
        char *text = json_text(editor_result(&editor, id), JSON_COMPACT);
        assert_non_null(strstr(text, names[i]));
        assert_null(strstr(text, names[(i + 1) % 2]));
        mem_free(text);
    }
    editor_close(&editor);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered_while_typing),
        cmocka_unit_test(requests_do_not_wait_for_the_end_of_typing),
        cmocka_unit_test(formatting_does_not_wait_for_a_check),
        cmocka_unit_test(half_of_a_pair_is_a_character),
        cmocka_unit_test(a_document_is_closed_while_it_is_checked),
        cmocka_unit_test(a_connection_ends_in_every_state),
        cmocka_unit_test(a_call_outlives_the_connection),
        cmocka_unit_test(a_result_id_is_used_once),
        cmocka_unit_test(documents_around_a_changed_one_are_checked),
        cmocka_unit_test(texts_become_documents),
        cmocka_unit_test(plugins_come_and_go),
        cmocka_unit_test(a_project_follows_its_configuration),
        cmocka_unit_test(a_name_is_renamed_in_files_that_are_not_open),
        cmocka_unit_test(a_file_has_two_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
