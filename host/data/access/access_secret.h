/*
 * access_secret.h - the text of a key, and its hash.
 *
 * A secret is `tn_`, 43 characters for 32 random bytes in base64url, and 6 characters that depend on the ones before,
 * so that a program that searches texts for keys, or a person with a mistyped one, recognizes it without the store.
 * Only its SHA-256 is kept: the random bytes cannot be guessed, so a slow hash would add nothing.
 *
 *     char secret[ACCESS_SECRET_TEXT];
 *     access_secret_make(secret);
 *     access_secret_hash(secret, strlen(secret), hash);
 *
 * Thread: any.
 */
#ifndef TENON_HOST_DATA_ACCESS_ACCESS_SECRET_H
#define TENON_HOST_DATA_ACCESS_ACCESS_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#define ACCESS_SECRET_LENGTH 52
#define ACCESS_SECRET_TEXT   (ACCESS_SECRET_LENGTH + 1)
#define ACCESS_HASH_BYTES    32
#define ACCESS_HASH_TEXT     65 /* hexadecimal, with the NUL */

void access_secret_make(char out[ACCESS_SECRET_TEXT]);
/* True if the text has the form of a secret. It may be that of no key. */
bool access_secret_is_formed(const char *text, size_t length);
void access_secret_hash(const char *text, size_t length, unsigned char out[ACCESS_HASH_BYTES]);
void access_hash_write(const unsigned char hash[ACCESS_HASH_BYTES], char out[ACCESS_HASH_TEXT]);
/* Reads what access_hash_write writes; false for any other text. */
bool access_hash_read(const char *text, size_t length, unsigned char out[ACCESS_HASH_BYTES]);

#endif
