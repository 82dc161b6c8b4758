/*
 * sign.h - keys, signatures and what they are worth: all that needs libsodium, and so is the program's alone.
 *
 * A secret key is a file NAME.key (mode 0600) of one line, "tenon-secret-key:" and the 32 bytes of an Ed25519 seed in
 * base64; a public key is NAME.pub, 32 bytes in base64. What is signed are the exact bytes of pack.json.
 *
 *     char key[CONFIG_KEY_TEXT];
 *     if (sign_check(pack, &is_signed, key, &error) != TN_OK) return report(&error);      // a wrong one is refused
 *     bool trusted = is_signed && config_trusts(config, key, &error);
 */
#ifndef TENON_HOST_PACK_SIGN_H
#define TENON_HOST_PACK_SIGN_H

#include "host/config/config.h"
#include "host/pack/pack.h"

/* Makes NAME.key and NAME.pub, neither of which may be there; `key` is what the latter holds. */
int32_t sign_keygen(const char *name, char key[CONFIG_KEY_TEXT], struct error *error);
/* Signs the pack `path`, which is checked whole first, with the key in a file; `key` is the public one. */
int32_t sign_pack(const char *path, const char *key_file, char key[CONFIG_KEY_TEXT], struct error *error);
/* TN_OK: it has no signature (*is_signed false), or a right one, which is of `key`. PACK_INVALID: it has a wrong one.
 */
int32_t sign_check(const struct pack *pack, bool *is_signed, char key[CONFIG_KEY_TEXT], struct error *error);

#endif
