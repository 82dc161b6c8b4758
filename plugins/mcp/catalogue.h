/*
 * catalogue.h - what servers listed the last time, kept in files, so that a document can be checked without starting a
 * server.
 *
 * There is one file of mode 0600 for each server, named after what identifies it: its command or URL, and its name. It
 * is only a cache: it is written after each complete list, and a file that cannot be read or written is ignored. Tools
 * that are called are always those of the running server.
 *
 *     catalogue_store(server);                              // after its tools are listed
 *     tn_value known = catalogue_load(server);              // {capabilities, tools}, or NULL
 */
#ifndef MCP_CATALOGUE_H
#define MCP_CATALOGUE_H

#include "server.h"

void catalogue_store(const struct server *server);
/* Returns a new reference; NULL if nothing is known. */
tn_value catalogue_load(const struct server *server);

#endif
