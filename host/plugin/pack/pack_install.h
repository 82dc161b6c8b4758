/*
 * pack_install.h - installs and removes packs atomically.
 *
 * A pack is unpacked into a temporary folder, every file is checked and flushed to the disk, and then the folder is
 * renamed to its place. If a step fails or the process is killed, the pack is not visible. A lock admits one installer
 * at a time; the next one removes what a killed one has left behind.
 *
 *     struct pack *pack;
 *     enum pack_installed outcome;
 *     if (pack_open(path, &pack, &error) != TN_OK || …the signature…) return report(&error);
 *     status = packs_install(pack, key, from, &outcome, &error);
 *     pack_close(pack);
 */
#ifndef TENON_HOST_PLUGIN_PACK_PACK_INSTALL_H
#define TENON_HOST_PLUGIN_PACK_PACK_INSTALL_H

#include "host/plugin/pack/pack.h"

enum pack_installed { PACK_NEW, PACK_ALREADY_INSTALLED };

/*
 * Installs a pack, and reads its files. `key` and `from` are recorded: the key whose signature was verified, and the
 * pinned reference of the registry that it comes from; or NULL. If the pack was installed already, only `from` is
 * recorded, unless it is NULL. PACK_REFUSED if the pack requires another Tenon, or if another build of this version is
 * installed. PACK_ALTERED if this build is installed and its files were changed. NAME_RESERVED if a plugin of it claims
 * a name of the bundled plugins. Thread: any.
 */
int32_t packs_install(struct pack *pack, const char *key, const char *from, enum pack_installed *outcome,
                      struct error *error);

/*
 * Removes one version, or all versions if `version` is NULL; *count is the number of removed versions. NOT_FOUND if
 * none is installed. Thread: any.
 */
int32_t packs_remove(const char *name, const char *version, uint32_t *count, struct error *error);

#endif
