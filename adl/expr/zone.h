/*
 * zone.h - the offset of a named time zone, read from the bytes of its TZif file (RFC 8536).
 *
 * The host finds and reads the file and keeps its bytes, because an expression does no I/O:
 *
 *     static bool zone(void *self, const char *name, size_t length, int64_t utc, int32_t *offset) {
 *         struct zone_file *file = zones_find(self, name, length);          // /usr/share/zoneinfo/<name>
 *         return file && zone_offset(file->bytes, file->length, utc, offset);
 *     }
 */
#ifndef TENON_ADL_EXPR_ZONE_H
#define TENON_ADL_EXPR_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns the offset at `utc` (seconds since 1970, years 1 to 9999) in seconds east of UTC. Returns false if the bytes,
 * which need not be trusted, are not a TZif file. Version 1 files end in 2037; their last offset applies afterwards.
 * Any thread.
 */
bool zone_offset(const void *bytes, size_t length, int64_t utc, int32_t *offset);

#endif
