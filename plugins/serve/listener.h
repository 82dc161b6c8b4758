/*
 * listener.h - a listening socket, and its connections, which shard.c spreads over libmicrohttpd daemons.
 *
 * All daemons run in listener_run, which then delivers the events. Everything that changes what a daemon should do
 * calls shard_wake, so that it runs in the same turn of the loop if the listener is running, otherwise in the next one.
 *
 * libmicrohttpd limits the time without any byte, but not the time that a head takes, and it does not report the first
 * byte of a request. A sweep therefore looks at each connection that waits for a request: the kernel counts the bytes
 * that have arrived (TCP_INFO).
 */
#ifndef TENON_PLUGINS_SERVE_LISTENER_H
#define TENON_PLUGINS_SERVE_LISTENER_H

#include "base.h"

struct listener;
struct connection;
struct request;
struct request_list;

int32_t listener_open(tn_value options, tn_http_server_handler handler, void *user, uint64_t *number, tn_value *address,
                      tn_value *error);
int32_t listener_drain(uint64_t number);
int32_t listener_unlisten(uint64_t number);
void listeners_close(void); /* all */

struct listener *listener_ref(struct listener *listener);
void listener_unref(struct listener *listener);
void listener_wake(struct listener *listener);
void listener_call(struct listener *listener, uint64_t request, int32_t event, tn_value value);
const struct limits *listener_limits(const struct listener *listener);
void listener_add_waiting(struct listener *listener, int64_t bytes); /* for its clients; may be negative */
uint64_t listener_write_limit(const struct listener *listener);      /* of one request now: see request_note_written */
bool listener_is_secure(const struct listener *listener);
bool listener_is_draining(const struct listener *listener);
struct request_list *listener_requests(struct listener *listener);
struct request_list *listener_unwatched(struct listener *listener); /* suspended since the last turn */

/* Callback of libmicrohttpd; `user` is the shard. */
void connection_on_notify(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code);
struct connection *connection_of(struct MHD_Connection *mhd); /* NULL: memory ran out when it was accepted */
struct MHD_Connection *connection_mhd(const struct connection *connection);
struct listener *connection_listener(const struct connection *connection);
const char *connection_address(const struct connection *connection); /* "127.0.0.1:4711" */
int connection_descriptor(const struct connection *connection);
void connection_wake(const struct connection *connection);  /* its daemon runs soon */
void connection_set_busy(struct connection *connection);    /* a request has come */
void connection_set_waiting(struct connection *connection); /* its request has ended */
void connection_shut(const struct connection *connection);  /* libmicrohttpd closes it then */

#endif
