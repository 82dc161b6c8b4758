/*
 * lsp_index.h - the documents of the workspace folders that are not open, for features over several documents.
 *
 * The index is made when such a feature is first asked for, and brought up to date by each later request: files whose
 * time or size has changed are read again, on a thread. Open documents are not taken from it.
 *
 *     lsp_index_await(lsp, row, request);                // answers the request when the index is up to date
 *     lsp_index_each(lsp, add_names, me);
 *
 * Files are found by their names (.yaml, .yml, .json) and by their sections, as open ones are. Folders whose names
 * begin with a dot, node_modules and build are left out, and so are links to folders.
 */
#ifndef TENON_HOST_SERVER_LSP_LSP_INDEX_H
#define TENON_HOST_SERVER_LSP_LSP_INDEX_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct assist_names;
struct lsp;
struct lsp_index;
struct lsp_row;
struct peer_request;

#define LSP_INDEX_ENTRIES_MAX 50000u      /* entries of folders that are looked at */
#define LSP_INDEX_FILES_MAX   5000u       /* files that are read */
#define LSP_INDEX_SIZE_MAX    (64u << 20) /* bytes of all documents that are kept */
#define LSP_INDEX_DEPTH_MAX   32u         /* folders inside each other */

/* Keeps the request until the index is up to date, then answers it. */
void lsp_index_await(struct lsp *lsp, const struct lsp_row *row, struct peer_request *request);
/* Visits the documents of the index that are not open; `project` is the path of the tenon.yaml of each, or NULL. */
typedef void (*lsp_index_visit)(void *user, const struct assist_names *names, const char *project);
void lsp_index_each(const struct lsp *lsp, lsp_index_visit visit, void *user);
/* The same with the checked documents, and the number of their check: the resultId of their diagnostics. */
struct assist;
typedef void (*lsp_index_visit_result)(void *user, const struct assist *assist, uint64_t result);
void lsp_index_each_result(const struct lsp *lsp, lsp_index_visit_result visit, void *user);
/* The next request makes it again: what is outside the documents has changed. */
void lsp_index_drop(struct lsp *lsp);
/* The same for the documents of these projects: {path of the tenon.yaml: any}. */
void lsp_index_drop_projects(struct lsp *lsp, tn_value configs);
/* Files have changed: the next request checks those again that name others. */
void lsp_index_touch(struct lsp *lsp);
/* True while a thread works on it: the connection must not be freed. */
bool lsp_index_is_busy(const struct lsp *lsp);
void lsp_index_free(struct lsp *lsp);

#endif
