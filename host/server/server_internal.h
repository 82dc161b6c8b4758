/*
 * server_internal.h - the parts of a server, for the files of this room.
 */
#ifndef TENON_HOST_SERVER_SERVER_INTERNAL_H
#define TENON_HOST_SERVER_SERVER_INTERNAL_H

#include "host/server/client.h"
#include "host/server/server.h"

struct method_jobs;
struct plugin_clients;
struct server_continue;
struct server_runs;
struct server_timetable;
struct server_trace;
struct server_workers;

int64_t server_started_ms(const struct server *server); /* since 1970 UTC */
struct client **server_clients(struct server *server);  /* the first one */
struct client *client_next(const struct client *client);

/* A call whose handler will be called again with the client. client_free removes it, and then calls `client_ended`. */
struct client_call {
    struct client_call *next, **link; /* `link` is NULL while it is in no list */
    void (*client_ended)(struct client_call *self);
};
void client_add_call(struct client *client, struct client_call *call);
void client_remove_call(struct client_call *call); /* no effect if it is in no list */

/* The client ends: runs and workers that it has started belong to no client from now on. */
void server_forget_client(struct server *server, struct client *client);
struct server_continue *server_continue_of(const struct server *server);
struct server_runs *server_runs_of(const struct server *server);
struct server_timetable *server_timetable_of(const struct server *server);
struct server_workers *server_workers_of(const struct server *server);
struct method_jobs *server_jobs(const struct server *server); /* for method_job.h */
/*
 * Makes the subscription that the validated parameters of event/subscribe or, with `run_id`, of run/subscribe describe.
 * NULL with the error on failure.
 */
struct subscription *method_subscribe(struct client *client, tn_value params, struct error *error);
/* For method_request.h: server_free waits until all requests have ended. */
void server_begin_request(struct server *server);
void server_end_request(struct server *server);
/* From now on "component/changed" says what has changed: someone has subscribed to it. */
void server_watch_components(struct server *server);
/* Call it when subscriptions have begun or ended: the loops report spans while a client is subscribed to span/ended. */
void server_update_trace(struct server *server);

#endif
