/*
 * thread_owner.c - locks of writers, on bytes of the file STORE-owners.
 *
 * The locks belong to an open file (F_OFD_SETLK), not to the process: two hosts of one process exclude each other, too.
 * The file stays empty, because bytes beyond its end can be locked.
 */
#include "host/data/thread/thread_owner.h"
#include "adl/value/buffer.h"
#include "host/data/store/store.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HOST_TEXT 65

#ifdef F_OFD_SETLK

/* FNV-1a over the key and the fence. Two writers with the same byte are as improbable as two equal hashes of 62 bits.
 */
static off_t owner_byte(const char *key, int64_t fence) {
    uint64_t hash = 14695981039346656037u;
    for (const char *at = key; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    for (int i = 0; i < 8; i++) hash = (hash ^ (((uint64_t)fence >> (8 * i)) & 0xff)) * 1099511628211u;
    return (off_t)(hash >> 2);
}

static struct flock owner_lock(const char *key, int64_t fence) {
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = owner_byte(key, fence), .l_len = 1};
}

/*
 * Returns -1 if the store has no file, or its folder accepts no new file. A link is not followed: an isolated store may
 * change the folder, and must not make the host open another file.
 */
static int owner_open(const struct store *store, int flags) {
    const char *path = store_path(store);
    if (access(path, F_OK) != 0) return -1;
    struct buffer name;
    buffer_init(&name, SIZE_MAX);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    buffer_format(&name, "%.*s-owners", (int)length, path);
    int descriptor = open(buffer_cstr(&name), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | flags, 0600);
    buffer_finish(&name);
    return descriptor;
}

bool thread_owner_lives(const struct store *store, const char *key, int64_t fence) {
    struct flock lock = owner_lock(key, fence);
    int descriptor = owner_open(store, 0);
    if (descriptor < 0) return false;
    bool lives = fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(descriptor);
    return lives;
}

int thread_owner_lock(const struct store *store, const char *key, int64_t fence, bool *taken) {
    struct flock lock = owner_lock(key, fence);
    *taken = false;
    int descriptor = owner_open(store, O_CREAT);
    if (descriptor < 0 || fcntl(descriptor, F_OFD_SETLK, &lock) == 0) return descriptor;
    *taken = errno == EAGAIN || errno == EACCES;
    close(descriptor);
    return -1;
}

#else

bool thread_owner_lives(const struct store *store, const char *key, int64_t fence) {
    (void)store, (void)key, (void)fence;
    return false;
}

int thread_owner_lock(const struct store *store, const char *key, int64_t fence, bool *taken) {
    (void)store, (void)key, (void)fence;
    *taken = false;
    return -1;
}

#endif

void thread_owner_unlock(int lock) {
    if (lock >= 0) close(lock);
}

/* ---- For messages ---- */

static void owner_host(char out[HOST_TEXT]) {
    if (gethostname(out, HOST_TEXT) != 0) out[0] = '\0';
    out[HOST_TEXT - 1] = '\0';
}

tn_value thread_owner_describe(void) {
    char host[HOST_TEXT];
    owner_host(host);
    tn_value owner = value_set_take(value_object_reserve(2), "pid", value_int(getpid()));
    return value_set_take(owner, "host", value_string_lossy(host, strlen(host)));
}

void thread_owner_text(tn_value owner, char out[THREAD_OWNER_TEXT]) {
    char here[HOST_TEXT];
    tn_value pid = value_get(owner, "pid"), host = value_get(owner, "host");
    int64_t number;
    owner_host(here);
    if (!pid || !value_as_int(pid, &number))
        snprintf(out, THREAD_OWNER_TEXT, "another process");
    else if (value_is(host, TN_STRING) && !value_text_is(host, here))
        snprintf(out, THREAD_OWNER_TEXT, "process %lld on %s", (long long)number, value_chars(host, NULL));
    else
        snprintf(out, THREAD_OWNER_TEXT, "process %lld", (long long)number);
}
