/*
 * discovery.h - finds the authorization server of an MCP server: metadata of the resource, then of the authorization
 * server, each at the URLs that the specification names, in its order.
 *
 * Exactly one of `found` and `failed` is called, never inside discovery_start; neither after discovery_cancel.
 *
 *     struct discovery_options options = {.url = url, .metadata = "https://…" or NULL, .person = true};
 *     discovery_start(&discovery, &options, &events);
 *     discovery_cancel(&discovery);
 */
#ifndef MCP_OAUTH_DISCOVERY_H
#define MCP_OAUTH_DISCOVERY_H

#include "address.h"
#include "fetch.h"

struct discovery_options {
    const char *url;           /* the MCP server's; borrowed until the end, as all members */
    const char *metadata;      /* the resource's metadata URL from the challenge; may be NULL */
    const char *issuer;        /* the only accepted authorization server; may be NULL */
    bool person;               /* a person will be asked */
    bool use_default_metadata; /* if there is no metadata, use the paths of version 2025-03-26 */
};

struct discovery_events {
    void *user;
    /* As in metadata.h; both are borrowed. `resource` has no authorization_servers if it was guessed. */
    void (*found)(void *user, tn_value resource, tn_value server);
    void (*failed)(void *user, const char *code, const char *why);
};

struct discovery {
    struct discovery_options options;
    struct discovery_events events;
    struct fetch fetch;
    struct address server; /* the MCP server's */
    tn_value candidates;   /* URLs to try, one after the other */
    uint64_t next;
    tn_value resource;
    tn_value issuer; /* whose metadata is searched */
};

void discovery_start(struct discovery *discovery, const struct discovery_options *options,
                     const struct discovery_events *events);
void discovery_cancel(struct discovery *discovery); /* in any state */

#endif
