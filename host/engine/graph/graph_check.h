/*
 * graph_check.h - checks a document completely: its text, and what the components of its nodes refuse.
 *
 * document_read finds the mistakes of the language. A document without these is also built, as for a run, because only
 * a component's create finds the others; the graph is then discarded. Nothing is run.
 *
 *     struct source *source = source_new("draft.yaml", text, length);
 *     source_set_origin(source, SOURCE_WITHOUT_FILE, NULL);    // not for a file that the operator names
 *     struct diagnostics *found = diagnostics_new();
 *     document_unref(graph_check(engine, source, &(struct graph_origin){0}, found));
 *     diagnostics_sort(found);
 *     bool valid = diagnostics_errors(found) == 0;
 *     diagnostics_free(found);
 *     source_unref(source);
 *
 * The origin of the source decides which files the text may name (adl/source/source.h). [loop]
 */
#ifndef TENON_HOST_ENGINE_GRAPH_GRAPH_CHECK_H
#define TENON_HOST_ENGINE_GRAPH_GRAPH_CHECK_H

struct diagnostics;
struct document;
struct engine;
struct graph_origin;
struct source;

/*
 * Adds the mistakes to `found`, which may have those of other documents. `check` and `diagnostics` of the origin are
 * ignored. Returns the document as document_read does: never NULL, incomplete if the text has errors, and the caller
 * owns one reference.
 */
struct document *graph_check(struct engine *engine, struct source *source, const struct graph_origin *origin,
                             struct diagnostics *found);

#endif
