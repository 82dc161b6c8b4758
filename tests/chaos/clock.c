/*
 * clock.c - preloaded into tenon: CHAOS_CLOCK_MS milliseconds are added to the time of day, as if this host's clock
 * were wrong. The monotonic clocks stay right, so timers keep their length.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define NS     1000000000

/* Read once, before any thread exists. */
static int64_t offset_ms;

__attribute__((constructor)) static void read_offset(void) {
    const char *text = getenv("CHAOS_CLOCK_MS");
    offset_ms = text != NULL ? strtoll(text, NULL, 10) : 0;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *out) {
    int status = (int)syscall(SYS_clock_gettime, clock, out);
    if (status != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return status;
    int64_t ns = out->tv_nsec + offset_ms % 1000 * 1000000;
    out->tv_sec += (time_t)(offset_ms / 1000 + (ns >= NS) - (ns < 0));
    out->tv_nsec = (long)(ns >= NS ? ns - NS : ns < 0 ? ns + NS : ns);
    return 0;
}

/* glibc declares the second parameter differently in each version of the standard; it is obsolete and not used. */
EXPORT int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

EXPORT time_t time(time_t *out) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) *out = now.tv_sec;
    return now.tv_sec;
}

EXPORT int timespec_get(struct timespec *out, int base) {
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, out) == 0 ? base : 0;
}
