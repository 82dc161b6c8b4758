/*
 * bounds.h - what a server, or whoever it names, can push here: how much is read, how often is tried, how long is
 * waited. All of it is of one server's authorization.
 */
#ifndef MCP_OAUTH_BOUNDS_H
#define MCP_OAUTH_BOUNDS_H

#define OAUTH_METADATA_MAX  262144   /* bytes of a metadata document, and of the answer to a registration */
#define OAUTH_ANSWER_MAX    65536    /* bytes of a token endpoint's answer */
#define OAUTH_TEXT_MAX      16384    /* bytes of a token, a code, a client's id or secret */
#define OAUTH_URL_MAX       2048     /* bytes of an address */
#define OAUTH_SCOPE_MAX     2048     /* bytes of a set of scopes */
#define OAUTH_SCOPES_MAX    64       /* scopes in it */
#define OAUTH_ISSUERS_MAX   8        /* authorization servers of a resource that are looked at */
#define OAUTH_REDIRECTS_MAX 3        /* followed when metadata is fetched; nothing that is secret follows any */
#define OAUTH_NONCE_MAX     256      /* bytes of a nonce that a server wants to see */
#define OAUTH_TRIES_MAX     3        /* times that one request is sent again with another token */
#define OAUTH_ASKS_MAX      3        /* times that a person is asked for one call */
#define OAUTH_STEP_MS       30000    /* for each request of ours to an authorization server */
#define OAUTH_PENDING_MS    1800000  /* a person has so long to come back from the page */
#define OAUTH_BACK_MS       3000     /* waited for the browser, once a person has said that they have been there */
#define OAUTH_EARLY_MS      30000    /* before its end, or half its life where that is less, a token is made new */
#define OAUTH_LIFE_S        3600     /* of a token that does not say, */
#define OAUTH_LIFE_MAX_S    31536000 /* and at most */
#define OAUTH_CALLERS_MAX   8        /* connections to the address that the person comes back to, at once */
#define OAUTH_CALLER_MAX    8192     /* bytes of the request of one */
#define OAUTH_CALLER_MS     10000    /* for that request to come */
#define OAUTH_FILE_MAX      262144   /* bytes of the file that tokens are kept in */
#define OAUTH_WHY_MAX       640      /* bytes of an error's text */

#endif
