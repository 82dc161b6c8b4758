/*
 * oauth_internal.h - shared by the parts of an authorization: oauth.c (the search), acquire.c (clients and tokens),
 * redirect.c (people) and record.c (stored data).
 *
 * `record` is the stored data: {issuer, resource?, server?, scope?, client?, token?, key?, pending?}. It is read again
 * before each use, because another process may have changed it; values that were borrowed from it are then invalid.
 */
#ifndef MCP_OAUTH_INTERNAL_H
#define MCP_OAUTH_INTERNAL_H

#include "discovery.h"
#include "listener.h"
#include "oauth.h"
#include "token.h"

#define OAUTH_REDIRECT_URI "http://127.0.0.1/callback"

struct oauth {
    char *name, *url, *file; /* file NULL: kept only in memory */
    tn_value config, record, header;
    bool person, use_default_metadata;
    bool token_accepted; /* the server has accepted the token, now or in an earlier process */
    /* The search. */
    bool busy, stepping;
    struct discovery discovery;
    struct fetch fetch;
    tn_value resource, server; /* as found */
    tn_value challenge;
    tn_value client;    /* the requesting client */
    tn_value scope;     /* to be requested; may be NULL */
    tn_value uri;       /* to be registered */
    tn_value assertion; /* signed by another party */
    char *renewing;     /* the refresh token that was sent */
    /* A person. */
    struct listener *listener;
    uint64_t closing; /* the listener's end; a posted call */
    struct fetch redeem;
    tn_value redeemed;      /* the pending question */
    tn_value returned_code; /* from the redirect */
    uint64_t redirect_post; /* waiting for the browser; a posted call */
    char *failure;          /* why the last return failed; NULL: it succeeded, or nothing returned yet */
    /* The nonces for the next proofs of the key that tokens are bound to (`key` of the record). */
    char *nonce, *server_nonce;
    bool nonce_tried;
    /* The end of a step, which is reported by a posted call. */
    uint64_t notify_post;
    enum oauth_outcome outcome;
    char code[32];
    char why[OAUTH_WHY_MAX];
    struct oauth_wait *waits, *notifying;
};

/* ---- record.c ---- */

tn_value oauth_token(const struct oauth *oauth);   /* borrowed, as all of these; NULL if there is none */
tn_value oauth_pending(const struct oauth *oauth); /* the question that a person is asked */
const char *oauth_setting(const struct oauth *oauth, const char *name); /* of tenon.yaml */
bool oauth_reload_record(struct oauth *oauth);                          /* true if the token has changed */
void oauth_save_record(struct oauth *oauth);
void oauth_record_set_take(struct oauth *oauth, const char *name,
                           tn_value value);                     /* takes the value; NULL removes the member */
void oauth_set_token_take(struct oauth *oauth, tn_value token); /* takes the token; NULL: there is none any longer */
void oauth_set_header(struct oauth *oauth);
/* If the client is no longer known, it is registered again the next time. */
void oauth_handle_fault(struct oauth *oauth, const struct token_fault *fault);

tn_value oauth_key(const struct oauth *oauth); /* that tokens are bound to; borrowed, NULL: not bound */
/* True if the authorization server has sent the nonce that it requires: repeat the request. */
bool oauth_must_repeat(struct oauth *oauth, const struct fetched *answer);

/* ---- oauth.c ---- */

/* Ends the search; `why` is copied. */
void oauth_end(struct oauth *oauth, enum oauth_outcome outcome, const char *code, const char *why);
void oauth_fail(struct oauth *oauth, const char *why);
/* Ends a step: waiters are notified unless another step is running. */
void oauth_settle(struct oauth *oauth, enum oauth_outcome outcome, const char *code, const char *why);

/* ---- acquire.c: server, resource and scope are known ---- */

void oauth_acquire(struct oauth *oauth);
void oauth_request_token(struct oauth *oauth); /* the client is also known */
void oauth_renew(struct oauth *oauth);         /* the client is known and the token can be renewed */

/* ---- redirect.c ---- */

void oauth_ask_person(struct oauth *oauth); /* the client is known */
/* Returns the redirect URI, and listens there if possible. Borrowed. */
const char *oauth_listen(struct oauth *oauth, const char *wanted);
static inline bool oauth_is_redeeming(const struct oauth *oauth) {
    return oauth->redeemed != NULL || oauth->redirect_post != 0;
}

#endif
