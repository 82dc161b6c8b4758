/*
 * open.c - documents by path: read, checked and built, once per host while anybody uses the graph.
 *
 * A subgraph's mistakes have been reported by the check of the document that names it; here they only refuse. What was
 * found goes to the host's collection, if whoever opened the document has put one there.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/text/source.h"
#include "adl/value/memory.h"
#include "host/engine/graph.h"
#include "host/host.h"
#include "host/log.h"
#include "host/plugin/registry.h"
#include <assert.h>
#include <string.h>

static struct graph *find_open(struct host *host, const char *path) {
    for (struct graph *graph = host->graphs; graph; graph = graph->next_open)
        if (strcmp(graph->path, path) == 0) return graph;
    return NULL;
}

int32_t graph_refuse(struct error *error, const char *path, const struct diagnostics *found) {
    for (size_t i = 0; i < diagnostics_count(found); i++) {
        const struct diagnostic *diagnostic = diagnostics_at(found, i);
        if (diagnostic->severity != DIAGNOSTIC_ERROR) continue;
        const struct diagnostic_info *info = diagnostic_info(diagnostic->code);
        struct source_place place = {0, 0, 0, 0};
        if (diagnostic->source) place = source_locate(diagnostic->source, diagnostic->span.start);
        return error_set(error, TN_INVALID, "INVALID_GRAPH", "%s:%u:%u: %s [%s]",
                         diagnostic->source ? source_name(diagnostic->source) : path, place.line + 1, place.point + 1,
                         diagnostic->message, info->code);
    }
    return error_set(error, TN_INVALID, "INVALID_GRAPH", "%s: the document has errors", path);
}

static int32_t build(struct host *host, char *path, tn_value text, uint32_t depth, struct graph **out,
                     struct error *error) {
    size_t length;
    const char *bytes = value_chars(text, &length);
    struct source *source = source_new(path, bytes, length);
    struct diagnostics *own = host->found ? NULL : diagnostics_new();
    struct diagnostics *found = own ? own : host->found;
    size_t errors_before = diagnostics_errors(found);
    struct document *document = document_read(source, &host->catalog, found);
    int32_t status = diagnostics_errors(found) > errors_before ? graph_refuse(error, path, found)
                                                               : graph_build(host, document, depth, out, error);
    document_unref(document);
    source_unref(source);
    diagnostics_free(own);
    return status;
}

/* As in the host's list, so that whoever opens the path next gets the new one. */
static void take_place(struct graph *old, struct graph *fresh) {
    if (!old->path) return;
    for (struct graph **at = &old->host->graphs; *at; at = &(*at)->next_open) {
        if (*at != old) continue;
        fresh->next_open = old->next_open;
        *at = fresh;
        break;
    }
    fresh->path = old->path;
    old->path = NULL;
    old->next_open = NULL;
}

struct graph *graph_current(struct graph *graph) {
    while (graph->newer) graph = graph->newer;
    struct host *host = graph->host;
    uint64_t upgrades = registry_upgrades(host->registry);
    if (graph->upgrades == upgrades) return graph;
    struct diagnostics *found = diagnostics_new();
    struct error error = ERROR_INIT;
    struct document *document = document_read(graph->document->source, &host->catalog, found);
    int32_t status = diagnostics_errors(found) ? graph_refuse(&error, source_name(document->source), found)
                                               : graph_build(host, document, graph->depth, &graph->newer, &error);
    assert(status != TN_OK || graph->newer);
    if (status == TN_OK)
        take_place(graph, graph->newer);
    else
        log_write(LOG_ERROR, NULL, "with the plugins as they are now, and so it goes on with the old ones: %s",
                  error.message);
    graph->upgrades = upgrades;
    document_unref(document);
    diagnostics_free(found);
    error_finish(&error);
    return graph->newer ? graph->newer : graph;
}

int32_t graph_open(struct host *host, const char *from, const char *path, uint32_t depth, struct graph **out,
                   struct error *error) {
    if (depth > DOCUMENT_SUBGRAPH_DEPTH_MAX)
        return error_set(error, TN_LIMIT, "INVALID_GRAPH", "subgraphs are nested more than %u deep at `%s`",
                         DOCUMENT_SUBGRAPH_DEPTH_MAX, path);
    char *resolved = NULL;
    const char *why = "it cannot be read";
    tn_value text = host->catalog.read(host->catalog.self, from, path, &resolved, &why);
    if (!text) return error_set(error, TN_NOT_FOUND, "INVALID_GRAPH", "cannot read the document `%s`: %s", path, why);
    struct graph *open = find_open(host, resolved);
    int32_t status = TN_OK;
    if (open) {
        *out = graph_ref(graph_current(open));
    } else {
        status = build(host, resolved, text, depth, out, error);
        if (status == TN_OK) {
            (*out)->path = resolved;
            (*out)->next_open = host->graphs;
            host->graphs = *out;
            resolved = NULL;
        }
    }
    value_unref(text);
    mem_free(resolved);
    return status;
}
