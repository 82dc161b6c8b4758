/*
 * open.c - documents by path: read, checked and built, once per host while anybody uses the graph; and documents that
 * a component has made, which are its own.
 *
 * A subgraph's mistakes have been reported by the check of the document that names it; here they only refuse. What was
 * found goes to the host's collection, if whoever opened the document has put one there.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/text/source.h"
#include "adl/value/json.h"
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

/* ---- Documents that components make ---- */

static tn_value models_of(const struct document *document) {
    tn_value models = value_object_reserve(document->model_count);
    for (uint32_t i = 0; i < document->model_count; i++)
        models =
            value_set_key_take(models, value_ref(document->models[i].role), value_ref(document->models[i].binding));
    return models;
}

static tn_value tools_of(const struct document *document) {
    tn_value tools = value_array_reserve(document->tool_count);
    for (uint32_t i = 0; i < document->tool_count; i++) {
        const struct document_tool *tool = &document->tools[i];
        bool bare = !tool->options || value_count(tool->options) == 0;
        tn_value entry = value_ref(bare ? tool->pattern : tool->options);
        tools = value_push_take(tools, bare ? entry : value_set_take(entry, "name", value_ref(tool->pattern)));
    }
    return tools;
}

/* With the roles and the tools of the document around it, where it says nothing of its own about them. */
static tn_value complete(tn_value document, const struct document *around) {
    tn_value whole = value_ref(document);
    if (!value_get(document, "models") && around->model_count)
        whole = value_set_take(whole, "models", models_of(around));
    if (!value_get(document, "tools") && around->tools_given) whole = value_set_take(whole, "tools", tools_of(around));
    return whole;
}

/* Beside the document around it, so that files are found; no file can be meant by it, and it says that it is JSON. */
static char *name_within(const struct graph *around, const char *name) {
    const struct source *source = around->document->source;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_format(&text, "%s#%s.json", source ? source_name(source) : "", name);
    return buffer_detach(&text, NULL);
}

int32_t graph_open_value(struct graph *around, tn_value value, const char *name, struct graph **out,
                         struct error *error) {
    struct host *host = around->host;
    for (const struct graph *graph = host->building; graph; graph = graph->around)
        if (graph->value && value_equal(graph->value, value))
            return error_set(error, TN_INVALID, "INVALID_GRAPH",
                             "`%s` is a document that is around this one already: it would run inside itself", name);
    tn_value whole = complete(value, around->document);
    char *text = json_text(whole, JSON_INDENTED), *path = name_within(around, name);
    struct source *source = source_new(path, text, strlen(text));
    struct diagnostics *found = diagnostics_new(), *outside = host->found;
    host->found = NULL; /* it is no file of the user's: what is wrong with it refuses the node that made it */
    struct document *document = document_read(source, &host->catalog, found);
    int32_t status = diagnostics_errors(found)
                         ? graph_refuse(error, path, found)
                         : graph_build_value(host, document, value, around->depth + 1, out, error);
    host->found = outside;
    document_unref(document);
    diagnostics_free(found);
    source_unref(source);
    mem_free(path);
    mem_free(text);
    value_unref(whole);
    return status;
}
