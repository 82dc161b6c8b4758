/*
 * access_keys.h - the named keys of a store: who may use a host over HTTP.
 *
 * A key has a name, a scope and an owner (host/server/web/README.md). The store has the hash of its secret, which is
 * shown once, when the key is created. A key that is revoked, or has expired, stays listed for ACCESS_KEPT_DAYS; then
 * its name is free. Names and owners have the form of an owner (plugin/call/owner.h).
 *
 *     tn_value wanted = {name: "alice", scope: "run"};
 *     access_key_create(store, wanted, done, me);            // {secret: "tn_…", key: {name, scope, owner, …}}
 *     access_key_revoke(store, "alice", done, me);
 *
 * Each change also writes one small record, so that servers notice it by asking for the record's version
 * (access_keys_version). Results are those of a store_done. Thread: that of the store's loop.
 */
#ifndef TENON_HOST_DATA_ACCESS_ACCESS_KEYS_H
#define TENON_HOST_DATA_ACCESS_ACCESS_KEYS_H

#include "host/data/store/store.h"
#include "host/plugin/call/owner.h"
#include <stddef.h>

#define ACCESS_KEYS_MAX  10000 /* of a store, with those that are revoked; then LIMIT */
#define ACCESS_NAME_MAX  OWNER_MAX
#define ACCESS_DAYS_MAX  3650 /* of `expires_days` */
#define ACCESS_KEPT_DAYS 90

/* True for the form of an owner. `name` ends with a NUL. */
bool access_name_is_valid(const char *name, size_t length);

/* The name of the key that a server without keys generates. The store never has it. */
#define ACCESS_GENERATED "generated"

/*
 * `wanted`: {name, scope: "read" | "run" | "admin", owner?, expires_days?, limits?: {requests_per_minute?,
 * open_requests?, runs?, tokens_per_day?, cost_per_day?}}. Without an owner, it is the name; a key with the scope admin
 * then belongs to the operator. The result is {secret, key}. Fails with INVALID_INPUT, EXISTS or LIMIT.
 */
void access_key_create(struct store *store, tn_value wanted, store_done *done, void *user);
/* The result is the key. A key that is revoked already stays as it is. NOT_FOUND. */
void access_key_revoke(struct store *store, const char *name, store_done *done, void *user);
/*
 * {keys: [{name, scope, owner: TEXT or null, state: "active" | "expired" | "revoked", limits, created_at, expires_at:
 * TEXT or null, revoked_at: TEXT or null}, …]}, ordered by name. Records that this version of the host cannot read are
 * left out here and below.
 */
void access_keys_list(struct store *store, store_done *done, void *user);

/* For servers: the number that every change of the keys changes; 0 if there has been none. */
void access_keys_version(struct store *store, store_done *done, void *user);
/*
 * For servers: {version, keys: [{name, hash, scope, owner, limits, expires_ms?}, …]}: those that are not revoked.
 */
void access_keys_load(struct store *store, store_done *done, void *user);

#endif
