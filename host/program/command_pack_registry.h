/*
 * command_pack_registry.h - packs in OCI registries: `tenon pack push`, `pull`, and `install oci://…`.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_PACK_REGISTRY_H
#define TENON_HOST_PROGRAM_COMMAND_PACK_REGISTRY_H

#include "adl/value/error.h"
#include "host/program/command.h"

struct pack;

/*
 * Downloads the pack that `reference` names, and opens it; nothing of it has a name in the file system. Sets *pinned to
 * its reference with the digest; free it with mem_free. Returns the exit code; a failure has been reported. The caller
 * checks the signature, and calls pack_close.
 */
int pack_download(const struct arguments *arguments, const char *reference, struct pack **pack, char **pinned);

#endif
