/*
 * call.h - one call of a server's tool: a task here, one request or several there.
 *
 * It ends with its task, but for one case: where the server asks a person while it works (as servers before 2026-07-28
 * do), the task ends by its interrupt and the call stays, without a task, until the answer brings one. Its continuation
 * says enough to make the call anew where it is gone by then: asked the same again, the server gets the same answer.
 *
 *     call_start(tool, task, input, model);      // the task is ended, now or later
 *     call_cancel(server, task);
 */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include "server.h"

/* `model`: what bind_call gave for the server's role; TN_UNBOUND where it has none. */
int32_t call_start(struct tool *tool, tn_task task, tn_value input, uint32_t model);
void call_cancel(struct server *server, tn_task task);

const struct call *call_after(const struct call *call);
bool call_waits(const struct call *call);   /* for the server to be ready */
bool call_is_open(const struct call *call); /* it has a task */
uint32_t calls_of(const struct server *server, const struct tool *tool);

/* From the server: */
void calls_ready(struct server *server);                                   /* those that waited begin */
void calls_fail(struct server *server, const char *code, const char *why); /* all of them */
void calls_progress(struct server *server, int64_t request, tn_value params);
void calls_asked(struct server *server, tn_value id, const char *method, tn_value params, int64_t origin);
void calls_withdrawn(struct server *server, tn_value id);
void calls_lost(struct server *server); /* the session is over: after session_fail_all */
void calls_free(struct server *server);

#endif
