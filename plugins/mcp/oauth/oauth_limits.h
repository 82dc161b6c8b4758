/*
 * oauth_limits.h - limits for what a server, or a server that it names, can cause: bytes read, attempts and waiting
 * times. They apply to the authorization of one server.
 */
#ifndef MCP_OAUTH_LIMITS_H
#define MCP_OAUTH_LIMITS_H

#define OAUTH_METADATA_MAX    262144  /* bytes of a metadata document, and of the answer to a registration */
#define OAUTH_ANSWER_MAX      65536   /* bytes of an answer of a token endpoint */
#define OAUTH_TEXT_MAX        16384   /* bytes of a token, a code, or a client's id or secret */
#define OAUTH_URL_MAX         2048    /* bytes of a URL */
#define OAUTH_SCOPE_MAX       2048    /* bytes of a set of scopes */
#define OAUTH_SCOPES_MAX      64      /* scopes in it */
#define OAUTH_ISSUERS_MAX     8       /* authorization servers of a resource that are examined */
#define OAUTH_REDIRECTS_MAX   3       /* when metadata is fetched; requests with secrets follow none */
#define OAUTH_NONCE_MAX       256     /* bytes of a nonce that a server requires */
#define OAUTH_TRIES_MAX       3       /* how often one request is sent again with another token */
#define OAUTH_QUESTIONS_MAX   3       /* how often a person is asked for one call */
#define OAUTH_STEP_MS         30000   /* for each request to an authorization server */
#define OAUTH_PENDING_MS      1800000 /* for a person to return from the page */
#define OAUTH_REDIRECT_MS     3000    /* wait for the browser after a person has confirmed the visit */
#define OAUTH_EARLY_MS        30000 /* a token is renewed this long before it expires, or at half its lifetime if shorter */
#define OAUTH_LIFETIME_S      3600     /* of a token whose answer has no expires_in */
#define OAUTH_LIFETIME_MAX_S  31536000 /* longer ones are treated as absent */
#define OAUTH_CONNECTIONS_MAX 8        /* connections to the redirect URI at the same time */
#define OAUTH_CONNECTION_MAX  8192     /* bytes of the request of one connection */
#define OAUTH_CONNECTION_MS   10000    /* for that request to arrive */
#define OAUTH_FILE_MAX        262144   /* bytes of the file with tokens */
#define OAUTH_WHY_MAX         640      /* bytes of an error message */

#endif
