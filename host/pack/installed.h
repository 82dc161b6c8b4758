/*
 * installed.h - the packs that are installed, and whether they are still what they were.
 *
 * They lie in $XDG_DATA_HOME/tenon/packs, each version in a folder NAME/VERSION of its own, which comes and goes with
 * one rename: there is never a part of one. Names that begin with a dot are the host's, and no pack can have one:
 *
 *     .lock                           held by whoever installs or removes
 *     .new, .old                      on the way in and out; what is left of a killed one goes with the next change
 *     NAME/VERSION/.installed.json    {"manifest": hash of pack.json, "key": whose signature was right, if any}
 *
 * pack.json has the hash of every file and the record that of pack.json: a byte that changed is found out without any
 * cryptography but SHA-256. Whether the key is trusted is asked of tenon.yaml each time: trust can be taken back. This
 * keeps packs from being altered by accident or by one who may write some of their files; who may write the record may
 * write anything of the user's.
 *
 * Of the versions of a pack one is in use: the newest of those that are trusted, or where none is, the newest. So what
 * nobody has signed never takes the place of what is trusted, whatever version it says it is.
 *
 *     packs_each(config, print_pack, NULL);
 *     packs_search(config, &search);          // the plugins of what is in use of each, at the end of the path
 *
 * Everything is [any thread].
 */
#ifndef TENON_HOST_PACK_INSTALLED_H
#define TENON_HOST_PACK_INSTALLED_H

#include "host/pack/pack.h"

struct config;
struct search;

#define PACKS_MAX         500u /* names that are installed; more are not looked at */
#define PACK_VERSIONS_MAX 50u  /* versions of one */
#define PACK_RECORD       ".installed.json"
#define PACK_RECORD_MAX   (4u << 10) /* bytes of it */

/* A version of a pack. Borrowed by who is given it, for the call. */
struct installed_pack {
    const char *folder, *name, *version; /* of the folder; nothing else is there where it is at fault */
    bool trusted;                        /* signed by a key that the configuration trusts, as its record says */
    const char *instead;                 /* the version of it that is in use; NULL: this one, its plugins are found */
    struct pack_manifest manifest;
    const char *key;    /* whose signature was right; NULL where it is not signed */
    struct error fault; /* PACK_ALTERED and others; its code is NULL where there is none */
};

/* The folder of them all; NULL where neither XDG_DATA_HOME nor HOME is set. mem_free it. */
char *packs_folder(void);
/* In order of name, and of each the newest first. `config` says who is trusted; NULL: nobody. */
void packs_each(const struct config *config, void (*visit)(void *user, const struct installed_pack *pack), void *user);
/* The same of one folder, which need not be in packs_folder. */
int32_t pack_inspect(const char *folder, struct installed_pack *out, struct error *error);
void installed_pack_finish(struct installed_pack *pack);

/* One file of it: PACK_ALTERED with both hashes where it is another, NOT_FOUND (IO) where it is gone. */
int32_t pack_verify_file(const struct installed_pack *pack, const char *path, struct error *error);
/* A plugin of it, and the manifest beside it where it has one. */
int32_t pack_verify_plugin(const struct installed_pack *pack, const char *path, struct error *error);
/* All of it: every file is what it was. */
int32_t pack_verify_all(const struct installed_pack *pack, struct error *error);

/* Adds the plugins of what is in use, those that are what they were; what is at fault is added as that. */
void packs_search(const struct config *config, struct search *search);
/* Whether the file lies in the folder of packs: nobody but the installer may change it. */
bool packs_contain(const char *file);
/*
 * Whether a plugin is part of an installed pack that nobody whom `config` trusts has signed: wherever the path was
 * found, it is the file that counts.
 */
bool packs_untrusted(const struct config *config, const char *plugin_path);

#endif
