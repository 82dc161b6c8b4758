/*
 * pack_kill.c - a preloaded library for tests/e2e/pack/killed.sh and tests/e2e/plugin/install_failure.sh: kills the
 * process, or fails one call, at the Nth step.
 *
 * NO_TMPFILE=1 makes the file system one without files that have no name, like NFS; NO_LINKS=1 one without links, like
 * FAT.
 *
 * A step is a call that changes the disk. KILL_AT=N kills the process before the Nth step; FAIL_AT=N makes it fail with
 * ENOSPC. STEPS names a file that is created when the step is reached.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int steps;

static int hit(const char *variable) {
    const char *at = getenv(variable);
    return at && atoi(at) == steps;
}

/* True if this step must fail. */
static int step(void) {
    steps++;
    int killed = hit("KILL_AT"), fails = hit("FAIL_AT");
    if ((killed || fails) && getenv("STEPS")) (void)symlink("hit", getenv("STEPS"));
    if (killed) (void)kill(getpid(), SIGKILL);
    if (fails) errno = ENOSPC;
    return fails;
}

#define WRAP(name, parameters, arguments)                                                                              \
    int name parameters {                                                                                              \
        int(*next) parameters = (int(*) parameters)(size_t)dlsym(RTLD_NEXT, #name);                                    \
        return step() ? -1 : next arguments;                                                                           \
    }

WRAP(mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode))
WRAP(rename, (const char *from, const char *to), (from, to))
WRAP(fsync, (int file), (file))
WRAP(remove, (const char *path), (path))

int link(const char *from, const char *to) {
    int (*next)(const char *, const char *) = (int (*)(const char *, const char *))(size_t)dlsym(RTLD_NEXT, "link");
    struct stat status;
    if (step()) return -1;
    if (getenv("NO_LINKS") && lstat(to, &status) != 0) {
        errno = EPERM;
        return -1;
    }
    return next(from, to);
}

int open(const char *path, int flags, ...) {
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))(size_t)dlsym(RTLD_NEXT, "open");
    bool temporary = (flags & O_TMPFILE) == O_TMPFILE;
    va_list more;
    va_start(more, flags);
    mode_t mode = temporary || flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (temporary && getenv("NO_TMPFILE")) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return next(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    int (*next)(int, const char *, int, ...) = (int (*)(int, const char *, int, ...))(size_t)dlsym(RTLD_NEXT, "openat");
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    if ((flags & O_CREAT) && step()) return -1;
    return next(folder, path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t length) {
    ssize_t (*next)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))(size_t)dlsym(RTLD_NEXT, "write");
    struct stat status;
    if (file > 2 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && step()) return -1;
    return next(file, bytes, length);
}
