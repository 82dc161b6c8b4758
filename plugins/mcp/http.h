/*
 * http.h - a server behind a URL: every message is a POST, answered by one JSON object or a stream of events.
 *
 * Of the older era it keeps the session's id, a stream of the server's own (GET), and resumes a stream that broke off
 * by the last event's id; at its end it tells the server (DELETE). Of the newer one it has none of these, and repeats
 * in headers what the message says. It makes use of tenon.http: no socket here.
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
    tn_value headers;    /* {name: TEXT}, sent with everything; may be NULL */
    struct oauth *oauth; /* whose token goes with everything; NULL: none does. It outlives the transport */
};

struct transport *http_new(const struct http_options *options, const struct transport_events *events, char *why,
                           size_t size);
/* The host of a URL, with its port where it has one, as effects have it. False: it is no http or https URL. */
bool http_host(const char *url, char *host, size_t size);

#endif
