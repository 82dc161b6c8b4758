/*
 * fetch.h - one request to a server that takes part in an authorization, and its complete answer.
 *
 * The answer is reported once, never inside fetch_send, and not after fetch_cancel. An answer that is too long or
 * missing is a failure; so is a success that is not a JSON object.
 *
 *     struct fetch fetch = {0};
 *     fetch_send(&fetch, fetch_get(url), on_answer, user);     // takes the request
 *     fetch_cancel(&fetch);
 */
#ifndef MCP_OAUTH_FETCH_H
#define MCP_OAUTH_FETCH_H

#include "base.h"
#include "oauth_limits.h"

struct fetched {
    int64_t status;   /* 0: it failed */
    tn_value json;    /* an object; NULL if an error answer has none. Borrowed */
    tn_value headers; /* borrowed */
    const char *code; /* of a failure: CONNECT, TIMEOUT, …; else NULL */
    const char *why;
};

typedef void (*fetch_done)(void *user, const struct fetched *answer);

struct fetch {
    uint64_t exchange; /* 0: no request is running */
    uint64_t post;
    fetch_done done;
    void *user;
};

void fetch_send(struct fetch *fetch, tn_value request, fetch_done done, void *user);
void fetch_cancel(struct fetch *fetch);
static inline bool fetch_busy(const struct fetch *fetch) { return fetch->exchange != 0 || fetch->post != 0; }

/* A GET of metadata; a POST of a secret form, with a header that authenticates and a proof of a key (both may be NULL);
 * a POST of secret JSON. `name` is the request's name in recordings. They return new references. */
tn_value fetch_get(const char *url);
tn_value fetch_form(const char *url, tn_value form, tn_value authorization, tn_value proof, const char *name);
tn_value fetch_json(const char *url, tn_value json, const char *name);

#endif
