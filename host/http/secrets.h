/*
 * secrets.h - the secrets that requests have in them: fetched once, and taken out of whatever comes back.
 *
 * A secret is fetched when a request first needs it, and kept until the host ends, since what comes back must be
 * searched for it: in ordinary memory, wiped at the end. A command is so run once, by a thread of its own, while the
 * loop goes on. What has been sent on (to the plugin that provides HTTP) is that plugin's to forget. Where a server has
 * refused a request with 401, a file or a command is asked again for the next one, once in SECRETS_AGAIN_MS at most.
 *
 * What a plugin has got for itself, as the token that it asked a server for, is known by the headers that it sends: the
 * last SECRETS_SENT_MAX of those texts are searched for as well, and have no name.
 *
 *     if (secrets_wait(secrets, "ACME_KEY", now_ms, &waiter)) return;    // waiter.ready comes, and begins anew
 *     if (secrets_get(secrets, "ACME_KEY", now_ms, &text, &error) != TN_OK) return report(&error);
 *     tn_value safe = secrets_scrub(secrets, headers, SECRETS_SCRUB_MIN);
 *
 * [loop], but for secrets_scrub_line.
 */
#ifndef TENON_HOST_HTTP_SECRETS_H
#define TENON_HOST_HTTP_SECRETS_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct config;
struct loop;
struct secrets;

/* Bytes of a secret that is searched for. A shorter one is in too much that is none. */
#define SECRETS_SCRUB_MIN 4u
/* The same for what a plugin wrote itself: a body that is to be found again where there are no secrets. */
#define SECRETS_SCRUB_OWN_MIN 8u
#define SECRETS_AGAIN_MS      60000
/* Texts of headers that plugins wrote out: how many are kept, and the bytes of one that is no word of any text. */
#define SECRETS_SENT_MAX 64u
#define SECRETS_SENT_MIN 12u

/* Whoever waits for a secret. All zero to begin with: it waits for none. */
struct secrets_waiter {
    struct secrets_waiter *next, **list; /* list: where it stands, NULL: nowhere */
    /* It has been fetched; or cannot be, and why, borrowed. Comes from the loop. */
    void (*ready)(struct secrets_waiter *waiter, const struct error *failure);
};

struct secrets *secrets_new(const struct config *config, struct loop *loop); /* both are borrowed */
/* Commands that run are killed: nobody waits for a secret any more. */
void secrets_close(struct secrets *secrets);
void secrets_free(struct secrets *secrets); /* after that; NULL is allowed */
/* True: it is to be fetched by a command, which has been begun, and `waiter` is told when it is there. */
bool secrets_wait(struct secrets *secrets, const char *name, int64_t now_ms, struct secrets_waiter *waiter);
void secrets_leave(struct secrets_waiter *waiter); /* is not told; nothing where it does not wait */
/* Its text, a new reference; a command that secrets_wait has not been asked for is waited for. SECRET_NOT_FOUND. */
int32_t secrets_get(struct secrets *secrets, const char *name, int64_t now_ms, tn_value *out, struct error *error);
/* Nobody says where it is, and no variable has its name: what `optional` is for. */
bool secrets_absent(const struct secrets *secrets, const char *name);
/* A server has not accepted it. */
void secrets_doubt(struct secrets *secrets, const char *name);
/*
 * What was told to a plugin in its section: `revealed` is `section` with texts in the place of {secret: NAME}; they are
 * searched for from now on.
 */
void secrets_learn(struct secrets *secrets, tn_value section, tn_value revealed);
/* A plugin sends it as who it is; a short one is not kept. */
void secrets_learn_sent(struct secrets *secrets, const char *text, size_t length);
/*
 * The value without any secret of `min` bytes or more: {secret:NAME} is in its place, or {redacted} where it has no
 * name. A new reference.
 */
tn_value secrets_scrub(struct secrets *secrets, tn_value value, size_t min);
/*
 * Where the next one begins, from *at on, how long it is, and its name, borrowed, NULL where it has none; false: there
 * is none. For what is in pieces.
 */
bool secrets_next(const struct secrets *secrets, const char *text, size_t length, size_t min, size_t *at, size_t *size,
                  const char **name);
/* What stands in the place of one of this name. */
void secrets_put_name(struct buffer *out, const char *name);
/* [any] The line without secrets, mem_free it; NULL where it has none. */
char *secrets_scrub_line(struct secrets *secrets, const char *line);

#endif
