/*
 * tenon/authenticator.h - draft: what a plugin that knows users provides to the host, which lists it in `provides`.
 *
 * `tenon serve` checks its own keys. It passes every other token of a request (`Authorization: Bearer TOKEN`,
 * `x-api-key: TOKEN`) to the plugins that the operator has named in `serve: {authenticators: [NAME, …]}`, in this
 * order. The bundled `jwt` checks JSON Web Tokens; others can ask a directory, or an endpoint for introspection.
 *
 *     static int32_t TN_ABI check(void *self, const char *token, uint64_t length, tn_authenticator_handler handler,
 *                                 void *user, uint64_t *number) {
 *         ... ask, and later, once:
 *         handler(user, *number, identity, NULL);   // {owner: "alice", scope: "run", expires_at: 1790000000}
 *     }
 *
 * An identity is an object; members marked ? are optional:
 *   owner       whom everything belongs to that the user creates: 1 to 32 characters of a-z, 0-9, `.`, `_` and `-`, the
 *               first a letter or a digit. Two users must never have the same
 *   scope       "read", "run" or "admin"
 *   expires_at  seconds since 1970 UTC. From then on the token is refused, and within a second the subscriptions of the
 *               user end with PERMISSION_DENIED, unless another token of the same owner and scope is valid. Runs that
 *               were started continue
 *
 * The host keeps identities until they expire, and asks again about a token after TN_AUTHENTICATOR_FRESH_MS. It keeps
 * a hash of the token, not the token. Refusals are not kept. The code of a refusal:
 *   NOT_FOUND          it is not a token of this authenticator: the next one is asked
 *   PERMISSION_DENIED  the user is known, but may not use this host: 403
 *   UNAVAILABLE        it cannot be checked now: 503, so that the client tries again
 *   any other          the token is not valid: 401
 * The message is written to the log of the host, not to the client: it must not contain the token.
 *
 * An authenticator runs in the host's process.
 */
#ifndef TENON_AUTHENTICATOR_H
#define TENON_AUTHENTICATOR_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_AUTHENTICATOR_TOKEN_MAX 16384  /* bytes of a token; a longer one is refused without asking */
#define TN_AUTHENTICATOR_CHECKS    1024   /* checks of a host at the same time; then 503 */
#define TN_AUTHENTICATOR_MS        30000  /* after this time the host cancels a check, and answers 503 */
#define TN_AUTHENTICATOR_FRESH_MS  300000 /* then a token is checked again */

/* [loop] Exactly one of `identity` and `error` {code, message} is not NULL; borrowed. May be called inside of check. */
typedef void TN_FN(tn_authenticator_handler)(void *user, uint64_t number, tn_value identity, tn_value error);

#define TN_AUTHENTICATOR_DRAFT "tenon.authenticator/1-draft.1"
/* From the plugin. `self` is that of its tn_plugin. Everything is [loop]. */
typedef struct tn_authenticator_draft {
    uint64_t size;
    /*
     * Checks a token, which is borrowed until check returns; it has no NUL and is not empty. TN_OK: `handler` was
     * called, or will be, once. *number names the check for cancel, never 0; it is set before `handler` is called. Any
     * other status: it is not, and the request gets 503.
     */
    int32_t TN_FN(check)(void *self, const char *token, uint64_t length, tn_authenticator_handler handler, void *user,
                         uint64_t *number);
    /* The handler is not called any more. TN_STALE: it was called already. */
    int32_t TN_FN(cancel)(void *self, uint64_t number);
    /*
     * [TEXT, …], a new reference: the OAuth 2 issuers whose tokens it accepts, which protocols tell their clients
     * (TN_SERVER_REQUEST in tenon/server.h). Called once, after init. NULL: none.
     */
    tn_value TN_FN(issuers)(void *self);
} tn_authenticator_draft;

#ifdef __cplusplus
}
#endif
#endif
