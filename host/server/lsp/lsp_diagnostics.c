/*
 * lsp_diagnostics.c - diagnostics of adl/ as those of the Language Server Protocol: pushed after each check, or pulled.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/value/memory.h"
#include "host/server/lsp/lsp_index.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include <stdio.h>
#include <string.h>

static const int lsp_severity[] = {[DIAGNOSTIC_ERROR] = 1, [DIAGNOSTIC_WARNING] = 2, [DIAGNOSTIC_HINT] = 4};

/* A checked document, or tenon.yaml. */
struct checked {
    const struct lsp *lsp;
    const char *uri;
    const struct assist *assist; /* NULL: it is a tenon.yaml */
    struct source *source;
    const struct diagnostics *found; /* or NULL */
};

static struct checked checked_of(const struct lsp_text *text) {
    return (struct checked){text->lsp, text->uri, text->assist, text->checked,
                            text->assist ? text->assist->found : text->found};
}

/* The client's own URI for an open document. */
static tn_value uri_of_source(const struct lsp *lsp, const struct source *source) {
    const struct lsp_text *text = lsp_text_at_path(lsp, source_name(source));
    if (text) return value_text(text->uri);
    return source_name(source)[0] == '/' ? lsp_path_uri(source_name(source)) : NULL;
}

static tn_value related_list(const struct checked *of, const struct diagnostic *diagnostic) {
    tn_value list = value_array();
    for (size_t i = 0; i < diagnostic->related_count; i++) {
        const struct diagnostic_related *related = &diagnostic->related[i];
        tn_value uri = related->source == of->source ? value_text(of->uri) : uri_of_source(of->lsp, related->source);
        if (!uri) continue;
        tn_value location = value_set_take(value_object_reserve(2), "uri", uri);
        location = value_set_take(location, "range", lsp_range(related->source, related->span, of->lsp->unit));
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

static tn_value make_diagnostic(const struct checked *of, const struct diagnostic *diagnostic) {
    const struct diagnostic_info *info = diagnostic_info(diagnostic->code);
    bool here = !of->assist || diagnostic->source == of->source; /* config_read makes its own source */
    struct span span = here ? diagnostic->span : (struct span){0, 0};
    tn_value result = value_set_take(value_object_reserve(8), "range", lsp_range(of->source, span, of->lsp->unit));
    result = value_set_take(result, "severity", value_int(lsp_severity[diagnostic->severity]));
    result = value_set_take(result, "code", value_text(info->code));
    result = value_set_take(result, "source", value_text("tenon"));
    result = value_set_take(result, "message", message_of(diagnostic));
    if (diagnostic->code == ADL_H002) /* 1: unnecessary; editors show it faded */
        result = value_set_take(result, "tags", value_push_take(value_array(), value_int(1)));
    if (of->lsp->can.related_information && diagnostic->related_count)
        result = value_set_take(result, "relatedInformation", related_list(of, diagnostic));
    return result;
}

tn_value lsp_diagnostic(const struct lsp_text *text, const struct diagnostic *diagnostic) {
    const struct checked of = checked_of(text);
    return make_diagnostic(&of, diagnostic);
}

/* ---- Documents inside this one ---- */

/* The place where this document names the other one. */
static struct span inner_span(const struct checked *of, const struct source *inner) {
    const struct document *document = of->assist->document;
    for (uint32_t i = 0; i < document->node_count; i++) {
        const struct document *found = document_subgraph(document, i);
        if (found && found->source == inner) return document->nodes[i].config_span;
    }
    return (struct span){0, 0};
}

/* One diagnostic for all mistakes of another file; its first one is `first`. */
static tn_value inner_diagnostic(const struct checked *of, size_t first) {
    const struct diagnostics *found = of->assist->found;
    struct diagnostic summary = *diagnostics_at(found, first);
    size_t count = 0;
    for (size_t i = first; i < diagnostics_count(found); i++)
        count += diagnostics_at(found, i)->source == summary.source;
    const char *path = source_name(summary.source), *slash = strrchr(path, '/');
    tn_value message =
        value_format("%s: %s%s", slash ? slash + 1 : path, summary.message, count > 1 ? " (and more)" : "");
    struct diagnostic_related where = {summary.source, summary.span, summary.message};
    summary.span = inner_span(of, summary.source);
    summary.source = of->source;
    summary.message = (char *)(uintptr_t)value_chars(message, NULL);
    summary.related = &where;
    summary.related_count = 1;
    tn_value result = make_diagnostic(of, &summary);
    value_unref(message);
    return result;
}

/* True if an earlier diagnostic is in the same file. */
static bool is_repeated(const struct diagnostics *found, size_t index) {
    const struct source *source = diagnostics_at(found, index)->source;
    return index > 0 && diagnostics_at(found, index - 1)->source == source; /* they are sorted by source */
}

static tn_value all_diagnostics(const struct checked *of) {
    tn_value list = value_array();
    const struct diagnostics *found = of->found;
    for (size_t i = 0; found && i < diagnostics_count(found); i++) {
        const struct diagnostic *diagnostic = diagnostics_at(found, i);
        bool other = of->assist && diagnostic->source && diagnostic->source != of->source;
        if (!other)
            list = value_push_take(list, make_diagnostic(of, diagnostic));
        else if (!is_repeated(found, i))
            list = value_push_take(list, inner_diagnostic(of, i));
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
    const struct checked of = checked_of(text);
    push_diagnostics(text->lsp, text->uri, text->lsp->can.versioned_diagnostics ? &text->version : NULL,
                     all_diagnostics(&of));
}

void lsp_publish_none(struct lsp *lsp, const char *uri) {
    if (!lsp->can.pulls_diagnostics && !lsp->closing) push_diagnostics(lsp, uri, NULL, value_array());
}

/* ---- Pulled ---- */

/* `result` is the number of the check; `previous` the resultId that the client has, or NULL. */
static tn_value report_of(const struct checked *of, uint64_t result, tn_value previous) {
    char number[24];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)result);
    tn_value report = value_set_take(value_object_reserve(3), "resultId", value_text(number));
    if (previous && value_text_is(previous, number)) return value_set_take(report, "kind", value_text("unchanged"));
    report = value_set_take(report, "kind", value_text("full"));
    return value_set_take(report, "items", all_diagnostics(of));
}

static tn_value report_of_nothing(void) {
    tn_value report = value_set_take(value_object_reserve(2), "kind", value_text("full"));
    return value_set_take(report, "items", value_array());
}

static tn_value pull_diagnostics(const struct lsp_query *query, struct error *error) {
    (void)error;
    if (!query->text || !query->text->checked) return report_of_nothing(); /* the protocol has no null for it */
    const struct checked of = checked_of(query->text);
    return report_of(&of, query->text->result, value_get(query->params, "previousResultId"));
}

/* ---- Pulled for the workspace ---- */

struct workspace_reports {
    const struct lsp *lsp;
    tn_value previous; /* {uri: resultId} that the client has, and that no report is about yet */
    tn_value items;
    size_t size; /* diagnostics in `items` */
};

/* {uri: resultId} of previousResultIds. */
static tn_value previous_results(tn_value params) {
    tn_value list = value_get(params, "previousResultIds"), results = value_object();
    for (size_t i = 0; list && value_is(list, TN_ARRAY) && i < value_count(list); i++) {
        tn_value uri = value_get(value_at(list, i), "uri"), id = value_get(value_at(list, i), "value");
        if (uri && value_is(uri, TN_STRING) && id) results = value_set_key_take(results, value_ref(uri), value_ref(id));
    }
    return results;
}

static void add_report_take(struct workspace_reports *reports, const char *uri, tn_value report, tn_value version) {
    report = value_set_take(report, "uri", value_text(uri));
    reports->items = value_push_take(reports->items, value_set_take(report, "version", version));
    reports->previous = value_remove_take(reports->previous, value_text(uri));
}

/* Beyond the limit, a document has no report, and the client keeps what it has. */
static void add_checked(struct workspace_reports *reports, const struct checked *of, uint64_t result,
                        const int64_t *version) {
    tn_value report = report_of(of, result, value_get(reports->previous, of->uri)), items = value_get(report, "items");
    reports->size += items ? value_count(items) : 0;
    if (reports->size > LSP_WORKSPACE_DIAGNOSTICS_MAX && items && value_count(items)) {
        value_unref(report);
        reports->previous = value_remove_take(reports->previous, value_text(of->uri));
    } else {
        add_report_take(reports, of->uri, report, version ? value_int(*version) : value_null());
    }
}

static void add_indexed(void *user, const struct assist *assist, uint64_t result) {
    struct workspace_reports *reports = user;
    tn_value uri = lsp_path_uri(source_name(assist->source));
    const struct checked of = {reports->lsp, value_chars(uri, NULL), assist, assist->source, assist->found};
    add_checked(reports, &of, result, NULL);
    value_unref(uri);
}

/* Open documents and those of the index; for files that are not there any more, no diagnostics. */
static tn_value pull_all(const struct lsp_query *query, struct error *error) {
    struct workspace_reports reports = {.lsp = query->lsp, .previous = previous_results(query->params)};
    (void)error;
    reports.items = value_array();
    for (const struct lsp_text *text = query->lsp->texts; text; text = text->next) {
        if (!text->checked || !lsp_text_is_ready(text)) continue;
        const struct checked of = checked_of(text);
        add_checked(&reports, &of, text->result, &text->version);
    }
    lsp_index_each_result(query->lsp, add_indexed, &reports);
    tn_value gone = value_ref(reports.previous);
    for (size_t i = 0; i < value_count(gone); i++)
        add_report_take(&reports, value_chars(value_key_at(gone, i), NULL), report_of_nothing(), value_null());
    value_unref(gone);
    value_unref(reports.previous);
    return value_set_take(value_object_reserve(1), "items", reports.items);
}

const struct lsp_row lsp_diagnostic_rows[] = {
    {"textDocument/diagnostic", LSP_OF_TEXT | LSP_ALWAYS, LSP_NULL, pull_diagnostics, "diagnosticProvider",
     "{\"identifier\": \"tenon\", \"interFileDependencies\": true, \"workspaceDiagnostics\": true}"},
    {"workspace/diagnostic", LSP_OF_WORKSPACE, LSP_NULL, pull_all, NULL, NULL},
    {NULL, 0, LSP_NULL, NULL, NULL, NULL},
};
