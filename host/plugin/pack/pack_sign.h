/*
 * pack_sign.h - keys and signatures. It needs libsodium, and is therefore only in the program, not in libtenon.
 *
 * A secret key is a file NAME.key (mode 0600) of one line: "tenon-secret-key:" and the 32 bytes of an Ed25519 seed in
 * base64. A public key is a file NAME.pub: 32 bytes in base64. The signature covers the exact bytes of pack.json.
 *
 *     char key[CONFIG_PUBLIC_KEY_TEXT];
 *     if (sign_check(pack, &is_signed, key, &error) != TN_OK) return report(&error);      // an invalid signature
 *     bool trusted = is_signed && config_trusts(config, key, &error);
 *
 * Thread: any.
 */
#ifndef TENON_HOST_PLUGIN_PACK_PACK_SIGN_H
#define TENON_HOST_PLUGIN_PACK_PACK_SIGN_H

#include "host/base/config/config.h"
#include "host/plugin/pack/pack.h"

/* Creates NAME.key and NAME.pub, which must not exist; `key` is the public key. */
int32_t sign_keygen(const char *name, char key[CONFIG_PUBLIC_KEY_TEXT], struct error *error);
/* Checks the whole pack `path` and signs it with the key in `key_file`; `key` is the public key. */
int32_t sign_pack(const char *path, const char *key_file, char key[CONFIG_PUBLIC_KEY_TEXT], struct error *error);
/* TN_OK: the pack has no signature (*is_signed is false), or a valid one by `key`. PACK_INVALID: it is invalid. */
int32_t sign_check(const struct pack *pack, bool *is_signed, char key[CONFIG_PUBLIC_KEY_TEXT], struct error *error);
/* sign_check, for code of libtenon, to which only the program can pass it. */
typedef int32_t sign_check_fn(const struct pack *pack, bool *is_signed, char key[CONFIG_PUBLIC_KEY_TEXT],
                              struct error *error);

#endif
