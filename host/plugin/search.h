/*
 * search.h - where plugins are looked for, in which order, and who said so.
 *
 *   1. what the user typed (--plugins), 2. TENON_PLUGIN_PATH (colons between), 3. `plugins.path` of tenon.yaml,
 *   4. the user's directory ($XDG_DATA_HOME/tenon/plugins), 5. the packs that are installed (pack/installed.h), 6. the
 *   directory that came with this host, found from where the running program or libtenon lies: an installed tree may be
 *   moved, and a build tree is laid out like one.
 *
 * An entry is a directory (all its *.so files, and what has a NAME.tenon.json beside it, by name) or one file. Nothing
 * is opened here.
 *
 *     struct search search;
 *     search_init(&search);
 *     search_add(&search, "plugins/", SEARCH_FLAG, "--plugins");
 *     search_add_environment(&search);
 *     registry_scan(registry, &search, &error);
 *     search_finish(&search);
 */
#ifndef TENON_HOST_PLUGIN_SEARCH_H
#define TENON_HOST_PLUGIN_SEARCH_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>

#define SEARCH_ENTRIES_MAX 1024u /* entries of one search path; more are dropped, and `dropped` counts them */
#define SEARCH_FILES_MAX   1000u /* *.so files of one directory */

enum search_origin { SEARCH_FLAG, SEARCH_ENVIRONMENT, SEARCH_CONFIG, SEARCH_USER, SEARCH_PACK, SEARCH_INSTALLED };

struct search_entry {
    char *path;
    char *source; /* for people: "--plugins", "TENON_PLUGIN_PATH", "tenon.yaml", "user directory", "pack NAME VERSION",
                     … */
    enum search_origin origin;
    struct error fault; /* why it must not be looked at; its code is NULL where there is nothing */
};

struct search {
    struct search_entry *entries;
    size_t count, dropped;
};

void search_init(struct search *search);
void search_finish(struct search *search);
/* Appends an entry. Empty paths are ignored, and so is a path that is there already. */
void search_add(struct search *search, const char *path, enum search_origin origin, const char *source);
/* An entry that is known to be unusable, and why (copied): so that whoever looks for it is told. */
void search_add_fault(struct search *search, const char *path, enum search_origin origin, const char *source,
                      const struct error *fault);
void search_add_environment(struct search *search); /* TENON_PLUGIN_PATH */
void search_add_user(struct search *search);
void search_add_installed(struct search *search);
/* The directory that came with this host; NULL where there is none. mem_free it. */
char *search_installed_directory(void);

/*
 * Calls `visit` with each file of an entry, in order of name; fails with its fault where it has one. TN_NOT_FOUND where
 * the path does not exist, TN_LIMIT past SEARCH_FILES_MAX. `named`: the entry is this very file, not a directory.
 */
int32_t search_files(const struct search_entry *entry, void (*visit)(void *user, const char *path, bool named),
                     void *user, struct error *error);

#endif
