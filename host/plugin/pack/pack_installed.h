/*
 * pack_installed.h - lists installed packs, and checks whether their files have changed.
 *
 * Packs are installed in $XDG_DATA_HOME/tenon/packs, each version in a separate folder NAME/VERSION. A folder appears
 * and disappears with one rename, so it is never incomplete. Names that begin with a dot belong to the host; a pack
 * cannot contain them:
 *
 *     .lock                           held by a process that installs or removes
 *     .new, .old                      temporary folders; leftovers are removed by the next change
 *     NAME/VERSION/.installed.json    the record: {"manifest": hash of pack.json, "key": verified key, if signed,
 *                                     "from": oci://…, if it comes from a registry}
 *
 * pack.json has the hash of every file, and the record has the hash of pack.json, so SHA-256 is enough to detect a
 * changed byte. Whether the key is trusted is looked up in tenon.yaml each time, so that trust can be withdrawn. This
 * protects against accidents and against someone who can write some of the files. Someone who can write the record can
 * change every file of the user anyway.
 *
 * One version of each pack is in use: the newest trusted one, or the newest if none is trusted. Therefore an unsigned
 * pack never replaces a trusted one, even if its version is newer.
 *
 *     packs_each(config, print_pack, NULL);
 *     packs_search(config, &search);          // adds the plugins of the versions in use to the search path
 *
 * Thread: any.
 */
#ifndef TENON_HOST_PLUGIN_PACK_PACK_INSTALLED_H
#define TENON_HOST_PLUGIN_PACK_PACK_INSTALLED_H

#include "host/plugin/pack/pack.h"

struct config;
struct search;

#define PACKS_MAX         500u /* names of installed packs; more are ignored */
#define PACK_VERSIONS_MAX 50u  /* versions of one pack; more are ignored */
#define PACK_RECORD       ".installed.json"
#define PACK_RECORD_MAX   (4u << 10) /* bytes of the record */

/* One installed version of a pack. A visitor may use it only during the call. */
struct installed_pack {
    const char *folder, *name, *version; /* taken from the folder; valid even if `fault` is set */
    bool trusted;                        /* its record has a key that the configuration trusts */
    const char *version_in_use;          /* NULL if this version is in use */
    struct pack_manifest manifest;
    const char *key;    /* the verified key; NULL if it is not signed */
    const char *from;   /* the pinned reference that it was installed from; NULL for a file */
    struct error fault; /* PACK_ALTERED and others; its code is NULL if the pack is intact */
};

/* Visits all packs by name, the newest version first. `config` has the trusted keys and may be NULL. */
void packs_each(const struct config *config, void (*visit)(void *user, const struct installed_pack *pack), void *user);
/* Reads one folder, which may be anywhere. The caller calls installed_pack_finish. */
int32_t pack_inspect(const char *folder, struct installed_pack *out, struct error *error);
void installed_pack_finish(struct installed_pack *pack);

/* Checks the hash of every file. */
int32_t pack_verify_all(const struct installed_pack *pack, struct error *error);
/* Checks the hash of one file; for a plugin, also of the manifest beside it. */
int32_t pack_verify_part(const struct installed_pack *pack, const char *path, struct error *error);
/*
 * Checks bytes that were read from a file at the canonical path `file`: PACK_ALTERED if it is in the folder of a pack,
 * and its bytes are not those of the pack. TN_OK if it is elsewhere.
 */
int32_t packs_verify_read(const char *file, const void *bytes, size_t length, struct error *error);

/* Adds the plugins of the versions in use to `search`: SEARCH_PACK, or SEARCH_PACK_UNTRUSTED. A pack or plugin that has
 * changed is added as a fault. */
void packs_search(const struct config *config, struct search *search);
/* True if the file is in the folder of packs, where only the installer may change files. */
bool packs_contain(const char *file);
/*
 * True if a plugin belongs to an installed pack without the signature of a key that `config` trusts. Links are
 * resolved: only the place of the file counts.
 */
bool packs_untrusted(const struct config *config, const char *plugin_path);

#endif
