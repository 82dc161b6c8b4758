/*
 * response.h - what is sent for a request: whole responses, streams, the answer to an upgrade, and refusals.
 *
 *     response_begin(request, 200, headers, NULL, 0, true);
 *     if (response_write(request, bytes, length) == TN_HTTP_SERVER_FULL) …   // wait for TN_HTTP_SERVER_ROOM
 *     response_finish(request);
 *
 * A stream is suspended while it has nothing to send; response_write resumes it.
 */
#ifndef TENON_PLUGINS_SERVE_RESPONSE_H
#define TENON_PLUGINS_SERVE_RESPONSE_H

#include "base.h"

struct request;

int32_t response_begin(struct request *request, int32_t status, tn_value headers, const void *data, uint64_t length,
                       bool more);
int32_t response_write(struct request *request, const void *data, uint64_t length);
int32_t response_finish(struct request *request);
/* Answers 101; socket.c continues. */
int32_t response_accept(struct request *request, tn_value headers);
/* Inside the callback of libmicrohttpd that may answer. False: the connection must be closed. */
bool response_queue(struct request *request, struct MHD_Connection *connection);
/* The same, for a request that this plugin refuses. The connection is closed after it. */
bool response_refuse(struct MHD_Connection *connection, int status, const char *message);

#endif
