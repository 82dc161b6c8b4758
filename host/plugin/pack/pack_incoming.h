/*
 * pack_incoming.h - the file that a pack is downloaded to: without a name until it is complete, so that nothing is left
 * if the process is killed.
 *
 *     struct pack_incoming incoming;
 *     if (pack_incoming_open(".", true, &incoming, &error) != TN_OK) return report(&error);
 *     … write to incoming.file …
 *     status = pack_incoming_publish(&incoming, "acme-1.0.0.tenonpack", false, &error);
 *     pack_incoming_close(&incoming);
 *
 * On file systems without such files (NFS), it has a temporary name in the same folder. Thread: any.
 */
#ifndef TENON_HOST_PLUGIN_PACK_PACK_INCOMING_H
#define TENON_HOST_PLUGIN_PACK_PACK_INCOMING_H

#include "adl/value/error.h"
#include <stdbool.h>

struct pack_incoming {
    int file;        /* open for reading and writing */
    char *temporary; /* its name, if it needs one; NULL otherwise */
};

/* `publish`: pack_incoming_publish may be called. Creates the folder if it does not exist. Fails with IO. */
int32_t pack_incoming_open(const char *folder, bool publish, struct pack_incoming *out, struct error *error);
/* Flushes the file to the disk and names it `path`. An existing file is replaced only with `force`: otherwise EXISTS.
 */
int32_t pack_incoming_publish(struct pack_incoming *incoming, const char *path, bool force, struct error *error);
void pack_incoming_close(struct pack_incoming *incoming);

#endif
