/*
 * zone.h - the named time zones of this machine, for expressions: "Europe/Berlin".
 *
 * The file of a zone (below TZDIR, or /usr/share/zoneinfo) is read when the zone is first used, and kept until the
 * process ends. After ZONES_MAX zones, further zones are unknown.
 *
 *     const struct expr_env env = {.self = me, .name = lookup, .zone = zone_find};
 */
#ifndef TENON_HOST_BASE_ZONE_H
#define TENON_HOST_BASE_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZONES_MAX     1000u
#define ZONE_NAME_MAX 100u         /* bytes of a name */
#define ZONE_FILE_MAX (256u << 10) /* bytes of a zone's file */

/*
 * Sets *offset to the zone's offset in seconds east of UTC at `utc`, in seconds since 1970. Returns false if the zone
 * is unknown. `self` is not used. Thread: any.
 */
bool zone_find(void *self, const char *name, size_t length, int64_t utc, int32_t *offset);

#endif
