/*
 * server.h - one configured server: its connection, its tools in the registry, and its calls.
 *
 * The tools of a server that has ended stay registered: the next call restarts it, after a delay that grows with each
 * failed start. Calls wait meanwhile. A server never affects another one.
 *
 *     struct server *server = server_new("files", config, &events);
 *     server_connect(server);                       // calls servers_report_settled once
 *     server_free(server);
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "oauth/oauth.h"
#include "session.h"
#include "tool.h"

enum server_state { SERVER_IDLE, SERVER_STARTING, SERVER_LISTING, SERVER_READY, SERVER_RESTING };

struct call;

struct server {
    struct server *next;
    char *name;
    tn_value config; /* its entry in the configuration */
    enum server_state state;
    char *why; /* why it is not ready, or NULL */
    struct session *session;
    struct tool *tools;
    uint32_t tool_count, skipped;
    uint32_t added; /* tools ever registered */
    struct call *calls;
    /* The list of tools that is being read. */
    tn_value cursor;
    uint32_t pages;
    int64_t until_ms;           /* monotonic clock: the list ends by then, or fails */
    bool listing, list_changed; /* the list is being read; it has changed meanwhile */
    uint32_t lists_at_once;     /* that were read again as soon as the list had changed */
    int64_t listed_ms;          /* monotonic clock: the end of the last list */
    uint64_t list_timer;        /* the post that reads the list again; 0: none */
    bool complete;              /* no page of it has failed */
    bool legacy, settled;
    bool sse;            /* the transport of 2024-11-05 is used, because the server has refused the newer one */
    char *refused;       /* how it has refused that; owned */
    bool demanded;       /* its tools were wanted, so that it was started (servers_demand in mcp.c) */
    bool known;          /* the tools of its catalogue were added without starting it */
    bool removable;      /* mcp.connect has added it */
    bool gone;           /* removed; it lives until no tool of it exists */
    uint32_t tools_left; /* tools of it that exist */
    /* Restarts. */
    uint32_t failures;
    int64_t ready_ms;
    uint64_t timer;
    tn_value roots;
    char effect[256];
    struct oauth *oauth; /* NULL: stdio, or the operator's headers authenticate */
};

/* Returns NULL if memory runs out. `folder` is where tokens are stored, NULL for the default; `keeps` is false if they
 * are kept only in memory. */
struct server *server_new(const char *name, tn_value config, const char *folder, bool keeps);
void server_free(struct server *server);    /* no call may be open */
void server_connect(struct server *server); /* does nothing unless it is idle */
void server_leave(struct server *server);   /* it does not come back: its tools are removed, its calls fail */
void server_stop(struct server *server);    /* it must not be in use; its tools stay registered */
/* True if a call has a task, or a tool has an instance. A call that waits for a person without a task does not count:
 * it can be made again. */
bool server_in_use(const struct server *server);
/* Adds the tools that it listed the last time, without starting it (catalogue.h). */
void server_add_known(struct server *server);
bool server_is_busy(const struct server *server); /* it is starting, or lists its tools */
const char *server_prefix(const struct server *server);
int64_t server_timeout_ms(const struct server *server);
/* Returns the role of the model that the server may ask, or NULL. */
const char *server_sampling_role(const struct server *server);
tn_value server_roots(const struct server *server); /* borrowed, or NULL */
/* Returns the question that a person must answer before the server can be used, a new reference; NULL if there is no
 * question. */
tn_value server_question(const struct server *server);
/* Returns {name, transport, state, …} for people, a new reference. */
tn_value server_describe(const struct server *server);

/* Called by server.c, implemented in mcp.c: */
void servers_report_settled(struct server *server); /* its tools are known, or it has failed, for the first time */
void servers_notify_waiters(const struct server *server); /* it is ready or has failed; called each time */
bool servers_are_ending(void);                            /* the plugin ends: nothing more is registered */
bool servers_have_tool_id(const char *id, const struct server *besides);
/* The same, for mcp.connect: */
struct server *servers_find(const char *name); /* NULL if there is none */
uint32_t servers_count(void);
bool servers_add(const char *name, tn_value config); /* and connects it; false if memory runs out */
void servers_remove(const char *name);               /* one that servers_add has added; no effect otherwise */

#endif
