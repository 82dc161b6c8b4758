/*
 * lsp_edit.c - places and edits, as features of adl/assist return them, for the client.
 */
#include "adl/assist/edit.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include <string.h>

tn_value lsp_string(const char *text) { return value_string_lossy(text, strlen(text)); }

tn_value lsp_uri_of_path(const struct lsp *lsp, const char *path) {
    const struct lsp_text *text = lsp_text_at_path(lsp, path);
    if (text) return value_text(text->uri);
    return path[0] == '/' ? lsp_path_uri(path) : value_text(path); /* a document without a file has its URI as name */
}

tn_value lsp_uri_of_file(const struct lsp_text *text, const char *name) {
    const struct catalog *catalog = text->assist->world->catalog;
    struct catalog_file found = {NULL, NULL};
    struct error error = ERROR_INIT;
    tn_value content = catalog->read(catalog->read_self, text->checked, name, &found, &error);
    tn_value uri = content && found.path ? lsp_uri_of_path(text->lsp, found.path) : NULL;
    value_unref(content);
    catalog_file_finish(&found);
    error_finish(&error);
    return uri;
}

tn_value lsp_location(const struct lsp *lsp, const struct source *source, struct span span) {
    tn_value location = value_set_take(value_object_reserve(2), "uri", lsp_uri_of_path(lsp, source_name(source)));
    return value_set_take(location, "range", lsp_range(source, span, lsp->unit));
}

tn_value lsp_text_edit(const struct lsp *lsp, const struct source *source, struct span span, const char *chars,
                       size_t length) {
    tn_value edit = value_set_take(value_object_reserve(2), "range", lsp_range(source, span, lsp->unit));
    return value_set_take(edit, "newText", value_string_lossy(chars, length));
}

/* ---- WorkspaceEdit ---- */

/* {uri, version}: the version of an open document, or null. */
static tn_value versioned_document(const struct lsp *lsp, const char *path) {
    const struct lsp_text *text = lsp_text_at_path(lsp, path);
    tn_value document = value_set_take(value_object_reserve(2), "uri", lsp_uri_of_path(lsp, path));
    return value_set_take(document, "version", text ? value_int(text->version) : value_null());
}

/* Takes `edits`. */
static tn_value document_edit(tn_value document, tn_value edits) {
    tn_value change = value_set_take(value_object_reserve(2), "textDocument", document);
    return value_set_take(change, "edits", edits);
}

/* The edits of the file of items[first]; *next is the first item of another file. */
static tn_value edits_of_file(const struct lsp *lsp, const struct assist_edits *edits, size_t first, size_t *next) {
    tn_value list = value_array();
    const struct source *source = edits->items[first].source;
    size_t i = first;
    for (; i < edits->count && edits->items[i].source == source; i++) {
        const struct assist_edit *edit = &edits->items[i];
        list = value_push_take(list, lsp_text_edit(lsp, source, edit->span, edit->text, strlen(edit->text)));
    }
    *next = i;
    return list;
}

/* Two changes: the file is created, and gets its text. */
static tn_value push_new_file(const struct lsp *lsp, tn_value changes, const struct assist_new_file *file) {
    struct source *empty = source_new(file->path, "", 0);
    tn_value create = value_set_take(value_object_reserve(2), "kind", value_text("create"));
    changes = value_push_take(changes, value_set_take(create, "uri", lsp_uri_of_path(lsp, file->path)));
    tn_value edit = lsp_text_edit(lsp, empty, (struct span){0, 0}, file->text, strlen(file->text));
    tn_value list = value_push_take(value_array(), edit);
    source_unref(empty);
    return value_push_take(changes, document_edit(versioned_document(lsp, file->path), list));
}

static tn_value document_changes(const struct lsp *lsp, const struct assist_edits *edits) {
    tn_value changes = value_array();
    for (size_t i = 0; i < edits->file_count; i++) changes = push_new_file(lsp, changes, &edits->files[i]);
    for (size_t i = 0; i < edits->count;) {
        const char *path = source_name(edits->items[i].source);
        tn_value list = edits_of_file(lsp, edits, i, &i);
        changes = value_push_take(changes, document_edit(versioned_document(lsp, path), list));
    }
    return value_set_take(value_object_reserve(1), "documentChanges", changes);
}

/* {uri: edits}, which every client knows. */
static tn_value plain_changes(const struct lsp *lsp, const struct assist_edits *edits) {
    tn_value changes = value_object();
    for (size_t i = 0; i < edits->count;) {
        tn_value uri = lsp_uri_of_path(lsp, source_name(edits->items[i].source));
        changes = value_set_key_take(changes, uri, edits_of_file(lsp, edits, i, &i));
    }
    return value_set_take(value_object_reserve(1), "changes", changes);
}

bool lsp_can_create_files(const struct lsp *lsp) { return lsp->can.document_changes && lsp->can.creates_files; }

tn_value lsp_workspace_edit(struct lsp *lsp, const struct assist_edits *edits, struct error *error) {
    if (edits->refusal) {
        (void)error_set(error, TN_FAILED, "FAILED", "%s", edits->refusal);
        return NULL;
    }
    if (edits->file_count && !lsp_can_create_files(lsp)) {
        (void)error_set(error, TN_UNSUPPORTED, "UNSUPPORTED", "%s", LSP_CANNOT_CREATE);
        return NULL;
    }
    return lsp->can.document_changes ? document_changes(lsp, edits) : plain_changes(lsp, edits);
}
