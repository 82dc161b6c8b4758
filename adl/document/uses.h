/*
 * uses.h - where a document defines and uses names, observed while it is read.
 *
 * The reader resolves every name of a document: ids of nodes, channels, roles, names in expressions and templates, and
 * the texts of configs that a schema annotates. An observer receives each of them with its exact place, so that
 * nothing has to be searched in the text. Names in documents inside the document are not observed.
 *
 *     static void on_use(void *self, const struct document_use *use) { keep(self, use->kind, use->name, use->span); }
 *
 *     const struct use_observer observer = {.self = list, .use = on_use};
 *     struct document *document = document_read_observed(tree, &catalog, found, &observer);
 *
 * Names are observed in the order of reading, and one place can be observed twice. All pointers are valid only during
 * the call.
 */
#ifndef TENON_ADL_DOCUMENT_USES_H
#define TENON_ADL_DOCUMENT_USES_H

#include "adl/document/document.h"
#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum use_kind {
    USE_NODE,      /* the id of a node; without START and END */
    USE_CHANNEL,   /* also a name that is not declared, where a channel is expected */
    USE_ITEM,      /* the name of the items of a map edge (`as`) */
    USE_ROLE,      /* a role of models */
    USE_TOOL,      /* the id of a tool, or a pattern */
    USE_NODE_TYPE, /* the id of a component … */
    USE_PROVIDER,
    USE_REDUCER,
    USE_DOCUMENT,      /* the name of a document that a node runs */
    USE_FILE,          /* the name of another file */
    USE_INNER_CHANNEL, /* a channel of the document at `path` */
    USE_ANCHOR,        /* an anchor of YAML, or an alias; not observed, see adl/assist/assist.c */
    USE_UNREAD,        /* not a name: a text that could not be read, and that may contain names */
    USE_WHOLE_STATE,   /* not a name: an expression that uses `state` as a whole, and may name channels in texts */
    USE_EXPRESSION,    /* not a name: an expression of the document … */
    USE_TEMPLATE,      /* … or a template */
    USE_KINDS
};

/* What is done with the name there; 0 if it is only named. */
#define USE_DEFINES (1u << 0)
#define USE_READS   (1u << 1)
#define USE_WRITES  (1u << 2)

enum use_form {
    USE_SCALAR,  /* the name is a whole scalar */
    USE_KEY,     /* the name is a key of a mapping */
    USE_PART,    /* the name is a part of a scalar: the provider of `openai:gpt-4o` */
    USE_FIELD,   /* in an expression: `state.name` */
    USE_INDEXED, /* in an expression: `state["name"]` */
    USE_BARE,    /* in a template: `{name}` */
    USE_DEFAULT, /* the name is a default of a schema: not in the text */
    USE_NOWHERE, /* in an expression or a template, but its place is not known: in a default, for example */
};

struct document_use {
    enum use_kind kind;
    enum use_form form;
    uint32_t access;       /* mask of USE_DEFINES … */
    struct source *source; /* the document's, or that of a file with a template */
    struct span span;      /* exactly the name; of a default: the config's key, or the node's type */
    struct span token;     /* the same with quotes */
    const char *name;      /* not NUL-terminated */
    size_t length;
    uint32_t node;       /* the node whose definition has it; UINT32_MAX elsewhere */
    const char *pointer; /* its place in the config of `node`, a JSON Pointer; NULL elsewhere */
    const char *path;    /* documents, files and inner channels: the path of the file; NULL when it could not be read */
};

struct use_observer {
    void *self;
    void (*use)(void *self, const struct document_use *use);
};

/* Like document_read_tree, and calls `observer` for each name. */
struct document *document_read_observed(struct tree *tree, const struct catalog *catalog, struct diagnostics *found,
                                        const struct use_observer *observer);

#endif
