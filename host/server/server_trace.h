/*
 * server_trace.h - the spans of a host (host/base/trace.h) as the event span/ended.
 *
 * As long as a client is subscribed to it, the loop of the host has a sink, and so has each other loop of the process;
 * theirs send the spans to the first loop. Without a subscription no loop has one.
 *
 *     struct server_trace *trace = server_trace_new(server);
 *     server_trace_update(trace);                  // subscriptions have begun or ended
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_SERVER_TRACE_H
#define TENON_HOST_SERVER_SERVER_TRACE_H

struct server;
struct server_trace;

struct server_trace *server_trace_new(struct server *server);
void server_trace_update(struct server_trace *trace); /* NULL is allowed */
void server_trace_free(struct server_trace *trace);   /* after the other loops were freed */

#endif
