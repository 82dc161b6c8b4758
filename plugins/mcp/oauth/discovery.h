/*
 * discovery.h - from a server that wants to know who asks, to who can say so: metadata of the resource, then of the
 * authorization server, each looked for where the specification says, in its order.
 *
 * The end comes once, by `found` or `failed`, never inside discovery_start; where it is cancelled, not at all.
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
    const char *url;      /* the MCP server's; borrowed until the end, as all of these */
    const char *metadata; /* where its challenge says the resource's metadata is; may be NULL */
    const char *issuer;   /* the only authorization server that will do; may be NULL */
    bool person;          /* a person is to be asked */
    bool guesses;         /* without any metadata the paths of version 2025-03-26 will do */
};

struct discovery_events {
    void *user;
    /* As metadata.h has them; both are borrowed. `resource` has no authorization_servers where it is guessed. */
    void (*found)(void *user, tn_value resource, tn_value server);
    void (*failed)(void *user, const char *code, const char *why);
};

struct discovery {
    struct discovery_options options;
    struct discovery_events events;
    struct fetch fetch;
    struct address server; /* the MCP server's */
    tn_value candidates;   /* addresses that are asked, one after the other */
    uint64_t next;
    tn_value resource;
    tn_value issuer; /* whose metadata is looked for */
};

void discovery_start(struct discovery *discovery, const struct discovery_options *options,
                     const struct discovery_events *events);
void discovery_cancel(struct discovery *discovery); /* in any state */

#endif
