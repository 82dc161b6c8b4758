/*
 * transport.h - how messages travel: through the pipes of a child, or over HTTP.
 *
 * A transport reports what arrives to its events, but never from inside send. `closed` is reported at most once, when
 * no more messages can be exchanged. transport_close is allowed in any state; afterwards there are no events. The
 * session owns its transport.
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
    /* `origin` is the request to whose stream the message belongs; 0 if all messages share one stream. If the message
     * is too long or is not JSON, `message` is NULL and `why` is the reason. */
    void (*message)(void *user, tn_value message, int64_t origin, const char *why);
    /* One request failed: `status` is the HTTP status (0: none was received), `body` the answer as JSON or NULL; `code`
     * and `why` are the error's. */
    void (*failed)(void *user, int64_t id, int64_t status, tn_value body, const char *code, const char *why);
    void (*closed)(void *user, const char *why);
};

struct transport;

struct transport_class {
    const char *name; /* "stdio", "http" */
    /* `id` is a request's, 0 for other messages; `extra` are headers, for HTTP. A result other than TN_OK: not sent. */
    int32_t (*send)(struct transport *transport, tn_value message, int64_t id, tn_value extra);
    /* Stops waiting for a request's answer. Returns true if that also informs the other end. */
    bool (*abort)(struct transport *transport, int64_t id, bool modern);
    /* The handshake has chosen the version: later messages state it. For older versions, the server's stream may be
     * opened. */
    void (*set_version)(struct transport *transport, const char *version, bool modern);
    /* Ends the session at the other end; `ended` is called when that is done. Returns false, without calling it, if
     * nothing needs to be sent. */
    bool (*end_session)(struct transport *transport, void (*ended)(void));
    void (*close)(struct transport *transport);
};

struct transport {
    const struct transport_class *class;
    struct transport_events events;
};

#endif
