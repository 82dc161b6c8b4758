/*
 * token.h - access tokens that expire: fetched once for all calls, and cached until shortly before they expire.
 *
 * A maker builds the requests of one kind of credentials. Models with the same maker and settings share a source.
 * Invariant: a source has at most one request in progress. A wait is notified exactly once, never inside token_wait,
 * unless it is cancelled. A failure is not cached. Thread: the loop.
 *
 *     struct token_source *source = token_source_new(&google_maker, settings, http);   // new, or shared
 *     tn_value header = token_get_cached(source);                              // "Bearer …", or NULL:
 *     if (header == NULL) token_wait(source, &wait);                           // calls wait.ready(&wait, header, NULL)
 *     token_discard(source, header);                                           // the service refused it
 *     token_source_free(source);
 */
#ifndef TENON_PLUGINS_TOKEN_H
#define TENON_PLUGINS_TOKEN_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/http.h>

/* A token counts as expired this long before its end. Metadata servers renew tokens that early. */
#define TOKEN_EARLY_S    240
#define TOKEN_LIFE_S     3600 /* lifetime if the answer has no expires_in */
#define TOKEN_LIFE_MAX_S 604800
/* Number of unused sources with a valid token that are kept, because models are often recreated. */
#define TOKEN_SOURCES_KEPT 16
#define TOKEN_MESSAGE_MAX  512

struct token_source;

/* What a maker's `build` returns. Its values are new references. */
struct token_request {
    tn_value request;  /* of tenon/http.h; it should be `private` */
    tn_value note;     /* belongs to the token, see token_get_note; or NULL */
    bool uses_machine; /* a server of this machine is asked, which often does not exist */
};

struct token_maker {
    const char *provider; /* "gemini": starts every message */
    const char *issuer;   /* "Google": "… returned no access token" */
    /* Builds the request for the settings of token_source_new. On failure, returns false with the reason in `message`,
     * and *out is not used. */
    bool (*build)(tn_value settings, struct token_request *out, char message[TOKEN_MESSAGE_MAX]);
    const char *refused;    /* what to do if the issuer refuses the credentials */
    const char *no_machine; /* the message if the machine's server cannot be reached */
};

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

/* `maker` is borrowed and outlives the source; `settings` is retained. Returns NULL if allocation fails. */
struct token_source *token_source_new(const struct token_maker *maker, tn_value settings, const tn_http_1 *http);
void token_source_free(struct token_source *source); /* NULL does nothing */
/* Frees the unused sources. */
void token_sources_free_unused(void);

/* Returns the header's value, borrowed. NULL if there is no valid token. */
tn_value token_get_cached(struct token_source *source);
void token_wait(struct token_source *source, struct token_wait *wait);
void token_cancel(struct token_source *source, struct token_wait *wait);
/* The service refused `header`: discards it if it is still the newest. */
void token_discard(struct token_source *source, tn_value header);
/* Returns the note of the newest token, for example the project that is billed; borrowed, or NULL. */
tn_value token_get_note(const struct token_source *source);

/* Appends name=value to a form, percent-encoded. Returns false if it does not fit. */
bool token_put_form_field(char *out, size_t size, const char *name, const char *value);

#endif
