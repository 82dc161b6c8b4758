/*
 * server.h - one configured server: started, asked what it has, its tools kept in the registry, its calls served.
 *
 * A server that dies leaves its tools where they are: the next call starts it again, after a while that grows with
 * every start that came to nothing. Calls that come meanwhile wait. What a server does never concerns another one.
 *
 *     struct server *server = server_new("files", config, &events);
 *     server_connect(server);                       // events.settled once, when its tools are known or cannot be
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
    tn_value config; /* its entry of the configuration */
    enum server_state state;
    char *why; /* it is not ready: why; may be NULL */
    struct session *session;
    struct tool *tools;
    uint32_t tool_count, skipped;
    uint32_t added; /* tools ever put into the registry */
    uint32_t lists; /* in this connection */
    struct call *calls;
    /* The list of tools that is being read. */
    tn_value cursor;
    uint32_t pages;
    int64_t until_ms;    /* of the monotonic clock: its tools are known by then, or cannot be */
    bool listing, again; /* it is being read; it has changed meanwhile */
    bool legacy, settled;
    /* Starts again. */
    uint32_t failures;
    int64_t ready_ms;
    uint64_t timer;
    tn_value roots;
    char effect[256];
    struct oauth *oauth; /* NULL: through pipes, or its headers say who asks */
};

/* NULL without memory. `folder`: where tokens are kept, NULL where they are by default; `keeps`: whether they are. */
struct server *server_new(const char *name, tn_value config, const char *folder, bool keeps);
void server_free(struct server *server);    /* no call is open */
void server_connect(struct server *server); /* where it is idle; else nothing */
void server_stop(struct server *server);    /* it is not in use; its tools stay */
/* A call has a task, or a tool an instance. One that waits for a person is made anew where it is gone. */
bool server_in_use(const struct server *server);
const char *server_prefix(const struct server *server);
int64_t server_timeout_ms(const struct server *server);
/* The role of the model that it may ask, or NULL. */
const char *server_sampling(const struct server *server);
tn_value server_roots(const struct server *server); /* borrowed, or NULL */
/* A person is to be asked before it can be used: the question, a new reference; NULL where nobody needs to be. */
tn_value server_question(const struct server *server);
/* {name, transport, state, …}, for people: a new reference. */
tn_value server_about(const struct server *server);

/* Told by mcp.c: */
void servers_settled(struct server *server);       /* its tools are known for the first time, or cannot be */
void servers_arrived(const struct server *server); /* it is ready, or was given up: each time */
bool servers_have(const char *id, const struct server *besides);

#endif
