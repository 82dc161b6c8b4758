/*
 * token_file.c - the file with tokens, and its parent folders, which are created if necessary.
 */
#include "token_file.h"
#include "address.h"
#include "encode.h" /* in plugins/rest */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* FNV-1a with 64 bits: distinguishes names; it protects no secret. */
static uint64_t hash_text(uint64_t hash, const char *text) {
    for (; text != NULL && *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return (hash ^ 0xFF) * 1099511628211u;
}

char *token_file_path(const char *folder, const char *url, const char *client) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct address address;
    struct tn_text_buffer path = {.limit = PATH_MAX - 16};
    char hash[40];
    uint64_t a = hash_text(14695981039346656037u, url), b = hash_text(a, client);
    if (folder != NULL) {
        tn_text_append(&path, folder);
    } else if (state != NULL && *state == '/') {
        tn_text_append(&path, state);
        tn_text_append(&path, "/tenon/mcp");
    } else if (home != NULL && *home == '/') {
        tn_text_append(&path, home);
        tn_text_append(&path, "/.local/state/tenon/mcp");
    } else {
        return NULL;
    }
    (void)snprintf(hash, sizeof hash, "-%016llx.json", (unsigned long long)b);
    tn_text_append(&path, "/");
    if (address_read(url, &address)) tn_text_append_percent(&path, address.host, strlen(address.host), "");
    tn_text_append(&path, hash);
    char *result = path.status != TN_OK ? NULL : copy_text(tn_text_chars(&path));
    tn_text_free(&path);
    return result;
}

static tn_value token_file_fail(char *why, size_t size, const char *file, const char *what) {
    (void)snprintf(why, size, "%.300s: %s", file, what);
    return NULL;
}

static tn_value token_file_read_json(int descriptor, const char *file, char *why, size_t size) {
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
    if (got == 0 && tn.value->from_json(tn.host, text, used, &json, NULL) == TN_OK &&
        tn.value->kind(json) != TN_OBJECT) {
        tn_release(json);
        json = NULL;
    }
    if (text != NULL) explicit_bzero(text, OAUTH_FILE_MAX);
    mcp_free(text);
    if (json != NULL) return json;
    return token_file_fail(why, size, file,
                           "expected stored tokens, a JSON object of at most 256 KiB; remove the file");
}

tn_value token_file_read(const char *file, char *why, size_t size) {
    struct stat status;
    *why = '\0';
    int descriptor = file != NULL ? open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW) : -1;
    if (descriptor < 0) {
        const char *what =
            errno == ELOOP ? "the file is a symbolic link, which is not followed; remove it" : strerror(errno);
        if (file != NULL && errno != ENOENT && errno != ENOTDIR) (void)token_file_fail(why, size, file, what);
        return NULL;
    }
    tn_value record = NULL;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid())
        (void)token_file_fail(why, size, file, "the file does not belong to this user; its tokens are not used");
    else if ((status.st_mode & 077) != 0)
        (void)token_file_fail(why, size, file,
                              "other users can read the file; its tokens are not used (chmod 600, or remove it)");
    else
        record = token_file_read_json(descriptor, file, why, size);
    (void)close(descriptor);
    return record;
}

/* Creates the missing parent folders. */
static void make_folders(char *file) {
    for (char *slash = strchr(file + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(file, 0700);
        *slash = '/';
    }
}

static bool token_file_write_text(int descriptor, const char *text, size_t length) {
    while (length > 0) {
        ssize_t wrote = write(descriptor, text, length);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        text += wrote;
        length -= (size_t)wrote;
    }
    return fsync(descriptor) == 0;
}

bool token_file_write(const char *file, tn_value record, char *why, size_t size) {
    char temporary[PATH_MAX];
    uint64_t length = 0;
    tn_value json = tn_to_json(record);
    const char *text = tn_chars(json, &length);
    bool fits = text != NULL && length < OAUTH_FILE_MAX &&
                snprintf(temporary, sizeof temporary, "%s.XXXXXX", file) < (int)sizeof temporary;
    int descriptor = -1;
    if (fits) {
        make_folders(temporary);
        descriptor = mkostemp(temporary, O_CLOEXEC); /* 0600 */
    }
    bool good = descriptor >= 0 && token_file_write_text(descriptor, text, length);
    int failure = errno;
    if (descriptor >= 0) (void)close(descriptor);
    if (good && rename(temporary, file) != 0) good = false, failure = errno;
    if (!good && descriptor >= 0) (void)unlink(temporary);
    if (!good) (void)token_file_fail(why, size, file, fits ? strerror(failure) : "the data is too large for the file");
    tn_release(json);
    return good;
}
