/*
 * lsp_content.c - read-only documents that the server makes (workspace/textDocumentContent), of the scheme `tenon`:
 *
 *     tenon:/reference/node/llm.md          a component: what it is, its configuration
 *     tenon:/schema/adl.json                a JSON Schema that Tenon publishes
 *     tenon:/graph/triage.txt?DOCUMENT      a drawing of an open document, with the documents inside its nodes;
 * DOCUMENT is its URI, percent-encoded
 */
#include "adl/assist/describe.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/url.h"
#include "host/plugin/call/call.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include "host/server/lsp/lsp_world.h"
#include "host/server/method_call.h"
#include "host/server/named_schema.h"
#include "host/server/server.h"
#include <string.h>

static void answer_text(struct peer_request *request, const char *text, size_t length) {
    tn_value content = value_string_lossy(text, length);
    peer_reply_take(request, value_set_take(value_object_reserve(1), "text", content));
}

/* The part of `path` after the prefix and before the ending, free it with mem_free; NULL if it has another form. */
static char *between(const char *path, const char *prefix, const char *ending) {
    size_t length = strlen(path), start = strlen(prefix), end = strlen(ending);
    if (length <= start + end || strncmp(path, prefix, start) != 0 || strcmp(path + length - end, ending) != 0)
        return NULL;
    return mem_text_n(path + start, length - start - end);
}

/* Percent-decoded; free it with mem_free. NULL if it has a NUL. */
static char *unescape(const char *text) {
    struct buffer file; /* the decoding is that of file URIs */
    buffer_init(&file, SIZE_MAX);
    buffer_format(&file, "file:///%s", text);
    char *path = lsp_uri_path(buffer_cstr(&file)), *decoded = path ? mem_text(path + 1) : NULL;
    mem_free(path);
    buffer_finish(&file);
    return decoded;
}

/* ---- References ---- */

tn_value lsp_reference_uri(const char *kind, const char *id) {
    struct buffer uri;
    buffer_init(&uri, SIZE_MAX);
    buffer_format(&uri, "tenon:/reference/%s/", kind);
    url_escape(&uri, id, strlen(id));
    buffer_text(&uri, ".md");
    tn_value result = value_text_n(uri.data, uri.length);
    buffer_finish(&uri);
    return result;
}

static bool describe_component(const struct assist *assist, const char *name, struct buffer *out) {
    const char *id = strchr(name, '/');
    if (!id) return false;
    size_t kind = (size_t)(++id - name), length = strlen(id); /* with the slash */
    if (strncmp(name, "node/", kind) == 0) return describe_node_type(assist, id, length, out);
    if (strncmp(name, "model/", kind) == 0) return describe_model(assist, id, length, out);
    if (strncmp(name, "tool/", kind) == 0) return describe_tool(assist, id, length, out);
    return strncmp(name, "reducer/", kind) == 0 && describe_reducer(assist, id, length, out);
}

/* The world is that of the server's host: components have no project. */
static bool answer_reference(struct lsp *lsp, const char *name, struct peer_request *request) {
    struct lsp_world *world = lsp_hosts_world_of_project(lsp->hosts, lsp, NULL);
    struct source *empty = source_new("reference.yaml", "", 0);
    struct assist *assist = assist_new(empty, lsp_world_assist(world), NULL);
    struct buffer text;
    buffer_init(&text, DESCRIBE_MAX);
    bool found = describe_component(assist, name, &text);
    if (found) answer_text(request, buffer_cstr(&text), text.length);
    buffer_finish(&text);
    assist_unref(assist);
    source_unref(empty);
    lsp_world_unref(world);
    return found;
}

/* ---- Schemas ---- */

static bool answer_schema(const struct lsp *lsp, const char *name, struct peer_request *request) {
    tn_value schema = named_schema(server_host(connection_server(lsp->connection)), name);
    if (!schema) return false;
    char *text = json_text(schema, JSON_INDENTED);
    answer_text(request, text, strlen(text));
    mem_free(text);
    value_unref(schema);
    return true;
}

/* ---- Drawings ---- */

struct drawing_call {
    struct call *call;
    struct peer_request *request;
};

static void finish_drawing(struct drawing_call *drawing) {
    tn_value output = call_outcome(drawing->call) == CALL_COMPLETED ? call_output(drawing->call) : NULL;
    tn_value text = output ? value_get(output, "drawing") : NULL;
    size_t length;
    if (text && value_is(text, TN_STRING)) {
        const char *chars = value_chars(text, &length);
        answer_text(drawing->request, chars, length);
    } else {
        peer_fail(drawing->request, call_error(drawing->call));
    }
    call_free(drawing->call);
    mem_free(drawing);
}

static void drawing_on_ended(struct call *call) { finish_drawing(call_owner(call)); }

static void drawing_on_cancel(struct peer_request *request) {
    call_cancel(((struct drawing_call *)peer_request_data(request))->call);
}

/* Calls document/graph, like every client. */
static bool start_drawing(struct lsp *lsp, const struct lsp_text *of, struct peer_request *request) {
    static const struct call_ops ops = {.ended = drawing_on_ended};
    struct drawing_call *drawing = mem_zalloc(sizeof *drawing);
    struct callable *callable = method_call_new(lsp->client, method_find("document/graph"), NULL);
    tn_value text = value_string_lossy(source_text(of->source), source_length(of->source));
    tn_value params = value_set_take(value_object_reserve(3), "text", text);
    if (of->path) params = value_set_take(params, "name", lsp_string(of->path));
    params = value_set_take(params, "inside", value_bool(true));
    drawing->request = request;
    drawing->call = call_new(server_loop(connection_server(lsp->connection)), callable, &ops, drawing);
    callable_unref(callable);
    peer_request_hold(request, drawing, drawing_on_cancel);
    if (call_start(drawing->call, params)) finish_drawing(drawing);
    value_unref(params);
    return true;
}

static bool answer_drawing(struct lsp *lsp, const char *query, struct peer_request *request) {
    char *uri = unescape(query);
    const struct lsp_text *text = uri ? lsp_text_of_uri(lsp, uri) : NULL;
    bool started = text && lsp->client && start_drawing(lsp, text, request);
    mem_free(uri);
    return started;
}

/* ---- The request ---- */

static bool answer_content(struct lsp *lsp, const char *uri, struct peer_request *request) {
    char *path = mem_text(uri), *query = strchr(path, '?');
    if (query) *query++ = '\0';
    char *escaped = between(path, "tenon:/reference/", ".md"), *reference = escaped ? unescape(escaped) : NULL;
    char *schema = between(path, "tenon:/schema/", ".json");
    bool drawn = strncmp(path, "tenon:/graph/", strlen("tenon:/graph/")) == 0 && query;
    bool answered = reference ? answer_reference(lsp, reference, request)
                    : schema  ? answer_schema(lsp, schema, request)
                              : drawn && answer_drawing(lsp, query, request);
    mem_free(escaped);
    mem_free(reference);
    mem_free(schema);
    mem_free(path);
    return answered;
}

/* Remembers what the client shows, the newest last. */
static void remember_content(struct lsp *lsp, tn_value uri) {
    size_t count = value_count(lsp->shown), first = count >= LSP_SHOWN_MAX ? 1 : 0;
    tn_value shown = value_array();
    for (size_t i = first; i < count; i++)
        if (!value_equal(value_at(lsp->shown, i), uri))
            shown = value_push_take(shown, value_ref(value_at(lsp->shown, i)));
    value_unref(lsp->shown);
    lsp->shown = value_push_take(shown, value_ref(uri));
}

void lsp_refresh_content(struct lsp *lsp, const char *prefix) {
    for (size_t i = 0; lsp->can.shows_content && i < value_count(lsp->shown); i++) {
        tn_value uri = value_at(lsp->shown, i);
        if (strncmp(value_chars(uri, NULL), prefix, strlen(prefix)) != 0) continue;
        tn_value params = value_set_take(value_object_reserve(1), "uri", value_ref(uri));
        (void)peer_call_take(lsp->peer, "workspace/textDocumentContent/refresh", params, NULL, NULL);
    }
}

void lsp_content(struct lsp *lsp, struct peer_request *request) {
    tn_value uri = value_get(peer_request_params(request), "uri");
    size_t length = 0;
    const char *text = uri && value_is(uri, TN_STRING) ? value_chars(uri, &length) : "";
    bool fits = length > 0 && length <= LSP_SHOWN_LENGTH_MAX;
    if (fits) remember_content(lsp, uri);
    if (!fits || !answer_content(lsp, text, request))
        peer_refuse(request, RPC_INVALID_PARAMS,
                    "there is no content `%.300s`; expected tenon:/reference/KIND/ID.md, tenon:/schema/NAME.json, or "
                    "tenon:/graph/NAME.txt?URI of an open document",
                    text);
}
