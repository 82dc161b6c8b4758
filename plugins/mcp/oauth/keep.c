/*
 * keep.c - the file, and the folders above it, which are made where they are not there.
 */
#include "keep.h"
#include "address.h"
#include "text.h" /* of plugins/rest */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* FNV-1a of 64 bits: tells names apart, and keeps no secret. */
static uint64_t mixed(uint64_t hash, const char *text) {
    for (; text != NULL && *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return (hash ^ 0xFF) * 1099511628211u;
}

char *keep_file(const char *folder, const char *url, const char *client) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct address address;
    struct text path = {.limit = PATH_MAX - 16};
    char hash[40];
    uint64_t a = mixed(14695981039346656037u, url), b = mixed(a, client);
    if (folder != NULL) {
        text_put(&path, folder);
    } else if (state != NULL && *state == '/') {
        text_put(&path, state);
        text_put(&path, "/tenon/mcp");
    } else if (home != NULL && *home == '/') {
        text_put(&path, home);
        text_put(&path, "/.local/state/tenon/mcp");
    } else {
        return NULL;
    }
    (void)snprintf(hash, sizeof hash, "-%016llx.json", (unsigned long long)b);
    text_put(&path, "/");
    if (address_read(url, &address)) text_percent(&path, address.host, strlen(address.host), "");
    text_put(&path, hash);
    char *made = path.failed ? NULL : copy_text(text_chars(&path));
    text_free(&path);
    return made;
}

static tn_value refuse(char *why, size_t size, const char *file, const char *what) {
    (void)snprintf(why, size, "%.300s: %s", file, what);
    return NULL;
}

static tn_value read_all(int descriptor, const char *file, char *why, size_t size) {
    char *text = tn.core->alloc(tn.host, OAUTH_FILE_MAX);
    tn_value json = NULL;
    size_t used = 0;
    ssize_t got = -1;
    while (text != NULL && used < OAUTH_FILE_MAX) {
        got = read(descriptor, text + used, OAUTH_FILE_MAX - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        used += (size_t)got;
    }
    if (got == 0 && tn.value->from_json(text, used, &json) == TN_OK && tn.value->kind(json) != TN_OBJECT) {
        tn_release(json);
        json = NULL;
    }
    if (text != NULL) explicit_bzero(text, OAUTH_FILE_MAX);
    give(text);
    if (json != NULL) return json;
    return refuse(why, size, file, "expected tokens that were kept, a JSON object of at most 256 KiB; remove the file");
}

tn_value keep_read(const char *file, char *why, size_t size) {
    struct stat status;
    *why = '\0';
    int descriptor = file != NULL ? open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW) : -1;
    if (descriptor < 0) {
        const char *what =
            errno == ELOOP ? "it is a symbolic link; tokens behind it are not used (remove it)" : strerror(errno);
        if (file != NULL && errno != ENOENT && errno != ENOTDIR) (void)refuse(why, size, file, what);
        return NULL;
    }
    tn_value record = NULL;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid())
        (void)refuse(why, size, file, "it is no file of this user's; tokens in it are not used");
    else if ((status.st_mode & 077) != 0)
        (void)refuse(why, size, file, "others may read it; tokens in it are not used (chmod 600, or remove it)");
    else
        record = read_all(descriptor, file, why, size);
    (void)close(descriptor);
    return record;
}

/* The folders above the file, those that are not there. */
static void make_folders(char *file) {
    for (char *slash = strchr(file + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(file, 0700);
        *slash = '/';
    }
}

static bool write_all(int descriptor, const char *text, size_t length) {
    while (length > 0) {
        ssize_t wrote = write(descriptor, text, length);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        text += wrote;
        length -= (size_t)wrote;
    }
    return fsync(descriptor) == 0;
}

bool keep_write(const char *file, tn_value record, char *why, size_t size) {
    char temporary[PATH_MAX];
    uint64_t length = 0;
    tn_value json = tn.value->to_json(record);
    const char *text = tn_chars(json, &length);
    bool fits = text != NULL && length < OAUTH_FILE_MAX &&
                snprintf(temporary, sizeof temporary, "%s.XXXXXX", file) < (int)sizeof temporary;
    int descriptor = -1;
    if (fits) {
        make_folders(temporary);
        descriptor = mkostemp(temporary, O_CLOEXEC); /* 0600 */
    }
    bool good = descriptor >= 0 && write_all(descriptor, text, length);
    int failure = errno;
    if (descriptor >= 0) (void)close(descriptor);
    if (good && rename(temporary, file) != 0) good = false, failure = errno;
    if (!good && descriptor >= 0) (void)unlink(temporary);
    if (!good) (void)refuse(why, size, file, fits ? strerror(failure) : "what there is to keep is too much");
    tn_release(json);
    return good;
}
