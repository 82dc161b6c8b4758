/*
 * lsp_plugins_test.c - documents follow what happens outside of them: methods that load plugins, files of plugins on
 * the disk, and each project its own tenon.yaml; and what the workspace and code actions report about documents.
 */
#include "tests/unit/lsp_fixture.h"

#include "host/base/log.h"
#include "host/server/lsp/lsp_watch.h"

#define DOCUMENT(type)                                                                                                 \
    "version: \"1.0\"\nagent: {name: a}\nchannels: [{name: out, type: last_value}]\nnodes:\n  - {id: n, type: " type   \
    "}\nedges: [{from: START, to: n}, {from: n, to: END}]\n"
#define OF_GOOD DOCUMENT("test.one")
#define PLAIN   DOCUMENT("passthrough")
#define GOOD_SO TENON_TEST_PLUGINS "/good/good.so"

static size_t hosts_opened;

static struct host *open_counted(void *user, const char *config, struct error *error) {
    const char *const paths[] = {TENON_TEST_NODES, TENON_CORE_PLUGIN, NULL};
    (void)user;
    hosts_opened++;
    return host_new(
        &(struct host_options){
            .plugin_paths = paths, .no_installed = true, .config_file = config, .no_config = !config, .quiet = true},
        error);
}

static void open_editor(struct editor *editor) {
    hosts_opened = 0;
    editor_open(editor, &(struct editor_options){.files = true, .open = open_counted});
}

static void make_folder(const struct editor *editor, const char *name) {
    char path[400];
    (void)snprintf(path, sizeof path, "%s/%s", editor->folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void call(struct editor *editor, const char *method, const char *params) {
    (void)editor_result(editor, editor_ask(editor, method, "%s", params));
}

/* ---- Methods ---- */

static void methods_reach_documents_of_projects(void **state) {
    struct editor editor;
    (void)state;
    open_editor(&editor);
    make_folder(&editor, "p");
    make_folder(&editor, "later");
    editor_write(&editor, "p/tenon.yaml", "models: {fast: \"scripted:x\"}\n");
    editor_write(&editor, "later/tenon.yaml", "{}\n");
    editor_did_open(&editor, "p/a.yaml", OF_GOOD);
    editor_expect_items(&editor, editor_uri(&editor, "p/a.yaml"), "test.one");
    for (int i = 0; i < 3; i++) {
        call(&editor, "plugin/load", "{\"file\":\"" GOOD_SO "\"}");
        editor_expect_items(&editor, editor_uri(&editor, "p/a.yaml"), "");
        if (i == 1) editor_did_open(&editor, "later/a.yaml", OF_GOOD);
        if (i >= 1) editor_expect_items(&editor, editor_uri(&editor, "later/a.yaml"), "");
        call(&editor, "plugin/upgrade", "{\"file\":\"" GOOD_SO "\"}");
        editor_expect_items(&editor, editor_uri(&editor, "p/a.yaml"), "");
        call(&editor, "plugin/unload", "{\"plugin\":\"test.good\"}");
        editor_expect_items(&editor, editor_uri(&editor, "p/a.yaml"), "test.one");
        if (i >= 1) editor_expect_items(&editor, editor_uri(&editor, "later/a.yaml"), "test.one");
    }
    assert_int_equal(hosts_opened, 2);
    editor_close(&editor);
}

#define SIDECAR                                                                                                        \
    "{\"plugin\":{\"id\":\"test.sidecar\",\"version\":\"2.0.0\",\"title\":\"A "                                        \
    "plugin\"},\"components\":[{\"kind\":\"node\",\"id\":"                                                             \
    "\"test.sidecar\",\"title\":\"A "                                                                                  \
    "node\",\"documentation\":\"Nothing.\",\"style\":\"async\",\"effects\":[],\"config\":{\"type\":\"object\","        \
    "\"required\":[%s]}}]}"

/* A build of the same version, with another schema. */
static void an_upgrade_reaches_documents_of_projects(void **state) {
    struct editor editor;
    char text[600];
    (void)state;
    open_editor(&editor);
    (void)snprintf(text, sizeof text, "cp " TENON_TEST_PLUGINS "/sidecar/sidecar.so '%s/s.so'", editor.folder);
    assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c): the name is that of mkdtemp */
    (void)snprintf(text, sizeof text, SIDECAR, "");
    editor_write(&editor, "s.tenon.json", text);
    editor_write(&editor, "tenon.yaml", "{}\n");
    editor_did_open(&editor, "a.yaml", DOCUMENT("test.sidecar"));
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "test.sidecar");
    (void)editor_result(&editor, editor_ask(&editor, "plugin/load", "{\"file\":\"%s/s.so\"}", editor.folder));
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "");
    (void)snprintf(text, sizeof text, SIDECAR, "\"wanted\"");
    editor_write(&editor, "s.tenon.json", text);
    (void)editor_result(&editor, editor_ask(&editor, "plugin/upgrade", "{\"file\":\"%s/s.so\"}", editor.folder));
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "wanted");
    editor_close(&editor);
}

/* The plugin that the project's tenon.yaml names is its own. */
static void a_project_keeps_its_own_plugin(void **state) {
    struct editor editor;
    (void)state;
    open_editor(&editor);
    editor_write(&editor, "tenon.yaml", "plugins: {path: [copy.so]}\n");
    char command[600];
    (void)snprintf(command, sizeof command, "cp " GOOD_SO " '%s/copy.so'", editor.folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): the name is that of mkdtemp */
    editor_did_open(&editor, "a.yaml", OF_GOOD);
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "");
    call(&editor, "plugin/load", "{\"file\":\"" GOOD_SO "\"}");
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "");
    call(&editor, "plugin/unload", "{\"plugin\":\"test.good\"}");
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "");
    editor_close(&editor);
}

/* ---- Files ---- */

struct published_wait {
    struct editor *editor;
    const char *uri;
    bool empty;
};

/* Whether the newest diagnostics of the document are none. */
static bool is_published(void *user) {
    const struct published_wait *wait = user;
    bool empty = !wait->empty;
    editor_receive(wait->editor);
    for (size_t i = 0; i < value_count(wait->editor->notes); i++) {
        tn_value note = value_at(wait->editor->notes, i), params = value_get(note, "params");
        if (value_text_is(value_get(note, "method"), "textDocument/publishDiagnostics") &&
            value_text_is(value_get(params, "uri"), wait->uri))
            empty = value_count(value_get(params, "diagnostics")) == 0;
    }
    return empty == wait->empty;
}

static void wait_published(struct editor *editor, const char *file, bool empty) {
    struct published_wait wait = {editor, editor_uri(editor, file), empty};
    assert_true(loop_run(editor->wire.loop, is_published, &wait));
}

static void copy_good(const char *folder) {
    char command[600];
    (void)snprintf(command, sizeof command, "cp " GOOD_SO " '%s/good.so'", folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): the name is that of mkdtemp */
}

/* The folder does not exist at first; it is removed, and made again. The client reports nothing. */
static void plugins_on_the_disk_are_noticed(void **state) {
    struct editor editor;
    char folder[400], file[420];
    (void)state;
    open_editor(&editor);
    (void)snprintf(folder, sizeof folder, "%s/out", editor.folder);
    (void)snprintf(file, sizeof file, "%s/good.so", folder);
    editor_write(&editor, "tenon.yaml", "plugins: {path: [out]}\n");
    editor_did_open(&editor, "a.yaml", OF_GOOD);
    wait_published(&editor, "a.yaml", false);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mkdir(folder, 0700), 0);
        copy_good(folder);
        wait_published(&editor, "a.yaml", true);
        if (i) break;
        assert_int_equal(unlink(file), 0);
        assert_int_equal(rmdir(folder), 0);
        wait_published(&editor, "a.yaml", false);
    }
    editor_close(&editor);
}

/* Documents without a project get another host; that of the server stays. */
static void plugins_of_the_server_are_noticed(void **state) {
    struct editor editor;
    char folder[] = "/tmp/tenon-plugins-XXXXXX", file[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(file, sizeof file, "%s/good.so", folder);
    assert_int_equal(setenv("TENON_PLUGIN_PATH", folder, 1), 0);
    open_editor(&editor);
    copy_good(folder); /* before the first check */
    editor_did_open(&editor, "a.yaml", OF_GOOD);
    wait_published(&editor, "a.yaml", true);
    assert_int_equal(hosts_opened, 1);
    int list = editor_ask(&editor, "component/list", "{\"plugin\":\"test.good\"}");
    editor_expect_result(&editor, list, "{\"components\":[]}");
    assert_int_equal(unlink(file), 0);
    wait_published(&editor, "a.yaml", false);
    /* A method still reaches them. */
    call(&editor, "plugin/load", "{\"file\":\"" GOOD_SO "\"}");
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "");
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(unsetenv("TENON_PLUGIN_PATH"), 0);
    editor_close(&editor);
}

static bool refuse_hosts;

static struct host *open_or_refuse(void *user, const char *config, struct error *error) {
    if (!refuse_hosts) return open_counted(user, config, error);
    hosts_opened++;
    (void)error_set(error, TN_FAILED, "FAILED", "a plugin of --plugins is missing");
    return NULL;
}

/* A plugin that the command line names is missing while it is built. */
static void a_host_that_cannot_be_opened_is_tried_again(void **state) {
    struct editor editor;
    char folder[] = "/tmp/tenon-plugins-XXXXXX", file[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(file, sizeof file, "%s/good.so", folder);
    copy_good(folder);
    assert_int_equal(setenv("TENON_PLUGIN_PATH", folder, 1), 0);
    hosts_opened = 0;
    editor_open(&editor, &(struct editor_options){.files = true, .open = open_or_refuse});
    log_set_level(host_log(editor.served->host), LOG_ERROR);
    editor_did_open(&editor, "a.yaml", OF_GOOD);
    wait_published(&editor, "a.yaml", true);
    refuse_hosts = true;
    size_t published = editor_count(&editor, "textDocument/publishDiagnostics");
    assert_int_equal(unlink(file), 0);
    editor_wait_notes(&editor, "textDocument/publishDiagnostics", published + 1);
    assert_int_equal(hosts_opened, 1);
    refuse_hosts = false;
    copy_good(folder);
    editor_wait_notes(&editor, "textDocument/publishDiagnostics", published + 2);
    assert_int_equal(hosts_opened, 2);
    wait_published(&editor, "a.yaml", true);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(unsetenv("TENON_PLUGIN_PATH"), 0);
    editor_close(&editor);
}

static bool count_look(void *user) {
    ++*(size_t *)user;
    return false;
}

static void watched_places_have_a_limit(void **state) {
    struct editor editor;
    char path[400];
    size_t looks = 0;
    (void)state;
    open_editor(&editor);
    struct lsp_watch *watch = lsp_watch_new(editor.wire.loop, count_look, &looks);
    for (int round = 0; round < 2; round++) {
        lsp_watch_begin(watch);
        for (unsigned i = 0; i < LSP_WATCHES_MAX + 5; i++) {
            (void)snprintf(path, sizeof path, "%s/none/%u/p.so", editor.folder, i + (unsigned)round * 3);
            lsp_watch_add(watch, path);
        }
        lsp_watch_add(watch, "relative");
        lsp_watch_add(watch, "/");
        lsp_watch_end(watch);
    }
    lsp_watch_free(watch);
    assert_int_equal(looks, 0);
    editor_close(&editor);
}

/* ---- tenon.yaml ---- */

static void a_changed_configuration_reopens_its_own_project(void **state) {
    struct editor editor;
    (void)state;
    open_editor(&editor);
    for (int i = 0; i < 3; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "p%d", i);
        make_folder(&editor, name);
        (void)snprintf(name, sizeof name, "p%d/tenon.yaml", i);
        editor_write(&editor, name, "{}\n");
        (void)snprintf(name, sizeof name, "p%d/a.yaml", i);
        editor_did_open(&editor, name, OF_GOOD);
        editor_expect_items(&editor, editor_uri(&editor, name), "test.one");
    }
    assert_int_equal(hosts_opened, 3);
    size_t published = editor_count(&editor, "textDocument/publishDiagnostics");
    editor_write(&editor, "p1/tenon.yaml", "plugins: {path: [" GOOD_SO "]}\n");
    editor_notify(&editor, "workspace/didChangeWatchedFiles", "{\"changes\":[{\"uri\":\"%s\",\"type\":2}]}",
                  editor_uri(&editor, "p1/tenon.yaml"));
    editor_expect_items(&editor, editor_uri(&editor, "p1/a.yaml"), "");
    editor_expect_items(&editor, editor_uri(&editor, "p0/a.yaml"), "test.one");
    editor_expect_items(&editor, editor_uri(&editor, "p2/a.yaml"), "test.one");
    assert_int_equal(hosts_opened, 4);
    assert_int_equal(editor_count(&editor, "textDocument/publishDiagnostics"), published + 1);
    editor_close(&editor);
}

#define AROUND DOCUMENT("subgraph, config: {document: inner.yaml}")

static void a_closed_document_concerns_those_that_read_it(void **state) {
    struct editor editor;
    (void)state;
    open_editor(&editor);
    editor_write(&editor, "inner.yaml", PLAIN);
    editor_did_open(&editor, "inner.yaml", OF_GOOD);
    editor_did_open(&editor, "around.yaml", AROUND);
    editor_did_open(&editor, "other.yaml", PLAIN);
    editor_expect_items(&editor, editor_uri(&editor, "around.yaml"), "test.one");
    editor_expect_items(&editor, editor_uri(&editor, "other.yaml"), "");
    editor_expect_items(&editor, editor_uri(&editor, "inner.yaml"), "test.one");
    size_t published = editor_count(&editor, "textDocument/publishDiagnostics");
    editor_did_close(&editor, "inner.yaml");
    editor_expect_items(&editor, editor_uri(&editor, "around.yaml"), "");
    editor_expect_items(&editor, editor_uri(&editor, "other.yaml"), "");
    assert_int_equal(editor_count(&editor, "textDocument/publishDiagnostics"), published + 2); /* none, and around */
    editor_close(&editor);
}

/* ---- The workspace ---- */

/* The report about the file in the answer, borrowed; NULL without one. */
static tn_value report_about(tn_value answer, const struct editor *editor, const char *file) {
    tn_value items = value_get(answer, "items");
    for (size_t i = 0; i < value_count(items); i++)
        if (value_text_is(value_get(value_at(items, i), "uri"), editor_uri(editor, file))) return value_at(items, i);
    return NULL;
}

static size_t reported(tn_value answer, const struct editor *editor, const char *file) {
    tn_value report = report_about(answer, editor, file);
    if (!report) fail_msg("no report about %s", file);
    return value_count(value_get(report, "items"));
}

/* The next answer, of a client that has the results of the last one. */
static tn_value pull_workspace(struct editor *editor, tn_value last) {
    tn_value items = value_get(last, "items"), previous = value_array();
    for (size_t i = 0; last && i < value_count(items); i++) {
        tn_value id = value_get(value_at(items, i), "resultId");
        if (!id) continue;
        tn_value entry = value_set_take(value_object(), "value", value_ref(id));
        entry = value_set_take(entry, "uri", value_ref(value_get(value_at(items, i), "uri")));
        previous = value_push_take(previous, entry);
    }
    tn_value params = value_set_take(value_object(), "previousResultIds", previous);
    return editor_result(editor, editor_ask_take(editor, "workspace/diagnostic", params));
}

static bool is_unchanged(tn_value answer, const struct editor *editor, const char *file) {
    return value_text_is(value_get(report_about(answer, editor, file), "kind"), "unchanged");
}

static void closed_documents_have_diagnostics(void **state) {
    struct editor editor;
    char path[400];
    (void)state;
    open_editor(&editor);
    editor_write(&editor, "broken.yaml", OF_GOOD);
    editor_write(&editor, "good.yaml", PLAIN);
    editor_write(&editor, "around.yaml", AROUND);
    editor_write(&editor, "inner.yaml", PLAIN);
    editor_did_open(&editor, "open.yaml", OF_GOOD);
    tn_value first = pull_workspace(&editor, NULL);
    assert_int_equal(reported(first, &editor, "broken.yaml"), 1);
    assert_int_equal(reported(first, &editor, "open.yaml"), 1);
    assert_int_equal(reported(first, &editor, "good.yaml"), 0);
    assert_int_equal(reported(first, &editor, "around.yaml"), 0);
    tn_value second = pull_workspace(&editor, first);
    assert_true(is_unchanged(second, &editor, "broken.yaml"));
    assert_true(is_unchanged(second, &editor, "open.yaml"));
    assert_true(is_unchanged(second, &editor, "around.yaml"));
    /* Another file, and so one that contains it; a file is gone. */
    editor_write(&editor, "inner.yaml", OF_GOOD "\n");
    (void)snprintf(path, sizeof path, "%s/broken.yaml", editor.folder);
    assert_int_equal(unlink(path), 0);
    tn_value third = pull_workspace(&editor, second);
    assert_int_equal(reported(third, &editor, "around.yaml"), 1);
    assert_int_equal(reported(third, &editor, "inner.yaml"), 1);
    assert_true(is_unchanged(third, &editor, "good.yaml"));
    assert_int_equal(reported(third, &editor, "broken.yaml"), 0);
    assert_null(report_about(pull_workspace(&editor, third), &editor, "broken.yaml"));
    editor_close(&editor);
}

/* ---- Code actions ---- */

#define BRANCHES                                                                                                       \
    "version: \"1.0\"\nagent: {name: a}\nchannels: [{name: t, type: last_value}]\nnodes:\n"                            \
    "  - {id: a, type: passthrough}\n  - {id: b, type: passthrough}\n  - {id: c, type: passthrough}\nedges:\n"         \
    "  - {from: START, to: a}\n"                                                                                       \
    "  - {from: a, type: conditional, conditions: [{expression: \"state.t == 'x'\", to: b}, {expression: default, "    \
    "to: c}]}\n  - {from: b, to: END}\n  - {from: c, to: END}\n"
#define ACTIONS_OF(disabled)                                                                                           \
    "{\"workspace\":{\"workspaceEdit\":{\"documentChanges\":true,\"resourceOperations\":[\"create\"]}},"               \
    "\"textDocument\":{\"codeAction\":{\"codeActionLiteralSupport\":{},\"dataSupport\":true,"                          \
    "\"disabledSupport\":" disabled ",\"resolveSupport\":{\"properties\":[\"edit\"]}}}}"
#define ACTIONS                                                                                                        \
    "{\"textDocument\":{\"uri\":\"%s\"},\"range\":{\"start\":{\"line\":%d,\"character\":5},\"end\":{\"line\":%d,"      \
    "\"character\":9}},\"context\":{\"diagnostics\":[]}}"

/* The answer contains the part, or is empty. */
static void expect_actions(struct editor *editor, int first, int last, const char *part) {
    int id = editor_ask(editor, "textDocument/codeAction", ACTIONS, editor_uri(editor, "a.yaml"), first, last);
    if (*part)
        editor_expect(editor, id, part, "");
    else
        editor_expect_result(editor, id, "[]");
}

/* In a short document, and in one that is too long to verify each action that is offered. */
static void impossible_actions_are_not_offered(void **state) {
    static const char *const abilities[] = {ACTIONS_OF("true"), ACTIONS_OF("false")};
    struct buffer text;
    (void)state;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, BRANCHES);
    fixture_agents = true; /* `router` */
    for (int length = 0; length < 2; length++) {
        for (int i = 0; i < 2; i++) {
            struct editor editor;
            editor_open(&editor, &(struct editor_options){.files = true, .capabilities = abilities[i]});
            editor_did_open(&editor, "a.yaml", buffer_cstr(&text));
            expect_actions(&editor, 9, 9, i ? "" : "\"disabled\":{\"reason\":\"a router asks a model");
            expect_actions(&editor, 5, 6, i ? "" : "\"disabled\":{\"reason\":\"the selected nodes are entered at two");
            expect_actions(&editor, 4, 5, i ? "" : "\"disabled\":{\"reason\":\"the selected nodes are left to several");
            expect_actions(&editor, 5, 5, "\"data\":{");
            editor_close(&editor);
        }
        for (int i = 0; i < 1000; i++) buffer_text(&text, "# a comment that makes the document a long one\n");
    }
    buffer_finish(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_reach_documents_of_projects),
        cmocka_unit_test(an_upgrade_reaches_documents_of_projects),
        cmocka_unit_test(a_project_keeps_its_own_plugin),
        cmocka_unit_test(plugins_on_the_disk_are_noticed),
        cmocka_unit_test(plugins_of_the_server_are_noticed),
        cmocka_unit_test(a_host_that_cannot_be_opened_is_tried_again),
        cmocka_unit_test(watched_places_have_a_limit),
        cmocka_unit_test(a_changed_configuration_reopens_its_own_project),
        cmocka_unit_test(a_closed_document_concerns_those_that_read_it),
        cmocka_unit_test(closed_documents_have_diagnostics),
        cmocka_unit_test(impossible_actions_are_not_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
