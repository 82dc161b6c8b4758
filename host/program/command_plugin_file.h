/*
 * command_plugin_file.h - what `tenon plugin install` and `upgrade` share: checking the file of a plugin, and copying
 * it.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_PLUGIN_FILE_H
#define TENON_HOST_PROGRAM_COMMAND_PLUGIN_FILE_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>

struct host;
struct manifest;

/*
 * Checks a plugin as `tenon plugin check` does, without exercising its components. A program is not started; only its
 * manifest is checked. PLUGIN_INVALID with the first defect.
 */
bool plugin_file_check(struct host *host, const char *path, const struct manifest *manifest, struct error *error);
/*
 * Files that are copied together: all of them, or none. Each copy is made beside its place and flushed to the disk, so
 * that little can fail when they are renamed; if a rename fails nevertheless, the earlier ones are undone.
 *
 *     struct plugin_copies copies = {.count = 0};
 *     bool done = plugin_copies_add(&copies, "build/acme.so", "…/plugins/acme.so", &error) &&
 *                 plugin_copies_publish(&copies, &error);
 *     plugin_copies_finish(&copies);
 */
struct plugin_copies {
    struct plugin_copy *items;
    size_t count;
};
/* Copies `from` beside `to`, under a name that no search finds. */
bool plugin_copies_add(struct plugin_copies *copies, const char *from, const char *to, struct error *error);
/* Renames the copies to their places, in the order in which they were added. */
bool plugin_copies_publish(struct plugin_copies *copies, struct error *error);
/* Removes what was not renamed. */
void plugin_copies_finish(struct plugin_copies *copies);
/* Removes the copies that killed processes have left in a folder, and restores the files that they have renamed. */
void plugin_copies_remove_leftovers(const char *folder);
/* Copies one file in this way. */
bool plugin_file_copy(const char *from, const char *to, struct error *error);

#endif
