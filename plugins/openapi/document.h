/*
 * document.h - the files of a description (../rest/yaml_file.h), and the targets of `$ref` in them.
 *
 *     struct documents documents = {0};
 *     struct document_node root;
 *     if (documents_open(&documents, "/etc/acme/api.yaml", &root)) …
 *     struct document_node schema = node_get(&documents, root, "components");     // references are followed
 *     documents_finish(&documents);
 *
 * Nodes borrow from the documents. A reference may name a file by a path relative to its own file. References to the
 * network are not followed. Each error is logged once, with the file's name.
 */
#ifndef TENON_PLUGINS_OPENAPI_DOCUMENT_H
#define TENON_PLUGINS_OPENAPI_DOCUMENT_H

#include "encode.h"

#define DOCUMENT_FILES_MAX 256u /* per description */
#define DOCUMENT_REFS_MAX  64u  /* references to references */

struct document {
    struct document *next;
    char *path;
    tn_value root; /* NULL: the file cannot be read */
    uint32_t number;
};

struct documents {
    struct document *first;
    char *folder; /* the resolved path of the folder that references may not leave */
    uint32_t count;
    bool quiet; /* log nothing */
};

/* A value and its file, which relative references start from. `value` is NULL if there is no value. */
struct document_node {
    const struct document *document;
    tn_value value;
};

/* References may lead to files below `folder`; NULL: below the folder of the description. */
bool documents_open(struct documents *documents, const char *path, const char *folder, struct document_node *root);
void documents_finish(struct documents *documents);

/* Follows `$ref` until a value without one. A reference without a target is logged; the result is empty. */
struct document_node node_resolve(struct documents *documents, struct document_node node);
/* The same without a message: for a part of the description that need not be right. */
struct document_node node_resolve_quietly(struct documents *documents, struct document_node node);
/* Returns the target of a reference, without following `$ref` in it. */
struct document_node node_follow_reference(struct documents *documents, struct document_node node,
                                           const char *reference);
/* A member or an item, resolved. */
struct document_node node_get(struct documents *documents, struct document_node node, const char *key);
struct document_node node_get_item(struct documents *documents, struct document_node node, uint64_t index);

#endif
