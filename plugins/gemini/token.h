/*
 * token.h - access tokens of Google Cloud: fetched once for all calls, and cached until shortly before they expire.
 *
 * Models with the same credentials share a source. Invariant: a source has at most one request in progress. A wait is
 * notified exactly once, never inside token_wait, unless it is cancelled. Thread: the loop.
 *
 *     struct token_source *source = token_source_new(file, token_url, http);   // new, or shared
 *     tn_value header = token_get_cached(source);                              // "Bearer …", or NULL:
 *     if (header == NULL) token_wait(source, &wait);                           // calls wait.ready(&wait, header, NULL)
 *     token_discard(source, header);                                           // the service refused it
 *     token_source_free(source);
 */
#ifndef TENON_PLUGINS_GEMINI_TOKEN_H
#define TENON_PLUGINS_GEMINI_TOKEN_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/http.h>

/* A token counts as expired this long before its end. Metadata servers renew tokens that early. */
#define TOKEN_EARLY_S    240
#define TOKEN_LIFE_S     3600 /* lifetime if the answer has no expires_in */
#define TOKEN_LIFE_MAX_S 604800
/* Number of unused sources with a valid token that are kept, because models are often recreated. */
#define TOKEN_SOURCES_KEPT 16

struct token_source;

struct token_failure {
    const char *code; /* of tenon/message.h */
    const char *message;
};

struct token_wait {
    /* One of the two is NULL; both are borrowed. */
    void (*ready)(struct token_wait *wait, tn_value header, const struct token_failure *failure);
    struct token_wait *next;
    bool waiting;
};

/* The texts are copied, and may be NULL. Returns NULL if allocation fails. */
struct token_source *token_source_new(const char *file, const char *token_url, const tn_http_1 *http);
void token_source_free(struct token_source *source); /* NULL does nothing */
/* Frees the unused sources. */
void token_sources_free_unused(void);

/* Returns the header's value, borrowed. NULL if there is no valid token. */
tn_value token_get_cached(struct token_source *source);
void token_wait(struct token_source *source, struct token_wait *wait);
void token_cancel(struct token_source *source, struct token_wait *wait);
/* The service refused `header`: discards it if it is still the newest. */
void token_discard(struct token_source *source, tn_value header);
/* Returns the project that is billed (quota_project_id), if the credentials name one; borrowed, or NULL. It belongs to
 * the newest token. */
tn_value token_get_billing_project(const struct token_source *source);

#endif
