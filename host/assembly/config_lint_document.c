/*
 * config_lint_document.c - checks a document that tenon.yaml names. It is read, but not built, so that no code of a
 * plugin runs.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/document/inner_file.h"
#include "adl/source/source.h"
#include "host/assembly/config_lint.h"
#include "host/assembly/host.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"

static int32_t lint_source(struct host *host, struct source *source, const char *path, config_lint_check *check,
                           struct error *error) {
    struct diagnostics *found = diagnostics_new();
    struct document *document = document_read(source, host_catalog(host), found);
    int32_t status = TN_OK;
    if (check) check(document, found);
    diagnostics_sort(found);
    if (diagnostics_errors(found)) status = graph_refuse(error, path, found);
    document_unref(document);
    diagnostics_free(found);
    return status;
}

int32_t config_lint_document(struct host *host, const char *path, config_lint_check *check, struct error *error) {
    const struct catalog *catalog = &host_engine(host)->catalog;
    struct catalog_file file = {NULL, NULL};
    tn_value text = catalog->read(catalog->read_self, NULL, path, &file, error);
    struct source *source = text ? inner_file_source(NULL, &file, text, SOURCE_SHOWN) : NULL;
    int32_t status = TN_NOT_FOUND;
    if (source)
        status = lint_source(host, source, path, check, error);
    else if (!error->message)
        (void)error_set(error, TN_NOT_FOUND, "LIMIT", "it is too large");
    if (source) source_unref(source);
    value_unref(text);
    catalog_file_finish(&file);
    return status;
}
