/*
 * oauth_internal.h - what the parts of an authorization share: oauth.c (the search), acquire.c (clients and tokens),
 * back.c (people) and record.c (what is kept).
 *
 * `record` is what is kept: {issuer, resource?, server?, scope?, client?, token?, key?, pending?}. It is read again
 * before anything is done by it, since another process may have been luckier; what was borrowed of it is then gone.
 */
#ifndef MCP_OAUTH_INTERNAL_H
#define MCP_OAUTH_INTERNAL_H

#include "discovery.h"
#include "listener.h"
#include "oauth.h"
#include "token.h"

#define OAUTH_REDIRECT_URI "http://127.0.0.1/callback"

struct oauth {
    char *name, *url, *file; /* file NULL: kept in memory alone */
    tn_value config, record, header;
    bool person, guesses;
    bool proven; /* the token has been taken by the server, or was when it was kept */
    /* The search. */
    bool busy, stepping;
    struct discovery discovery;
    struct fetch fetch;
    tn_value resource, server; /* as found */
    tn_value challenge;
    tn_value client;    /* that asks */
    tn_value scope;     /* that is asked for; may be NULL */
    tn_value uri;       /* that is registered */
    tn_value assertion; /* that somebody has signed for us */
    char *renewing;     /* the refresh token that was sent */
    /* A person. */
    struct listener *listener;
    uint64_t closing; /* its end; a posted call */
    struct fetch redeem;
    tn_value redeemed; /* what was pending */
    tn_value brought;  /* the code that came back */
    uint64_t back;     /* the browser is waited for; a posted call */
    char *failure;     /* what became of the last one that came back; NULL: good, or nothing yet */
    /* A key that tokens are bound to (record's `key`): what either server wants to see of it next. */
    char *nonce, *server_nonce;
    bool nonce_tried;
    /* The end of it, which is told by a posted call. */
    uint64_t telling;
    enum oauth_outcome outcome;
    char code[32];
    char why[OAUTH_WHY_MAX];
    struct oauth_wait *waits, *told;
};

/* ---- record.c ---- */

tn_value oauth_token(const struct oauth *oauth);   /* borrowed, as all of these; NULL where there is none */
tn_value oauth_pending(const struct oauth *oauth); /* what a person is being asked */
const char *oauth_setting(const struct oauth *oauth, const char *name); /* of tenon.yaml */
bool oauth_read_again(struct oauth *oauth);                             /* another token is there than was */
void oauth_keep(struct oauth *oauth);
void oauth_note(struct oauth *oauth, const char *name, tn_value value); /* takes it; NULL takes the member out */
void oauth_take_token(struct oauth *oauth, tn_value token);             /* takes it; NULL: there is none any more */
void oauth_set_header(struct oauth *oauth);
/* A client that is not known there any more is registered anew, the next time. */
void oauth_mind(struct oauth *oauth, const struct token_fault *fault);

tn_value oauth_key(const struct oauth *oauth); /* that tokens are bound to; borrowed, NULL: to none */
/* The authorization server wants a nonce, and has said it: the request is to be made once more. */
bool oauth_again(struct oauth *oauth, const struct fetched *answer);

/* ---- oauth.c ---- */

/* The search has ended; `why` is copied. */
void oauth_end(struct oauth *oauth, enum oauth_outcome outcome, const char *code, const char *why);
void oauth_fail(struct oauth *oauth, const char *why);
/* Something has; whoever waits is told, where nothing else is under way. */
void oauth_settle(struct oauth *oauth, enum oauth_outcome outcome, const char *code, const char *why);

/* ---- acquire.c: server, resource and scope are known ---- */

void oauth_acquire(struct oauth *oauth);
void oauth_acquire_alone(struct oauth *oauth); /* the client is known, too */
void oauth_renew(struct oauth *oauth);         /* likewise, and the token can be made new */

/* ---- back.c ---- */

void oauth_ask(struct oauth *oauth); /* the client is known */
/* Where the browser is to come back to: listened to where that can be. Borrowed. */
const char *oauth_listen(struct oauth *oauth, const char *wanted);
static inline bool oauth_redeeming(const struct oauth *oauth) { return oauth->redeemed != NULL || oauth->back != 0; }

#endif
