/*
 * lsp_feature_format.c - formatting of a document, or of ranges of it: the differences to the canonical text as edits.
 *
 * They need the newest text alone, so an editor that formats while it saves does not wait for a check. A text with
 * syntax errors is not formatted; its diagnostics say why, so it is not an error of the request.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/format/format.h"
#include "adl/format/line_edits.h"
#include "adl/value/memory.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"

struct format_edits {
    const struct lsp_query *query;
    const struct span *ranges; /* NULL: the whole document */
    size_t range_count;
    tn_value list;
};

static bool is_in_ranges(const struct format_edits *edits, struct span span) {
    if (!edits->ranges) return true;
    for (size_t i = 0; i < edits->range_count; i++)
        if (span.start <= edits->ranges[i].end && edits->ranges[i].start <= span.end) return true;
    return false;
}

static void add_format_edit(void *user, struct span span, const char *text, size_t length) {
    struct format_edits *edits = user;
    if (is_in_ranges(edits, span))
        edits->list = value_push_take(edits->list,
                                      lsp_text_edit(edits->query->lsp, edits->query->text->source, span, text, length));
}

static tn_value format_ranges(const struct lsp_query *query, const struct span *ranges, size_t count) {
    struct source *source = query->text->source;
    struct format_edits edits = {query, ranges, count, value_array()};
    struct diagnostics *found = diagnostics_new();
    char *text;
    size_t length;
    if (format_source(source, found, &text, &length) == TN_OK) {
        line_edits(source_text(source), source_length(source), text, length, add_format_edit, &edits);
        mem_free(text);
    }
    diagnostics_free(found);
    return edits.list;
}

static tn_value lsp_format(const struct lsp_query *query, struct error *error) {
    (void)error;
    return format_ranges(query, NULL, 0);
}

static tn_value lsp_format_range(const struct lsp_query *query, struct error *error) {
    struct span range;
    if (!lsp_read_range(query->text->source, value_get(query->params, "range"), query->lsp->unit, &range)) {
        (void)error_set(error, TN_INVALID, "INVALID_INPUT", "`range` must have `start` and `end`");
        return NULL;
    }
    return format_ranges(query, &range, 1);
}

#define FORMAT_RANGES_MAX 100u

static tn_value lsp_format_several(const struct lsp_query *query, struct error *error) {
    struct span ranges[FORMAT_RANGES_MAX];
    tn_value given = value_get(query->params, "ranges");
    size_t count = given && value_is(given, TN_ARRAY) ? value_count(given) : 0;
    if (count > FORMAT_RANGES_MAX) {
        (void)error_set(error, TN_LIMIT, "LIMIT", "found %zu ranges; at most %u can be formatted at once", count,
                        FORMAT_RANGES_MAX);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (!lsp_read_range(query->text->source, value_at(given, i), query->lsp->unit, &ranges[i])) {
            (void)error_set(error, TN_INVALID, "INVALID_INPUT", "`ranges` must have `start` and `end`");
            return NULL;
        }
    return format_ranges(query, ranges, count);
}

const struct lsp_row lsp_format_rows[] = {
    {"textDocument/formatting", LSP_OF_TEXT | LSP_UNCHECKED, LSP_EMPTY, lsp_format, "documentFormattingProvider",
     "true"},
    {"textDocument/rangeFormatting", LSP_OF_TEXT | LSP_UNCHECKED, LSP_EMPTY, lsp_format_range,
     "documentRangeFormattingProvider", "{\"rangesSupport\": true}"},
    {"textDocument/rangesFormatting", LSP_OF_TEXT | LSP_UNCHECKED, LSP_EMPTY, lsp_format_several, NULL, NULL},
    {NULL, 0, LSP_NULL, NULL, NULL, NULL},
};
