/*
 * command_plugin_file.h - what `tenon plugin install` and `upgrade` share: checking the file of a plugin, and copying
 * it.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_PLUGIN_FILE_H
#define TENON_HOST_PROGRAM_COMMAND_PLUGIN_FILE_H

#include "adl/value/error.h"
#include <stdbool.h>

struct host;
struct manifest;

/*
 * Checks a plugin as `tenon plugin check` does, without exercising its components. A program is not started; only its
 * manifest is checked. PLUGIN_INVALID with the first defect.
 */
bool plugin_file_check(struct host *host, const char *path, const struct manifest *manifest, struct error *error);
/* Copies `from` into the folder of `to`, flushes the copy to the disk, then renames it to `to`. */
bool plugin_file_copy(const char *from, const char *to, struct error *error);

#endif
