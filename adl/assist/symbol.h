/*
 * symbol.h - what a name means, over all documents of a workspace: its definition, its references, its highlights.
 *
 * A symbol is what several names mean together: a channel of one document is named there, in the prompts that it reads,
 * and in each document that runs it and maps its channels (`input`, `output` of a node). A role that the configuration
 * binds is one symbol for all documents; another role belongs to its document.
 *
 *     const struct assist_workspace workspace = {.names = all, .count = count, .config = config};
 *     struct assist_places *found = assist_references(names, offset, &workspace, true);
 *     for (size_t i = 0; found && i < found->count; i++) show(found->items[i].path, found->items[i].span);
 *     assist_places_free(found);
 *
 * A workspace contains the list of names itself. source_name of each document must be the path that its catalog returns
 * for it (struct catalog_file), because names of files are compared as paths.
 */
#ifndef TENON_ADL_ASSIST_SYMBOL_H
#define TENON_ADL_ASSIST_SYMBOL_H

#include "adl/assist/names.h"

#define ASSIST_PLACES_MAX 50000u /* places of one answer; further ones are left out */

struct tree;

/* Everything is borrowed. */
struct assist_workspace {
    const struct assist_names *const *names;
    size_t count;
    const struct tree *config; /* tenon.yaml, whose `models` binds roles; NULL when the project has no tenon.yaml */
};

/* Borrowed from the list of names or the tree in which it was found. */
struct assist_symbol {
    enum use_kind kind; /* never USE_INNER_CHANNEL or USE_UNREAD */
    const char *text;   /* the name; of documents and files: the path, if it is known */
    size_t length;
    const char *path;  /* the document to which it belongs; NULL if it belongs to all */
    struct span scope; /* USE_ANCHOR: the part of the text in which the name means this; YAML can define it again */
};

/* Finds the symbol of a name. False for USE_UNREAD. */
bool assist_symbol_of(const struct assist_names *names, const struct assist_name *name,
                      const struct assist_workspace *workspace, struct assist_symbol *symbol);
/* Finds the symbol at an offset of the document. False when the offset is in no name. */
bool assist_symbol_at(const struct assist_names *names, uint32_t offset, const struct assist_workspace *workspace,
                      struct assist_symbol *symbol);
/* Finds the role whose key under `models` of tenon.yaml is at the offset. */
bool assist_symbol_in_config(const struct tree *config, uint32_t offset, struct assist_symbol *symbol);
/* The role's key in tenon.yaml; NULL when it does not bind the role. */
const struct tree_item *assist_role_in_config(const struct tree *config, const char *role, size_t length);

typedef void (*assist_symbol_visit)(void *self, const struct assist_names *names, const struct assist_name *name);
/* Visits all names of the symbol, also defaults (USE_DEFAULT), document by document, in the order of the lists. */
void assist_symbol_each(const struct assist_symbol *symbol, const struct assist_workspace *workspace,
                        assist_symbol_visit visit, void *self);

struct assist_place {
    char *path;            /* the document or file; owned */
    struct source *source; /* owned; NULL when only the path is known: then the span is empty */
    struct span span;
    uint32_t access; /* mask of USE_DEFINES … */
};

struct assist_places {
    struct assist_place *items;
    size_t count;
    struct span origin; /* the name at the offset */
    /* A component that is the definition, whose documentation the host can show: "node" "llm"; or "". */
    char component_kind[16], component_id[DOCUMENT_NAME_MAX + 1];
};
void assist_places_free(struct assist_places *places); /* NULL is allowed */

/* Where the symbol at the offset is defined: places, or a component. NULL when the offset is in no name. */
struct assist_places *assist_definition(const struct assist_names *names, uint32_t offset,
                                        const struct assist_workspace *workspace);
/* All places that name the symbol at the offset; without those that define it if `definitions` is false. */
struct assist_places *assist_references(const struct assist_names *names, uint32_t offset,
                                        const struct assist_workspace *workspace, bool definitions);
/* The places in this document only. */
struct assist_places *assist_highlight(const struct assist_names *names, uint32_t offset);

#endif
