/*
 * lsp.h - the language server: a service of connections (server/connection.h).
 *
 *     struct lsp_hosts *hosts = lsp_hosts_new(host, NULL, NULL);
 *     connections_new(server, &lsp_service, hosts);
 *     …                                                     // all connections are closed
 *     lsp_hosts_free(hosts);
 *
 * The features are functions in adl/assist; this room keeps the open documents, checks them on a thread, and
 * translates. README.md describes it. All functions are [loop].
 *
 * A client that may not name files (connection_names_files) gets features of the texts that it sends: nothing on the
 * disk is read for it, and documents have no project but that of the server.
 */
#ifndef TENON_HOST_SERVER_LSP_LSP_H
#define TENON_HOST_SERVER_LSP_LSP_H

#include "host/server/connection.h"

struct error;
struct host;
struct lsp_hosts;

#define LSP_DOCUMENTS_MAX  1000u /* open documents of a connection; further ones are not checked, and reported once */
#define LSP_TEXTS_SIZE_MAX ((size_t)256 << 20) /* bytes of all open documents of a connection; the same */
#define LSP_TOKENS_PART    16u  /* semantic tokens that are kept: one sixteenth of the bytes that documents may have */
#define LSP_FOLDERS_MAX    100u /* workspace folders of a connection; further ones are not searched */
#define LSP_PROJECTS_MAX   64u /* projects with their own tenon.yaml; documents of further ones use the server's host */
#define LSP_WORKSPACE_DIAGNOSTICS_MAX                                                                                  \
    20000u                    /* in one answer to workspace/diagnostic; further documents have no report */
#define LSP_WAITING_MAX 1000u /* requests of a document that wait for its check */

extern const struct connection_service lsp_service; /* its user is a struct lsp_hosts */

/*
 * What connections share: the host of the server, and hosts for documents of other projects, whose nearest tenon.yaml
 * is another one. `open` makes such a host; without `config`, one like that of the server, because files of plugins
 * have changed. NULL: all documents use the host of the server, and changed files of plugins are not noticed.
 */
typedef struct host *lsp_open_host(void *user, const char *config, struct error *error);
struct lsp_hosts *lsp_hosts_new(struct host *host, lsp_open_host *open, void *user);
/*
 * All documents have the configuration of the server's host, because the person has named it. `open` is then called
 * with NULL, and only if files of plugins have changed.
 */
void lsp_hosts_fix_config(struct lsp_hosts *hosts);
/*
 * Plugins that came with the host and add components at run time are loaded for checks, so that names are known. Those
 * that tenon.yaml configures, such as MCP servers, start programs: only after this call.
 */
void lsp_hosts_start_tools(struct lsp_hosts *hosts);
void lsp_hosts_limit_texts(struct lsp_hosts *hosts, size_t bytes); /* instead of LSP_TEXTS_SIZE_MAX: for tests */
void lsp_hosts_free(struct lsp_hosts *hosts);                      /* NULL is allowed; no connection may be open */

#endif
