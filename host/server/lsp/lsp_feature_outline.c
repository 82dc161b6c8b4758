/*
 * lsp_feature_outline.c - the structure of documents: symbols, folding, selections, semantic tokens, code lenses.
 */
#include "adl/assist/lens.h"
#include "adl/assist/outline.h"
#include "adl/assist/tokens.h"
#include "adl/value/memory.h"
#include "host/server/lsp/lsp_gather.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include <string.h>

/* ---- Symbols ---- */

/* SymbolKind. */
static const int symbol_kinds[] = {
    [OUTLINE_SECTION] = 3 /* Namespace */, [OUTLINE_NODE] = 12 /* Function */,    [OUTLINE_CHANNEL] = 13 /* Variable */,
    [OUTLINE_EDGE] = 24 /* Event */,       [OUTLINE_ROLE] = 14 /* Constant */,    [OUTLINE_TOOL] = 6 /* Method */,
    [OUTLINE_PLUGIN] = 4 /* Package */,    [OUTLINE_PROPERTY] = 7 /* Property */,
};

static tn_value document_symbol(const struct lsp_query *query, const struct assist_outline_item *item) {
    const struct source *source = query->text->checked;
    tn_value symbol = value_set_take(value_object_reserve(6), "name", lsp_string(item->name));
    if (*item->detail) symbol = value_set_take(symbol, "detail", lsp_string(item->detail));
    symbol = value_set_take(symbol, "kind", value_int(symbol_kinds[item->kind]));
    symbol = value_set_take(symbol, "range", lsp_range(source, item->span, query->lsp->unit));
    return value_set_take(symbol, "selectionRange", lsp_range(source, item->name_span, query->lsp->unit));
}

/* The items from *next on that are deeper than `depth`, as a tree. Outlines are at most a few levels deep. */
static tn_value symbols_below(const struct lsp_query *query, const struct assist_outline *outline, size_t *next,
                              uint32_t depth) {
    tn_value list = value_array();
    while (*next < outline->count && outline->items[*next].depth >= depth) {
        const struct assist_outline_item *item = &outline->items[(*next)++];
        tn_value symbol = document_symbol(query, item);
        tn_value children = symbols_below(query, outline, next, item->depth + 1);
        if (value_count(children))
            symbol = value_set_take(symbol, "children", children);
        else
            value_unref(children);
        list = value_push_take(list, symbol);
    }
    return list;
}

/* SymbolInformation, for clients without a hierarchy. */
static tn_value flat_symbols(const struct lsp_query *query, const struct assist_outline *outline) {
    tn_value list = value_array();
    for (size_t i = 0; i < outline->count; i++) {
        const struct assist_outline_item *item = &outline->items[i];
        tn_value location = value_set_take(value_object_reserve(2), "uri", value_text(query->text->uri));
        location = value_set_take(location, "range", lsp_range(query->text->checked, item->span, query->lsp->unit));
        tn_value symbol = value_set_take(value_object_reserve(3), "name", lsp_string(item->name));
        symbol = value_set_take(symbol, "kind", value_int(symbol_kinds[item->kind]));
        list = value_push_take(list, value_set_take(symbol, "location", location));
    }
    return list;
}

static tn_value document_symbols(const struct lsp_query *query, struct error *error) {
    struct assist_outline *outline = assist_outline(query->assist);
    size_t next = 0;
    (void)error;
    tn_value list =
        query->lsp->can.hierarchical_symbols ? symbols_below(query, outline, &next, 0) : flat_symbols(query, outline);
    assist_outline_free(outline);
    return list;
}

static int kind_of_use(enum use_kind kind) {
    return kind == USE_NODE   ? symbol_kinds[OUTLINE_NODE]
           : kind == USE_ROLE ? symbol_kinds[OUTLINE_ROLE]
                              : symbol_kinds[OUTLINE_CHANNEL];
}

static tn_value workspace_symbols(const struct lsp_query *query, struct error *error) {
    struct assist_found *found = mem_array(NULL, ASSIST_SYMBOLS_MAX, sizeof *found);
    tn_value text = value_get(query->params, "query"), list = value_array();
    struct lsp_gathered all;
    size_t length = 0;
    (void)error;
    const char *chars = text && value_is(text, TN_STRING) ? value_chars(text, &length) : "";
    lsp_gather(query->lsp, NULL, &all);
    size_t count = assist_find_symbols(&all.workspace, chars, length, found);
    for (size_t i = 0; i < count; i++) {
        const struct assist_name *name = found[i].name;
        const struct source *source = found[i].names->sources[name->file];
        tn_value symbol = value_set_take(value_object_reserve(3), "name", value_string_lossy(name->text, name->length));
        symbol = value_set_take(symbol, "kind", value_int(kind_of_use(name->kind)));
        list = value_push_take(list, value_set_take(symbol, "location", lsp_location(query->lsp, source, name->span)));
    }
    lsp_gathered_finish(&all);
    mem_free(found);
    return list;
}

/* ---- Folding and selection ---- */

static tn_value folding_ranges(const struct lsp_query *query, struct error *error) {
    struct assist_folds *folds = assist_folds(query->assist);
    tn_value list = value_array();
    (void)error;
    for (size_t i = 0; i < folds->count; i++) {
        tn_value fold = value_set_take(value_object_reserve(3), "startLine", value_int(folds->items[i].first_line));
        fold = value_set_take(fold, "endLine", value_int(folds->items[i].last_line));
        if (folds->items[i].comment) fold = value_set_take(fold, "kind", value_text("comment"));
        list = value_push_take(list, fold);
    }
    assist_folds_free(folds);
    return list;
}

/* SelectionRange: the innermost one, with its parents. */
static tn_value selection_at(const struct lsp_query *query, uint32_t offset) {
    struct span spans[ASSIST_SELECTIONS_MAX];
    size_t count = assist_selection(query->assist, offset, spans);
    tn_value selection = NULL;
    if (count == 0) spans[count++] = (struct span){offset, offset};
    while (count > 0) {
        tn_value range = lsp_range(query->text->checked, spans[--count], query->lsp->unit);
        tn_value inner = value_set_take(value_object_reserve(2), "range", range);
        selection = selection ? value_set_take(inner, "parent", selection) : inner;
    }
    return selection;
}

#define SELECTIONS_MAX 1000u /* positions of one request */

static tn_value selection_ranges(const struct lsp_query *query, struct error *error) {
    tn_value positions = value_get(query->params, "positions"), list = value_array();
    size_t count = positions && value_is(positions, TN_ARRAY) ? value_count(positions) : 0;
    if (count > SELECTIONS_MAX) { /* the answer must have an entry for each */
        value_unref(list);
        (void)error_set(error, TN_LIMIT, "LIMIT", "found %zu positions; at most %u can be asked for at once", count,
                        SELECTIONS_MAX);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t offset;
        if (!lsp_read_position(query->text->checked, value_at(positions, i), query->lsp->unit, &offset)) {
            value_unref(list);
            (void)error_set(error, TN_INVALID, "INVALID_INPUT", "`positions` must be a list of positions");
            return NULL;
        }
        list = value_push_take(list, selection_at(query, offset));
    }
    return list;
}

/* ---- Semantic tokens ---- */

/* Five numbers for each token; the place is relative to the token before. A token is in one line. */
static tn_value encode_tokens(const struct lsp_query *query, const struct assist_tokens *tokens) {
    enum source_unit unit = query->lsp->unit;
    tn_value data = value_array();
    uint32_t line = 0, column = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        const struct assist_token *token = &tokens->items[i];
        struct source_place start = source_locate(query->text->checked, token->span.start);
        struct source_place end = source_locate(query->text->checked, token->span.end);
        uint32_t from = unit == SOURCE_BYTES ? start.byte : start.utf16,
                 to = unit == SOURCE_BYTES ? end.byte : end.utf16;
        if (end.line != start.line) continue;
        data = value_push_take(data, value_int(start.line - line));
        data = value_push_take(data, value_int(start.line == line ? from - column : from));
        data = value_push_take(data, value_int(to - from));
        data = value_push_take(data, value_int((int64_t)token->type));
        data = value_push_take(data, value_int(token->modifiers));
        line = start.line;
        column = from;
    }
    return data;
}

static tn_value tokens_in(const struct lsp_query *query, struct span range) {
    struct assist_tokens *tokens = assist_tokens(lsp_text_names(query->text), range);
    tn_value data = encode_tokens(query, tokens);
    assist_tokens_free(tokens);
    return value_set_take(value_object_reserve(1), "data", data);
}

static tn_value all_tokens(const struct lsp_query *query, struct error *error) {
    (void)error;
    return tokens_in(query, (struct span){0, (uint32_t)source_length(query->text->checked)});
}

static tn_value tokens_of_range(const struct lsp_query *query, struct error *error) {
    struct span range;
    if (lsp_read_range(query->text->checked, value_get(query->params, "range"), query->lsp->unit, &range))
        return tokens_in(query, range);
    (void)error_set(error, TN_INVALID, "INVALID_INPUT", "`range` must have `start` and `end`");
    return NULL;
}

/* {full, range, legend}: the names of types and modifiers, in the order of their numbers. */
tn_value lsp_describe_tokens(void) {
    tn_value types = value_array(), modifiers = value_array();
    for (int i = 0; i < ASSIST_TOKEN_TYPE_COUNT; i++)
        types = value_push_take(types, value_text(assist_token_type_name((enum assist_token_type)i)));
    for (uint32_t i = 0; i < ASSIST_TOKEN_MODIFIER_COUNT; i++)
        modifiers = value_push_take(modifiers, value_text(assist_token_modifier_name(i)));
    tn_value legend = value_set_take(value_object_reserve(2), "tokenTypes", types);
    tn_value options =
        value_set_take(value_object_reserve(3), "legend", value_set_take(legend, "tokenModifiers", modifiers));
    options = value_set_take(options, "full", value_bool(true));
    return value_set_take(options, "range", value_bool(true));
}

/* ---- Code lenses ---- */

/* The editor has the commands (samples/editors). Without them, the number of references is shown, and nothing can be
 * run. */
static tn_value lens_command(const struct lsp_query *query, const struct assist_lens *lens) {
    bool run = lens->kind == ASSIST_LENS_RUN;
    tn_value arguments = value_push_take(value_array(), value_text(query->text->uri));
    tn_value title = run ? value_text(lens->has_errors ? "Run (has errors)" : "Run")
                         : value_format("%u reference%s", lens->references, lens->references == 1 ? "" : "s");
    const char *name = run ? "tenon.run" : query->lsp->can.shows_references ? "tenon.showReferences" : "";
    if (!run)
        arguments = value_push_take(arguments, lsp_position(query->text->checked, lens->span.start, query->lsp->unit));
    tn_value command = value_set_take(value_object_reserve(3), "title", title);
    command = value_set_take(command, "command", value_text(name));
    return value_set_take(command, "arguments", arguments);
}

static tn_value code_lenses(const struct lsp_query *query, struct error *error) {
    struct lsp_gathered all;
    tn_value list = value_array();
    (void)error;
    lsp_gather(query->lsp, query->text, &all);
    struct assist_lenses *lenses = assist_lenses(lsp_text_names(query->text), &all.workspace);
    for (size_t i = 0; i < lenses->count; i++) {
        if (lenses->items[i].kind == ASSIST_LENS_RUN && !query->lsp->can.runs) continue;
        tn_value range = lsp_range(query->text->checked, lenses->items[i].span, query->lsp->unit);
        tn_value lens = value_set_take(value_object_reserve(2), "range", range);
        list = value_push_take(list, value_set_take(lens, "command", lens_command(query, &lenses->items[i])));
    }
    assist_lenses_free(lenses);
    lsp_gathered_finish(&all);
    return list;
}

const struct lsp_row lsp_outline_rows[] = {
    {"textDocument/documentSymbol", LSP_OF_DOCUMENT | LSP_OR_CONFIG, LSP_EMPTY, document_symbols,
     "documentSymbolProvider", "true"},
    {"workspace/symbol", LSP_OF_WORKSPACE, LSP_EMPTY, workspace_symbols, "workspaceSymbolProvider", "true"},
    {"textDocument/foldingRange", LSP_OF_DOCUMENT | LSP_OR_CONFIG, LSP_EMPTY, folding_ranges, "foldingRangeProvider",
     "true"},
    {"textDocument/selectionRange", LSP_OF_DOCUMENT | LSP_OR_CONFIG, LSP_EMPTY, selection_ranges,
     "selectionRangeProvider", "true"},
    {"textDocument/semanticTokens/full", LSP_OF_DOCUMENT, LSP_NULL, all_tokens, NULL, NULL}, /* lsp_describe_tokens */
    {"textDocument/semanticTokens/range", LSP_OF_DOCUMENT, LSP_NULL, tokens_of_range, NULL, NULL},
    {"textDocument/codeLens", LSP_OF_DOCUMENT | LSP_OF_WORKSPACE, LSP_EMPTY, code_lenses, "codeLensProvider",
     "{\"resolveProvider\": false}"},
    {NULL, 0, LSP_NULL, NULL, NULL, NULL},
};
