/*
 * zone.c - a cache of zone files. A name may only contain letters, digits and `+-_/`, so it always refers to a file
 * below the folder of the zone database.
 */
#include "host/base/zone.h"
#include "adl/expr/zone.h"
#include "adl/value/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct zone {
    char *name;
    void *bytes; /* NULL if there is no such file */
    size_t length;
};

static pthread_mutex_t zones_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct zone *zones; /* unsorted, because programs use only a few zones */
static size_t zone_count;

static bool zone_name_is_safe(const char *name, size_t length) {
    if (!length || length > ZONE_NAME_MAX || name[0] == '/') return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter && !strchr("+-_/", c)) return false;
    }
    return true;
}

static void zone_load(struct zone *zone) {
    const char *folder = getenv("TZDIR");
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder && *folder ? folder : "/usr/share/zoneinfo", zone->name);
    if (length < 0 || (size_t)length >= sizeof path) return;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return;
    char *bytes = mem_array(NULL, ZONE_FILE_MAX, 1);
    size_t total = 0;
    ssize_t got = 1;
    while (got > 0 && total < ZONE_FILE_MAX) {
        got = read(descriptor, bytes + total, ZONE_FILE_MAX - total);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            total += (size_t)got;
    }
    close(descriptor);
    if (got == 0 && total) {
        zone->bytes = mem_zalloc(total);
        memcpy(zone->bytes, bytes, total);
        zone->length = total;
    }
    mem_free(bytes);
}

/* Called under the mutex. Returns a copy of the row: rows can move, the bytes never do. */
static struct zone zone_lookup(const char *name, size_t length) {
    for (size_t i = 0; i < zone_count; i++)
        if (strlen(zones[i].name) == length && memcmp(zones[i].name, name, length) == 0) return zones[i];
    if (zone_count == ZONES_MAX) return (struct zone){0};
    MEM_EXTEND(zones, zone_count);
    struct zone *zone = &zones[zone_count++];
    *zone = (struct zone){.name = mem_text_n(name, length)};
    zone_load(zone);
    return *zone;
}

bool zone_find(void *self, const char *name, size_t length, int64_t utc, int32_t *offset) {
    (void)self;
    if (!zone_name_is_safe(name, length)) return false;
    pthread_mutex_lock(&zones_mutex);
    struct zone zone = zone_lookup(name, length);
    pthread_mutex_unlock(&zones_mutex);
    return zone.bytes && zone_offset(zone.bytes, zone.length, utc, offset);
}
