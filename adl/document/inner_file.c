/*
 * inner_file.c - the sources of files that documents name.
 */
#include "adl/document/inner_file.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/reader.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include <string.h>

void catalog_file_finish(struct catalog_file *file) {
    mem_free(file->path);
    mem_free(file->root);
    *file = (struct catalog_file){NULL, NULL};
}

tn_value read_named_file(struct reader *reader, const char *file, size_t length, struct catalog_file *found,
                         struct error *error) {
    struct session *session = reader->session;
    if (memchr(file, '\0', length)) {
        error_set(error, TN_INVALID, "IO", "its name contains a NUL character");
        return NULL;
    }
    if (session->file_bytes <= DOCUMENT_FILES_MAX) {
        tn_value text = reader->catalog->read(reader->catalog->read_self, reader->source, file, found, error);
        size_t bytes = 0;
        if (text) value_chars(text, &bytes);
        session->file_bytes += bytes;
        if (session->file_bytes <= DOCUMENT_FILES_MAX) return text;
        value_unref(text);
        catalog_file_finish(found);
    }
    error_finish(error);
    error_set(error, TN_LIMIT, "LIMIT", "the files that this document names have more than %u MiB in all",
              DOCUMENT_FILES_MAX >> 20);
    return NULL;
}

/* What a text without a file reaches is hidden, and so is everything that a hidden file reaches. */
static bool hides_its_files(const struct source *from) {
    return source_origin(from) == SOURCE_WITHOUT_FILE || source_view(from) == SOURCE_HIDDEN;
}

struct source *inner_file_source(const struct source *from, const struct catalog_file *found, tn_value text,
                                 enum source_view view) {
    size_t length;
    const char *bytes = value_chars(text, &length);
    if (length > SOURCE_LENGTH_MAX) return NULL;
    struct source *source = source_new(found->path, bytes, length);
    source_set_origin(source, from ? SOURCE_OF_DOCUMENT : SOURCE_OF_OPERATOR, found->root);
    source_set_view(source, from && hides_its_files(from) ? SOURCE_HIDDEN : view);
    return source;
}

bool inner_file_is_document(struct source *source) {
    struct diagnostics *ignored = diagnostics_new();
    struct tree *tree = tree_read(source, NULL, ignored);
    const struct tree_node *root = tree_root(tree);
    bool is_document =
        root->kind == TN_OBJECT && (tree_get(root, "nodes") || (tree_get(root, "version") && tree_get(root, "agent")));
    tree_free(tree);
    diagnostics_free(ignored);
    return is_document;
}
