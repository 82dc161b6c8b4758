/*
 * root_file.c - opens a file one step at a time, without following links below the root.
 */
#include "root_file.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT_FILE_SEGMENT_MAX 255u

static const char outside[] = "is not named by a path below `upload_roots`: use a relative path without `..`";

/* The rest of an absolute name below the folder; NULL if it is elsewhere. */
static const char *name_below(const char *folder, const char *name) {
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/') length--;
    return strncmp(name, folder, length) == 0 && name[length] == '/' ? name + length + 1 : NULL;
}

/* Opens the next step of a path from a folder, which is closed. */
static int open_step(int folder, const char *segment, int flags) {
    int opened = openat(folder, segment, flags | O_NOFOLLOW | O_CLOEXEC);
    int saved = errno;
    (void)close(folder);
    errno = saved;
    return opened;
}

/* Returns a descriptor, or -1 with errno; EINVAL if the name has an empty step, `.` or `..`. */
static int open_below(const char *folder, const char *name) {
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (at >= 0) {
        char segment[ROOT_FILE_SEGMENT_MAX + 1];
        size_t length = strcspn(name, "/");
        if (length == 0 || length > ROOT_FILE_SEGMENT_MAX || (length == 1 && name[0] == '.') ||
            (length == 2 && name[0] == '.' && name[1] == '.')) {
            (void)close(at);
            errno = EINVAL;
            return -1;
        }
        memcpy(segment, name, length);
        segment[length] = 0;
        name += length;
        if (*name == 0) return open_step(at, segment, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        name++;
        at = open_step(at, segment, O_RDONLY | O_DIRECTORY);
    }
    return -1;
}

static const char *read_all(int file, struct tn_text_buffer *out) {
    uint64_t before = out->length;
    char chunk[65536];
    ssize_t got;
    while ((got = read(file, chunk, sizeof(chunk))) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got > 0 && tn_text_append_n(out, chunk, (uint64_t)got) == TN_OK) continue;
        out->length = before;
        return got < 0 ? "cannot be read" : out->status == TN_LIMIT ? "is too long" : "does not fit into memory";
    }
    return NULL;
}

const char *root_file_read(tn_value folders, const char *name, struct tn_text_buffer *out) {
    const char *why = outside;
    for (uint64_t i = 0, count = tn.value->count(folders); i < count; i++) {
        const char *folder = tn_chars(tn.value->at(folders, i), NULL);
        const char *below = *name == '/' ? name_below(folder, name) : name;
        struct stat status;
        if (below == NULL) continue;
        int file = open_below(folder, below);
        if (file < 0) {
            if (errno != EINVAL)
                why = errno == ELOOP                      ? "is a symbolic link, which is not followed"
                      : errno == EACCES || errno == EPERM ? "cannot be read: permission denied"
                                                          : "does not exist below `upload_roots`";
            continue;
        }
        if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
            why = read_all(file, out);
        else
            why = "is not a regular file";
        (void)close(file);
        return why;
    }
    return why;
}
