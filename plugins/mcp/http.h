/*
 * http.h - a server at a URL: every message is a POST, answered by a JSON object or a stream of events.
 *
 * For versions before 2026-07-28 it stores the session id, opens the server's stream (GET), resumes broken streams with
 * the last event id, and ends the session (DELETE). Later versions have none of these, and repeat parts of the message
 * in headers. It uses tenon.http and opens no sockets.
 *
 * With the transport of 2024-11-05 a GET opens one stream, whose first event, `endpoint`, is the URL for POSTs, and on
 * which all messages of the server come. The stream cannot be resumed: its end is the end of the session.
 *
 *     struct http_options options = {.name = "web", .url = "https://mcp.example/mcp", .headers = headers};
 *     struct transport *post = http_new(&options, &events, why, sizeof why);
 */
#ifndef MCP_HTTP_H
#define MCP_HTTP_H

#include "oauth/oauth.h"
#include "transport.h"

struct http_options {
    const char *name, *url;
    tn_value headers;    /* {name: STRING}, sent with each request; may be NULL */
    struct oauth *oauth; /* adds its token to each request; NULL: no token. It outlives the transport */
    bool sse;            /* the older transport, "HTTP with SSE" of 2024-11-05 */
};

struct transport *http_new(const struct http_options *options, const struct transport_events *events, char *why,
                           size_t size);
/* Copies the host of a URL, with its port if it has one, as effects need it. Returns false if it is not an http or
 * https URL. */
bool http_copy_host(const char *url, char *host, size_t size);

#endif
