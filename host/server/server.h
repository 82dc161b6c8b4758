/*
 * server.h - a host that many clients use at once, through the method table.
 *
 * A server belongs to one host and adds to it what outlives a call: clients, subscriptions, and the runs that clients
 * have started. It also implements tenon.host for the plugins of its host. README.md draws the parts.
 *
 *     struct server *server = server_new(host);
 *     struct client *client = client_new(server, &options);       // client.h
 *     ...
 *     host_free(host);                                            // cancels the runs, frees the server
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_SERVER_H
#define TENON_HOST_SERVER_SERVER_H

#include "adl/value/value.h"
#include "host/plugin/pack/pack_sign.h"
#include <stdbool.h>

struct engine;
struct host;
struct loop;
struct loops;
struct rpc_budget;
struct server;
struct server_starter;

/* One for each host. host_free frees it, too. */
struct server *server_new(struct host *host);
/* Cancels the runs and workers, waits for their ends and for requests of methods, and frees all clients. NULL is
 * allowed. */
void server_free(struct server *server);
struct server *server_of(const struct host *host); /* the one that server_new has made; NULL if it has none */
struct host *server_host(const struct server *server);
struct loop *server_loop(const struct server *server);
struct engine *server_engine(const struct server *server);
struct rpc_budget *server_budget(struct server *server); /* of its connections (rpc/rpc_budget.h) */
/*
 * Workers that are started from now on use all loops of the group, whose first one is that of the server. server_free
 * frees it. Plugins are loaded by each loop when it starts, so plugin/load, plugin/unload and plugin/upgrade fail with
 * UNSUPPORTED. NULL, as at first: one loop.
 */
void server_set_loops_take(struct server *server, struct loops *loops);
struct loops *server_loops(const struct server *server);
/*
 * What checks the signatures of packs: sign_check (plugin/pack/pack_sign.h), which is only in the program. NULL, as at
 * first: pack/install fails with UNSUPPORTED.
 */
void server_set_sign_check(struct server *server, sign_check_fn *check);
sign_check_fn *server_sign_check(const struct server *server);

/* Sends an event of the host ("component/changed") to each subscription that names it. Takes `params`. */
void server_publish_take(struct server *server, const char *event, tn_value params);
/* True if a subscription names the event. */
/* True if a run or a Task causes the event, so that it can be for an owner. */
bool server_event_has_owner(const char *event);
bool server_listens(const struct server *server, const char *event);
/* For tests: results and events are validated, too, and a wrong one fails with INVALID_OUTPUT. */
void server_validate_results(struct server *server, bool on);
bool server_validates(const struct server *server);

/*
 * Creates the Tasks of `schedules` in tenon.yaml from now on, until the server drains. No effect if it has been called,
 * or if there are none. The error of a schedule with a mistake, or of the store. A worker that waits for Tasks calls
 * it, too.
 */
int32_t server_start_schedule(struct server *server, struct error *error);
/*
 * From now on, until the server drains, runs of served graphs that another host has left are continued
 * (server_continue.h). Call it when plugins can serve the clients of these runs.
 */
void server_start_continue(struct server *server);
/* From now on, until the server drains, the schedules of clients start runs (server_timetable.h). */
void server_start_timetable(struct server *server);
/* Who says whether the keys that have made schedules may start runs. NULL, as at first: they may. Copied. */
void server_set_starter(struct server *server, const struct server_starter *starter);
/*
 * Active runs end after their super-step; those with a thread can be continued later. Workers do the same, and their
 * Tasks return to the queue. No more runs and workers can start.
 */
void server_drain(struct server *server);
/*
 * Each run that cannot be saved while the server drains and ends is added to *unsaved, and so is what keys have used;
 * the log says which. Borrowed until the server is freed.
 */
void server_count_unsaved(struct server *server, size_t *unsaved);
void server_note_unsaved(struct server *server); /* one more */
/* True if no run and no worker is active, and every client was sent the events that it has credit for. */
bool server_is_drained(const struct server *server);

#endif
