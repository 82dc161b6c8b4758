/*
 * plugin_search.h - the search path of plugins: its entries, their order and their origin.
 *
 *   1. --plugins, 2. TENON_PLUGIN_PATH (separated by colons), 3. `plugins.path` of tenon.yaml,
 *   4. the user's directory ($XDG_DATA_HOME/tenon/plugins), 5. trusted packs (plugin/pack/pack_installed.h),
 *   6. the directory installed with this host, relative to the running program or libtenon: an installed tree can be
 *      moved, and a build tree has the same layout,
 *   7. packs that are not trusted, so that they cannot replace anything.
 *
 * Each of these is one place. A plugin or component of an earlier place shadows that of a later place; two of the same
 * place are an error (registry.h).
 *
 * An entry is one file or a directory: its *.so files, and files with a NAME.tenon.json beside them, in order of name.
 * No file is opened here.
 *
 *     struct search search;
 *     search_init(&search);
 *     search_add(&search, "plugins/", SEARCH_FLAG, "--plugins");
 *     search_add_environment(&search);
 *     registry_scan(registry, &search, &error);
 *     search_finish(&search);
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_PLUGIN_SEARCH_H
#define TENON_HOST_PLUGIN_REGISTRY_PLUGIN_SEARCH_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>

#define SEARCH_ENTRIES_MAX 1024u /* entries of one search path; more are dropped, and `dropped` counts them */
#define SEARCH_FILES_MAX   1000u /* *.so files of one directory */

/* The places, in order of precedence. */
enum search_origin {
    SEARCH_FLAG,
    SEARCH_ENVIRONMENT,
    SEARCH_CONFIG,
    SEARCH_USER,
    SEARCH_PACK,
    SEARCH_INSTALLED,
    SEARCH_PACK_UNTRUSTED
};

struct search_entry {
    char *path;
    char *source; /* for messages: "--plugins", "TENON_PLUGIN_PATH", "tenon.yaml", "user directory", "pack NAME
                     VERSION", … */
    enum search_origin origin;
    struct error fault; /* why it cannot be used; its code is NULL if it can */
};

struct search {
    struct search_entry *entries;
    size_t count, dropped;
};

void search_init(struct search *search);
void search_finish(struct search *search);
/* Adds an entry after those of its place and of earlier places. Empty and duplicate paths are ignored. */
void search_add(struct search *search, const char *path, enum search_origin origin, const char *source);
/* Adds an entry that cannot be used, with the reason (copied), which search_files then reports. */
void search_add_fault(struct search *search, const char *path, enum search_origin origin, const char *source,
                      const struct error *fault);
void search_add_environment(struct search *search); /* TENON_PLUGIN_PATH */
void search_add_user(struct search *search);
void search_add_installed(struct search *search);
/* The directory installed with this host, or NULL. Free it with mem_free. */
char *search_installed_directory(void);
/* The folder share/tenon of the same installation, or NULL. Free it with mem_free. */
char *search_data_directory(void);
/* True if the file is in the directory of the plugins, links resolved: it came with this host. */
bool search_is_installed(const char *path);
/* True if the directory of the plugins has a file of the same name with the same contents. */
bool search_is_copy_of_installed(const char *path);
/* True if two files have the same contents. */
bool search_files_equal(const char *a, const char *b);

/*
 * Calls `visit` for each file of an entry, in order of name. Fails with the entry's fault if it has one, TN_NOT_FOUND
 * if the path does not exist, TN_LIMIT after SEARCH_FILES_MAX. `named`: the entry is this file, not a directory.
 */
int32_t search_files(const struct search_entry *entry, void (*visit)(void *user, const char *path, bool named),
                     void *user, struct error *error);

struct search_file {
    const char *path;
    const char *name; /* in the folder: the last part of the path; NULL if the entry is this file */
    int folder;       /* an open descriptor; -1 if the entry is this file */
    bool direct;      /* certainly not a symbolic link: it is in the folder */
};
/* The same, with more about each file. Everything is borrowed during the call. */
int32_t search_each_file(const struct search_entry *entry, void (*visit)(void *user, const struct search_file *file),
                         void *user, struct error *error);

#endif
