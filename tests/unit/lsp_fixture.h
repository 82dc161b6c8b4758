/*
 * lsp_fixture.h - an editor: a client of the language server, with a host for tests and a folder for files.
 *
 *     struct editor editor;
 *     editor_open(&editor, &(struct editor_options){.files = true});
 *     editor_did_open(&editor, "a.yaml", text);
 *     int id = editor_ask(&editor, "textDocument/hover", AT, "a.yaml", 4, 2);
 *     tn_value answer = editor_answer(&editor, id);                    // borrowed; waits for it
 *     editor_close(&editor);                                           // each request must have had one answer
 *
 * In formats of parameters, %s of a file is its URI: editor_uri makes it. The editor answers requests of the server,
 * unless it is told not to.
 */
#ifndef TENON_TESTS_LSP_FIXTURE_H
#define TENON_TESTS_LSP_FIXTURE_H

#include "tests/unit/rpc_wire.h"

#include "host/server/connection.h"
#include "host/server/lsp/lsp.h"
#include "host/server/rpc/rpc_peer.h"
#include "tests/unit/server_fixture.h"
#include <sys/stat.h>

#define EDITOR_REQUESTS_MAX 20000

struct editor_options {
    bool files;               /* the client may name files */
    bool mute;                /* does not answer requests of the server */
    const char *capabilities; /* JSON; NULL: some */
    bool no_folder;           /* no workspace folder */
    lsp_open_host *open;      /* of lsp_hosts_new */
    struct served *served;    /* shared with another editor, as `hosts` is; or NULL */
    struct lsp_hosts *hosts;
};

struct editor {
    struct editor_options options;
    struct served own, *served;
    struct lsp_hosts *hosts;
    struct wire wire;
    struct connection *connection;
    bool closed;
    int code, last_id;
    unsigned char answered[EDITOR_REQUESTS_MAX];
    tn_value answers; /* {id: message} */
    tn_value notes;   /* messages without an id */
    size_t asked;     /* requests of the server */
    char folder[128];
    int64_t version;
};

#define EDITOR_CAPABILITIES                                                                                            \
    "{\"workspace\":{\"workspaceEdit\":{\"documentChanges\":true,\"resourceOperations\":[\"create\"]},"                \
    "\"diagnostics\":{\"refreshSupport\":true},\"didChangeWatchedFiles\":{\"dynamicRegistration\":true},"              \
    "\"codeLens\":{\"refreshSupport\":true},\"textDocumentContent\":{}},"                                              \
    "\"textDocument\":{\"publishDiagnostics\":{\"versionSupport\":true,\"relatedInformation\":true},"                  \
    "\"codeAction\":{\"codeActionLiteralSupport\":{}},\"hover\":{\"contentFormat\":[\"markdown\"]}}}"

/* A text in the form of JSON, to be freed with mem_free. */
FIXTURE_UNUSED static char *editor_quoted(const char *text) {
    tn_value value = value_string_lossy(text, strlen(text));
    char *quoted = json_text(value, JSON_COMPACT);
    value_unref(value);
    return quoted;
}

/* The URI of a file of the folder: in one of some buffers, which are used in turn. */
FIXTURE_UNUSED static const char *editor_uri(const struct editor *editor, const char *file) {
    static char uris[8][600];
    static unsigned next;
    char *uri = uris[next++ % 8];
    (void)snprintf(uri, sizeof uris[0], "file://%s/%s", editor->folder, file);
    return uri;
}

FIXTURE_UNUSED static void editor_write(const struct editor *editor, const char *file, const char *text) {
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", editor->folder, file);
    FILE *stream = fopen(path, "w");
    if (!stream || fputs(text, stream) < 0 || fclose(stream) != 0) fail_msg("cannot write %s", path);
}

/* ---- Messages ---- */

FIXTURE_UNUSED static void editor_send_text(struct editor *editor, const char *text, size_t length) {
    if (editor->closed || editor->wire.far < 0) return;
    for (size_t sent = 0; sent < length;) {
        ssize_t count = send(editor->wire.far, text + sent, length - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0)
            sent += (size_t)count;
        else if (errno != EAGAIN)
            return;
        else
            loop_run_turn(editor->wire.loop);
    }
}

FIXTURE_UNUSED static void editor_send_take(struct editor *editor, tn_value message) {
    message = value_set_take(message, "jsonrpc", value_text("2.0"));
    char *text = json_text(message, JSON_COMPACT);
    editor_send_text(editor, text, strlen(text));
    editor_send_text(editor, "\n", 1);
    mem_free(text);
    value_unref(message);
}

FIXTURE_UNUSED static void editor_notify_take(struct editor *editor, const char *method, tn_value params) {
    tn_value message = value_set_take(value_object(), "method", value_text(method));
    editor_send_take(editor, value_set_take(message, "params", params));
}

FIXTURE_UNUSED static int editor_ask_take(struct editor *editor, const char *method, tn_value params) {
    int id = ++editor->last_id;
    assert_in_range(id, 1, EDITOR_REQUESTS_MAX - 1);
    tn_value message = value_set_take(value_object(), "method", value_text(method));
    message = value_set_take(message, "id", value_int(id));
    editor_send_take(editor, value_set_take(message, "params", params));
    return id;
}

__attribute__((format(printf, 1, 0))) FIXTURE_UNUSED static tn_value editor_vjson(const char *format, va_list args) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_vformat(&text, format, args);
    tn_value value = served_json(buffer_cstr(&text));
    buffer_finish(&text);
    return value;
}

__attribute__((format(printf, 3, 4))) FIXTURE_UNUSED static void
editor_notify(struct editor *editor, const char *method, const char *format, ...) {
    va_list args;
    va_start(args, format);
    editor_notify_take(editor, method, editor_vjson(format, args));
    va_end(args);
}

__attribute__((format(printf, 3, 4))) FIXTURE_UNUSED static int editor_ask(struct editor *editor, const char *method,
                                                                           const char *format, ...) {
    va_list args;
    va_start(args, format);
    int id = editor_ask_take(editor, method, editor_vjson(format, args));
    va_end(args);
    return id;
}

#define OF "{\"textDocument\":{\"uri\":\"%s\"}}"
#define AT "{\"textDocument\":{\"uri\":\"%s\"},\"position\":{\"line\":%d,\"character\":%d}}"

FIXTURE_UNUSED static void editor_take_message(struct editor *editor, tn_value message) {
    tn_value id = value_get(message, "id"), method = value_get(message, "method");
    if (method && id) {
        editor->asked++;
        tn_value answer = value_set_take(value_object(), "id", value_ref(id));
        if (!editor->options.mute)
            editor_send_take(editor, value_set_take(answer, "result", value_null()));
        else
            value_unref(answer);
    } else if (method) {
        editor->notes = value_push_take(editor->notes, value_ref(message));
    } else if (value_is(id, TN_INT)) {
        char key[24];
        int64_t number = value_to_int(id);
        assert_true(number > 0 && number <= editor->last_id);
        if (editor->answered[number]++) fail_msg("the request %d has two answers", (int)number);
        (void)snprintf(key, sizeof key, "%d", (int)number);
        editor->answers = value_set_take(editor->answers, key, value_ref(message));
    }
    value_unref(message);
}

FIXTURE_UNUSED static void editor_receive(struct editor *editor) {
    char *line;
    wire_receive(&editor->wire);
    while ((line = wire_line(&editor->wire)) != NULL) {
        tn_value message = NULL;
        if (json_read(line, strlen(line), &(struct json_limits){.depth = 1000}, &message, NULL) != TN_OK)
            fail_msg("not JSON: %.200s", line);
        mem_free(line);
        editor_take_message(editor, message);
    }
    if (editor->wire.at == editor->wire.got.length) {
        buffer_clear(&editor->wire.got);
        editor->wire.at = 0;
    }
}

struct editor_wait {
    struct editor *editor;
    int id;           /* an answer to this request; 0: any */
    const char *note; /* or such a notification, … */
    size_t count;     /* … this many of them */
};

FIXTURE_UNUSED static size_t editor_count(const struct editor *editor, const char *method) {
    size_t count = 0;
    for (size_t i = 0; i < value_count(editor->notes); i++)
        count += value_text_is(value_get(value_at(editor->notes, i), "method"), method);
    return count;
}

FIXTURE_UNUSED static bool editor_has_got(void *user) {
    const struct editor_wait *wait = user;
    editor_receive(wait->editor);
    if (wait->editor->closed) return true;
    if (wait->note) return editor_count(wait->editor, wait->note) >= wait->count;
    return wait->editor->answered[wait->id] != 0;
}

/* Waits for the answer, and returns it: {result} or {error}, borrowed. NULL if the connection was closed. */
FIXTURE_UNUSED static tn_value editor_answer(struct editor *editor, int id) {
    struct editor_wait wait = {.editor = editor, .id = id};
    char key[24];
    (void)loop_run(editor->wire.loop, editor_has_got, &wait);
    (void)snprintf(key, sizeof key, "%d", id);
    return value_get(editor->answers, key);
}

FIXTURE_UNUSED static tn_value editor_result(struct editor *editor, int id) {
    tn_value answer = editor_answer(editor, id), result = answer ? value_get(answer, "result") : NULL;
    if (!result) {
        char *text = answer ? json_text(answer, JSON_COMPACT) : mem_text("nothing");
        fail_msg("the answer to %d: %s", id, text);
    }
    return result;
}

FIXTURE_UNUSED static void editor_expect_result(struct editor *editor, int id, const char *expected) {
    char *text = json_text(editor_result(editor, id), JSON_COMPACT);
    if (strcmp(text, expected) != 0) fail_msg("the answer to %d: %s\nexpected: %s", id, text, expected);
    mem_free(text);
}

/* The answer, as JSON, contains both parts. */
FIXTURE_UNUSED static void editor_expect(struct editor *editor, int id, const char *part, const char *other) {
    tn_value answer = editor_answer(editor, id);
    char *text = answer ? json_text(answer, JSON_COMPACT) : mem_text("nothing");
    if (!strstr(text, part) || !strstr(text, other))
        fail_msg("the answer to %d: %s\nexpected: %s … %s", id, text, part, other);
    mem_free(text);
}

FIXTURE_UNUSED static void editor_wait_notes(struct editor *editor, const char *method, size_t count) {
    struct editor_wait wait = {.editor = editor, .note = method, .count = count};
    (void)loop_run(editor->wire.loop, editor_has_got, &wait);
}

/* The diagnostics of the newest text, as JSON, to be freed with mem_free: they are pulled. */
FIXTURE_UNUSED static char *editor_pull(struct editor *editor, const char *uri) {
    tn_value report = editor_result(editor, editor_ask(editor, "textDocument/diagnostic", OF, uri));
    return json_text(value_get(report, "items"), JSON_COMPACT);
}

FIXTURE_UNUSED static void editor_expect_items(struct editor *editor, const char *uri, const char *part) {
    char *text = editor_pull(editor, uri);
    if (*part ? !strstr(text, part) : strcmp(text, "[]") != 0)
        fail_msg("the diagnostics of %s: %s\nexpected: %s", uri, text, *part ? part : "none");
    mem_free(text);
}

/* ---- Documents ---- */

FIXTURE_UNUSED static void editor_open_uri(struct editor *editor, const char *uri, const char *text) {
    char *quoted = editor_quoted(text);
    editor_notify(editor, "textDocument/didOpen",
                  "{\"textDocument\":{\"uri\":\"%s\",\"languageId\":\"yaml\",\"version\":1,\"text\":%s}}", uri, quoted);
    mem_free(quoted);
}

FIXTURE_UNUSED static void editor_did_open(struct editor *editor, const char *file, const char *text) {
    editor_open_uri(editor, editor_uri(editor, file), text);
}

/* The whole text is replaced. */
FIXTURE_UNUSED static void editor_set(struct editor *editor, const char *file, const char *text) {
    char *quoted = editor_quoted(text);
    editor_notify(editor, "textDocument/didChange",
                  "{\"textDocument\":{\"uri\":\"%s\",\"version\":%d},\"contentChanges\":[{\"text\":%s}]}",
                  editor_uri(editor, file), (int)(2 + editor->version++), quoted);
    mem_free(quoted);
}

FIXTURE_UNUSED static void editor_did_close(struct editor *editor, const char *file) {
    editor_notify(editor, "textDocument/didClose", OF, editor_uri(editor, file));
}

/* ---- Life ---- */

FIXTURE_UNUSED static void editor_on_closed(void *user, struct connection *connection, int code) {
    struct editor *editor = user;
    (void)connection;
    editor->closed = true;
    editor->code = code;
}

FIXTURE_UNUSED static void editor_open(struct editor *editor, const struct editor_options *options) {
    memset(editor, 0, sizeof *editor);
    editor->options = *options;
    editor->served = options->served ? options->served : &editor->own;
    if (!options->served) served_open(&editor->own, METHOD_ADMIN);
    editor->hosts = options->hosts ? options->hosts : lsp_hosts_new(editor->served->host, options->open, editor);
    editor->answers = value_object();
    editor->notes = value_array();
    (void)snprintf(editor->folder, sizeof editor->folder, "/tmp/tenon-lsp-XXXXXX");
    assert_non_null(mkdtemp(editor->folder));
    struct rpc_stream *stream = wire_open(&editor->wire, host_loop(editor->served->host));
    editor->connection = connection_new(stream, &(struct connection_options){.server = editor->served->server,
                                                                             .name = "editor",
                                                                             .scope = METHOD_ADMIN,
                                                                             .files = options->files,
                                                                             .framing = RPC_FRAMING_LINES,
                                                                             .service = &lsp_service,
                                                                             .service_user = editor->hosts,
                                                                             .closed = editor_on_closed,
                                                                             .user = editor});
    int id = editor_ask(editor, "initialize", "{\"capabilities\":%s,\"workspaceFolders\":[{\"uri\":\"%s\"}]}",
                        options->capabilities ? options->capabilities : EDITOR_CAPABILITIES,
                        options->no_folder ? "x:" : editor_uri(editor, ""));
    (void)editor_result(editor, id);
    editor_notify(editor, "initialized", "{}");
}

FIXTURE_UNUSED static bool editor_is_closed(void *user) {
    editor_receive(user);
    return ((const struct editor *)user)->closed;
}

/* Each request has one answer, unless the connection was closed before. */
FIXTURE_UNUSED static void editor_expect_answers(struct editor *editor) {
    for (int id = 1; id <= editor->last_id; id++) (void)editor_answer(editor, id);
    for (int id = 1; id <= editor->last_id; id++)
        if (!editor->answered[id]) fail_msg("the request %d has no answer", id);
}

FIXTURE_UNUSED static void editor_remove_folder(const struct editor *editor) {
    char command[200];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", editor->folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): the name is that of mkdtemp */
}

/* Ends the connection at once, whatever is open. */
FIXTURE_UNUSED static void editor_drop(struct editor *editor) {
    if (!editor->closed) connection_close(editor->connection);
    (void)loop_run(editor->wire.loop, editor_is_closed, editor);
    assert_true(editor->closed);
    if (!editor->options.hosts) lsp_hosts_free(editor->hosts);
    wire_drop(&editor->wire);
    if (!editor->options.served) served_close(&editor->own);
    value_unref(editor->answers);
    value_unref(editor->notes);
    editor_remove_folder(editor);
}

FIXTURE_UNUSED static void editor_close(struct editor *editor) {
    editor_expect_answers(editor);
    editor_drop(editor);
}

#endif
