/*
 * registering.h - keeps the registry in line with a server's list of tools.
 *
 * The pages of one list come between begin and end. Unchanged tools stay registered, so their users are not affected.
 *
 *     registering_begin(server);
 *     while (registering_page(server, tools)) tools = next_page();
 *     registering_end(server);                            // removes tools that were not listed
 */
#ifndef MCP_REGISTERING_H
#define MCP_REGISTERING_H

#include "server.h"

/* Adds resources and prompts if the server has them; `capabilities`: what it announced. */
void registering_methods(struct server *server, tn_value capabilities);
/* Adds what catalogue_load returned. */
void registering_known(struct server *server, tn_value catalogue);
void registering_begin(struct server *server);
/* Returns false if the server has too many tools; that has been logged. */
bool registering_page(struct server *server, tn_value tools);
void registering_end(struct server *server);
void registering_keep_all(struct server *server);   /* the list could not be read: keep the old tools */
void registering_remove_all(struct server *server); /* the server leaves */
void registering_clear(struct server *server);      /* frees all without the registry, because the plugin ends */

#endif
