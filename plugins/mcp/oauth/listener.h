/*
 * listener.h - the address on this machine that a browser is sent back to, for as long as somebody is expected.
 *
 * It answers GET of its one path, once, with a page that says how it went; anything else with 404. In a process that
 * has no network it cannot be: then the person brings the address back by hand.
 *
 *     struct listener *listener = listener_new("http://127.0.0.1/callback", &events);
 *     tn_value uri = listener_uri(listener);                  // with the port that it got
 *     listener_free(listener);
 */
#ifndef MCP_OAUTH_LISTENER_H
#define MCP_OAUTH_LISTENER_H

#include "base.h"
#include "bounds.h"

struct listener_events {
    void *user;
    /* The query of the address; true: it is what was expected. Not from inside what it calls may the listener be
     * freed, but by a posted call. */
    bool (*came)(void *user, const char *query);
};

struct listener;

/* `uri` is http on this machine; without a port any that is free. NULL: it cannot be, and nothing is lost. */
struct listener *listener_new(const char *uri, const struct listener_events *events);
void listener_free(struct listener *listener);          /* NULL is allowed */
tn_value listener_uri(const struct listener *listener); /* borrowed */

#endif
