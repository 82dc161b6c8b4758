/*
 * access_tokens.h - the tokens of users that were checked, as hashes, and the keys that they stand for.
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_WEB_ACCESS_TOKENS_H
#define TENON_HOST_SERVER_WEB_ACCESS_TOKENS_H

#include "host/data/access/access_keys.h"
#include "host/data/access/access_secret.h"
#include "host/server/web/access_users.h"

struct access_token {
    struct access_token *next_hash, *next_name; /* in their buckets */
    struct access_token *older, *newer;         /* by the time of their check */
    struct access_key key;
    char name[ACCESS_USER_NAME_MAX + 1], owner[ACCESS_NAME_MAX + 1];
    unsigned char hash[ACCESS_HASH_BYTES];
    int64_t expires_ms; /* since 1970 */
    int64_t checked_ms; /* of the loop's clock */
};

struct access_tokens;

struct access_tokens *access_tokens_new(void);
void access_tokens_free(struct access_tokens *tokens); /* NULL is allowed */
struct access_token *access_tokens_get(const struct access_tokens *tokens, const unsigned char *hash);
/* A token of a user with this name, scope and owner that is valid at this time; or NULL. */
struct access_token *access_tokens_find(const struct access_tokens *tokens, const struct access_key *like,
                                        int64_t wall_ms);
/* Adds a copy, instead of one with this hash; forgets others if there are too many. */
void access_tokens_put(struct access_tokens *tokens, const struct access_token *token);
void access_tokens_remove(struct access_tokens *tokens, struct access_token *token); /* NULL is allowed */

#endif
