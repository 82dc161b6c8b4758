/*
 * document.c - the files of a description, and the resolution of references.
 */
#include "document.h"
#include "yaml_file.h"
#include <stdio.h>
#include <stdlib.h>

static void log_document_error(const char *path, const char *what) {
    char message[1024];
    (void)snprintf(message, sizeof(message), "%s: %s", path, what);
    tn_log(TN_LOG_ERROR, message);
}

/* ---- Files ---- */

static char *copy_string(const char *text, size_t length) {
    char *result = tn.core->alloc(tn.host, length + 1);
    if (result == NULL) return NULL;
    memcpy(result, text, length);
    result[length] = 0;
    return result;
}

/* Returns the file, which is read at the first use. A file that cannot be read is also kept, so that it is reported
 * once. */
static const struct document *document_open(struct documents *documents, const char *path) {
    struct document *document;
    for (document = documents->first; document != NULL; document = document->next)
        if (strcmp(document->path, path) == 0) return document;
    if (documents->count >= DOCUMENT_FILES_MAX) return NULL;
    document = tn.core->alloc(tn.host, sizeof(*document));
    if (document == NULL) return NULL;
    *document = (struct document){documents->first, copy_string(path, strlen(path)), NULL, documents->count};
    if (document->path == NULL) {
        tn.core->release(tn.host, document);
        return NULL;
    }
    document->root = yaml_read_file(path, path);
    documents->first = document;
    documents->count++;
    return document;
}

/* Resolves the links of a path, or of the folder that it is in. Free it with free(). */
static char *resolve_folder(const char *path, bool is_file) {
    const char *slash = is_file ? strrchr(path, '/') : NULL;
    struct tn_text_buffer folder = {.limit = 4096};
    if (slash != NULL) tn_text_append_n(&folder, path, (uint64_t)(slash - path + 1));
    if (slash == NULL) tn_text_append(&folder, is_file ? "." : path);
    char *resolved = folder.status == TN_OK ? realpath(tn_text_chars(&folder), NULL) : NULL;
    tn_text_free(&folder);
    return resolved;
}

/* True if the file is in the folder or below it. A file that does not exist is not outside. */
static bool is_inside(const struct documents *documents, const char *path) {
    char *resolved = realpath(path, NULL);
    size_t length = documents->folder != NULL ? strlen(documents->folder) : 0;
    while (length > 0 && documents->folder[length - 1] == '/') length--;
    bool inside = resolved == NULL || (documents->folder != NULL && strncmp(resolved, documents->folder, length) == 0 &&
                                       resolved[length] == '/');
    free(resolved);
    return inside;
}

bool documents_open(struct documents *documents, const char *path, const char *folder, struct document_node *root) {
    const struct document *document = document_open(documents, path);
    documents->folder = resolve_folder(folder != NULL ? folder : path, folder == NULL);
    *root = (struct document_node){document, document != NULL ? document->root : NULL};
    return root->value != NULL;
}

void documents_finish(struct documents *documents) {
    while (documents->first != NULL) {
        struct document *document = documents->first;
        documents->first = document->next;
        tn_release(document->root);
        tn.core->release(tn.host, document->path);
        tn.core->release(tn.host, document);
    }
    documents->count = 0;
    free(documents->folder);
    documents->folder = NULL;
}

/* ---- References ---- */

/* Decodes one segment of a JSON Pointer in a fragment: percent-encoding, then ~1 and ~0. */
static bool decode_pointer_segment(struct tn_text_buffer *out, const char *part, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = part[i], code[3] = {0};
        if (c == '%' && i + 2 < length) {
            char *end;
            memcpy(code, part + i + 1, 2);
            c = (char)strtol(code, &end, 16);
            if (*end != 0 || c == 0) return false;
            i += 2;
        }
        if (c == '~' && i + 1 < length && (part[i + 1] == '0' || part[i + 1] == '1')) c = part[++i] == '0' ? '~' : '/';
        tn_text_append_n(out, &c, 1);
    }
    return out->status == TN_OK;
}

static tn_value resolve_segment(tn_value value, const char *name) {
    char *end;
    if (tn.value->kind(value) != TN_ARRAY) return tn_get(value, name);
    unsigned long index = strtoul(name, &end, 10);
    return *name != 0 && *end == 0 ? tn.value->at(value, index) : NULL;
}

static tn_value follow_reference(tn_value value, const char *pointer) {
    while (value != NULL && *pointer == '/') {
        size_t length = strcspn(++pointer, "/");
        struct tn_text_buffer name = {.limit = 4096};
        value = decode_pointer_segment(&name, pointer, length) ? resolve_segment(value, tn_text_chars(&name)) : NULL;
        tn_text_free(&name);
        pointer += length;
    }
    return *pointer == 0 ? value : NULL;
}

static const struct document *document_sibling_path(struct documents *documents, const struct document *from,
                                                    const char *name, size_t length) {
    const char *slash = strrchr(from->path, '/');
    struct tn_text_buffer path = {.limit = 4096};
    if (length == 0) return from;
    if (length > 8 && (strncmp(name, "http://", 7) == 0 || strncmp(name, "https://", 8) == 0)) return NULL;
    if (name[0] != '/' && slash != NULL) tn_text_append_n(&path, from->path, (uint64_t)(slash - from->path + 1));
    (void)decode_pointer_segment(&path, name, length);
    bool inside = path.status == TN_OK && is_inside(documents, tn_text_chars(&path));
    const struct document *found = inside ? document_open(documents, tn_text_chars(&path)) : NULL;
    if (!inside && !documents->quiet)
        log_document_error(from->path,
                           "a reference leads out of the folder of the description; `reference_root` of the "
                           "service permits another folder");
    tn_text_free(&path);
    return found;
}

struct document_node node_follow_reference(struct documents *documents, struct document_node node,
                                           const char *reference) {
    size_t length = strcspn(reference, "#");
    const struct document *document = document_sibling_path(documents, node.document, reference, length);
    struct document_node found = {document, document != NULL ? document->root : NULL};
    if (found.value != NULL && reference[length] == '#')
        found.value = follow_reference(found.value, reference + length + 1);
    if (found.value == NULL && !documents->quiet) {
        char message[512];
        (void)snprintf(message, sizeof(message), "the reference `%.300s` has no target%s", reference,
                       strncmp(reference, "http", 4) == 0 ? ": references to the network are not followed" : "");
        log_document_error(node.document->path, message);
    }
    return found;
}

struct document_node node_resolve(struct documents *documents, struct document_node node) {
    for (uint32_t i = 0; i < DOCUMENT_REFS_MAX && node.value != NULL; i++) {
        const char *reference = tn_chars(tn_get(node.value, "$ref"), NULL);
        if (reference == NULL) return node;
        node = node_follow_reference(documents, node, reference);
    }
    return (struct document_node){node.document, NULL};
}

struct document_node node_resolve_quietly(struct documents *documents, struct document_node node) {
    documents->quiet = true;
    struct document_node found = node_resolve(documents, node);
    documents->quiet = false;
    return found;
}

struct document_node node_get(struct documents *documents, struct document_node node, const char *key) {
    return node_resolve(documents, (struct document_node){node.document, tn_get(node.value, key)});
}

struct document_node node_get_item(struct documents *documents, struct document_node node, uint64_t index) {
    return node_resolve(documents, (struct document_node){node.document, tn.value->at(node.value, index)});
}
