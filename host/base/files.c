/*
 * files.c - reads the files that documents name.
 */
#include "host/base/files.h"
#include "adl/value/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "dir/a.yaml" and "b.yaml" become "dir/b.yaml". */
static tn_value path_beside(const char *from, const char *file) {
    const char *slash = from && file[0] != '/' ? strrchr(from, '/') : NULL;
    if (!slash) return value_format("%s", file);
    return value_format("%.*s%s", (int)(slash - from + 1), from, file);
}

static tn_value files_read_descriptor(int descriptor, const char **why) {
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        *why = "it is not a regular file";
        return NULL;
    }
    if (status.st_size > (off_t)FILES_LENGTH_MAX) {
        *why = "it is longer than 16 MiB";
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
    if (!value) *why = "it is not UTF-8";
    mem_free(text);
    return value;
}

tn_value files_read(void *self, const char *from, const char *file, char **path, const char **why) {
    (void)self;
    tn_value name = path_beside(from, file);
    char resolved[PATH_MAX];
    bool found = realpath(value_chars(name, NULL), resolved) != NULL;
    int descriptor = found ? open(resolved, O_RDONLY | O_CLOEXEC) : -1;
    value_unref(name);
    if (descriptor < 0) {
        *why = errno == ENOENT ? "no such file" : errno == EACCES ? "permission denied" : "it cannot be opened";
        return NULL;
    }
    tn_value text = files_read_descriptor(descriptor, why);
    close(descriptor);
    if (text) *path = mem_text(resolved);
    return text;
}
