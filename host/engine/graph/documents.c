/* documents.c - documents that are kept between two runs of the same text. */
#include "host/engine/graph/documents.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/document/inner_file.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graphs_internal.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

struct documents {
    struct document *kept[DOCUMENTS_MAX]; /* NULL if unused */
    uint32_t next;                        /* the place of the next one */
    uint64_t generation;                  /* of the registry, when all of them were read */
};

/* The catalog of an engine, and whether a file was read. */
struct noted_catalog {
    const struct catalog *catalog;
    bool has_read;
};

static tn_value note_and_read(void *self, const struct source *from, const char *file, struct catalog_file *found,
                              struct error *error) {
    struct noted_catalog *noted = self;
    noted->has_read = true;
    return noted->catalog->read(noted->catalog->read_self, from, file, found, error);
}

struct documents *documents_new(void) {
    return mem_zalloc(sizeof(struct documents));
}

static void documents_clear(struct documents *documents) {
    for (uint32_t i = 0; i < DOCUMENTS_MAX; i++) {
        document_unref(documents->kept[i]);
        documents->kept[i] = NULL;
    }
}

void documents_free(struct documents *documents) {
    if (documents) documents_clear(documents);
    mem_free(documents);
}

static bool is_same_source(const struct source *a, const struct source *b) {
    const char *root = source_root(a), *other = source_root(b);
    return source_length(a) == source_length(b) && source_origin(a) == source_origin(b) &&
           source_view(a) == source_view(b) && strcmp(source_name(a), source_name(b)) == 0 &&
           (root && other ? strcmp(root, other) == 0 : root == other) &&
           memcmp(source_text(a), source_text(b), source_length(a)) == 0;
}

static struct document *documents_lookup(const struct documents *documents, const struct source *source) {
    for (uint32_t i = 0; i < DOCUMENTS_MAX && documents->kept[i]; i++)
        if (is_same_source(documents->kept[i]->source, source)) return documents->kept[i];
    return NULL;
}

static void documents_keep(struct documents *documents, struct document *document) {
    struct document **place = &documents->kept[documents->next++ % DOCUMENTS_MAX];
    document_unref(*place);
    *place = document_ref(document);
}

/* Both only increase. */
static uint64_t generation_of(const struct registry *registry) {
    return registry_generation(registry) + registry_upgrades(registry);
}

struct document *documents_read(struct engine *engine, struct source *source, struct diagnostics *found) {
    struct documents *documents = engine->graphs->documents;
    uint64_t generation = generation_of(engine->registry);
    /* What can be used while a plugin is quiesced is checked each time. */
    bool can_keep = source_length(source) <= DOCUMENTS_TEXT_MAX && !registry_is_quiescing(engine->registry);
    if (documents->generation != generation) documents_clear(documents);
    documents->generation = generation;
    struct document *known = can_keep ? documents_lookup(documents, source) : NULL;
    if (known) return document_ref(known);
    struct noted_catalog noted = {.catalog = &engine->catalog};
    struct catalog catalog = engine->catalog;
    if (catalog.read) {
        catalog.read = note_and_read;
        catalog.read_self = &noted;
    }
    size_t findings = diagnostics_count(found);
    struct document *document = document_read(source, &catalog, found);
    if (can_keep && !noted.has_read && diagnostics_count(found) == findings &&
        generation_of(engine->registry) == generation)
        documents_keep(documents, document);
    return document;
}

static int32_t open_source(struct engine *engine, const char *name, struct source *source, documents_check *check,
                           struct document **out, struct error *error) {
    struct diagnostics *found = diagnostics_new();
    struct document *document = documents_read(engine, source, found);
    int32_t status = TN_OK;
    if (check) check(document, found);
    diagnostics_sort(found);
    if (diagnostics_errors(found))
        status = graph_refuse(error, name, found);
    else
        *out = document_ref(document);
    document_unref(document);
    diagnostics_free(found);
    return status;
}

int32_t documents_open(struct engine *engine, const char *name, documents_check *check, struct document **out,
                       struct error *error) {
    struct catalog_file file = {NULL, NULL};
    tn_value text = engine->catalog.read(engine->catalog.read_self, NULL, name, &file, error);
    struct source *source = text ? inner_file_source(NULL, &file, text, SOURCE_SHOWN) : NULL;
    int32_t status = TN_NOT_FOUND;
    if (source)
        status = open_source(engine, name, source, check, out, error);
    else if (text)
        (void)error_set(error, TN_NOT_FOUND, "LIMIT", "it is too large");
    source_unref(source);
    value_unref(text);
    catalog_file_finish(&file);
    return status;
}
