/*
 * watch_memory.c - the memory that the plugin's process really uses.
 *
 * The kernel's limit of data counts private mappings that are writable now. A process can fill a mapping, make it
 * read-only, and make another one; with process.spawn it can also share memory. The limit of addresses alone would
 * permit sixteen times the memory. So the watch looks at what is in use, and ends the plugin if it is too much.
 */
#include "host/base/log.h"
#include "host/plugin/sandbox/sandbox.h"
#include "host/plugin/sandbox/watch_internal.h"
#include <stdio.h>
#include <sys/resource.h>

#define SLACK (64ull << 20) /* bytes: what is in use without being data, such as pages that were relocated */

uint64_t watch_memory_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur > SANDBOX_MEMORY_MAX) return SANDBOX_MEMORY_MAX + SLACK;
    return (uint64_t)limit.rlim_cur + SLACK;
}

/* Bytes of anonymous and shared memory in use, and swapped; 0 if the process has ended. */
static uint64_t memory_in_use(pid_t pid) {
    char path[64], line[256];
    unsigned long long total = 0, kib;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %llu", &kib) == 1 || sscanf(line, "RssShmem: %llu", &kib) == 1 ||
            sscanf(line, "VmSwap: %llu", &kib) == 1)
            total += kib;
    if (file) fclose(file);
    return (uint64_t)total << 10;
}

bool watch_memory_exceeded(const struct watch_state *watch) {
    if (memory_in_use(watch->plugin) <= watch->memory) return false;
    log_write(LOG_ERROR, NULL, "sandbox: the process is killed because it uses more than %llu MiB of memory",
              (unsigned long long)(watch->memory >> 20));
    return true;
}
