/*
 * subgraph.c - inner documents: each is read once, with limits for depth and number, and never inside itself.
 *
 * Mistakes of an inner document are reported at their own place; the node that names it is not reported.
 */
#include "adl/document/reader.h"
#include "adl/value/memory.h"
#include <string.h>

/* The catalog's path of this document, which is needed to recognise it further inside. */
static char *own_path(const struct reader *reader) {
    const struct catalog *catalog = reader->catalog;
    const char *name = source_name(reader->source), *slash = strrchr(name, '/'), *why = NULL;
    char *path = NULL;
    tn_value text = catalog->read(catalog->self, name, slash ? slash + 1 : name, &path, &why);
    if (!text) return mem_text(name);
    value_unref(text);
    return path ? path : mem_text(name);
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

static struct document *find_read(const struct session *session, const char *path) {
    for (uint32_t i = 0; i < session->document_count; i++)
        if (strcmp(session->documents[i].path, path) == 0) return session->documents[i].document;
    return NULL;
}

static bool is_active(const struct session *session, const char *path) {
    for (uint32_t i = 0; i < session->depth; i++)
        if (strcmp(session->active[i], path) == 0) return true;
    return false;
}

/* Reads the inner document; takes ownership of `path`. */
static struct document *read_inner(struct session *session, char *path, tn_value text) {
    size_t length;
    const char *bytes = value_chars(text, &length);
    struct source *source = source_new(path, bytes, length);
    session->active[session->depth++] = path;
    struct document *inner = document_read_within(session, source);
    session->depth--;
    source_unref(source);
    MEM_EXTEND(session->documents, session->document_count);
    session->documents[session->document_count].path = path;
    session->documents[session->document_count++].document = inner;
    return inner;
}

struct document *subgraph_open(struct reader *reader, uint32_t node, const char *file, size_t length,
                               struct span span) {
    struct session *session = reader->session;
    const struct catalog *catalog = reader->catalog;
    if (!catalog->read || length == 0) return NULL;
    bool outermost = session->depth == 0;
    if (outermost) session->active[session->depth++] = own_path(reader);
    const char *why = "it does not exist";
    char *path = NULL;
    tn_value text = catalog->read(catalog->self, source_name(reader->source), file, &path, &why);
    struct document *inner = NULL;
    if (text && !path) path = mem_text(file);
    if (!text) {
        report(reader, ADL_E063, span, "the document `%.200s` cannot be read: %s", file, why);
    } else if (is_active(session, path)) {
        report(reader, ADL_E064, span, "the document `%.200s` contains this one: it would run inside itself", file);
    } else if ((inner = find_read(session, path)) == NULL) {
        size_t size;
        value_chars(text, &size);
        if (session->depth > DOCUMENT_SUBGRAPH_DEPTH_MAX) {
            report(reader, ADL_E065, span, "documents are nested more than %u deep", DOCUMENT_SUBGRAPH_DEPTH_MAX);
        } else if (session->document_count >= DOCUMENT_SUBGRAPHS_MAX) {
            report(reader, ADL_E065, span, "one document leads to more than %u others", DOCUMENT_SUBGRAPHS_MAX);
        } else if (size > SOURCE_LENGTH_MAX) {
            report(reader, ADL_E063, span, "the document `%.200s` cannot be read: it is too large", file);
        } else {
            inner = read_inner(session, path, text);
            path = NULL;
        }
    }
    value_unref(text);
    mem_free(path);
    if (outermost) mem_free(session->active[--session->depth]);
    return inner ? subgraph_keep(reader, node, inner) : NULL;
}
