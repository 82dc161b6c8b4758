/*
 * command_pack.h - what the commands of `tenon pack` share.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_PACK_H
#define TENON_HOST_PROGRAM_COMMAND_PACK_H

#include "host/program/command.h"

struct config;

#define PACK_WHICH_IS_USED "the newest trusted version of a pack is used, or the newest if none is trusted"

/* Reports the error, which is finished afterwards. Returns the exit code. */
int pack_command_fail(struct error *error);
/* The configuration, to be freed with config_free. On failure, prints an error and returns NULL. */
struct config *pack_load_config(const struct arguments *arguments);
/* Warns if a file of packs.trust cannot be read. Otherwise its key would silently count as not trusted. */
void pack_warn_about_trust(const struct config *config);

#endif
