/*
 * oauth.h - the authorization of one server: the token for its requests, and how a better one is obtained.
 *
 * It outlives sessions and transports. A refused request (401, or 403 for a missing scope) waits here. Its waiter is
 * notified when the request may be sent again, when the search has failed, or when a person must be asked first with
 * oauth_question, whose answer is passed to oauth_answer. At most one search for a token runs; later waiters wait for
 * the same one. Texts that leave this module never contain secrets.
 *
 *     tn_value header = oauth_header(oauth);                             // "Bearer …", borrowed, or NULL
 *     if (!oauth_is_ready(oauth)) oauth_wait(oauth, &wait);
 *     oauth_refused(oauth, header, 401, challenge, &wait);               // wait.on_result(&wait, OAUTH_RETRY, …)
 */
#ifndef MCP_OAUTH_OAUTH_H
#define MCP_OAUTH_OAUTH_H

#include "base.h"
#include "oauth_limits.h"

/* The code of a failure that a person can resolve. */
#define OAUTH_NEEDED "AUTH_NEEDED"

enum oauth_outcome { OAUTH_RETRY, OAUTH_ASK_PERSON, OAUTH_FAILED };

struct oauth_wait {
    /* Called once, never inside the function that started it. `code` and `why` are for OAUTH_ASK_PERSON and
     * OAUTH_FAILED. */
    void (*on_result)(struct oauth_wait *wait, enum oauth_outcome outcome, const char *code, const char *why);
    struct oauth_wait *next;
    bool waiting;
};

struct oauth_options {
    const char *name, *url; /* the server's */
    tn_value config;        /* the server's `oauth`; may be NULL */
    const char *folder;     /* for stored tokens; NULL: the default folder */
    bool keeps;             /* false: keep tokens only in memory */
    bool oldest;            /* version 2025-03-26, which assumes default paths if there is no metadata */
};

struct oauth;

struct oauth *oauth_new(const struct oauth_options *options); /* NULL if memory runs out */
void oauth_free(struct oauth *oauth);                         /* NULL is allowed; there must be no waiters */

/* Returns the header's value for a valid token, borrowed until the next turn of the loop; NULL if there is none. */
tn_value oauth_header(struct oauth *oauth);
/* Returns a proof of the key that the token is bound to, a new reference; NULL if the token is not bound to a key. */
tn_value oauth_proof(const struct oauth *oauth, const char *method);
void oauth_store_nonce(struct oauth *oauth,
                       tn_value headers); /* of an answer: they may contain a nonce for the next proof */
/* True if no search is running and no renewable token is about to expire: send the request. Else wait. */
bool oauth_is_ready(const struct oauth *oauth);
void oauth_wait(struct oauth *oauth, struct oauth_wait *wait);
/* `header` is what was sent; may be NULL. */
void oauth_refused(struct oauth *oauth, tn_value header, int64_t status, const char *challenge,
                   struct oauth_wait *wait);
void oauth_accepted(struct oauth *oauth); /* a request with the token was answered */
void oauth_cancel(struct oauth *oauth, struct oauth_wait *wait);

/* Returns {mode: "url", message, url, authorization}, a new reference; NULL if no person needs to be asked. */
tn_value oauth_question(const struct oauth *oauth);
/*
 * Handles a person's answer: true after a visit, or a string with the URL that the browser was redirected to. Returns
 * false with the reason in `why` on failure. Afterwards the request is sent again and waits for the result.
 */
bool oauth_answer(struct oauth *oauth, tn_value question, tn_value answer, char *why, size_t size);
/* The person declines: the next search starts again, with a new registration if there was one. */
void oauth_decline(struct oauth *oauth);
void oauth_stop_listening(struct oauth *oauth); /* stops listening */

#endif
