/*
 * access_tokens.c - two hash tables with chains, and the order of age.
 *
 * The first bytes of a SHA-256 are the bucket of a token: a client cannot choose valid tokens that are all in one
 * bucket.
 */
#include "host/server/web/access_tokens.h"
#include "adl/value/memory.h"
#include <string.h>

#define BUCKETS 4096u

struct access_tokens {
    struct access_token *hashes[BUCKETS], *names[BUCKETS];
    struct access_token *oldest, *newest;
    size_t count;
};

static size_t hash_bucket(const unsigned char *hash) { return (hash[0] | (size_t)hash[1] << 8) % BUCKETS; }

/* Names of users are hashes, or chosen by the operator's issuer: FNV-1a is enough. */
static size_t name_bucket(const char *name) {
    uint32_t hash = 2166136261u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash % BUCKETS;
}

struct access_tokens *access_tokens_new(void) {
    return mem_zalloc(sizeof(struct access_tokens));
}

void access_tokens_free(struct access_tokens *tokens) {
    if (!tokens) return;
    while (tokens->oldest) access_tokens_remove(tokens, tokens->oldest);
    mem_free(tokens);
}

struct access_token *access_tokens_get(const struct access_tokens *tokens, const unsigned char *hash) {
    struct access_token *token = tokens->hashes[hash_bucket(hash)];
    while (token && memcmp(token->hash, hash, ACCESS_HASH_BYTES) != 0) token = token->next_hash;
    return token;
}

struct access_token *access_tokens_find(const struct access_tokens *tokens, const struct access_key *like,
                                        int64_t wall_ms) {
    struct access_token *token = tokens->names[name_bucket(like->name)];
    while (token && (token->expires_ms <= wall_ms || token->key.scope != like->scope ||
                     strcmp(token->name, like->name) != 0 || !like->owner || strcmp(token->owner, like->owner) != 0))
        token = token->next_name;
    return token;
}

void access_tokens_remove(struct access_tokens *tokens, struct access_token *token) {
    if (!token) return;
    struct access_token **hash = &tokens->hashes[hash_bucket(token->hash)];
    struct access_token **name = &tokens->names[name_bucket(token->name)];
    while (*hash && *hash != token) hash = &(*hash)->next_hash;
    while (*name && *name != token) name = &(*name)->next_name;
    if (*hash) *hash = token->next_hash;
    if (*name) *name = token->next_name;
    *(token->older ? &token->older->newer : &tokens->oldest) = token->newer;
    *(token->newer ? &token->newer->older : &tokens->newest) = token->older;
    tokens->count--;
    value_unref(token->key.limits);
    mem_free(token);
}

/* The newest is first in its chain, so the last one of this name is its oldest. */
static void name_make_room(struct access_tokens *tokens, const char *name) {
    struct access_token *last = NULL;
    size_t count = 0;
    for (struct access_token *at = tokens->names[name_bucket(name)]; at; at = at->next_name)
        if (strcmp(at->name, name) == 0) {
            last = at;
            count++;
        }
    if (count >= ACCESS_USER_TOKENS_MAX) access_tokens_remove(tokens, last);
}

void access_tokens_put(struct access_tokens *tokens, const struct access_token *token) {
    struct access_token *copy = mem_alloc(sizeof *copy);
    access_tokens_remove(tokens, access_tokens_get(tokens, token->hash));
    name_make_room(tokens, token->name);
    if (tokens->count >= ACCESS_TOKENS_MAX) access_tokens_remove(tokens, tokens->oldest);
    *copy = *token;
    copy->key.name = copy->name;
    copy->key.owner = copy->owner;
    copy->key.limits = value_ref(token->key.limits);
    struct access_token **hash = &tokens->hashes[hash_bucket(copy->hash)];
    struct access_token **name = &tokens->names[name_bucket(copy->name)];
    copy->next_hash = *hash;
    copy->next_name = *name;
    *hash = *name = copy;
    copy->older = tokens->newest;
    copy->newer = NULL;
    *(tokens->newest ? &tokens->newest->newer : &tokens->oldest) = copy;
    tokens->newest = copy;
    tokens->count++;
}
