/*
 * lsp.c - the life of a language server's connection, what it can do, and the table of its methods.
 */
#include "host/server/lsp/lsp.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/plugin/call/call.h"
#include "host/server/client.h"
#include "host/server/connection.h"
#include "host/server/lsp/lsp_index.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include "host/server/method_call.h"
#include "host/server/server.h"
#include <assert.h>
#include <string.h>

/* ---- The table ---- */

static const struct lsp_row *const row_tables[] = {lsp_diagnostic_rows, lsp_format_rows,  lsp_name_rows,
                                                   lsp_complete_rows,   lsp_outline_rows, lsp_action_rows,
                                                   lsp_call_rows,       lsp_token_rows};

const struct lsp_row *lsp_row_find(const char *method) {
    for (size_t i = 0; i < sizeof row_tables / sizeof *row_tables; i++)
        for (const struct lsp_row *row = row_tables[i]; row->method; row++)
            if (strcmp(row->method, method) == 0) return row;
    return NULL;
}

/* The request has no answer. */
static void answer_nothing(const struct lsp_row *row, struct peer_request *request) {
    if (row->nothing == LSP_REFUSED)
        peer_refuse(request, RPC_INVALID_PARAMS, "%s: the document of `data` is not open", row->method);
    else
        peer_reply_take(request, row->nothing == LSP_EMPTY ? value_array() : value_null());
}

void lsp_row_answer(struct lsp *lsp, const struct lsp_row *row, struct peer_request *request) {
    struct lsp_text *text = row->needs & LSP_OF_TEXT ? lsp_text_of(lsp, peer_request_params(request)) : NULL;
    struct lsp_query query = {.lsp = lsp, .text = text, .params = peer_request_params(request)};
    struct error error = ERROR_INIT;
    if (text) query.assist = row->needs & LSP_OR_CONFIG && text->is_config ? text->form : text->assist;
    if (text) lsp_text_prefer(text);
    bool known = text && (row->needs & LSP_UNCHECKED ? text->is_document || text->is_config : text->checked != NULL);
    bool missing = (row->needs & LSP_OF_TEXT) && !known;
    bool no_document = (row->needs & LSP_OF_DOCUMENT) == LSP_OF_DOCUMENT && !query.assist;
    if ((missing || no_document) && !(row->needs & LSP_ALWAYS)) {
        answer_nothing(row, request);
        return;
    }
    if ((row->needs & LSP_AT_POSITION) &&
        !(text && lsp_read_position(text->checked, value_get(query.params, "position"), lsp->unit, &query.offset))) {
        peer_refuse(request, RPC_INVALID_PARAMS, "`position` must be {line, character}");
        return;
    }
    tn_value result = row->run(&query, &error);
    if (result)
        peer_reply_take(request, result);
    else if (error.code)
        peer_refuse(request, LSP_REQUEST_FAILED, "%s", error.message);
    else
        answer_nothing(row, request);
    error_finish(&error);
}

/* The document whose check the request must wait for, or NULL. */
static struct lsp_text *text_to_await(const struct lsp *lsp, const struct lsp_row *row, tn_value params) {
    struct lsp_text *text = row->needs & LSP_OF_TEXT ? lsp_text_of(lsp, params) : NULL;
    if (row->needs & LSP_UNCHECKED) return NULL;
    if (text && !lsp_text_is_ready(text)) return text;
    if (!(row->needs & LSP_OF_WORKSPACE)) return NULL;
    for (text = lsp->texts; text && lsp_text_is_ready(text);) text = text->next;
    return text;
}

void lsp_row_start(struct lsp *lsp, const struct lsp_row *row, struct peer_request *request) {
    struct lsp_text *text = text_to_await(lsp, row, peer_request_params(request));
    if (text)
        lsp_check_await(text, row, request);
    else if (row->needs & LSP_OF_WORKSPACE)
        lsp_index_await(lsp, row, request);
    else
        lsp_row_answer(lsp, row, request);
}

static bool lsp_on_request(void *state, struct peer_request *request) {
    const struct lsp_row *row = lsp_row_find(peer_request_method(request));
    if (strcmp(peer_request_method(request), "workspace/textDocumentContent") == 0) {
        lsp_content(state, request);
        return true;
    }
    if (row) lsp_row_start(state, row, request);
    return row != NULL;
}

/* ---- Capabilities of the client ---- */

/* The member at a path such as "textDocument.hover.contentFormat"; NULL if there is none. */
static tn_value capability(tn_value capabilities, const char *path) {
    char name[64];
    while (capabilities && value_is(capabilities, TN_OBJECT)) {
        size_t length = strcspn(path, ".");
        if (length >= sizeof name) return NULL;
        memcpy(name, path, length);
        name[length] = '\0';
        capabilities = value_get(capabilities, name);
        if (!path[length]) return capabilities;
        path += length + 1;
    }
    return NULL;
}

static bool has_capability(tn_value capabilities, const char *path) {
    tn_value found = capability(capabilities, path);
    return found && value_is(found, TN_BOOL) && value_to_bool(found);
}

/* True if the capability is a list that contains the text. */
static bool capability_lists(tn_value capabilities, const char *path, const char *text) {
    tn_value list = capability(capabilities, path);
    for (size_t i = 0; list && value_is(list, TN_ARRAY) && i < value_count(list); i++)
        if (value_text_is(value_at(list, i), text)) return true;
    return false;
}

static void read_abilities(struct lsp_client_abilities *can, tn_value from) {
    *can = (struct lsp_client_abilities){
        .pulls_diagnostics = capability(from, "textDocument.diagnostic") != NULL,
        .refreshes_diagnostics = has_capability(from, "workspace.diagnostics.refreshSupport"),
        .related_information = has_capability(from, "textDocument.publishDiagnostics.relatedInformation") ||
                               has_capability(from, "textDocument.diagnostic.relatedInformation"),
        .versioned_diagnostics = has_capability(from, "textDocument.publishDiagnostics.versionSupport"),
        .markdown = capability_lists(from, "textDocument.hover.contentFormat", "markdown"),
        .snippets = has_capability(from, "textDocument.completion.completionItem.snippetSupport"),
        .item_tags = capability(from, "textDocument.completion.completionItem.tagSupport") != NULL,
        .item_modes = capability(from, "textDocument.completion.completionItem.insertTextModeSupport") != NULL,
        .markdown_items =
            capability_lists(from, "textDocument.completion.completionItem.documentationFormat", "markdown"),
        .markdown_signatures =
            capability_lists(from, "textDocument.signatureHelp.signatureInformation.documentationFormat", "markdown"),
        .label_offsets = has_capability(
            from, "textDocument.signatureHelp.signatureInformation.parameterInformation.labelOffsetSupport"),
        .hierarchical_symbols = has_capability(from, "textDocument.documentSymbol.hierarchicalDocumentSymbolSupport"),
        .document_changes = has_capability(from, "workspace.workspaceEdit.documentChanges"),
        .creates_files = capability_lists(from, "workspace.workspaceEdit.resourceOperations", "create"),
        .code_action_literals = capability(from, "textDocument.codeAction.codeActionLiteralSupport") != NULL,
        .disabled_actions = has_capability(from, "textDocument.codeAction.disabledSupport"),
        .resolves_actions = has_capability(from, "textDocument.codeAction.dataSupport") &&
                            capability_lists(from, "textDocument.codeAction.resolveSupport.properties", "edit"),
        .watches_files = has_capability(from, "workspace.didChangeWatchedFiles.dynamicRegistration"),
        .token_differences = has_capability(from, "textDocument.semanticTokens.requests.full.delta"),
        .refreshes_lenses = has_capability(from, "workspace.codeLens.refreshSupport"),
        .refreshes_hints = has_capability(from, "workspace.inlayHint.refreshSupport"),
        .refreshes_tokens = has_capability(from, "workspace.semanticTokens.refreshSupport"),
        .refreshes_folding = has_capability(from, "workspace.foldingRange.refreshSupport"),
        .shows_content = capability(from, "workspace.textDocumentContent") != NULL,
    };
}

/* Bytes if the client knows them: then no text must be counted. */
static enum source_unit choose_unit(tn_value capabilities) {
    if (capability_lists(capabilities, "general.positionEncodings", "utf-8")) return SOURCE_BYTES;
    return SOURCE_UTF16; /* every client knows it */
}

/* ---- Capabilities of the server ---- */

/* The options of rows are texts of this program, so they can be read. */
static tn_value read_options(const char *text) {
    tn_value value = NULL;
    int32_t status = json_read(text, strlen(text), NULL, &value, NULL);
    assert(status == TN_OK);
    (void)status;
    return value;
}

#define WORKSPACE_OPTIONS                                                                                              \
    "{\"workspaceFolders\": {\"supported\": true, \"changeNotifications\": true}, "                                    \
    "\"fileOperations\": {\"willRename\": {\"filters\": [{\"scheme\": \"file\", \"pattern\": {\"glob\": "              \
    "\"**/*\"}}]}}}"
#define CONTENT_OPTIONS "{\"schemes\": [\"tenon\"]}" /* lsp_content.c */
#define SYNC_OPTIONS    "{\"openClose\": true, \"change\": 2, \"save\": true}"

static tn_value describe_capabilities(const struct lsp *lsp) {
    const char *unit = lsp->unit == SOURCE_BYTES ? "utf-8" : "utf-16";
    tn_value all = value_set_take(value_object(), "positionEncoding", value_text(unit));
    all = value_set_take(all, "textDocumentSync", read_options(SYNC_OPTIONS));
    tn_value workspace = read_options(WORKSPACE_OPTIONS);
    if (lsp->can.shows_content)
        workspace = value_set_take(workspace, "textDocumentContent", read_options(CONTENT_OPTIONS));
    all = value_set_take(all, "workspace", workspace);
    for (size_t i = 0; i < sizeof row_tables / sizeof *row_tables; i++)
        for (const struct lsp_row *row = row_tables[i]; row->method; row++)
            if (row->capability) all = value_set_take(all, row->capability, read_options(row->options));
    return value_set_take(all, "semanticTokensProvider", lsp_describe_tokens());
}

static tn_value lsp_initialize(void *state, tn_value params) {
    struct lsp *lsp = state;
    tn_value capabilities = value_get(params, "capabilities");
    read_abilities(&lsp->can, capabilities);
    lsp->can.runs = capability_lists(params, "initializationOptions.commands", "tenon.run");
    lsp->can.debugs = capability_lists(params, "initializationOptions.commands", "tenon.debug");
    lsp->can.shows_references = capability_lists(params, "initializationOptions.commands", "tenon.showReferences");
    lsp->unit = choose_unit(capabilities);
    lsp_read_folders(lsp, params);
    return describe_capabilities(lsp);
}

/* ---- Changes of components ---- */

static void ask_to_refresh(struct lsp *lsp, bool able, const char *method) {
    if (able) (void)peer_call_take(lsp->peer, method, value_null(), NULL, NULL);
}

void lsp_refresh_all(struct lsp *lsp) {
    lsp_index_drop(lsp);
    lsp_check_all(lsp);
    ask_to_refresh(lsp, lsp->can.pulls_diagnostics && lsp->can.refreshes_diagnostics, "workspace/diagnostic/refresh");
    ask_to_refresh(lsp, lsp->can.refreshes_lenses, "workspace/codeLens/refresh");
    ask_to_refresh(lsp, lsp->can.refreshes_hints, "workspace/inlayHint/refresh");
    ask_to_refresh(lsp, lsp->can.refreshes_tokens, "workspace/semanticTokens/refresh");
    ask_to_refresh(lsp, lsp->can.refreshes_folding, "workspace/foldingRange/refresh");
    lsp_refresh_content(lsp, "tenon:");
}

static void lsp_on_event(void *user, uint64_t subscription, const char *event, tn_value params) {
    (void)subscription, (void)event, (void)params;
    lsp_refresh_all(user);
}

static void subscribe_ended(struct call *call) { call_free(call); }

/* Calls event/subscribe, like every client. */
static void subscribe_to_components(struct lsp *lsp) {
    static const struct call_ops ops = {.ended = subscribe_ended};
    struct server *server = connection_server(lsp->connection);
    struct callable *callable = method_call_new(lsp->client, method_find("event/subscribe"), NULL);
    struct call *call = call_new(server_loop(server), callable, &ops, lsp);
    tn_value events = value_push_take(value_array(), value_text("component/changed"));
    tn_value params = value_set_take(value_object_reserve(1), "events", events);
    callable_unref(callable);
    if (call_start(call, params)) call_free(call);
    value_unref(params);
}

/* ---- Life ---- */

static void *lsp_open(void *user, struct connection *connection) {
    struct lsp *lsp = mem_zalloc(sizeof *lsp);
    lsp->connection = connection;
    lsp->peer = connection_peer(connection);
    lsp->hosts = user;
    lsp->files = connection_names_files(connection);
    lsp->unit = SOURCE_UTF16;
    lsp->folders = value_array();
    lsp->shown = value_array();
    lsp_hosts_join(lsp->hosts, lsp);
    return lsp;
}

void lsp_finish_closing(struct lsp *lsp) {
    if (lsp->check || lsp_index_is_busy(lsp)) return;
    lsp_index_free(lsp);
    value_unref(lsp->folders);
    value_unref(lsp->shown);
    mem_free(lsp);
}

static void lsp_close(void *state) {
    struct lsp *lsp = state;
    lsp->closing = true;
    lsp_hosts_leave(lsp->hosts, lsp);
    lsp_texts_free(lsp);
    client_free(lsp->client);
    lsp_finish_closing(lsp);
}

static void lsp_initialized(struct lsp *lsp) {
    if (lsp->client) return;
    lsp->client = client_new(
        connection_server(lsp->connection),
        &(struct client_options){
            .name = "language server", .scope = METHOD_READ, .files = lsp->files, .notify = lsp_on_event, .user = lsp});
    subscribe_to_components(lsp);
    lsp_watch_files(lsp);
}

static bool lsp_on_notification(void *state, const char *method, tn_value params) {
    struct lsp *lsp = state;
    if (strcmp(method, "textDocument/didChange") == 0)
        lsp_text_change(lsp, params);
    else if (strcmp(method, "textDocument/didOpen") == 0)
        lsp_text_open(lsp, params);
    else if (strcmp(method, "textDocument/didClose") == 0)
        lsp_text_close(lsp, params);
    else if (strcmp(method, "initialized") == 0)
        lsp_initialized(lsp);
    else if (strcmp(method, "workspace/didChangeWatchedFiles") == 0)
        lsp_watched_files(lsp, params);
    else if (strcmp(method, "workspace/didChangeWorkspaceFolders") == 0)
        lsp_change_folders(lsp, params);
    else if (strcmp(method, "textDocument/didSave") == 0)
        lsp_text_saved(lsp, params);
    else
        return false;
    return true;
}

/* Checks stop while the client does not read their results. */
static void lsp_on_drained(void *state) { lsp_check_next(state); }

const struct connection_service lsp_service = {.open = lsp_open,
                                               .close = lsp_close,
                                               .initialize = lsp_initialize,
                                               .request = lsp_on_request,
                                               .notification = lsp_on_notification,
                                               .drained = lsp_on_drained};
