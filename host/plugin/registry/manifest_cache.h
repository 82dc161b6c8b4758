/*
 * manifest_cache.h - what the manifests of a folder's plugins said when they were read last, so that a start need not
 * open the files.
 *
 * There is one cache file for each folder of plugins. It has the identity of each plugin file (inode, size, times of
 * change), the names in its manifest, and the notes themselves. A file is described by the cache only if its identity
 * is equal. The names are enough to start; the whole manifest is read from the cached notes when it is needed.
 *
 *     struct manifest_cache *cache = manifest_cache_open(place, "plugins", false);
 *     const struct cached_manifest *known = manifest_cache_lookup(cache, "acme.so", &status);  // in order of name
 *     if (!known) manifest_cache_add(cache, "acme.so", &status, &manifest);
 *     manifest_cache_save(cache);
 *
 * A cache that lies gains nothing: before a plugin is loaded, its notes in the file are compared with the cached ones
 * (manifest_cache_matches), and the names with those of the notes (manifest_cache_read). A cache that cannot be read,
 * is damaged, or belongs to another user is ignored; one that cannot be written is not written.
 *
 * Thread: one at a time. Several processes may use the same cache: a file is replaced as a whole.
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_MANIFEST_CACHE_H
#define TENON_HOST_PLUGIN_REGISTRY_MANIFEST_CACHE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define MANIFEST_CACHE_MAX       (64u << 20) /* bytes of a cache file; with more notes, it is not written */
#define MANIFEST_CACHE_NOTES_MAX (1u << 20)  /* bytes of one plugin's notes; with more, it is read at each start */
#define MANIFEST_CACHE_FOLDERS   256u        /* cache files; when there are more, the oldest are removed */
#define MANIFEST_CACHE_FRESH_MS  50   /* a file that changed less than this before it was read is not cached, … */
#define MANIFEST_CACHE_COARSE_MS 2000 /* … or less than this, if its file system counts whole seconds */
#define MANIFEST_CACHE_VARIABLE  "TENON_MANIFEST_CACHE" /* "off": no cache is used */

struct elf_file;
struct manifest;
struct manifest_cache;

/* A component, or a preset of one (preset.h). */
struct cached_component {
    const char *kind, *id;
};

/* One plugin file. Borrowed from the cache. */
struct cached_manifest {
    const char *name;                 /* of the file, in its folder */
    const char *id, *version, *title; /* of the plugin */
    const struct cached_component *components;
    size_t component_count;
    bool dynamic, provides; /* the manifest has these members */
    bool separate;          /* it requests `isolation: process` */
    bool secrets;           /* it has effects `secret:NAME` */
    uint64_t device, inode, size;
    struct timespec modified, changed;
    uint64_t notes_at; /* where the notes are in the cache file */
    uint32_t notes_size, notes_hash;
};

/* The folder of the cache files, to be freed with mem_free; NULL if the environment has none, or switches it off. */
char *manifest_cache_place(void);

/*
 * Opens the cache of `folder`. If there is none, or none that can be used, it is empty; so it is with `refresh`, which
 * reads every manifest again. NULL if the folder cannot be resolved.
 */
struct manifest_cache *manifest_cache_open(const char *place, const char *folder, bool refresh);
void manifest_cache_free(struct manifest_cache *cache); /* NULL is allowed */

/*
 * What is known of the file, whose stat() is `status`; NULL if nothing is, or it has changed. Call it, and
 * manifest_cache_add, in order of name: what is between two of these names is forgotten.
 */
const struct cached_manifest *manifest_cache_lookup(struct manifest_cache *cache, const char *name,
                                                    const struct stat *status);
/*
 * Stores what was read. `before` is the file's status before that. Files that are not cached: programs, those with a
 * sidecar, those that changed meanwhile or just now.
 */
void manifest_cache_add(struct manifest_cache *cache, const char *name, const struct stat *before,
                        const struct manifest *manifest);
/* Writes the cache, if it differs from the file. Failures are only logged, at level debug. */
void manifest_cache_save(struct manifest_cache *cache);
/* Removes the cache file, because it is wrong. */
void manifest_cache_discard(struct manifest_cache *cache);

/*
 * The whole manifest, a new reference. `path` is the plugin's file, for messages. TN_INVALID if the cache is damaged,
 * or if the names do not agree with the notes.
 */
int32_t manifest_cache_read(const struct manifest_cache *cache, const struct cached_manifest *known, const char *path,
                            tn_value *out, struct error *error);
/* True if the names agree with the manifest. */
bool manifest_cache_agrees(const struct cached_manifest *known, tn_value manifest);
/* True if the file has exactly the cached notes. */
bool manifest_cache_matches(const struct manifest_cache *cache, const struct cached_manifest *known,
                            const struct elf_file *file);

#endif
