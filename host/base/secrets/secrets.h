/*
 * secrets.h - the secrets of a host: fetched once, inserted into requests, and removed from results, responses and log
 * lines.
 *
 * A secret is fetched when a request first needs it, and kept in memory until the host ends, because responses are
 * searched for it; then its memory is wiped. A command therefore runs once, on a separate thread, while the loop
 * continues. After a server has rejected a request with 401, the secret is fetched again for the next request, at most
 * once in SECRETS_AGAIN_MS. The plugin that provides HTTP is responsible for the copies that it receives.
 *
 * A plugin can have secrets that the host does not know, such as a token that it requested from a server. The last
 * SECRETS_SENT_MAX texts that plugins sent in such headers are searched for, too; they have no name.
 *
 *     if (secrets_wait(secrets, "ACME_KEY", now_ms, &waiter)) return;    // waiter.ready is called; then try again
 *     if (secrets_get(secrets, "ACME_KEY", now_ms, &text, &error) != TN_OK) return report(&error);
 *     tn_value safe = secrets_scrub(secrets, headers, SECRETS_SCRUB_MIN);
 *
 * Thread: the loop's, except secrets_scrub_line.
 */
#ifndef TENON_HOST_BASE_SECRETS_SECRETS_H
#define TENON_HOST_BASE_SECRETS_SECRETS_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct config;
struct loop;
struct secrets;

/* Shorter secrets are not searched for, because they occur in ordinary text. Bytes. */
#define SECRETS_SCRUB_MIN 4u
/* The same for request bodies in recordings, which must be found again in a replay that has no secrets. */
#define SECRETS_SCRUB_REQUEST_MIN 8u
/* The same for what components return, which other components use: a wrong match would change a result. */
#define SECRETS_RESULT_MIN 8u
#define SECRETS_AGAIN_MS   60000
/* Texts that plugins sent in headers: how many are kept, and the least length of one, in bytes. */
#define SECRETS_SENT_MAX 64u
#define SECRETS_SENT_MIN 12u

/* An object that waits for a secret. Initialise all members except `ready` with zero. */
struct secrets_waiter {
    struct secrets_waiter *next, **list; /* list: the list that contains it, or NULL */
    /* Called from the loop: the secret was fetched, or `failure` (borrowed) describes why not. */
    void (*ready)(struct secrets_waiter *waiter, const struct error *failure);
};

struct secrets *secrets_new(const struct config *config, struct loop *loop); /* both are borrowed */
/* Kills running commands. No waiter may be left. */
void secrets_close(struct secrets *secrets);
void secrets_free(struct secrets *secrets); /* after secrets_close; NULL is allowed */
/* Returns true if a command must run first. It is then running, and `waiter->ready` will be called. */
bool secrets_wait(struct secrets *secrets, const char *name, int64_t now_ms, struct secrets_waiter *waiter);
void secrets_wait_cancel(struct secrets_waiter *waiter); /* stops waiting; no effect if it does not wait */
/* Returns its text, a new reference; blocks for a command unless secrets_wait was used. Fails with SECRET_NOT_FOUND. */
int32_t secrets_get(struct secrets *secrets, const char *name, int64_t now_ms, tn_value *out, struct error *error);
/* True if it is neither configured nor an environment variable. Such a secret can be `optional` in a request. */
bool secrets_absent(const struct secrets *secrets, const char *name);
/* A server rejected the secret: fetches it again for the next request, at most once in SECRETS_AGAIN_MS. */
void secrets_invalidate(struct secrets *secrets, const char *name);
/*
 * Adds the secrets that a plugin received in its configuration: `revealed` is `section` with texts in place of
 * {secret: NAME}.
 */
void secrets_learn(struct secrets *secrets, tn_value section, tn_value revealed);
/* Adds a text that a plugin sends as a credential. Texts below SECRETS_SENT_MIN bytes are ignored. */
void secrets_learn_sent(struct secrets *secrets, const char *text, size_t length);
/*
 * Returns the value with each secret of at least `min` bytes (one of the three numbers above) replaced by
 * {secret:NAME}, or {redacted} if it has no name. A new reference, of the same value if it contains none. A secret is
 * found in the forms of secrets_forms.h.
 */
tn_value secrets_scrub(struct secrets *secrets, tn_value value, size_t min);
/* The same with an error, for texts of components. Both may be NULL. */
void secrets_scrub_error(struct secrets *secrets, struct error *error);
/*
 * Finds the next secret at or after *at: its start, its length and its name (borrowed; NULL without a name). Returns
 * false if the text contains no more secrets. Used for bodies that arrive in pieces.
 */
bool secrets_next(struct secrets *secrets, const char *text, size_t length, size_t min, size_t *at, size_t *size,
                  const char **name);
/* The length of the end of `text` that is the start of a secret, and may be continued; 0 if there is no such end. */
size_t secrets_open_end(struct secrets *secrets, const char *text, size_t length, size_t min);
/* Appends the text that replaces a secret with this name (NULL if it has no name). */
void secrets_put_name(struct buffer *out, const char *name);
struct secrets_stream;
/* For secrets_stream.c: the first of the streams. */
struct secrets_stream **secrets_streams(struct secrets *secrets);
/* Returns the line without secrets (mem_free it), or NULL if it contains none. Thread: any. */
char *secrets_scrub_line(struct secrets *secrets, const char *line);

#endif
