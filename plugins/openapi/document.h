/*
 * document.h - a description's files (../rest/yaml_file.h), and what `$ref` leads to, in them and in files beside.
 *
 *     struct documents documents = {0};
 *     struct place root;
 *     if (documents_open(&documents, "/etc/acme/api.yaml", &root)) …
 *     struct place schema = place_get(&documents, root, "components");     // references are followed
 *     documents_finish(&documents);
 *
 * Places borrow from the documents. A reference may name a file by a path relative to the file that it stands in; it
 * never goes to the network. What is wrong is logged, once, with the file's name.
 */
#ifndef TENON_PLUGINS_OPENAPI_DOCUMENT_H
#define TENON_PLUGINS_OPENAPI_DOCUMENT_H

#include "text.h"

#define DOCUMENT_FILES_MAX 256u /* of one description */
#define DOCUMENT_REFS_MAX  64u  /* references that lead to references */

struct document {
    struct document *next;
    char *path;
    tn_value root; /* NULL: it cannot be read */
    uint32_t number;
};

struct documents {
    struct document *first;
    uint32_t count;
};

/* A value and the file that it stands in, which its references start from. value NULL: nothing. */
struct place {
    const struct document *document;
    tn_value value;
};

bool documents_open(struct documents *documents, const char *path, struct place *root);
void documents_finish(struct documents *documents);

/* Follows `$ref`s until there is none; nothing where one leads nowhere, which is logged. */
struct place place_resolve(struct documents *documents, struct place place);
/* Where a reference of this place leads, without following what is there. */
struct place place_target(struct documents *documents, struct place place, const char *reference);
/* A member, resolved; an item, resolved. */
struct place place_get(struct documents *documents, struct place place, const char *key);
struct place place_at(struct documents *documents, struct place place, uint64_t index);

#endif
