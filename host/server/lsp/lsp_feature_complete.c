/*
 * lsp_feature_complete.c - what can be at a position, and what is there: completion, hover, signatures, hints, links.
 */
#include "adl/assist/complete.h"
#include "adl/assist/hover.h"
#include "adl/assist/inlay.h"
#include "adl/assist/link.h"
#include "adl/assist/names.h"
#include "adl/assist/signature.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include <string.h>

/* MarkupContent, or the text for clients that know only that. */
static tn_value markup(bool knows_markdown, const char *markdown, const char *plain) {
    tn_value content =
        value_set_take(value_object_reserve(2), "kind", value_text(knows_markdown ? "markdown" : "plaintext"));
    return value_set_take(content, "value", lsp_string(knows_markdown ? markdown : plain));
}

/* The documentation of an item or signature: the text alone for clients that have announced no format for it. */
static tn_value documentation(bool knows_markdown, const char *text) {
    return knows_markdown ? markup(true, text, text) : lsp_string(text);
}

/* ---- Completion ---- */

/* CompletionItemKind. */
static const int item_kinds[] = {
    [COMPLETION_KEY] = 10 /* Property */,      [COMPLETION_NODE_TYPE] = 7 /* Class */,
    [COMPLETION_WORD] = 20 /* EnumMember */,   [COMPLETION_VALUE] = 12 /* Value */,
    [COMPLETION_CHANNEL] = 6 /* Variable */,   [COMPLETION_FIELD] = 5 /* Field */,
    [COMPLETION_VARIABLE] = 6 /* Variable */,  [COMPLETION_FUNCTION] = 3 /* Function */,
    [COMPLETION_OPERATOR] = 24 /* Operator */, [COMPLETION_NODE] = 18 /* Reference */,
    [COMPLETION_ROLE] = 21 /* Constant */,     [COMPLETION_MODEL] = 12 /* Value */,
    [COMPLETION_TOOL] = 2 /* Method */,        [COMPLETION_REDUCER] = 3 /* Function */,
    [COMPLETION_PLUGIN] = 9 /* Module */,      [COMPLETION_FILE] = 17 /* File */,
    [COMPLETION_FOLDER] = 19 /* Folder */,     [COMPLETION_DOCUMENT] = 17 /* File */,
    [COMPLETION_ANCHOR] = 18 /* Reference */,  [COMPLETION_SNIPPET] = 15 /* Snippet */,
};

/* Asks the editor for completion again; only this one has a command for it. */
static tn_value ask_again(void) {
    tn_value command = value_set_take(value_object_reserve(2), "title", value_text("Complete"));
    return value_set_take(command, "command", value_text("editor.action.triggerSuggest"));
}

static bool client_is_vscode(const struct lsp *lsp) {
    tn_value info = connection_client_info(lsp->connection), name = info ? value_get(info, "name") : NULL;
    return name && value_is(name, TN_STRING) && strstr(value_chars(name, NULL), "Code");
}

static tn_value completion_item(const struct lsp_query *query, const struct assist_completion *found) {
    const struct lsp *lsp = query->lsp;
    bool snippet = found->snippet && lsp->can.snippets;
    const char *text = snippet ? found->snippet : found->text;
    tn_value item = value_set_take(value_object_reserve(12), "label", lsp_string(found->label));
    item = value_set_take(item, "kind", value_int(item_kinds[found->kind]));
    if (found->detail) item = value_set_take(item, "detail", lsp_string(found->detail));
    if (found->documentation)
        item = value_set_take(item, "documentation", documentation(lsp->can.markdown_items, found->documentation));
    if (found->deprecated && lsp->can.item_tags)
        item = value_set_take(item, "tags", value_push_take(value_array(), value_int(1)));
    item = value_set_take(item, "sortText", lsp_string(found->sort));
    item = value_set_take(item, "filterText", lsp_string(found->filter));
    if (snippet) item = value_set_take(item, "insertTextFormat", value_int(2));
    if (lsp->can.item_modes)
        item = value_set_take(item, "insertTextMode", value_int(1)); /* the text has its indentation */
    item = value_set_take(item, "textEdit", lsp_text_edit(lsp, query->text->checked, found->span, text, strlen(text)));
    if (found->again && client_is_vscode(lsp)) item = value_set_take(item, "command", ask_again());
    return item;
}

static tn_value complete(const struct lsp_query *query, struct error *error) {
    struct assist_completions *list = assist_complete(query->assist, query->offset);
    tn_value items = value_array();
    (void)error;
    for (uint32_t i = 0; i < list->count; i++) items = value_push_take(items, completion_item(query, &list->items[i]));
    tn_value result = value_set_take(value_object_reserve(2), "isIncomplete", value_bool(list->incomplete));
    assist_completions_free(list);
    return value_set_take(result, "items", items);
}

/* ---- Hover ---- */

static tn_value hover(const struct lsp_query *query, struct error *error) {
    struct assist_hover *found = assist_hover(query->assist, query->offset);
    (void)error;
    if (!found) return NULL;
    tn_value result = value_set_take(value_object_reserve(2), "contents",
                                     markup(query->lsp->can.markdown, found->markdown, found->text));
    result = value_set_take(result, "range", lsp_range(query->text->checked, found->span, query->lsp->unit));
    assist_hover_free(found);
    return result;
}

/* ---- Signatures ---- */

/* Labels are in ASCII, so bytes are UTF-16 units. */
static tn_value parameter_label(const struct lsp *lsp, const struct assist_signature *signature, struct span span) {
    if (!lsp->can.label_offsets) return value_text_n(signature->label + span.start, span.end - span.start);
    return value_push_take(value_push_take(value_array(), value_int(span.start)), value_int(span.end));
}

static tn_value signature_parameters(const struct lsp *lsp, const struct assist_signature *signature) {
    tn_value list = value_array();
    for (uint32_t i = 0; i < signature->parameter_count; i++) {
        tn_value label = parameter_label(lsp, signature, signature->parameters[i]);
        list = value_push_take(list, value_set_take(value_object_reserve(1), "label", label));
    }
    return list;
}

static tn_value signature_help(const struct lsp_query *query, struct error *error) {
    struct assist_signature *found = assist_signature(query->assist, query->offset);
    (void)error;
    if (!found) return NULL;
    tn_value signature = value_set_take(value_object_reserve(3), "label", lsp_string(found->label));
    signature = value_set_take(signature, "documentation",
                               documentation(query->lsp->can.markdown_signatures, found->documentation));
    signature = value_set_take(signature, "parameters", signature_parameters(query->lsp, found));
    tn_value result = value_set_take(value_object_reserve(3), "signatures", value_push_take(value_array(), signature));
    result = value_set_take(result, "activeSignature", value_int(0));
    result = value_set_take(result, "activeParameter", value_int(found->active));
    assist_signature_free(found);
    return result;
}

/* ---- Hints and links ---- */

static tn_value inlay_hints(const struct lsp_query *query, struct error *error) {
    struct span range = {0, (uint32_t)source_length(query->text->checked)};
    tn_value list = value_array();
    (void)error;
    (void)lsp_read_range(query->text->checked, value_get(query->params, "range"), query->lsp->unit, &range);
    struct assist_hints *found = assist_hints(query->assist, range);
    for (uint32_t i = 0; i < found->count; i++) {
        const struct assist_hint *hint = &found->items[i];
        tn_value at = lsp_position(query->text->checked, hint->at, query->lsp->unit);
        tn_value shown = value_set_take(value_object_reserve(4), "position", at);
        shown = value_set_take(shown, "label", lsp_string(hint->text));
        if (hint->kind == HINT_CHANNEL_TYPE) shown = value_set_take(shown, "kind", value_int(1)); /* Type */
        list = value_push_take(list, value_set_take(shown, "paddingLeft", value_bool(true)));
    }
    assist_hints_free(found);
    return list;
}

/* Where the link leads: what the check has found there, or what is there now if it has no name of a file. */
static tn_value link_target(const struct lsp_query *query, const struct assist_link *link) {
    const struct assist_name *name = assist_names_at(lsp_text_names(query->text), link->span.start);
    bool known = name && (name->kind == USE_FILE || name->kind == USE_DOCUMENT);
    if (!known) return lsp_uri_of_file(query->text, link->target);
    return name->path ? lsp_uri_of_path(query->lsp, name->path) : NULL;
}

static tn_value document_links(const struct lsp_query *query, struct error *error) {
    struct assist_links *found = assist_links(query->assist);
    tn_value list = value_array();
    (void)error;
    for (uint32_t i = 0; i < found->count; i++) {
        tn_value uri = link_target(query, &found->items[i]);
        if (!uri) continue;
        tn_value range = lsp_range(query->text->checked, found->items[i].span, query->lsp->unit);
        tn_value link = value_set_take(value_object_reserve(2), "range", range);
        list = value_push_take(list, value_set_take(link, "target", uri));
    }
    assist_links_free(found);
    return list;
}

const struct lsp_row lsp_complete_rows[] = {
    {"textDocument/completion", LSP_OF_DOCUMENT | LSP_OR_CONFIG | LSP_NOT_NEWEST | LSP_AT_POSITION, LSP_EMPTY, complete,
     "completionProvider",
     "{\"triggerCharacters\": [\":\", \" \", \"-\", \".\", \"{\", \"\\\"\", \"'\", \"/\", \"[\", \"%\", \"*\"], "
     "\"resolveProvider\": false}"},
    {"textDocument/hover", LSP_OF_DOCUMENT | LSP_OR_CONFIG | LSP_NOT_NEWEST | LSP_AT_POSITION, LSP_NULL, hover,
     "hoverProvider", "true"},
    {"textDocument/signatureHelp", LSP_OF_DOCUMENT | LSP_NOT_NEWEST | LSP_AT_POSITION, LSP_NULL, signature_help,
     "signatureHelpProvider", "{\"triggerCharacters\": [\"(\", \",\"]}"},
    {"textDocument/inlayHint", LSP_OF_DOCUMENT | LSP_NOT_NEWEST, LSP_EMPTY, inlay_hints, "inlayHintProvider", "true"},
    {"textDocument/documentLink", LSP_OF_DOCUMENT | LSP_NOT_NEWEST, LSP_EMPTY, document_links, "documentLinkProvider",
     "{\"resolveProvider\": false}"},
    {NULL, 0, LSP_NULL, NULL, NULL, NULL},
};
