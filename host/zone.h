/*
 * zone.h - the named time zones of this machine, for expressions: "Europe/Berlin".
 *
 * A file of the system's zone database (TZDIR, else /usr/share/zoneinfo) is read when its zone is first asked for, and
 * kept while the process lives; ZONES_MAX of them, further ones are unknown.
 *
 *     const struct expr_env env = {.self = me, .name = lookup, .zone = zone_find};
 */
#ifndef TENON_HOST_ZONE_H
#define TENON_HOST_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZONES_MAX     1000u
#define ZONE_NAME_MAX 100u         /* bytes of a name */
#define ZONE_FILE_MAX (256u << 10) /* bytes of a zone's file */

/* The seconds east of UTC that the zone has at `utc`, seconds since 1970. False: no such zone. `self` is not used.
 * [any] */
bool zone_find(void *self, const char *name, size_t length, int64_t utc, int32_t *offset);

#endif
