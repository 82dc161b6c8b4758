/*
 * lsp_limits_test.c - what a client cannot do to the language server: parameters of wrong types, more than the limits,
 * reading nothing, files that it may not name, and files that are not documents.
 */
#include "tests/unit/lsp_fixture.h"

#include "host/base/log.h"
#include "host/server/lsp/lsp_index.h"
#include "host/server/rpc/rpc_stream.h"

#define GOOD                                                                                                           \
    "version: \"1.0\"\nagent: {name: a}\nchannels: [{name: out, type: last_value}]\nnodes:\n"                          \
    "  - {id: n, type: prompt, config: {template: hello, output_key: out}}\n"                                          \
    "edges: [{from: START, to: n}, {from: n, to: END}]\n"
#define UNKNOWN                                                                                                        \
    "version: \"1.0\"\nagent: {name: a}\nchannels: []\nnodes: [{id: n, type: nosuch}]\n"                               \
    "edges: [{from: START, to: n}, {from: n, to: END}]\n"

/* ---- Parameters ---- */

static const char *const all_requests[] = {"textDocument/diagnostic",
                                           "workspace/diagnostic",
                                           "textDocument/formatting",
                                           "textDocument/rangeFormatting",
                                           "textDocument/rangesFormatting",
                                           "textDocument/definition",
                                           "textDocument/references",
                                           "textDocument/documentHighlight",
                                           "textDocument/prepareRename",
                                           "textDocument/rename",
                                           "workspace/willRenameFiles",
                                           "textDocument/completion",
                                           "textDocument/hover",
                                           "textDocument/signatureHelp",
                                           "textDocument/inlayHint",
                                           "textDocument/documentLink",
                                           "textDocument/documentSymbol",
                                           "workspace/symbol",
                                           "textDocument/foldingRange",
                                           "textDocument/selectionRange",
                                           "textDocument/semanticTokens/full",
                                           "textDocument/semanticTokens/full/delta",
                                           "textDocument/semanticTokens/range",
                                           "textDocument/codeLens",
                                           "textDocument/codeAction",
                                           "textDocument/prepareCallHierarchy",
                                           "callHierarchy/incomingCalls",
                                           "callHierarchy/outgoingCalls",
                                           "workspace/textDocumentContent",
                                           "nosuch/method"};
static const char *const all_notifications[] = {"textDocument/didOpen",
                                                "textDocument/didChange",
                                                "textDocument/didClose",
                                                "textDocument/didSave",
                                                "workspace/didChangeWatchedFiles",
                                                "workspace/didChangeWorkspaceFolders",
                                                "initialized",
                                                "$/cancelRequest",
                                                "nosuch/note"};

/* %s is the URI of an open document. */
static const char *const wrong_params[] = {
    "null",
    "[]",
    "[1, [2]]",
    "{}",
    "{\"textDocument\": null}",
    "{\"textDocument\": []}",
    "{\"textDocument\": {\"uri\": 7}, \"item\": {\"uri\": 8}}",
    "{\"textDocument\": {\"uri\": \"\"}}",
    "{\"textDocument\": {\"uri\": \"file:///\", \"text\": 1, \"version\": []}}",
    "{\"textDocument\": {\"uri\": \"file:///%%00%%zz%%\", \"text\": \"nodes:\\nedges:\\n\"}}",
    "{\"textDocument\": {\"uri\": \"file:///\", \"text\": \"nodes:\\nedges:\\n\"}}",
    "{\"textDocument\": {\"uri\": \"untitled:\\u0000x\", \"text\": \"nodes:\\u0000\\nedges:\\r\\r\\n\"}}",
    "{\"textDocument\": {\"uri\": \"%s\"}}",
    "{\"textDocument\": {\"uri\": \"%s\"}, \"position\": 1, \"range\": 2, \"ranges\": 3, \"positions\": 4}",
    "{\"textDocument\": {\"uri\": \"%s\"}, \"position\": {\"line\": -1, \"character\": 1e300}}",
    "{\"textDocument\": {\"uri\": \"%s\"}, \"position\": {\"line\": \"1\", \"character\": null}, \"newName\": {}}",
    ("{\"textDocument\": {\"uri\": \"%s\"}, \"position\": {\"line\": 9223372036854775807, \"character\": 4294967296}, "
     "\"newName\": \"\"}"),
    ("{\"textDocument\": {\"uri\": \"%s\"}, \"position\": {\"line\": 4, \"character\": 9}, \"newName\": \"\\n: {\", "
     "\"range\": {\"start\": {\"line\": 4294967295, \"character\": 0}, \"end\": {\"line\": 0, \"character\": 3}}, "
     "\"context\": {\"only\": [7, \"\", \"quickfix\"], \"includeDeclaration\": 1}}"),
    "{\"textDocument\": {\"uri\": \"%s\"}, \"ranges\": [1], \"positions\": [{}], \"context\": []}",
    "{\"item\": {\"uri\": \"%s\", \"selectionRange\": {\"start\": {\"line\": 4, \"character\": 9}}}}",
    "{\"textDocument\": {\"uri\": \"%s\", \"version\": -7}, \"contentChanges\": [{\"range\": null, \"text\": \"\"}]}",
    "{\"textDocument\": {\"uri\": \"%s\", \"version\": \"x\"}, \"contentChanges\": [{\"text\": 1}, {\"text\": \"y\"}]}",
    ("{\"textDocument\": {\"uri\": \"%s\"}, \"contentChanges\": [{\"range\": {\"start\": {\"line\": 99, \"character\": "
     "99}, \"end\": {\"line\": 0, \"character\": 0}}, \"text\": \"nodes:\\nedges:\\n\"}]}"),
    "{\"textDocument\": {\"uri\": \"%s\"}, \"contentChanges\": [1, null]}",
    "{\"textDocument\": {\"uri\": \"%s\"}, \"contentChanges\": {}}",
    "{\"changes\": [1, {\"uri\": 2}, {\"uri\": \"file:///x/tenon.yaml\"}]}",
    "{\"event\": {\"added\": [1, {\"uri\": []}], \"removed\": 7}}",
    "{\"event\": 3}",
    "{\"files\": [1, {\"oldUri\": 1, \"newUri\": \"file:///x\"}, {\"oldUri\": \"file:///\", \"newUri\": \"file://\"}]}",
    "{\"query\": [\"x\"], \"previousResultIds\": [1, {\"uri\": \"%s\", \"value\": 7}], \"uri\": 1}",
    "{\"uri\": \"tenon:/graph/x.txt?%s\"}",
    "{\"uri\": \"tenon:/graph/x.txt?%%00\"}",
    "{\"uri\": \"tenon:/reference//.md\"}",
    "{\"uri\": \"tenon:/reference/node/%%2\"}",
    "{\"uri\": \"tenon:/reference/node/prompt.md\"}",
    "{\"uri\": \"tenon:/schema/../../etc/passwd.json\"}",
    "{\"id\": [7]}",
};

static tn_value wrong_param(const char *format, const char *uri) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    for (const char *at = format; *at; at++) {
        if (at[0] == '%' && at[1] == 's')
            buffer_text(&text, uri), at++;
        else if (at[0] == '%' && at[1] == '%')
            buffer_char(&text, '%'), at++;
        else
            buffer_char(&text, *at);
    }
    tn_value value = served_json(buffer_cstr(&text));
    buffer_finish(&text);
    return value;
}

static void wrong_parameters_have_answers(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    for (size_t p = 0; p < sizeof wrong_params / sizeof *wrong_params; p++) {
        const char *uri = editor_uri(&editor, "a.yaml");
        editor_did_open(&editor, "a.yaml", GOOD);
        for (size_t i = 0; i < sizeof all_requests / sizeof *all_requests; i++)
            (void)editor_ask_take(&editor, all_requests[i], wrong_param(wrong_params[p], uri));
        editor_expect_answers(&editor);
        for (size_t i = 0; i < sizeof all_notifications / sizeof *all_notifications; i++)
            editor_notify_take(&editor, all_notifications[i], wrong_param(wrong_params[p], uri));
        (void)editor_ask_take(&editor, "textDocument/hover", wrong_param(wrong_params[p], uri));
    }
    editor_close(&editor);
}

/* ---- Room ---- */

static void more_documents_than_the_limit_are_reported_once(void **state) {
    struct editor editor;
    char file[40];
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = false});
    for (unsigned i = 0; i < LSP_DOCUMENTS_MAX + 3; i++) {
        (void)snprintf(file, sizeof file, "d%u.yaml", i);
        editor_did_open(&editor, file, i == 5 || i >= LSP_DOCUMENTS_MAX - 1 ? UNKNOWN : "other: 1\n");
    }
    editor_expect_items(&editor, editor_uri(&editor, "d5.yaml"), "nosuch");
    (void)snprintf(file, sizeof file, "d%u.yaml", LSP_DOCUMENTS_MAX);
    editor_expect_items(&editor, editor_uri(&editor, file), ""); /* it is not known */
    assert_int_equal(editor_count(&editor, "window/showMessage"), 1);
    editor_did_open(&editor, "d5.yaml", GOOD); /* twice: it has its place */
    editor_expect_items(&editor, editor_uri(&editor, "d5.yaml"), "");
    editor_did_close(&editor, "d5.yaml");
    editor_did_open(&editor, file, UNKNOWN);
    editor_expect_items(&editor, editor_uri(&editor, file), "nosuch");
    editor_close(&editor);
}

static void texts_have_a_limit_together(void **state) {
    struct editor editor;
    char file[40];
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = false});
    char text[10001] = {0};
    memset(text, '#', sizeof text - 1);
    lsp_hosts_limit_texts(editor.hosts, 50500);
    for (unsigned i = 0; i < 5; i++) {
        (void)snprintf(file, sizeof file, "d%u.yaml", i);
        editor_did_open(&editor, file, text);
    }
    assert_int_equal(editor_count(&editor, "window/showMessage"), 0);
    editor_did_open(&editor, "small.yaml", UNKNOWN);
    editor_expect_items(&editor, editor_uri(&editor, "small.yaml"), "nosuch");
    editor_set(&editor, "small.yaml", text); /* there is no room for it any more */
    editor_expect_items(&editor, editor_uri(&editor, "small.yaml"), "");
    assert_int_equal(editor_count(&editor, "window/showMessage"), 1);
    editor_close(&editor);
}

static bool tokens_are_kept(struct editor *editor, const char *file) {
    const char *uri = editor_uri(editor, file);
    tn_value tokens = editor_result(editor, editor_ask(editor, "textDocument/semanticTokens/full", OF, uri));
    assert_true(value_count(value_get(tokens, "data")) > 20);
    return value_get(tokens, "resultId") != NULL;
}

#define KNOWS_DELTA "{\"textDocument\":{\"semanticTokens\":{\"requests\":{\"full\":{\"delta\":true}}}}}"

static void kept_tokens_have_a_limit_together(void **state) {
    struct editor editor;
    char file[40];
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = false, .capabilities = KNOWS_DELTA});
    lsp_hosts_limit_texts(editor.hosts, 16 * 1000);
    unsigned count = 0;
    do {
        (void)snprintf(file, sizeof file, "d%u.yaml", ++count);
        editor_did_open(&editor, file, GOOD);
    } while (tokens_are_kept(&editor, file));
    assert_in_range(count, 3, 30);
    assert_true(tokens_are_kept(&editor, "d1.yaml")); /* its own last answer makes room */
    editor_did_close(&editor, "d1.yaml");
    assert_true(tokens_are_kept(&editor, file));
    editor_close(&editor);
    editor_open(&editor, &(struct editor_options){.files = false, .capabilities = "{}"});
    editor_did_open(&editor, "a.yaml", GOOD);
    assert_false(tokens_are_kept(&editor, "a.yaml")); /* such a client cannot use them */
    editor_close(&editor);
}

static void waiting_requests_have_a_limit(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    editor_did_open(&editor, "a.yaml", UNKNOWN);
    const char *uri = editor_uri(&editor, "a.yaml");
    int first = editor.last_id;
    struct buffer all; /* in one piece, so that all arrive before the check ends */
    buffer_init(&all, SIZE_MAX);
    for (unsigned i = 0; i < PEER_REQUESTS_MAX + 10; i++)
        buffer_format(
            &all,
            "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"textDocument/references\",\"params\":{\"textDocument\":"
            "{\"uri\":\"%s\"},\"position\":{\"line\":3,\"character\":13}}}\n",
            ++editor.last_id, uri);
    editor_send_text(&editor, all.data, all.length);
    buffer_finish(&all);
    editor_expect_answers(&editor);
    editor_expect(&editor, first + 1, "result", "");
    editor_close(&editor);
}

/* The server remembers the names of contents, so that it can ask the client to read them again. */
static void names_of_contents_have_a_limit(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    editor_did_open(&editor, "a.yaml", GOOD);
    for (int length = 1000; length <= 100000; length *= 10) {
        char *name = mem_alloc((size_t)length + 1);
        memset(name, 'x', (size_t)length);
        name[length] = '\0';
        int id = editor_ask(&editor, "workspace/textDocumentContent", "{\"uri\":\"tenon:/graph/%s.txt?%s\"}", name,
                            editor_uri(&editor, "a.yaml"));
        editor_expect(&editor, id, length < 100000 ? "\"result\":{\"text\":" : "there is no content", "");
        mem_free(name);
    }
    editor_close(&editor);
}

static void folders_have_a_limit(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true, .no_folder = true});
    editor_write(&editor, "b.yaml", GOOD);
    for (unsigned i = 0; i < LSP_FOLDERS_MAX + 50; i++) {
        editor_notify(&editor, "workspace/didChangeWorkspaceFolders",
                      "{\"event\":{\"added\":[{\"uri\":\"%s\"},{\"uri\":\"file:///nosuch%u\"}],\"removed\":[]}}",
                      editor_uri(&editor, ""), i);
        if (i == 20) (void)editor_ask(&editor, "workspace/symbol", "{\"query\":\"\"}");
    }
    int id = editor_ask(&editor, "workspace/symbol", "{\"query\":\"out\"}");
    editor_expect(&editor, id, "\"name\":\"out\"", "b.yaml");
    editor_notify(&editor, "workspace/didChangeWorkspaceFolders",
                  "{\"event\":{\"added\":[],\"removed\":[{\"uri\":\"%s\"}]}}", editor_uri(&editor, ""));
    editor_expect_result(&editor, editor_ask(&editor, "workspace/symbol", "{\"query\":\"out\"}"), "[]");
    editor_close(&editor);
}

/* ---- A client that does not read, or does not answer ---- */

static void checks_wait_for_a_client_that_does_not_read(void **state) {
    struct editor editor;
    char file[40];
    struct buffer text;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    struct peer *peer = connection_peer(editor.connection);
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "version: \"1.0\"\nagent: {name: a}\nchannels: []\nnodes:\n");
    for (size_t i = 0; i < 400; i++) buffer_format(&text, "  - {id: n%zu, type: nosuch%zu}\n", i, i);
    buffer_text(&text, "edges: [{from: START, to: n0}, {from: n0, to: END}]\n");
    editor.wire.deaf = true;
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(file, sizeof file, "d%u.yaml", i);
        editor_did_open(&editor, file, buffer_cstr(&text));
        wire_turn(&editor.wire);
    }
    while (!peer_is_full(peer)) {
        loop_run_turn(editor.wire.loop);
        (void)usleep(100); /* lets the thread work, also under valgrind */
    }
    for (int i = 0; i < 30; i++) {
        (void)usleep(1000);
        wire_turn(&editor.wire);
    }
    assert_true(peer_is_full(peer)); /* about one document more than fits, not all */
    assert_true(editor_count(&editor, "textDocument/publishDiagnostics") == 0);
    editor.wire.deaf = false;
    editor_wait_notes(&editor, "textDocument/publishDiagnostics", 40);
    assert_int_equal(editor_count(&editor, "textDocument/publishDiagnostics"), 40);
    buffer_finish(&text);
    editor_close(&editor);
}

static void a_client_need_not_answer(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true, .mute = true});
    editor_did_open(&editor, "a.yaml", UNKNOWN);
    for (int i = 0; i < 300; i++) {
        (void)editor_ask(&editor, "plugin/load", "{\"file\":\"" TENON_TEST_PLUGINS "/good/good.so\"}");
        (void)editor_ask(&editor, "plugin/unload", "{\"plugin\":\"test.good\"}");
        if (i % 50 == 0) editor_expect_answers(&editor);
    }
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "nosuch");
    assert_true(editor.asked > 0 && editor.asked <= PEER_REQUESTS_MAX);
    editor_close(&editor);
}

/* ---- Files ---- */

#define NAMES_FILES                                                                                                    \
    "version: \"1.0\"\nagent: {name: a}\nchannels: [{name: out, type: last_value}]\nnodes:\n"                          \
    "  - {id: n, type: prompt, config: {template: {file: prompt.md}, output_key: out}}\n"                              \
    "  - {id: m, type: subgraph, config: {document: inner.yaml}}\n"                                                    \
    "edges: [{from: START, to: n}, {from: n, to: m}, {from: m, to: END}]\n"

static struct host *open_no_host(void *user, const char *config, struct error *error) {
    (void)user, (void)error;
    fail_msg("%s was opened", config);
    return NULL;
}

/* What the editor learns about a.yaml, as one text without the name of its folder, to be freed with mem_free. */
static char *learn(struct editor *editor) {
    static const char *const methods[] = {
        "textDocument/diagnostic",    "textDocument/documentLink", "textDocument/codeLens",   "textDocument/codeAction",
        "textDocument/hover",         "textDocument/definition",   "textDocument/completion", "textDocument/references",
        "textDocument/prepareRename", "textDocument/rename",       "workspace/symbol",        "workspace/diagnostic"};
    struct buffer all;
    buffer_init(&all, SIZE_MAX);
    editor_did_open(editor, "a.yaml", NAMES_FILES);
    editor_did_open(editor, "tenon.yaml", "models: 7\n");
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        for (int line = 4; line < 6; line++) {
            int id = editor_ask(
                editor, methods[i],
                "{\"textDocument\":{\"uri\":\"%s\"},\"position\":{\"line\":%d,\"character\":57},\"query\":\"\","
                "\"newName\":\"z\",\"range\":{\"start\":{\"line\":0,\"character\":0},\"end\":{\"line\":9,\"character\":"
                "0}},\"context\":{}}",
                editor_uri(editor, "a.yaml"), line);
            tn_value answer = value_remove_take(value_ref(editor_answer(editor, id)), value_text("id"));
            char *text = json_text(answer, JSON_COMPACT);
            for (char *at; (at = strstr(text, editor->folder)) != NULL;) memset(at, '_', strlen(editor->folder));
            buffer_format(&all, "%s %s\n", methods[i], text);
            mem_free(text);
            value_unref(answer);
        }
    return buffer_detach(&all, NULL);
}

/* Whether files exist, and what they contain, makes no difference. */
static void a_client_without_files_learns_nothing_of_the_disk(void **state) {
    struct editor with, without;
    (void)state;
    editor_open(&without, &(struct editor_options){.files = false, .open = open_no_host});
    char *expected = learn(&without);
    editor_close(&without);
    editor_open(&with, &(struct editor_options){.files = false, .open = open_no_host});
    editor_write(&with, "prompt.md", "the secret {out}\n");
    editor_write(&with, "inner.yaml", GOOD);
    editor_write(&with, "other.yaml", GOOD);
    editor_write(&with, "tenon.yaml", "models: {fast: \"scripted:x\"}\n");
    editor_notify(&with, "workspace/didChangeWorkspaceFolders",
                  "{\"event\":{\"added\":[{\"uri\":\"%s\"}],\"removed\":[]}}", editor_uri(&with, ""));
    editor_notify(&with, "workspace/didChangeWatchedFiles", "{\"changes\":[{\"uri\":\"%s\",\"type\":2}]}",
                  editor_uri(&with, "tenon.yaml"));
    char *learned = learn(&with);
    assert_string_equal(learned, expected);
    assert_non_null(strstr(learned, "may not name files"));
    assert_null(strstr(learned, "secret"));
    assert_null(strstr(learned, "other.yaml"));
    mem_free(learned);
    mem_free(expected);
    editor_close(&with);
}

/* The same client with files finds them: the test above can fail. */
static void a_client_with_files_reads_them(void **state) {
    struct editor editor;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    editor_write(&editor, "prompt.md", "the secret {out}\n");
    editor_write(&editor, "inner.yaml", GOOD);
    editor_write(&editor, "other.yaml", GOOD);
    char *learned = learn(&editor);
    assert_non_null(strstr(learned, "other.yaml"));
    assert_non_null(strstr(learned, "prompt.md\""));
    assert_null(strstr(learned, "may not name files"));
    mem_free(learned);
    editor_close(&editor);
}

/* A tenon.yaml of another user is not opened, not even in the folder of a document. */
static void a_configuration_of_another_user_does_not_count(void **state) {
    struct editor editor;
    char path[400];
    (void)state;
    if (geteuid() != 0) skip(); /* only root can give a file away */
    editor_open(&editor, &(struct editor_options){.files = true, .open = open_no_host});
    editor_write(&editor, "tenon.yaml", "models: {fast: \"scripted:x\"}\n");
    (void)snprintf(path, sizeof path, "%s/tenon.yaml", editor.folder);
    assert_int_equal(chown(path, 12345, 12345), 0);
    editor_did_open(&editor, "a.yaml", UNKNOWN);
    editor_expect_items(&editor, editor_uri(&editor, "a.yaml"), "nosuch");
    (void)editor_result(&editor, editor_ask(&editor, "workspace/symbol", "{\"query\":\"\"}"));
    editor_close(&editor);
}

static size_t projects_opened;

static struct host *count_project(void *user, const char *config, struct error *error) {
    (void)user;
    projects_opened++;
    error_set(error, TN_FAILED, "FAILED", "%s is only counted", config);
    return NULL;
}

static void projects_have_a_limit(void **state) {
    struct editor editor;
    char name[40], path[400];
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true, .open = count_project});
    log_set_level(host_log(editor.served->host), LOG_ERROR);
    projects_opened = 0;
    for (unsigned i = 0; i < LSP_PROJECTS_MAX + 6; i++) {
        (void)snprintf(path, sizeof path, "%s/p%u", editor.folder, i);
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(name, sizeof name, "p%u/tenon.yaml", i);
        editor_write(&editor, name, "models: {}\n");
        (void)snprintf(name, sizeof name, "p%u/a.yaml", i);
        editor_did_open(&editor, name, UNKNOWN);
        editor_expect_items(&editor, editor_uri(&editor, name), "nosuch");
        (void)snprintf(name, sizeof name, "p%u/closed.yaml", i);
        editor_write(&editor, name, GOOD);
    }
    int id = editor_ask(&editor, "workspace/symbol", "{\"query\":\"out\"}");
    editor_expect(&editor, id, "/p0/closed.yaml", "/p69/closed.yaml");
    assert_int_equal(projects_opened, LSP_PROJECTS_MAX);
    editor_close(&editor);
}

/* Things with the name of a document that are not one. */
static void strange_files_are_left_out(void **state) {
    struct editor editor;
    char path[400];
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    (void)snprintf(path, sizeof path, "%s/fifo.yaml", editor.folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)snprintf(path, sizeof path, "%s/device.yaml", editor.folder);
    assert_int_equal(symlink("/dev/zero", path), 0);
    (void)snprintf(path, sizeof path, "%s/loop", editor.folder);
    assert_int_equal(symlink(".", path), 0);
    (void)snprintf(path, sizeof path, "%s/folder.yaml", editor.folder);
    assert_int_equal(mkdir(path, 0), 0);
    editor_write(&editor, "bytes.yaml", "nodes:\n\xff\xfe\nedges:\n");
    editor_write(&editor, "returns.yaml", "\xEF\xBB\xBFversion: \"1.0\"\ragent: {name: a}\rnodes: []\redges: []\r");
    editor_write(&editor, "empty.json", "");
    editor_write(&editor, "good.yaml", GOOD);
    for (int i = 0; i < 3; i++) {
        int id = editor_ask(&editor, "workspace/symbol", "{\"query\":\"out\"}");
        editor_expect(&editor, id, "\"name\":\"out\"", "good.yaml");
    }
    (void)snprintf(path, sizeof path, "%s/good.yaml", editor.folder);
    assert_int_equal(unlink(path), 0);
    editor_expect_result(&editor, editor_ask(&editor, "workspace/symbol", "{\"query\":\"out\"}"), "[]");
    const char *const names[] = {"fifo.yaml", "device.yaml", "bytes.yaml", "folder.yaml", "loop/returns.yaml"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        editor_did_open(&editor, names[i], UNKNOWN);
        editor_expect_items(&editor, editor_uri(&editor, names[i]), "nosuch");
    }
    (void)snprintf(path, sizeof path, "%s/folder.yaml", editor.folder);
    assert_int_equal(chmod(path, 0700), 0);
    editor_close(&editor);
}

/* A folder is looked at if it is at most LSP_INDEX_DEPTH_MAX folders below the workspace. */
static void deep_folders_are_left_out(void **state) {
    struct editor editor;
    struct buffer name;
    (void)state;
    editor_open(&editor, &(struct editor_options){.files = true});
    buffer_init(&name, SIZE_MAX);
    for (unsigned depth = 1; depth <= LSP_INDEX_DEPTH_MAX + 1; depth++) {
        char path[400];
        buffer_text(&name, "f/");
        (void)snprintf(path, sizeof path, "%s/%s", editor.folder, buffer_cstr(&name));
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(path, sizeof path, "%sd%u.yaml", buffer_cstr(&name), depth);
        if (depth >= LSP_INDEX_DEPTH_MAX) editor_write(&editor, path, GOOD);
    }
    buffer_finish(&name);
    char *text =
        json_text(editor_result(&editor, editor_ask(&editor, "workspace/symbol", "{\"query\":\"out\"}")), JSON_COMPACT);
    assert_non_null(strstr(text, "d32.yaml"));
    assert_null(strstr(text, "d33.yaml"));
    mem_free(text);
    editor_close(&editor);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_parameters_have_answers),
        cmocka_unit_test(more_documents_than_the_limit_are_reported_once),
        cmocka_unit_test(texts_have_a_limit_together),
        cmocka_unit_test(kept_tokens_have_a_limit_together),
        cmocka_unit_test(waiting_requests_have_a_limit),
        cmocka_unit_test(names_of_contents_have_a_limit),
        cmocka_unit_test(folders_have_a_limit),
        cmocka_unit_test(checks_wait_for_a_client_that_does_not_read),
        cmocka_unit_test(a_client_need_not_answer),
        cmocka_unit_test(a_client_without_files_learns_nothing_of_the_disk),
        cmocka_unit_test(a_client_with_files_reads_them),
        cmocka_unit_test(a_configuration_of_another_user_does_not_count),
        cmocka_unit_test(projects_have_a_limit),
        cmocka_unit_test(strange_files_are_left_out),
        cmocka_unit_test(deep_folders_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
