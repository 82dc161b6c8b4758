/*
 * lsp_random_test.c - random sequences of notifications and requests: each request has exactly one answer, whatever
 * happens around it, and at the end the server has the client's texts.
 *
 * TENON_TEST_SEED repeats one sequence; TENON_TEST_STEPS makes all longer.
 */
#include "tests/unit/lsp_fixture.h"

#include "host/base/log.h"

#define SEEDS     6
#define STEPS     160
#define DOCUMENTS 6

#define KNOWS_DELTA "{\"textDocument\":{\"semanticTokens\":{\"requests\":{\"full\":{\"delta\":true}}}}}"

struct random_client {
    struct editor editor;
    uint64_t state;
    struct source *texts[DOCUMENTS]; /* NULL: not open */
    int ids[16];                     /* of some requests */
};

static uint32_t draw(struct random_client *client, uint32_t below) {
    client->state = client->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(client->state >> 33) % below;
}

static const char *file_name(uint32_t document) {
    static const char *const names[DOCUMENTS] = {"a.yaml",     "b.yaml",    "c.json",
                                                 "tenon.yaml", "sub/d.yml", "sub/tenon.yaml"};
    return names[document];
}

static const char *random_document(struct random_client *client) {
    static const char *const texts[] = {
        "",
        "x: 1\n",
        "nodes: [\nedges:\n",
        "version: \"1.0\"\nagent: {name: \xc3\xa9\xf0\x9f\xa6\x89}\nchannels: [{name: c, type: last_value}]\nnodes:\n"
        "  - {id: n, type: prompt, config: {template: \"{c} \xf0\x9f\xa6\x89\", output_key: c}}\n"
        "edges: [{from: START, to: n}, {from: n, to: END}]\n",
        "version: \"1.0\"\r\nagent: {name: b}\r\nchannels: [{name: o, type: last_value}]\r\nnodes:\r\n"
        "  - {id: n, type: subgraph, config: {document: a.yaml, input: {c: o}}}\r\n"
        "edges: [{from: START, to: n}, {from: n, to: END}]\r\n",
        "version: \"1.0\"\nagent: {name: b}\nchannels: []\nnodes:\n"
        "  - {id: n, type: subgraph, config: {document: b.yaml}}\n  - {id: m, type: test.one}\n"
        "edges: [{from: START, to: n}, {from: n, to: m}, {from: m, to: END}]\n",
        "{\"version\": \"1.0\", \"agent\": {\"name\": \"j\"}, \"channels\": [], \"nodes\": [], \"edges\": []}",
        "models: {fast: \"scripted:x\"}\n"};
    return texts[draw(client, sizeof texts / sizeof *texts)];
}

static void set_text(struct random_client *client, uint32_t document, const char *text, size_t length) {
    source_unref(client->texts[document]);
    client->texts[document] = text ? source_new("x", text, length) : NULL;
}

/* ---- Steps ---- */

static void step_open(struct random_client *client) {
    uint32_t document = draw(client, DOCUMENTS);
    const char *text = random_document(client);
    editor_did_open(&client->editor, file_name(document), text);
    set_text(client, document, text, strlen(text));
}

static void step_close(struct random_client *client) {
    uint32_t document = draw(client, DOCUMENTS);
    editor_did_close(&client->editor, file_name(document));
    set_text(client, document, NULL, 0);
}

/* Some changes, each at places of the text after those before it. */
static void step_change(struct random_client *client) {
    static const char *const pieces[] = {"",         "x",   "\n",    "\r", "\n  - ", "\xf0\x9f\xa6\x89",
                                         "nodes:\n", "{c}", "# \r\n"};
    uint32_t document = draw(client, DOCUMENTS);
    tn_value changes = value_array();
    for (uint32_t i = draw(client, 4) + 1; i > 0 && client->texts[document]; i--) {
        const struct source *before = client->texts[document];
        uint32_t line = draw(client, source_lines(before) + 2), column = draw(client, 30);
        uint32_t last = line + draw(client, 2), end = draw(client, 30);
        const char *piece = pieces[draw(client, sizeof pieces / sizeof *pieces)];
        uint32_t from = source_offset(before, line, column, SOURCE_UTF16),
                 to = source_offset(before, last, end, SOURCE_UTF16);
        struct buffer text;
        char range[200];
        (void)snprintf(range, sizeof range,
                       "{\"range\":{\"start\":{\"line\":%u,\"character\":%u},\"end\":{\"line\":%u,\"character\":%u}}}",
                       line, column, last, end);
        changes = value_push_take(changes, value_set_take(served_json(range), "text", value_text(piece)));
        buffer_init(&text, SIZE_MAX);
        buffer_append(&text, source_text(before), from < to ? from : to);
        buffer_text(&text, piece);
        buffer_text(&text, source_text(before) + (from < to ? to : from));
        set_text(client, document, buffer_cstr(&text), text.length);
        buffer_finish(&text);
    }
    tn_value item = value_set_take(value_object(), "uri", value_text(editor_uri(&client->editor, file_name(document))));
    item = value_set_take(item, "version", value_int(draw(client, 1000)));
    tn_value params = value_set_take(value_object(), "textDocument", item);
    editor_notify_take(&client->editor, "textDocument/didChange", value_set_take(params, "contentChanges", changes));
}

static void step_ask(struct random_client *client) {
    static const char *const methods[] = {"textDocument/diagnostic",
                                          "workspace/diagnostic",
                                          "textDocument/formatting",
                                          "textDocument/definition",
                                          "textDocument/references",
                                          "textDocument/rename",
                                          "textDocument/completion",
                                          "textDocument/hover",
                                          "textDocument/documentSymbol",
                                          "workspace/symbol",
                                          "textDocument/codeLens",
                                          "textDocument/codeAction",
                                          "textDocument/documentLink",
                                          "textDocument/semanticTokens/full",
                                          "textDocument/semanticTokens/full/delta",
                                          "textDocument/foldingRange",
                                          "textDocument/prepareRename",
                                          "textDocument/inlayHint",
                                          "textDocument/selectionRange",
                                          "textDocument/documentHighlight",
                                          "textDocument/prepareCallHierarchy"};
    int id =
        editor_ask(&client->editor, methods[draw(client, sizeof methods / sizeof *methods)],
                   "{\"textDocument\":{\"uri\":\"%s\"},\"position\":{\"line\":%u,\"character\":%u},\"newName\":\"z\","
                   "\"range\":{\"start\":{\"line\":0,\"character\":0},\"end\":{\"line\":%u,\"character\":4}},"
                   "\"context\":{},\"query\":\"\",\"positions\":[{\"line\":%u,\"character\":9}],"
                   "\"previousResultId\":\"%u\"}",
                   editor_uri(&client->editor, file_name(draw(client, DOCUMENTS))), draw(client, 9), draw(client, 40),
                   draw(client, 9), draw(client, 9), draw(client, 50));
    client->ids[id % 16] = id;
}

static void step_disturb(struct random_client *client) {
    struct editor *editor = &client->editor;
    switch (draw(client, 6)) {
    case 0: editor_write(editor, file_name(draw(client, DOCUMENTS)), random_document(client)); break;
    case 1:
        editor_notify(editor, "workspace/didChangeWatchedFiles", "{\"changes\":[{\"uri\":\"%s\",\"type\":2}]}",
                      editor_uri(editor, file_name(draw(client, DOCUMENTS))));
        break;
    case 2: (void)editor_ask(editor, "plugin/load", "{\"file\":\"" TENON_TEST_PLUGINS "/good/good.so\"}"); break;
    case 3: (void)editor_ask(editor, "plugin/unload", "{\"plugin\":\"test.good\"}"); break;
    case 4:
        editor_notify(editor, "workspace/didChangeWorkspaceFolders", "{\"event\":{\"%s\":[{\"uri\":\"%s\"}]}}",
                      draw(client, 2) ? "added" : "removed", editor_uri(editor, ""));
        break;
    default: editor_notify(editor, "textDocument/didSave", OF, editor_uri(editor, file_name(draw(client, DOCUMENTS))));
    }
}

static void step(struct random_client *client) {
    uint32_t kind = draw(client, 100);
    if (kind < 12)
        step_open(client);
    else if (kind < 17)
        step_close(client);
    else if (kind < 45)
        step_change(client);
    else if (kind < 75)
        step_ask(client);
    else if (kind < 80)
        editor_notify(&client->editor, "$/cancelRequest", "{\"id\":%d}", client->ids[draw(client, 16)]);
    else if (kind < 90)
        step_disturb(client);
    else
        wire_turn(&client->editor.wire);
}

/* ---- The end ---- */

/* The diagnostics of the text that the server has made from the changes are those of the client's text in one piece. */
static void expect_equal_texts(struct random_client *client) {
    for (uint32_t i = 0; i < DOCUMENTS; i++) {
        if (!client->texts[i]) continue;
        const char *uri = editor_uri(&client->editor, file_name(i));
        char *before = editor_pull(&client->editor, uri);
        editor_set(&client->editor, file_name(i), source_text(client->texts[i]));
        char *after = editor_pull(&client->editor, editor_uri(&client->editor, file_name(i)));
        assert_string_equal(before, after);
        mem_free(before);
        mem_free(after);
    }
}

static struct host *open_random_project(void *user, const char *config, struct error *error) {
    const char *const paths[] = {TENON_TEST_NODES, TENON_CORE_PLUGIN, NULL};
    (void)user;
    return host_new(
        &(struct host_options){.plugin_paths = paths, .no_installed = true, .config_file = config, .quiet = true},
        error);
}

static void run_sequence(uint64_t seed) {
    const char *given = getenv("TENON_TEST_STEPS");
    char folder[200];
    unsigned long steps = given ? strtoul(given, NULL, 10) : STEPS;
    struct random_client *client = mem_zalloc(sizeof *client);
    client->state = seed;
    editor_open(&client->editor, &(struct editor_options){.files = seed % 3 != 2,
                                                          .open = open_random_project,
                                                          .capabilities = seed % 2 ? NULL : KNOWS_DELTA});
    (void)snprintf(folder, sizeof folder, "%s/sub", client->editor.folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    log_set_level(host_log(client->editor.served->host), LOG_ERROR);
    for (unsigned long i = 0; i < steps; i++) step(client);
    if (seed % 2) {
        editor_expect_answers(&client->editor);
        expect_equal_texts(client);
        editor_close(&client->editor);
    } else {
        editor_drop(&client->editor); /* in the middle */
    }
    for (uint32_t i = 0; i < DOCUMENTS; i++) source_unref(client->texts[i]);
    mem_free(client);
}

static void random_sequences(void **state) {
    const char *given = getenv("TENON_TEST_SEED");
    uint64_t first = given ? strtoull(given, NULL, 10) : 1;
    (void)state;
    for (uint64_t seed = first; seed < first + (given ? 1 : SEEDS); seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        run_sequence(seed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_sequences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
