/*
 * access.h - who a request comes from: named keys, which are kept as hashes.
 *
 * The keys of the store (collection `keys`) are in memory; a change by another process (`tenon key create`, `revoke`)
 * is noticed within a second. If the store is unavailable, the keys that were known stay valid. A host without keys
 * generates one, which lives as long as the host.
 *
 *     struct access *access = access_new(server, &options, &error);
 *     const struct access_key *key = access_check(access, secret, &refusal);     // in each request
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

struct access_key {
    const char *name;
    enum method_scope scope;
    const char *owner; /* NULL: the operator (only with the scope `admin`) */
    /* {requests_per_minute?, runs?, tokens_per_day?, cost_per_day?}, those of the key or of `serve: {limits}`; borrowed
     */
    tn_value limits;
};

/* *generated is the text of a generated key, to be shown once; free it with mem_free; NULL if there are keys. */
struct access *access_new(struct server *server, char **generated, struct error *error);
void access_free(struct access *access); /* NULL is allowed */
/*
 * The key with this text, borrowed until it is revoked; keep its name, and look again with access_find. NULL: there is
 * no such key, it is revoked or expired. The comparison takes the same time for every text.
 */
const struct access_key *access_check(const struct access *access, const char *text, size_t length);
const struct access_key *access_find(const struct access *access, const char *name); /* NULL: revoked meanwhile */

#endif
