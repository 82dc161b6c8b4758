/*
 * issuer.h - an issuer of tokens, and its keys: fetched when they are first needed, and again when they may have
 * changed.
 *
 *     switch (issuer_verify(issuer, &token)) { case KEY_UNKNOWN: if (issuer_can_fetch(issuer)) issuer_fetch(issuer); }
 *
 * Without `jwks_url` the address of the keys is read from the issuer's configuration first (OpenID Connect Discovery).
 * A token cannot name an address.
 */
#ifndef TENON_PLUGINS_JWT_ISSUER_H
#define TENON_PLUGINS_JWT_ISSUER_H

#include "keys.h"
#include "token.h"
#include <tenon/http.h>

#define ISSUERS_MAX       16u
#define ISSUER_BODY_MAX   262144 /* bytes of the configuration, and of the keys */
#define ISSUER_URL_MAX    2048u
#define ISSUER_FETCH_MS   10000 /* the time for each of both */
#define ISSUER_UNKNOWN_MS 60000 /* an unknown key causes one fetch in this time */
#define ISSUER_RETRY_MS   5000  /* without keys: from a failure to the next fetch */
#define ISSUER_REFRESH_MS 3600000
#define ISSUER_KEEP_MS    86400000 /* keys are used so long when the issuer cannot be reached */
#define ISSUER_WELL_KNOWN "/.well-known/openid-configuration"

struct issuer {
    const tn_http_1 *http;
    tn_value rules;                                     /* an item of `issuers` */
    const char *name;                                   /* of them */
    void (*fetched)(void *user, struct issuer *issuer); /* after each fetch, whether it has failed or not */
    void *user;
    struct key_set *keys;                /* NULL: none yet, or too old */
    char *found;                         /* the address of the keys that the configuration names; or NULL */
    uint64_t exchange;                   /* 0: none is open */
    uint64_t post;                       /* reports a request that could not be sent */
    int64_t keys_ms, tried_ms, again_ms; /* of the keys; of the last fetch; of the last one with keys */
    bool tried, again, discovering, failing;
};

/* False: the address of the issuer or of its keys is not https, nor http on this machine. */
bool issuer_open(struct issuer *issuer, tn_value rules);
void issuer_close(struct issuer *issuer);
/* KEY_UNKNOWN also if there are no keys. Fetches keys that are old, without waiting. */
enum key_result issuer_verify(struct issuer *issuer, const struct token *token);
/* Whether a fetch is open, or may begin now. */
bool issuer_can_fetch(const struct issuer *issuer);
/* `fetched` is called later. No effect if one is open. */
void issuer_fetch(struct issuer *issuer);

#endif
