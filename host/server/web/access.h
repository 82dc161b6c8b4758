/*
 * access.h - who a request comes from: named keys, which are kept as hashes, and users whom plugins know
 * (`serve: {authenticators}`, access_users.h).
 *
 * The keys of the store (host/data/access) are in memory; a change by another process (`tenon key create`, `revoke`) is
 * noticed within a second. If the store is unavailable, the keys that were known stay valid. A host without keys
 * generates one, which lives as long as the host.
 *
 *     char *generated;
 *     struct access *access = access_new(server, &generated, &error);
 *     const struct access_key *key = access_check(access, text, length);          // in each request
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_WEB_ACCESS_H
#define TENON_HOST_SERVER_WEB_ACCESS_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/server/method.h"

struct access;
struct server;

#define ACCESS_GENERATED_OWNER "local" /* the owner of the generated key; its name is ACCESS_GENERATED */
#define ACCESS_POLL_MS         1000    /* the store is asked for changes so often */

struct access_key {
    const char *name;
    enum method_scope scope;
    const char *owner; /* NULL: the operator (only with the scope `admin`) */
    /* {requests_per_minute?, open_requests?, runs?, tokens_per_day?, cost_per_day?}, those of the key or of `serve:
     * {limits}`; borrowed
     */
    tn_value limits;
};

/*
 * Reads the keys of the store, and loads the authenticators; runs the loop until then. *generated is the text of a
 * generated key (scope `run`), to be shown once; free it with mem_free; NULL if there are keys. `generated` may be
 * NULL: then no key is generated. The error is that of the store, or of an authenticator. `server` must outlive the
 * result.
 */
struct access *access_new(struct server *server, char **generated, struct error *error);
void access_free(struct access *access);           /* NULL is allowed */
bool access_is_empty(const struct access *access); /* no key can be used now, and there is no authenticator */
/* [text, …]: the OAuth issuers whose tokens are accepted; borrowed; NULL: none. */
tn_value access_issuers(const struct access *access);
/*
 * The key with this text, borrowed until it is revoked; keep its name, and look again with access_find. NULL: there is
 * no such key, it is revoked or expired. The time that it takes does not depend on which keys there are.
 */
const struct access_key *access_check(const struct access *access, const char *text, size_t length);
/* NULL: revoked or expired meanwhile. */
const struct access_key *access_find(const struct access *access, const char *name);
/* The key, or the user, with this name, scope and owner; NULL: revoked, expired or changed meanwhile. */
const struct access_key *access_find_same(const struct access *access, const struct access_key *like);

enum access_answer {
    ACCESS_KNOWN,
    ACCESS_WRONG,  /* the token is not valid */
    ACCESS_DENIED, /* its user may not use this host */
    ACCESS_AWAY    /* it cannot be checked now */
};
/* `key` is borrowed, as that of access_check; NULL unless the answer is ACCESS_KNOWN. */
typedef void access_done(void *user, enum access_answer answer, const struct access_key *key);
struct access_wait;
/*
 * Asks the authenticators about a text that access_check does not know. `done` is called once, not inside of this
 * function. NULL: there is no authenticator, so the text is wrong. Cancel it before access_free.
 */
struct access_wait *access_ask(const struct access *access, const char *text, size_t length, access_done *done,
                               void *user);
void access_wait_cancel(struct access_wait *wait); /* `done` is not called; NULL is allowed */

#endif
