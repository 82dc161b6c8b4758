/*
 * listener.h - the redirect URI on this machine, which receives the browser's return.
 *
 * It answers a GET of its path once, with a page that reports the result, and all other requests with 404. In a process
 * without network it cannot be opened: the person then enters the URL manually.
 *
 *     struct listener *listener = listener_new("http://127.0.0.1/callback", &events);
 *     tn_value uri = listener_uri(listener);                  // with the actual port
 *     listener_free(listener);
 */
#ifndef MCP_OAUTH_LISTENER_H
#define MCP_OAUTH_LISTENER_H

#include "base.h"
#include "oauth_limits.h"

struct listener_events {
    void *user;
    /* The query of the URL. Returns true if it was expected. The listener must not be freed inside this callback, only
     * in a posted call. */
    bool (*on_redirect)(void *user, const char *query);
};

struct listener;

/* `uri` is http on this machine; without a port, a free one is used. Returns NULL if it cannot be opened; a person can
 * then enter the URL. */
struct listener *listener_new(const char *uri, const struct listener_events *events);
void listener_free(struct listener *listener);          /* NULL is allowed */
tn_value listener_uri(const struct listener *listener); /* borrowed */

#endif
