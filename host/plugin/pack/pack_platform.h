/*
 * pack_platform.h - the platforms that the plugins of a pack are built for: "linux/amd64", or
 * "linux/amd64,linux/arm64".
 *
 * The names are those of OCI images (GOOS/GOARCH). A pack without shared objects and compiled programs has none, and is
 * for all platforms.
 *
 *     tn_value platforms;
 *     if (pack_read_platforms(pack, &platforms, &error) != TN_OK) return report(&error);   // also checks every hash
 *     if (!pack_platforms_fit(value_chars(platforms, NULL))) …
 *
 * Thread: any.
 */
#ifndef TENON_HOST_PLUGIN_PACK_PACK_PLATFORM_H
#define TENON_HOST_PLUGIN_PACK_PACK_PLATFORM_H

#include "host/plugin/pack/pack.h"

/* Reads all files of the pack, as pack_read_files does. *out is a new text, sorted and without repetition; "" for none.
 */
int32_t pack_read_platforms(struct pack *pack, tn_value *out, struct error *error);
/* True if the list is empty, or has the platform of this host. */
bool pack_platforms_fit(const char *platforms);
/* "linux/amd64". */
const char *pack_host_platform(void);

#endif
