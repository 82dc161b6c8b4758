/*
 * lsp_diagnostics.c - diagnostics of adl/ as those of the Language Server Protocol: pushed after each check, or pulled.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/value/memory.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include <stdio.h>
#include <string.h>

static const int lsp_severity[] = {[DIAGNOSTIC_ERROR] = 1, [DIAGNOSTIC_WARNING] = 2, [DIAGNOSTIC_HINT] = 4};

/* The client's own URI for an open document. */
static tn_value uri_of_source(const struct lsp *lsp, const struct source *source) {
    const struct lsp_text *text = lsp_text_at_path(lsp, source_name(source));
    if (text) return value_text(text->uri);
    return source_name(source)[0] == '/' ? lsp_path_uri(source_name(source)) : NULL;
}

static tn_value related_list(const struct lsp_text *text, const struct diagnostic *diagnostic) {
    tn_value list = value_array();
    for (size_t i = 0; i < diagnostic->related_count; i++) {
        const struct diagnostic_related *related = &diagnostic->related[i];
        tn_value uri =
            related->source == text->checked ? value_text(text->uri) : uri_of_source(text->lsp, related->source);
        if (!uri) continue;
        tn_value location = value_set_take(value_object_reserve(2), "uri", uri);
        location = value_set_take(location, "range", lsp_range(related->source, related->span, text->lsp->unit));
        tn_value entry = value_set_take(value_object_reserve(2), "location", location);
        list = value_push_take(
            list, value_set_take(entry, "message", value_string_lossy(related->message, strlen(related->message))));
    }
    return list;
}

/* The message, with the suggestion, because clients show nothing else. */
static tn_value message_of(const struct diagnostic *diagnostic) {
    if (!diagnostic->suggestion || strstr(diagnostic->message, diagnostic->suggestion))
        return value_format("%s", diagnostic->message);
    return value_format("%s\n%s", diagnostic->message, diagnostic->suggestion);
}

tn_value lsp_diagnostic(const struct lsp_text *text, const struct diagnostic *diagnostic) {
    const struct diagnostic_info *info = diagnostic_info(diagnostic->code);
    bool here = !text->assist || diagnostic->source == text->checked; /* config_read makes its own source */
    struct span span = here ? diagnostic->span : (struct span){0, 0};
    tn_value result = value_set_take(value_object_reserve(8), "range", lsp_range(text->checked, span, text->lsp->unit));
    result = value_set_take(result, "severity", value_int(lsp_severity[diagnostic->severity]));
    result = value_set_take(result, "code", value_text(info->code));
    result = value_set_take(result, "source", value_text("tenon"));
    result = value_set_take(result, "message", message_of(diagnostic));
    if (diagnostic->code == ADL_H002) /* 1: unnecessary; editors show it faded */
        result = value_set_take(result, "tags", value_push_take(value_array(), value_int(1)));
    if (text->lsp->can.related_information && diagnostic->related_count)
        result = value_set_take(result, "relatedInformation", related_list(text, diagnostic));
    return result;
}

/* ---- Documents inside this one ---- */

/* The place where this document names the other one. */
static struct span inner_span(const struct lsp_text *text, const struct source *inner) {
    const struct document *document = text->assist->document;
    for (uint32_t i = 0; i < document->node_count; i++) {
        const struct document *found = document_subgraph(document, i);
        if (found && found->source == inner) return document->nodes[i].config_span;
    }
    return (struct span){0, 0};
}

/* One diagnostic for all mistakes of another file; its first one is `first`. */
static tn_value inner_diagnostic(const struct lsp_text *text, size_t first) {
    const struct diagnostics *found = text->assist->found;
    struct diagnostic summary = *diagnostics_at(found, first);
    size_t count = 0;
    for (size_t i = first; i < diagnostics_count(found); i++)
        count += diagnostics_at(found, i)->source == summary.source;
    const char *path = source_name(summary.source), *slash = strrchr(path, '/');
    tn_value message =
        value_format("%s: %s%s", slash ? slash + 1 : path, summary.message, count > 1 ? " (and more)" : "");
    struct diagnostic_related where = {summary.source, summary.span, summary.message};
    summary.span = inner_span(text, summary.source);
    summary.source = text->checked;
    summary.message = (char *)(uintptr_t)value_chars(message, NULL);
    summary.related = &where;
    summary.related_count = 1;
    tn_value result = lsp_diagnostic(text, &summary);
    value_unref(message);
    return result;
}

/* True if an earlier diagnostic is in the same file. */
static bool is_repeated(const struct diagnostics *found, size_t index) {
    const struct source *source = diagnostics_at(found, index)->source;
    return index > 0 && diagnostics_at(found, index - 1)->source == source; /* they are sorted by source */
}

static tn_value all_diagnostics(const struct lsp_text *text) {
    tn_value list = value_array();
    const struct diagnostics *found = text->assist ? text->assist->found : text->found;
    for (size_t i = 0; found && i < diagnostics_count(found); i++) {
        const struct diagnostic *diagnostic = diagnostics_at(found, i);
        bool other = text->assist && diagnostic->source && diagnostic->source != text->checked;
        if (!other)
            list = value_push_take(list, lsp_diagnostic(text, diagnostic));
        else if (!is_repeated(found, i))
            list = value_push_take(list, inner_diagnostic(text, i));
    }
    return list;
}

/* ---- Pushed ---- */

static void push_diagnostics(struct lsp *lsp, const char *uri, const int64_t *version, tn_value list) {
    tn_value params = value_set_take(value_object_reserve(3), "uri", value_text(uri));
    if (version) params = value_set_take(params, "version", value_int(*version));
    peer_notify_take(lsp->peer, "textDocument/publishDiagnostics", value_set_take(params, "diagnostics", list));
}

void lsp_publish(struct lsp_text *text) {
    if (text->lsp->can.pulls_diagnostics) return;
    push_diagnostics(text->lsp, text->uri, text->lsp->can.versioned_diagnostics ? &text->version : NULL,
                     all_diagnostics(text));
}

void lsp_publish_none(struct lsp *lsp, const char *uri) {
    if (!lsp->can.pulls_diagnostics && !lsp->closing) push_diagnostics(lsp, uri, NULL, value_array());
}

/* ---- Pulled ---- */

static tn_value report_of(const struct lsp_text *text, tn_value previous) {
    char number[24];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)text->result);
    tn_value report = value_set_take(value_object_reserve(3), "resultId", value_text(number));
    if (previous && value_text_is(previous, number)) return value_set_take(report, "kind", value_text("unchanged"));
    report = value_set_take(report, "kind", value_text("full"));
    return value_set_take(report, "items", all_diagnostics(text));
}

static tn_value pull_diagnostics(const struct lsp_query *query, struct error *error) {
    (void)error;
    if (!query->text || !query->text->checked) { /* the protocol has no null for it */
        tn_value report = value_set_take(value_object_reserve(2), "kind", value_text("full"));
        return value_set_take(report, "items", value_array());
    }
    return report_of(query->text, value_get(query->params, "previousResultId"));
}

/* {uri: resultId} of previousResultIds. */
static tn_value previous_result(tn_value params, const char *uri) {
    tn_value list = value_get(params, "previousResultIds");
    for (size_t i = 0; list && value_is(list, TN_ARRAY) && i < value_count(list); i++)
        if (value_text_is(value_get(value_at(list, i), "uri"), uri)) return value_get(value_at(list, i), "value");
    return NULL;
}

/* Open documents only: others are checked when they are opened. */
static tn_value pull_all(const struct lsp_query *query, struct error *error) {
    tn_value items = value_array();
    (void)error;
    for (const struct lsp_text *text = query->lsp->texts; text; text = text->next) {
        if (!text->checked || !lsp_text_is_ready(text)) continue;
        tn_value report = report_of(text, previous_result(query->params, text->uri));
        report = value_set_take(report, "uri", value_text(text->uri));
        items = value_push_take(items, value_set_take(report, "version", value_int(text->version)));
    }
    return value_set_take(value_object_reserve(1), "items", items);
}

const struct lsp_row lsp_diagnostic_rows[] = {
    {"textDocument/diagnostic", LSP_OF_TEXT | LSP_ALWAYS, LSP_NULL, pull_diagnostics, "diagnosticProvider",
     "{\"identifier\": \"tenon\", \"interFileDependencies\": true, \"workspaceDiagnostics\": true}"},
    {"workspace/diagnostic", 0, LSP_NULL, pull_all, NULL, NULL},
    {NULL, 0, LSP_NULL, NULL, NULL, NULL},
};
