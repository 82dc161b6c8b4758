/*
 * lsp.h - the language server: a service of connections (server/connection.h).
 *
 *     struct lsp_hosts *hosts = lsp_hosts_new(host);
 *     connections_new(server, &lsp_service, hosts);
 *     …                                                     // all connections are closed
 *     lsp_hosts_free(hosts);
 *
 * The features are functions in adl/assist; this room keeps the open documents, checks them on a thread, and translates.
 * README.md describes it. All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_LSP_LSP_H
#define TENON_HOST_SERVER_LSP_LSP_H

#include "host/server/connection.h"

struct host;
struct lsp_hosts;

#define LSP_DOCUMENTS_MAX 1000u /* open documents of a connection; further ones are not checked, and reported once */
#define LSP_WAITING_MAX   1000u /* requests of a document that wait for its check */

extern const struct connection_service lsp_service; /* its user is a struct lsp_hosts */

/* What connections share: the host of the server. */
struct lsp_hosts *lsp_hosts_new(struct host *host);
void lsp_hosts_free(struct lsp_hosts *hosts); /* NULL is allowed; no connection may be open */

#endif
