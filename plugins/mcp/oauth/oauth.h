/*
 * oauth.h - the authorization of one server: the token that goes with its requests, and how a better one is got.
 *
 * It outlives sessions and transports. A request that is refused (401, or 403 for want of a scope) waits here, and is
 * told to go again, that it has failed, or that a person must be asked first: by oauth_question, whose answer comes
 * back by oauth_answer. At most one search for a token is under way; whoever comes meanwhile waits for the same one.
 * Nothing that is secret is in any text that leaves here.
 *
 *     tn_value header = oauth_header(oauth);                             // "Bearer …", borrowed, or NULL
 *     if (!oauth_ready(oauth)) oauth_wait(oauth, &wait);
 *     oauth_refused(oauth, header, 401, challenge, &wait);               // wait.told(&wait, OAUTH_GO, …)
 */
#ifndef MCP_OAUTH_OAUTH_H
#define MCP_OAUTH_OAUTH_H

#include "base.h"
#include "bounds.h"

/* The code of a failure that a person can mend. */
#define OAUTH_NEEDED "AUTH_NEEDED"

enum oauth_outcome { OAUTH_GO, OAUTH_ASK, OAUTH_FAILED };

struct oauth_wait {
    /* Once, never inside what began it. `code` and `why` of OAUTH_ASK and OAUTH_FAILED. */
    void (*told)(struct oauth_wait *wait, enum oauth_outcome outcome, const char *code, const char *why);
    struct oauth_wait *next;
    bool waiting;
};

struct oauth_options {
    const char *name, *url; /* the server's */
    tn_value config;        /* its `oauth`; may be NULL */
    const char *folder;     /* where tokens are kept; NULL: where they are by default */
    bool keeps;             /* false: in memory alone */
    bool oldest;            /* version 2025-03-26, which guesses where there is no metadata */
};

struct oauth;

struct oauth *oauth_new(const struct oauth_options *options); /* NULL without memory */
void oauth_free(struct oauth *oauth);                         /* NULL is allowed; nobody waits */

/* The header's value, of a token that has not ended; borrowed, until the loop goes on. NULL: there is none. */
tn_value oauth_header(struct oauth *oauth);
/* The proof of the key that the token is bound to, for a request of this method; a new reference, NULL: it is to none.
 */
tn_value oauth_proof(const struct oauth *oauth, const char *method);
void oauth_heard(struct oauth *oauth, tn_value headers); /* of an answer: they may have a nonce for the next proof */
/* Nothing is under way, and no token is about to end that could be renewed: send. Else wait. */
bool oauth_ready(const struct oauth *oauth);
void oauth_wait(struct oauth *oauth, struct oauth_wait *wait);
/* `header`: what was sent, may be NULL. */
void oauth_refused(struct oauth *oauth, tn_value header, int64_t status, const char *challenge,
                   struct oauth_wait *wait);
void oauth_accepted(struct oauth *oauth); /* a request with the token has had an answer */
void oauth_cancel(struct oauth *oauth, struct oauth_wait *wait);

/* {mode: "url", message, url, authorization}: a new reference; NULL where nobody needs to be asked. */
tn_value oauth_question(const struct oauth *oauth);
/*
 * What a person answered to it: true, they have been there; a text, the address that they were sent back to. False:
 * why not. Afterwards the request is sent again: it waits until what was answered has come to something.
 */
bool oauth_answer(struct oauth *oauth, tn_value question, tn_value answer, char *why, size_t size);
/* The person does not want to, or cannot: the next time begins anew, with a new registration if there was one. */
void oauth_decline(struct oauth *oauth);
void oauth_rest(struct oauth *oauth); /* nobody is listened to any more */

#endif
