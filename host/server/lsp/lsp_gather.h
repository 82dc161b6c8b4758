/*
 * lsp_gather.h - the workspace of a feature over several documents, for a request with LSP_OF_WORKSPACE.
 *
 *     struct lsp_gathered all;
 *     lsp_gather(lsp, text, &all);
 *     use(&all.workspace);
 *     lsp_gathered_finish(&all);
 */
#ifndef TENON_HOST_SERVER_LSP_LSP_GATHER_H
#define TENON_HOST_SERVER_LSP_LSP_GATHER_H

#include "adl/assist/symbol.h"

struct lsp;
struct lsp_text;
struct tree;

struct lsp_gathered {
    struct assist_workspace workspace;
    const struct assist_names **names;
    size_t count;
    struct tree *config;
    const struct lsp_text *of; /* only documents of its project; NULL: all */
};

/* The documents and the configuration of the project of `of`; all documents, and no configuration, if it is NULL. */
void lsp_gather(struct lsp *lsp, const struct lsp_text *of, struct lsp_gathered *all);
void lsp_gathered_finish(struct lsp_gathered *all);

#endif
