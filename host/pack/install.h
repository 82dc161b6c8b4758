/*
 * install.h - packs coming and going: whole, or not at all.
 *
 * A pack is unpacked into a folder beside the others, every file checked on its way, written to the disk, and only then
 * renamed to its place; where anything fails, or the process is killed, nothing is seen of it. A lock lets one
 * installer in at a time; the next one waits, and clears away what a killed one has left.
 *
 *     struct pack *pack;
 *     enum pack_installed outcome;
 *     if (pack_open(path, &pack, &error) != TN_OK || …the signature…) return report(&error);
 *     status = packs_install(pack, key, &outcome, &error);
 *     pack_close(pack);
 */
#ifndef TENON_HOST_PACK_INSTALL_H
#define TENON_HOST_PACK_INSTALL_H

#include "host/pack/pack.h"

enum pack_installed { PACK_NEW, PACK_THERE_ALREADY };

/*
 * `key`: whose signature of the manifest was found right, or NULL; it is recorded. The pack's files are read by this.
 * PACK_REFUSED where it needs another Tenon, or another build of this version is installed; PACK_ALTERED where this
 * very one is, and is not what it was. [any thread]
 */
int32_t packs_install(struct pack *pack, const char *key, enum pack_installed *outcome, struct error *error);

/* One version, or with NULL all of them; *count says how many. NOT_FOUND where there are none. [any thread] */
int32_t packs_remove(const char *name, const char *version, uint32_t *count, struct error *error);

#endif
