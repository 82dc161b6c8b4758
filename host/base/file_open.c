/*
 * file_open.c - opens a regular file below a folder, one step at a time.
 *
 * Each step opens a name of one component in the folder of the step before with O_NOFOLLOW. The kernel does not have to
 * have openat2 for this, and what another process renames meanwhile cannot lead out of the folder.
 */
#include "host/base/file_open.h"
#include "adl/value/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_hash(int descriptor, char hash[TN_SHA256_TEXT], int64_t *length) {
    char chunk[65536];
    struct tn_sha256 state;
    int64_t done = 0;
    ssize_t got;
    tn_sha256_init(&state);
    while ((got = pread(descriptor, chunk, sizeof chunk, (off_t)done)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        tn_sha256_update(&state, chunk, (uint64_t)got);
        done += got;
    }
    if (length) *length = done;
    tn_sha256_finish_text(&state, hash);
    return 0;
}

void file_open_failed(int failure, struct error *error) {
    bool missing = failure == ENOENT || failure == ENOTDIR;
    const char *why = missing             ? "no such file"
                      : failure == EACCES ? "permission denied"
                      : failure == ELOOP  ? "its links lead in a circle, or it was replaced by a link"
                                          : strerror(failure);
    error_set(error, missing ? TN_NOT_FOUND : TN_ERROR, "IO", "%s", why);
}

static const char *file_kind(mode_t mode) {
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a named pipe"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISLNK(mode)  ? "a link"
                            : "a device";
}

/* True for a regular file; otherwise sets the error. `result` is that of the call that filled `status`. */
static bool file_expect_regular(int result, const struct stat *status, struct error *error) {
    if (result != 0) {
        file_open_failed(errno, error);
        return false;
    }
    if (S_ISREG(status->st_mode)) return true;
    error_set(error, TN_INVALID, "IO", "found %s, expected a regular file", file_kind(status->st_mode));
    return false;
}

/*
 * Opens the last component. O_PATH opens nothing yet, so a pipe or a device does not notice that it is refused. Then
 * exactly that file is opened, whatever has its name now. If /proc cannot be used, it is opened by its name, and
 * checked again.
 */
static int file_open_last(int folder, const char *name, struct error *error) {
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    struct stat status;
    int place = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), descriptor = -1;
    if (!file_expect_regular(place < 0 ? -1 : fstat(place, &status), &status, error)) goto out;
    char path[sizeof "/proc/self/fd/" + 10];
    snprintf(path, sizeof path, "/proc/self/fd/%d", place);
    descriptor = open(path, flags);
    if (descriptor < 0 && (errno == ENOENT || errno == EACCES)) descriptor = openat(folder, name, flags | O_NOFOLLOW);
    if (!file_expect_regular(descriptor < 0 ? -1 : fstat(descriptor, &status), &status, error) && descriptor >= 0) {
        close(descriptor);
        descriptor = -1;
    }
out:
    if (place >= 0) close(place);
    return descriptor;
}

int file_open_below(const char *folder, const char *path, struct error *error) {
    int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *slash;
    for (; at >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        char name[NAME_MAX + 1];
        size_t length = (size_t)(slash - path);
        int next = -1;
        if (length < sizeof name) {
            memcpy(name, path, length);
            name[length] = '\0';
            next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        } else {
            errno = ENAMETOOLONG;
        }
        int failure = errno;
        close(at);
        at = next;
        errno = failure;
    }
    if (at < 0) {
        file_open_failed(errno, error);
        return -1;
    }
    int descriptor = file_open_last(at, *path ? path : ".", error);
    close(at);
    return descriptor;
}

tn_value file_read_text(int descriptor, size_t most, struct error *error) {
    struct stat status;
    if (!file_expect_regular(fstat(descriptor, &status), &status, error)) return NULL;
    if ((uint64_t)status.st_size > most) {
        error_set(error, TN_LIMIT, "LIMIT", "it is longer than %zu MiB", most >> 20);
        return NULL;
    }
    size_t length = (size_t)status.st_size, done = 0;
    char *text = mem_alloc(length + 1);
    while (done < length) {
        ssize_t got = read(descriptor, text + done, length - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += (size_t)got;
    }
    tn_value value = value_string(text, done);
    if (!value) error_set(error, TN_INVALID, "IO", "it is not UTF-8");
    mem_free(text);
    return value;
}
