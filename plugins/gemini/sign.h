/*
 * sign.h - a service account's word for who it is: a JSON Web Token, signed with its private key (RS256).
 */
#ifndef TENON_PLUGINS_GEMINI_SIGN_H
#define TENON_PLUGINS_GEMINI_SIGN_H

#include <tenon/easy.h>

/*
 * The token of `header` and `claims`, both objects; a new reference to a string. NULL: `pem` is no RSA key that can
 * sign, or there is no memory. The key is not kept.
 */
tn_value sign_jwt(tn_value header, tn_value claims, const char *pem, uint64_t length);

#endif
