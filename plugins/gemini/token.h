/*
 * token.h - access tokens of Google Cloud: got once for however many calls want one, kept until shortly before they
 * end.
 *
 * A source is shared by all models with the same credentials. Invariant: at most one request of a source is on its way;
 * a wait is called exactly once, never inside token_wait, or it is cancelled. Everything is [loop].
 *
 *     struct token_source *source = token_source_new(file, token_url, http);      // or the one that is there
 *     tn_value header = token_now(source);                                        // "Bearer …", or NULL:
 *     if (header == NULL) token_wait(source, &wait);                              // wait.ready(&wait, header, NULL)
 *     token_forget(source, header);                                               // the service did not take it
 *     token_source_free(source);
 */
#ifndef TENON_PLUGINS_GEMINI_TOKEN_H
#define TENON_PLUGINS_GEMINI_TOKEN_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/http.h>

#define TOKEN_EARLY_S      240 /* before its end, a token counts as ended: the machine's are renewed so early as well */
#define TOKEN_LIFE_S       3600 /* where the answer does not say */
#define TOKEN_LIFE_MAX_S   604800
#define TOKEN_SOURCES_KEPT 16 /* with a good token, for models that will be made anew */

struct token_source;

struct token_failure {
    const char *code; /* of tenon/message.h */
    const char *message;
};

struct token_wait {
    /* One of both is NULL; borrowed, both. */
    void (*ready)(struct token_wait *wait, tn_value header, const struct token_failure *failure);
    struct token_wait *next;
    bool waiting;
};

/* The texts are copied, and may be NULL. NULL: no memory. */
struct token_source *token_source_new(const char *file, const char *token_url, const tn_http_draft *http);
void token_source_free(struct token_source *source); /* NULL does nothing */
/* Lets go of those that are kept. */
void token_sources_end(void);

/* The header's value, borrowed; NULL: there is none that is good for now. */
tn_value token_now(struct token_source *source);
void token_wait(struct token_source *source, struct token_wait *wait);
void token_cancel(struct token_source *source, struct token_wait *wait);
/* `header` was not accepted; where it still is the newest, it is thrown away. */
void token_forget(struct token_source *source, tn_value header);
/* Who pays, where the credentials say so (quota_project_id); borrowed, or NULL. As of the newest token. */
tn_value token_payer(const struct token_source *source);

#endif
