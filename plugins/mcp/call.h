/*
 * call.h - one call of a server's tool: a task in the host, and one or more requests to the server.
 *
 * A call ends with its task, with one exception: if a server before 2026-07-28 asks a person during the call, the task
 * ends with an interrupt, and the call stays without a task until the answer brings a new one. The continuation
 * contains enough to repeat the call if it no longer exists: the server gets the same answer when it asks the same
 * question again.
 *
 *     mcp_call_start(tool, task, input, model);      // ends the task, now or later
 *     mcp_call_cancel(server, task);
 */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include "server.h"

/* `model` is what bind_call returned for the server's role, or TN_UNBOUND if it has no role. */
int32_t mcp_call_start(struct tool *tool, tn_task task, tn_value input, uint32_t model);
void mcp_call_cancel(struct server *server, tn_task task);

const struct call *mcp_call_next(const struct call *call);
bool mcp_call_is_waiting(const struct call *call); /* until the server is ready */
bool mcp_call_has_task(const struct call *call);
uint32_t calls_count_for_tool(const struct server *server, const struct tool *tool);

/* Events of the server: */
void calls_start_waiting(struct server *server);                                   /* starts the waiting calls */
void calls_fail_waiting(struct server *server, const char *code, const char *why); /* fails the waiting calls */
void calls_progress(struct server *server, int64_t request, tn_value params);
void calls_add_question(struct server *server, tn_value id, const char *method, tn_value params, int64_t origin);
void calls_withdraw_question(struct server *server, tn_value id);
void calls_handle_session_end(struct server *server); /* the session has ended; call it after session_fail_all */
void calls_free(struct server *server);

#endif
