/*
 * documents.h - the documents that were read without a finding, so that a file that is opened for each run is not read
 * and checked each time.
 *
 * A document is kept by the name, the root and the text of its source, until a component or plugin is added or removed.
 * One that has findings is not kept, because they are reported each time; nor is one whose check has read other files,
 * because they can change.
 *
 *     struct document *document = documents_read(engine, source, found);     // as document_read
 *     …
 *     document_unref(document);
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_ENGINE_GRAPH_DOCUMENTS_H
#define TENON_HOST_ENGINE_GRAPH_DOCUMENTS_H

#include <stdint.h>

#define DOCUMENTS_MAX      64u         /* documents that are kept; another one replaces the oldest */
#define DOCUMENTS_TEXT_MAX (64u << 10) /* bytes of a text that is kept */

struct diagnostics;
struct document;
struct documents;
struct engine;
struct error;
struct source;

struct documents *documents_new(void);
void documents_free(struct documents *documents); /* NULL is allowed */

/*
 * document_read with the catalog of the engine. The document may be an earlier one of an equal source: then its source
 * is that one. A new reference.
 */
struct document *documents_read(struct engine *engine, struct source *source, struct diagnostics *found);

typedef void documents_check(const struct document *document, struct diagnostics *found);
/*
 * Reads the document that the operator names by its path or as `graph:NAME`, without building it, so that no code of a
 * plugin runs. `check` (may be NULL) finds further mistakes. TN_NOT_FOUND if it cannot be read, TN_INVALID if it has
 * mistakes; `error` has the reason. *out is a new reference.
 */
int32_t documents_open(struct engine *engine, const char *name, documents_check *check, struct document **out,
                       struct error *error);

#endif
