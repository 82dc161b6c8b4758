/*
 * shim.c - preloaded into tenon: counts the calls that change the files of its store, and makes one of them fail.
 *
 *     CRASH_AT=12 CRASH_FAILURE=half CRASH_MARK=hit LD_PRELOAD=libcrash.so tenon run ...
 *
 * CRASH_FAILURE: `before` and `after` kill the process before or after the call; `half` writes half of the bytes and
 * kills it; `eio` fails this call; `enospc` fails it and all later writes, because a full disk stays full. The file
 * CRASH_MARK is created when it happens. If the file is missing at the end, there were fewer calls.
 *
 * CRASH_RANDOM: the system's random numbers are all zero, so that a new thread has the idempotency keys that it had in
 * the undisturbed run.
 *
 * The files of a store end with .db, .db-wal or .db-journal. The -shm file is left out: it is shared memory, and
 * nothing in it outlives its last process.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum failure { NOTHING, BEFORE, AFTER, HALF, FAIL };

static _Atomic long calls;

static int is_store_path(const char *path) {
    static const char *const ends[] = {".db", ".db-wal", ".db-journal"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (length >= end && strcmp(path + length - end, ends[i]) == 0) return 1;
    }
    return 0;
}

static int is_store_file(int fd) {
    char link[40], path[4096];
    int saved = errno;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (length < 0) return 0;
    path[length] = 0;
    return is_store_path(path);
}

static _Noreturn void die(void) {
    (void)kill(getpid(), SIGKILL);
    for (;;) (void)pause();
}

static void mark(void) {
    const char *path = getenv("CRASH_MARK");
    int fd = path ? open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) (void)close(fd);
}

/* Decides what happens to this call; kills the process if it must not be made. */
static enum failure decide(int writes) {
    const char *at = getenv("CRASH_AT"), *failure = getenv("CRASH_FAILURE");
    long chosen = at ? strtol(at, NULL, 10) : 0, now = atomic_fetch_add(&calls, 1) + 1;
    if (chosen < 1 || !failure || now < chosen) return NOTHING;
    int stays = strcmp(failure, "enospc") == 0;
    if (stays ? !writes : now != chosen) return NOTHING; /* a full disk still synchronizes and removes */
    mark();
    if (strcmp(failure, "after") == 0) return AFTER;
    if (strcmp(failure, "half") == 0 && writes) return HALF;
    if (strcmp(failure, "eio") != 0 && !stays) die();
    errno = stays ? ENOSPC : EIO;
    return FAIL;
}

/* ---- The calls ---- */

#define EXPORT __attribute__((visibility("default")))

/* Decides about a call on a file of the store; `half` and `all` make the call. */
#define CALL(type, is_ours, writes, half, all)                                                                         \
    do {                                                                                                               \
        enum failure failure = (is_ours) ? decide(writes) : NOTHING;                                                   \
        if (failure == FAIL) return -1;                                                                                \
        if (failure == HALF) {                                                                                         \
            (void)(half);                                                                                              \
            die();                                                                                                     \
        }                                                                                                              \
        type result = (type)(all);                                                                                     \
        if (failure == AFTER) die();                                                                                   \
        return result;                                                                                                 \
    } while (0)

EXPORT ssize_t write(int fd, const void *data, size_t size) {
    CALL(ssize_t, is_store_file(fd), 1, syscall(SYS_write, fd, data, size / 2), syscall(SYS_write, fd, data, size));
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    CALL(ssize_t, is_store_file(fd), 1, syscall(SYS_pwrite64, fd, data, size / 2, offset),
         syscall(SYS_pwrite64, fd, data, size, offset));
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }

EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    CALL(ssize_t, is_store_file(fd), 1, syscall(SYS_pwritev, fd, parts, count / 2, offset, 0),
         syscall(SYS_pwritev, fd, parts, count, offset, 0));
}

EXPORT int ftruncate64(int fd, off64_t size) { CALL(int, is_store_file(fd), 0, 0, syscall(SYS_ftruncate, fd, size)); }

EXPORT int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }
EXPORT int fsync(int fd) { CALL(int, is_store_file(fd), 0, 0, syscall(SYS_fsync, fd)); }
EXPORT int fdatasync(int fd) { CALL(int, is_store_file(fd), 0, 0, syscall(SYS_fdatasync, fd)); }
ssize_t getrandom(void *bytes, size_t size, unsigned flags);
EXPORT ssize_t getrandom(void *bytes, size_t size, unsigned flags) {
    if (!getenv("CRASH_RANDOM")) return syscall(SYS_getrandom, bytes, size, flags);
    memset(bytes, 0, size);
    return (ssize_t)size;
}
EXPORT int unlink(const char *path) { CALL(int, is_store_path(path), 0, 0, syscall(SYS_unlink, path)); }
