/*
 * lsp_feature_outline.c - the structure of documents: symbols, folding, selections, code lenses.
 */
#include "adl/assist/lens.h"
#include "adl/assist/outline.h"
#include "adl/value/memory.h"
#include "host/server/lsp/lsp_gather.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"

/* ---- Symbols ---- */

/* SymbolKind. */
static const int symbol_kinds[] = {
    [OUTLINE_SECTION] = 3 /* Namespace */, [OUTLINE_NODE] = 12 /* Function */,    [OUTLINE_CHANNEL] = 13 /* Variable */,
    [OUTLINE_EDGE] = 24 /* Event */,       [OUTLINE_ROLE] = 14 /* Constant */,    [OUTLINE_TOOL] = 6 /* Method */,
    [OUTLINE_PLUGIN] = 4 /* Package */,    [OUTLINE_PROPERTY] = 7 /* Property */,
};

/* A symbol without values: all symbols of an answer, which can be many thousands, share its keys. */
static tn_value symbol_form(void) {
    tn_value form = value_set_take(value_object_reserve(4), "name", value_null());
    form = value_set_take(form, "kind", value_null());
    form = value_set_take(form, "range", value_null());
    return value_set_take(form, "selectionRange", value_null());
}

static tn_value document_symbol(const struct lsp_query *query, tn_value form, const struct assist_outline_item *item) {
    const struct source *source = query->text->checked;
    tn_value symbol = value_set_take(value_ref(form), "name", lsp_string(item->name));
    symbol = value_set_take(symbol, "kind", value_int(symbol_kinds[item->kind]));
    symbol = value_set_take(symbol, "range", lsp_range(source, item->span, query->lsp->unit));
    symbol = value_set_take(symbol, "selectionRange", lsp_range(source, item->name_span, query->lsp->unit));
    return *item->detail ? value_set_take(symbol, "detail", lsp_string(item->detail)) : symbol;
}

/* The items from *next on that are deeper than `depth`, as a tree. Outlines are at most a few levels deep. */
static tn_value symbols_below(const struct lsp_query *query, tn_value form, const struct assist_outline *outline,
                              size_t *next, uint32_t depth) {
    tn_value list = value_array();
    while (*next < outline->count && outline->items[*next].depth >= depth) {
        const struct assist_outline_item *item = &outline->items[(*next)++];
        tn_value symbol = document_symbol(query, form, item);
        tn_value children = symbols_below(query, form, outline, next, item->depth + 1);
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
    tn_value form = symbol_form();
    tn_value list = query->lsp->can.hierarchical_symbols ? symbols_below(query, form, outline, &next, 0)
                                                         : flat_symbols(query, outline);
    value_unref(form);
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

/* ---- Code lenses ---- */

/* A lens with a command of the editor (samples/editors); "" only shows the title. */
static tn_value code_lens(const struct lsp_query *query, const struct assist_lens *lens, tn_value title,
                          const char *name) {
    tn_value arguments = value_push_take(value_array(), value_text(query->text->uri));
    if (lens->kind == ASSIST_LENS_REFERENCES)
        arguments = value_push_take(arguments, lsp_position(query->text->checked, lens->span.start, query->lsp->unit));
    tn_value command = value_set_take(value_object_reserve(3), "title", title);
    command = value_set_take(command, "command", value_text(name));
    command = value_set_take(command, "arguments", arguments);
    tn_value range = lsp_range(query->text->checked, lens->span, query->lsp->unit);
    return value_set_take(value_set_take(value_object_reserve(2), "range", range), "command", command);
}

static tn_value run_lenses(const struct lsp_query *query, const struct assist_lens *lens, tn_value list) {
    const char *end = lens->has_errors ? " (has errors)" : "";
    if (query->lsp->can.runs)
        list = value_push_take(list, code_lens(query, lens, value_format("Run%s", end), "tenon.run"));
    if (query->lsp->can.debugs)
        list = value_push_take(list, code_lens(query, lens, value_format("Debug%s", end), "tenon.debug"));
    return list;
}

static tn_value code_lenses(const struct lsp_query *query, struct error *error) {
    struct lsp_gathered all;
    tn_value list = value_array();
    const char *show = query->lsp->can.shows_references ? "tenon.showReferences" : "";
    (void)error;
    lsp_gather(query->lsp, query->text, &all);
    struct assist_lenses *lenses = assist_lenses(lsp_text_names(query->text), &all.workspace);
    for (size_t i = 0; i < lenses->count; i++) {
        const struct assist_lens *lens = &lenses->items[i];
        if (lens->kind == ASSIST_LENS_RUN) {
            list = run_lenses(query, lens, list);
            continue;
        }
        tn_value title = value_format("%u reference%s", lens->references, lens->references == 1 ? "" : "s");
        list = value_push_take(list, code_lens(query, lens, title, show));
    }
    assist_lenses_free(lenses);
    lsp_gathered_finish(&all);
    return list;
}

const struct lsp_row lsp_outline_rows[] = {
    {"textDocument/documentSymbol", LSP_OF_DOCUMENT | LSP_OR_CONFIG | LSP_NOT_NEWEST, LSP_EMPTY, document_symbols,
     "documentSymbolProvider", "true"},
    {"workspace/symbol", LSP_OF_WORKSPACE, LSP_EMPTY, workspace_symbols, "workspaceSymbolProvider", "true"},
    {"textDocument/foldingRange", LSP_OF_DOCUMENT | LSP_OR_CONFIG | LSP_NOT_NEWEST, LSP_EMPTY, folding_ranges,
     "foldingRangeProvider", "true"},
    {"textDocument/selectionRange", LSP_OF_DOCUMENT | LSP_OR_CONFIG | LSP_NOT_NEWEST, LSP_EMPTY, selection_ranges,
     "selectionRangeProvider", "true"},
    {"textDocument/codeLens", LSP_OF_DOCUMENT | LSP_OF_WORKSPACE, LSP_EMPTY, code_lenses, "codeLensProvider",
     "{\"resolveProvider\": false}"},
    {NULL, 0, LSP_NULL, NULL, NULL, NULL},
};
