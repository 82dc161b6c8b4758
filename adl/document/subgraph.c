/*
 * subgraph.c - inner documents: each is read once, with limits for depth and number, and never inside itself.
 *
 * Mistakes of an inner document are reported at their own place; the node that names it is not reported.
 */
#include "adl/document/inner_file.h"
#include "adl/document/reader.h"
#include "adl/value/memory.h"
#include <string.h>

/* The catalog's path of this document, which is needed to recognise it further inside. */
static char *own_path(const struct reader *reader) {
    const struct catalog *catalog = reader->catalog;
    const char *name = source_name(reader->source), *slash = strrchr(name, '/');
    if (source_origin(reader->source) == SOURCE_WITHOUT_FILE) return mem_text(name);
    struct catalog_file found = {NULL, NULL};
    struct error error = ERROR_INIT;
    tn_value text = catalog->read(catalog->read_self, reader->source, slash ? slash + 1 : name, &found, &error);
    char *path = mem_text(text ? found.path : name);
    value_unref(text);
    catalog_file_finish(&found);
    error_finish(&error);
    return path;
}

static struct document *subgraph_keep(struct reader *reader, uint32_t node, struct document *inner) {
    struct document_whole *whole = reader->whole;
    uint32_t count = whole->subgraph_count;
    MEM_EXTEND(whole->subgraphs, count);
    MEM_EXTEND(whole->subgraph_nodes, count);
    whole->subgraphs[count] = document_ref(inner);
    whole->subgraph_nodes[count] = node;
    whole->subgraph_count++;
    return inner;
}

/* A document that was found below another root can name other files, so it is another document. */
static struct document *find_read(const struct session *session, const struct catalog_file *found) {
    for (uint32_t i = 0; i < session->document_count; i++) {
        struct document *document = session->documents[i];
        if (strcmp(source_name(document->source), found->path) == 0 &&
            strcmp(source_root(document->source), found->root) == 0)
            return document;
    }
    return NULL;
}

static bool is_active(const struct session *session, const char *path) {
    for (uint32_t i = 0; i < session->depth; i++)
        if (strcmp(session->active[i], path) == 0) return true;
    return false;
}

static struct document *read_inner(struct session *session, struct source *source) {
    session->active[session->depth++] = source_name(source);
    struct tree *tree = tree_read(source, NULL, session->found);
    struct document *inner = document_read_within(session, tree);
    tree_free(tree);
    session->depth--;
    MEM_EXTEND(session->documents, session->document_count);
    session->documents[session->document_count++] = inner;
    return inner;
}

/* Reads the inner document whose text a file has, or reports why it cannot be used. */
static struct document *subgraph_read(struct reader *reader, const struct catalog_file *found, tn_value text,
                                      const char *file, struct span span) {
    struct session *session = reader->session;
    if (is_active(session, found->path)) {
        report(reader, ADL_E064, span, "the document `%.200s` contains this one: it would run inside itself", file);
        return NULL;
    }
    struct document *inner = find_read(session, found);
    if (inner) return inner;
    if (session->depth > DOCUMENT_SUBGRAPH_DEPTH_MAX) {
        report(reader, ADL_E065, span, "documents are nested more than %u deep", DOCUMENT_SUBGRAPH_DEPTH_MAX);
        return NULL;
    }
    if (session->document_count >= DOCUMENT_SUBGRAPHS_MAX) {
        report(reader, ADL_E065, span, "one document leads to more than %u others", DOCUMENT_SUBGRAPHS_MAX);
        return NULL;
    }
    struct source *source = inner_file_source(reader->source, found, text, SOURCE_SHOWN);
    if (!source)
        report(reader, ADL_E063, span, "the document `%.200s` cannot be read: it is too large", file);
    else if (!inner_file_is_document(source))
        report(reader, ADL_E063, span,
               "the file `%.200s` is not a document: expected a mapping with `version` and `nodes`", file);
    else
        inner = read_inner(session, source);
    source_unref(source);
    return inner;
}

struct document *subgraph_open(struct reader *reader, uint32_t node, const char *file, size_t length,
                               struct span span) {
    struct session *session = reader->session;
    const struct catalog *catalog = reader->catalog;
    if (!catalog->read || length == 0) return NULL;
    char *outermost = session->depth == 0 ? own_path(reader) : NULL;
    if (outermost) session->active[session->depth++] = outermost;
    struct catalog_file found = {NULL, NULL};
    struct error error = ERROR_INIT;
    tn_value text = read_named_file(reader, file, length, &found, &error);
    struct document *inner = NULL;
    if (text)
        inner = subgraph_read(reader, &found, text, file, span);
    else
        report(reader, ADL_E063, span, "the document `%.200s` cannot be read: %s", file, error.message);
    value_unref(text);
    catalog_file_finish(&found);
    error_finish(&error);
    if (outermost) session->depth--;
    mem_free(outermost);
    return inner ? subgraph_keep(reader, node, inner) : NULL;
}
