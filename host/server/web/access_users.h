/*
 * access_users.h - users whom plugins know (sdk/include/tenon/authenticator.h): which plugins, and who their tokens
 * belong to. Behind access.h.
 *
 * A user has a key like those of the store. Its name is `PLUGIN:OWNER`, which no key of the store can have. Tokens are
 * kept as hashes, until they expire; when there are too many, the oldest is forgotten, and is asked about again.
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_WEB_ACCESS_USERS_H
#define TENON_HOST_SERVER_WEB_ACCESS_USERS_H

#include "host/server/web/access.h"

#define ACCESS_TOKENS_MAX      20000u /* tokens that are kept, of all users */
#define ACCESS_USER_TOKENS_MAX 64u    /* of one user */
#define ACCESS_USER_NAME_MAX   200u   /* bytes of `PLUGIN:OWNER` */
#define ACCESS_ISSUERS_MAX     64u    /* issuers of all plugins, for metadata */
#define ACCESS_ISSUER_MAX      2048u  /* bytes of one */

struct access_users;

/*
 * Loads the plugins that `names` names. `limits` are those of each user, borrowed. UNSUPPORTED for a plugin that does
 * not exist or cannot be used, or as plugin_load.
 */
struct access_users *access_users_new(struct server *server, tn_value names, tn_value limits, struct error *error);
void access_users_free(struct access_users *users); /* NULL is allowed */
bool access_users_is_empty(const struct access_users *users);
tn_value access_users_issuers(const struct access_users *users); /* borrowed; NULL: none */
/* The user with the token of this hash, if it was checked lately and has not expired; NULL: ask. */
const struct access_key *access_users_check(struct access_users *users, const unsigned char *hash);
/* The user with this name, scope and owner, who has a token that has not expired; or NULL. */
const struct access_key *access_users_find(const struct access_users *users, const struct access_key *like);
/* As access_ask. */
struct access_wait *access_users_ask(struct access_users *users, const char *text, size_t length, access_done *done,
                                     void *user);

#endif
