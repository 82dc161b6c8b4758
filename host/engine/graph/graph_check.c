/*
 * graph_check.c - checks a document completely, without a run.
 */
#include "host/engine/graph/graph_check.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"

/*
 * Most mistakes are reported at their place while the graph is built. A failure that was not is reported at the
 * beginning of the document.
 */
static void graph_check_build(struct engine *engine, struct document *document, const struct graph_origin *origin,
                              struct diagnostics *found) {
    struct error error = ERROR_INIT;
    struct graph *graph = NULL;
    size_t errors = diagnostics_errors(found);
    struct graph_origin checked = *origin;
    checked.diagnostics = found;
    checked.check = true;
    if (graph_build(engine, document, &checked, &graph, &error) != TN_OK && diagnostics_errors(found) == errors)
        diagnostics_add(found, ADL_E069, document->source, (struct span){0, 0}, "%s", error.message);
    graph_unref(graph);
    error_finish(&error);
}

struct document *graph_check(struct engine *engine, struct source *source, const struct graph_origin *origin,
                             struct diagnostics *found) {
    size_t errors = diagnostics_errors(found);
    struct document *document = document_read(source, &engine->catalog, found);
    if (diagnostics_errors(found) == errors) graph_check_build(engine, document, origin, found);
    return document;
}
