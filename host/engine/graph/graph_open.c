/*
 * graph_open.c - opens documents: by path (each is built once per host while it is in use), and documents that
 * components create.
 *
 * The check of a document reports the mistakes of its subgraphs too. Opening a subgraph therefore only returns the
 * first error; the diagnostics go to the caller's collection, if there is one.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/inner_file.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/engine/engine.h"
#include "host/engine/graph/documents.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graph_report.h"
#include "host/engine/graph/graphs_internal.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/registry/registry.h"
#include <assert.h>
#include <string.h>

/* A document that was found below another root can name other files, so it is another graph. */
static struct graph *graphs_lookup(struct engine *engine, const struct catalog_file *found,
                                   const struct authority *outer) {
    for (struct graph *graph = engine->graphs->open; graph; graph = graph->next_open)
        if (graph->authority->outer == outer && strcmp(graph->path, found->path) == 0 &&
            strcmp(source_root(graph->document->source), found->root) == 0)
            return graph;
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

int32_t graph_open_source(struct engine *engine, struct source *source, const struct graph_origin *origin,
                          struct graph **out, struct error *error) {
    struct diagnostics *own = origin->diagnostics ? NULL : diagnostics_new();
    struct diagnostics *found = own ? own : origin->diagnostics;
    size_t errors_before = diagnostics_errors(found);
    struct document *document = documents_read(engine, source, found);
    int32_t status = diagnostics_errors(found) > errors_before ? graph_refuse(error, source_name(source), found)
                                                               : graph_build(engine, document, origin, out, error);
    document_unref(document);
    diagnostics_free(own);
    return status;
}

/* Replaces `old` in the list of open graphs: the next graph_open of the path returns `fresh`. */
static void graph_replace(struct graph *old, struct graph *fresh) {
    if (!old->path) return;
    for (struct graph **at = &old->engine->graphs->open; *at; at = &(*at)->next_open) {
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
    struct engine *engine = graph->engine;
    uint64_t upgrades = registry_upgrades(engine->registry);
    if (graph->upgrades == upgrades) return graph;
    struct source *source = graph->document->source;
    struct error error = ERROR_INIT;
    const struct graph_origin origin = {.depth = graph->depth,
                                        .outer = graph->authority->outer,
                                        .from_text = graph->authority->from_text,
                                        .alone = graph->alone,
                                        .whole = graph->whole};
    int32_t status = graph_open_source(engine, source, &origin, &graph->newer, &error);
    assert(status != TN_OK || graph->newer);
    if (status == TN_OK)
        graph_replace(graph, graph->newer);
    else
        log_write(LOG_ERROR, NULL, "cannot build `%s` with the upgraded plugins, continues with the old ones: %s",
                  source_name(source), error.message);
    graph->upgrades = upgrades;
    error_finish(&error);
    return graph->newer ? graph->newer : graph;
}

/* Builds the graph of a file. A file that `from` names must at least look like a document before it is reported on. */
static int32_t graph_open_file(struct engine *engine, const struct source *from, const char *name,
                               const struct catalog_file *found, tn_value text, const struct graph_origin *origin,
                               struct graph **out, struct error *error) {
    /* A graph that is open may use a quiesced plugin, which accepts no new work: only a new graph is checked for that.
     */
    bool anew = registry_is_quiescing(engine->registry);
    struct graph *open = anew ? NULL : graphs_lookup(engine, found, origin->outer);
    if (open) {
        *out = graph_ref(graph_current(open));
        return TN_OK;
    }
    struct source *source = inner_file_source(from, found, text, SOURCE_SHOWN);
    int32_t status;
    if (!source)
        status = error_set(error, TN_LIMIT, "LIMIT", "the document `%s` is too large", name);
    else if (from && !inner_file_is_document(source))
        status = error_set(error, TN_INVALID, "INVALID_GRAPH",
                           "the file `%s` is not a document: expected a mapping with `version` and `nodes`", name);
    else
        status = graph_open_source(engine, source, origin, out, error);
    source_unref(source);
    if (status == TN_OK) {
        (*out)->path = mem_text(found->path);
        (*out)->next_open = engine->graphs->open;
        engine->graphs->open = *out;
    }
    return status;
}

int32_t graph_open(struct engine *engine, const struct source *from, const char *path,
                   const struct graph_origin *origin, struct graph **out, struct error *error) {
    if (origin->depth > DOCUMENT_SUBGRAPH_DEPTH_MAX)
        return error_set(error, TN_LIMIT, "INVALID_GRAPH", "subgraphs are nested more than %u deep at `%s`",
                         DOCUMENT_SUBGRAPH_DEPTH_MAX, path);
    struct catalog_file found = {NULL, NULL};
    struct error why = ERROR_INIT;
    tn_value text = engine->catalog.read(engine->catalog.read_self, from, path, &found, &why);
    int32_t status = text ? graph_open_file(engine, from, path, &found, text, origin, out, error)
                          : error_set(error, TN_NOT_FOUND, from ? "INVALID_GRAPH" : "IO",
                                      "cannot read the document `%s`: %s", path, why.message);
    value_unref(text);
    catalog_file_finish(&found);
    error_finish(&why);
    return status;
}

int32_t graph_open_for_plugin(struct engine *engine, const char *path, const struct graph_origin *origin,
                              struct graph **out, struct error *error) {
    struct source *plugin = source_new("", "", 0);
    source_set_origin(plugin, SOURCE_OF_PLUGIN, NULL);
    int32_t status = graph_open(engine, plugin, path, origin, out, error);
    source_unref(plugin);
    return status;
}

/* ---- Documents that components create ---- */

static tn_value document_models_value(const struct document *document) {
    tn_value models = value_object_reserve(document->model_count);
    for (uint32_t i = 0; i < document->model_count; i++)
        models =
            value_set_key_take(models, value_ref(document->models[i].role), value_ref(document->models[i].binding));
    return models;
}

static tn_value document_tools_value(const struct document *document) {
    tn_value tools = value_array_reserve(document->tool_count);
    for (uint32_t i = 0; i < document->tool_count; i++) {
        const struct document_tool *tool = &document->tools[i];
        bool bare = !tool->options || value_count(tool->options) == 0;
        tn_value entry = value_ref(bare ? tool->pattern : tool->options);
        tools = value_push_take(tools, bare ? entry : value_set_take(entry, "name", value_ref(tool->pattern)));
    }
    return tools;
}

/* Adds the roles and tools of the document around it, if it has none. */
static tn_value complete_document(tn_value document, const struct document *around) {
    tn_value whole = value_ref(document);
    if (!value_get(document, "models") && around->model_count)
        whole = value_set_take(whole, "models", document_models_value(around));
    if (!value_get(document, "tools") && around->tools_given)
        whole = value_set_take(whole, "tools", document_tools_value(around));
    return whole;
}

/* For messages: the document around it, and `#`, because it is not a file. */
static char *name_in_document(const struct graph *around, const char *name) {
    const struct source *source = around->document->source;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_format(&text, "%s#%s.json", source ? source_name(source) : "", name);
    return buffer_detach(&text, NULL);
}

int32_t graph_open_value(struct graph *around, struct authority *caller, tn_value value, const char *name,
                         struct graph **out, struct error *error) {
    struct engine *engine = around->engine;
    const struct graph_origin origin = {.depth = around->depth + 1, .outer = caller, .value = value};
    for (const struct graph *graph = engine->graphs->building; graph; graph = graph->around)
        if (graph->value && value_equal(graph->value, value))
            return error_set(error, TN_INVALID, "INVALID_GRAPH", "the document `%s` would run inside itself", name);
    tn_value whole = complete_document(value, around->document);
    char *text = json_text(whole, JSON_INDENTED), *path = name_in_document(around, name);
    struct source *source = source_new(path, text, strlen(text));
    source_set_origin(source, SOURCE_WITHOUT_FILE, NULL);
    /* The document is not a file of the user: if it has mistakes, the node that made it is refused. */
    struct diagnostics *found = diagnostics_new();
    struct document *document = document_read(source, &engine->catalog, found);
    if (around->checks && diagnostics_errors(found)) graph_report_made(around, source, found);
    int32_t status = diagnostics_errors(found) ? graph_refuse(error, path, found)
                                               : graph_build(engine, document, &origin, out, error);
    document_unref(document);
    diagnostics_free(found);
    source_unref(source);
    mem_free(path);
    mem_free(text);
    value_unref(whole);
    return status;
}
