/*
 * sign.h - what plugins that prove who asks have of cryptography: a hash, chance, and JSON Web Tokens that are signed.
 *
 * Made of libcrypto; where the build is without, every function fails, and sign_there says so beforehand.
 *
 *     tn_value token = sign_jwt_take(header, claims, pem, length); // header has the alg that sign_algorithm gave
 */
#ifndef TENON_PLUGINS_SIGN_H
#define TENON_PLUGINS_SIGN_H

#include <stdbool.h>
#include <tenon/easy.h>

#define SIGN_SHA256 32 /* bytes of a hash */

/* Whether the build has libcrypto. */
bool sign_there(void);
bool sign_sha256(const void *bytes, uint64_t length, unsigned char hash[SIGN_SHA256]);
/* What the private key in `pem` signs with: "RS256" (RSA of 2048 bits or more), "ES256" (P-256). NULL: with neither. */
const char *sign_algorithm(const char *pem, uint64_t length);
/*
 * The token of `header` and `claims`, both objects; a new reference to a string. NULL: `pem` is no key that can sign by
 * the header's `alg`, or there is no memory, as where one of them is NULL. The key is not kept.
 */
tn_value sign_jwt_take(tn_value header, tn_value claims, const char *pem, uint64_t length);

/* A new private key of the curve P-256, as PEM: a new reference to a string. NULL: it cannot be made. */
tn_value sign_new_key(void);
/* The public half of such a key as a JSON Web Key, {kty, crv, x, y}: a new reference. NULL: `pem` is none. */
tn_value sign_public(const char *pem, uint64_t length);

#endif
