/*
 * graph_report.c - mistakes that only building the graph finds: configs that a component refuses, and documents that
 * components make from their configs.
 */
#include "host/engine/graph/graph_report.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/config_places.h"
#include "adl/document/effects.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/engine/graph/graph.h"
#include <string.h>

#define MADE_ERRORS_MAX 10u /* errors of one made document that are reported */

static struct config_places *graph_places(struct graph *graph) {
    if (!graph->places) graph->places = config_places_new(graph->document);
    return graph->places;
}

/* Where to report a mistake of the node if no member of its config is to blame. */
static struct span node_place(const struct document_node *def) {
    return def->config_span.end > def->config_span.start ? def->config_span : def->type_span;
}

/* The JSON Pointer of a refusal, or NULL. */
static const char *refused_member(const struct error *error) {
    tn_value at = value_get(value_get(error->more, "detail"), "at");
    return value_is(at, TN_STRING) ? value_chars(at, NULL) : NULL;
}

struct span graph_place_of_refusal(struct graph *graph, uint32_t node, const struct error *error) {
    const char *at = refused_member(error);
    struct span span = graph->document->nodes[node].config_span;
    if (at) (void)config_places_at(graph_places(graph), node, at, &span);
    return span;
}

static bool is_about_plugin(const struct error *error) {
    static const char *const beginnings[] = {"PLUGIN_", "MANIFEST_", "INTERFACE_"};
    for (size_t i = 0; error->code && i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(error->code, beginnings[i], strlen(beginnings[i])) == 0) return true;
    return false;
}

void graph_report_node(struct graph *graph, uint32_t node, const struct error *error) {
    const struct document_node *def = &graph->document->nodes[node];
    const char *message = error->message ? error->message : "it cannot be created";
    bool plugin = is_about_plugin(error);
    struct span span = node_place(def);
    if (plugin)
        span = def->type_span;
    else if (!refused_member(error) || !config_places_at(graph_places(graph), node, refused_member(error), &span))
        (void)config_places_named(graph_places(graph), node, message, &span);
    diagnostics_add(graph->diagnostics, plugin ? ADL_E068 : ADL_E069, graph->document->source, span, "%s", message);
}

void graph_report_retry(struct graph *graph, uint32_t node) {
    const struct document_node *def = &graph->document->nodes[node];
    if (def->retry.max_attempts < 2 || def->retry_span.end == 0 || !component_repeatable(def->component)) return;
    struct diagnostic *it =
        diagnostics_add(graph->diagnostics, ADL_W111, graph->document->source, def->retry_span,
                        "the node is not retried: `%s` runs a nested graph with effects that must not happen twice",
                        value_chars(def->type, NULL));
    bool own = value_get(value_get(schema_document(def->component->config), "properties"), "retry") != NULL;
    diagnostic_suggest(it, own ? "remove it, or write `retry` in `config`, which retries the calls of the model"
                               : "remove it, or write `retry` at the nodes of the nested graph");
}

void graph_report_made(struct graph *graph, struct source *made, const struct diagnostics *found) {
    uint32_t node = graph->building_node;
    const struct document_node *def = &graph->document->nodes[node];
    size_t reported = 0;
    for (size_t i = 0; i < diagnostics_count(found) && reported < MADE_ERRORS_MAX; i++) {
        const struct diagnostic *inner = diagnostics_at(found, i);
        if (inner->severity != DIAGNOSTIC_ERROR) continue;
        struct span span = node_place(def);
        if (inner->source == made) (void)config_places_copied(graph_places(graph), node, made, inner->span, &span);
        struct diagnostic *it =
            diagnostics_add(graph->diagnostics, inner->code, graph->document->source, span,
                            "in the graph of node `%s`: %s", value_chars(def->id, NULL), inner->message);
        if (inner->suggestion) diagnostic_suggest(it, "%s", inner->suggestion);
        reported++;
    }
}
