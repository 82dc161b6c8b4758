/*
 * registering.h - a server's tools and the host's registry, kept the same.
 *
 * Between begin and end come the pages of one list; what stays is left alone, so that nobody who uses it notices.
 *
 *     registering_begin(server);
 *     while (registering_page(server, tools)) tools = next_page();
 *     registering_end(server);                            // what did not come is gone
 */
#ifndef MCP_REGISTERING_H
#define MCP_REGISTERING_H

#include "server.h"

void registering_methods(struct server *server); /* resources and prompts, where the server has them */
void registering_begin(struct server *server);
/* False: the server has too many, and that has been said. */
bool registering_page(struct server *server, tn_value tools);
void registering_end(struct server *server);
void registering_keep_all(struct server *server); /* the list did not come: what there was stays */
void registering_forget(struct server *server);   /* all of them, without the registry: the plugin ends */

#endif
