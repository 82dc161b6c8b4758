/*
 * connect.h - the node `mcp.connect`: adds servers while the host runs, and removes servers that it has added.
 *
 * Servers that it adds live until another such node removes them, or the plugin ends. The node ends when each server is
 * ready or has failed.
 *
 *     status = connect_create(config, binder, &connector);
 *     status = connect_start(connector, task);
 *     connect_destroy(connector);
 */
#ifndef MCP_CONNECT_H
#define MCP_CONNECT_H

#include "server.h"

struct connector;

int32_t connect_create(tn_value config, tn_binder *binder, struct connector **out);
int32_t connect_start(struct connector *connector, tn_task task);
void connect_cancel(tn_task task);
void connect_destroy(struct connector *connector); /* NULL is allowed */
/* A server is ready, or has failed, or was removed. */
void connect_notify(void);

#endif
