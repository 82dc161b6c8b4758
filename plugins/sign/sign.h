/*
 * sign.h - keys and signed JSON Web Tokens, for plugins that authenticate to services.
 *
 * Uses libcrypto. In a build without it every function fails; sign_is_available tests for that.
 *
 *     tn_value token = sign_jwt_take(header, claims, pem, length); // header.alg is what sign_key_algorithm returned
 */
#ifndef TENON_PLUGINS_SIGN_H
#define TENON_PLUGINS_SIGN_H

#include <stdbool.h>
#include <tenon/easy.h>

/* Returns true if the build has libcrypto. */
bool sign_is_available(void);
/* Returns the algorithm that the private key `pem` is for: "RS256" (RSA with at least 2048 bits) or "ES256" (P-256), or
 * NULL if it is for neither. */
const char *sign_key_algorithm(const char *pem, uint64_t length);
/*
 * Returns the token of `header` and `claims`, both objects, as a new reference to a string. Takes both. Returns NULL if
 * `pem` cannot sign with the header's `alg`, if an argument is NULL, or if memory runs out. The key is not kept.
 */
tn_value sign_jwt_take(tn_value header, tn_value claims, const char *pem, uint64_t length);

/* Makes a private key of the curve P-256. Returns its PEM, a new reference to a string, or NULL on failure. */
tn_value sign_make_key(void);
/* Returns the public half of such a key as a JSON Web Key {kty, crv, x, y}, a new reference; NULL if `pem` is not one.
 */
tn_value sign_public_key(const char *pem, uint64_t length);

#endif
