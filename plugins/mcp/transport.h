/*
 * transport.h - how messages travel: through the pipes of a child, or over HTTP.
 *
 * A transport gives what arrives to its events, never from inside send. `closed` comes once at most, when nothing can
 * travel any more; transport_close ends it in any state, and after that no event comes. Owned by its session.
 *
 *     struct transport *pipe = stdio_new(&options, &events);
 *     pipe->class->send(pipe, message, id, NULL);
 *     pipe->class->close(pipe);
 */
#ifndef MCP_TRANSPORT_H
#define MCP_TRANSPORT_H

#include "base.h"

struct transport_events {
    void *user;
    /* `origin`: the request to whose stream the message belongs; 0 where the transport has one stream for all. Where
     * the message is too long, or no JSON, `message` is NULL and `why` says so. */
    void (*message)(void *user, tn_value message, int64_t origin, const char *why);
    /* One request failed on its way: `status` is HTTP's (0: it did not get that far), `body` what came, as JSON, or
     * NULL; `code` and `why` as of an error. */
    void (*failed)(void *user, int64_t id, int64_t status, tn_value body, const char *code, const char *why);
    void (*closed)(void *user, const char *why);
};

struct transport;

struct transport_class {
    const char *name; /* "stdio", "http" */
    /* `id`: of a request, 0 for all else; `extra`: headers, for those that have any. Not TN_OK: it was not taken. */
    int32_t (*send)(struct transport *transport, tn_value message, int64_t id, tn_value extra);
    /* Stops waiting for a request's answer. True: the other end is told by that alone. */
    bool (*abort)(struct transport *transport, int64_t id, bool modern);
    /* The version has been agreed on: what is sent from now on says so. Old ones may open a stream of the server's. */
    void (*agreed)(struct transport *transport, const char *version, bool modern);
    /* The other end is told that nobody comes back; `left` is called once that has been said. False: there is nothing
     * to say, and it is not called. */
    bool (*leave)(struct transport *transport, void (*left)(void));
    void (*close)(struct transport *transport);
};

struct transport {
    const struct transport_class *class;
    struct transport_events events;
};

#endif
