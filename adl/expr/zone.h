/*
 * zone.h - offsets of a named time zone, of the bytes of its TZif file (RFC 8536).
 *
 * Reading the file is the host's (an expression does no I/O); so is finding it, and keeping its bytes:
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
 * The seconds east of UTC at `utc` (seconds since 1970), years 1 to 9999. False where the bytes are no TZif file; they
 * may come from anywhere. Version 1 files, which know no year after 2037, keep their last offset. Any thread.
 */
bool zone_offset(const void *bytes, size_t length, int64_t utc, int32_t *offset);

#endif
