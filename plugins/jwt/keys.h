/*
 * keys.h - the public keys of an issuer (a JSON Web Key Set, RFC 7517), and the check of a signature (RFC 7518).
 *
 * The algorithms are RS256, RS384, RS512, PS256, ES256, ES384 and EdDSA with Ed25519: signatures by a private key.
 * Those with a shared secret (HS256, …) and `none` do not exist here, so a token cannot choose them. A key fits an
 * algorithm by its kind, its curve and its `alg`.
 *
 *     struct key_set *keys = key_set_read(json);
 *     switch (key_set_verify(keys, alg, kid, text, length, signature, size)) …
 */
#ifndef TENON_PLUGINS_JWT_KEYS_H
#define TENON_PLUGINS_JWT_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <tenon/easy.h>

#define KEYS_MAX     64u   /* keys of a set; the others are not used */
#define KEY_ID_MAX   255u  /* bytes of a `kid` */
#define KEY_TRIES    4u    /* keys that are tried for one token */
#define RSA_BITS_MIN 2048u /* shorter ones are not secure */
#define RSA_BITS_MAX 8192u /* a longer one takes long to use */

enum key_result { KEY_VALID, KEY_WRONG, KEY_UNKNOWN };

struct key_set;

bool key_algorithm_is_known(const char *alg);
/* The keys that can be used; NULL if it is not a key set. */
struct key_set *key_set_read(tn_value json);
void key_set_free(struct key_set *set);
size_t key_set_count(const struct key_set *set);
/* `kid` is NULL if the token has none. KEY_UNKNOWN: no key has this `kid`; without a `kid`: none fits. */
enum key_result key_set_verify(const struct key_set *set, const char *alg, const char *kid, const char *text,
                               size_t length, const unsigned char *signature, size_t size);

#endif
