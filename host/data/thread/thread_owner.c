/*
 * thread_owner.c - locks of writers, on bytes of the file STORE-owners.
 *
 * The locks belong to an open file (F_OFD_SETLK), not to the process: two hosts of one process exclude each other, too.
 * The file stays empty, because bytes beyond its end can be locked.
 */
#include "host/data/thread/thread_owner.h"
#include "adl/value/buffer.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_records.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

/* True if there is no file of locks. */
static bool owner_file_is_missing(const struct store *store) {
    if (access(store_path(store), F_OK) != 0) return true;
    int descriptor = owner_open(store, 0);
    if (descriptor < 0) return errno == ENOENT;
    close(descriptor);
    return false;
}

#else

static bool owner_file_is_missing(const struct store *store) {
    (void)store;
    return true;
}

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

/* ---- The process of the writer ---- */

/* When the process started, in clock ticks since the start of the machine; -1 if it does not run. */
static int64_t process_start(int64_t pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[length] = 0;
    const char *at = strrchr(text, ')'); /* the end of the name, which can contain spaces */
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? strtoll(at, NULL, 10) : -1;
}

static void owner_host(char out[HOST_TEXT]) {
    if (gethostname(out, HOST_TEXT) != 0) out[0] = '\0';
    out[HOST_TEXT - 1] = '\0';
}

tn_value thread_owner_describe(void) {
    char host[HOST_TEXT];
    owner_host(host);
    tn_value owner = value_set_take(value_object_reserve(3), "pid", value_int(getpid()));
    owner = value_set_take(owner, "start", value_int(process_start(getpid())));
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

/*
 * True if the process that `owner` describes runs on this machine. Our own process does not count: it may have given up
 * the run, and two runs of one process meet at the fence.
 */
static bool owner_process_runs(tn_value owner) {
    char here[HOST_TEXT];
    int64_t pid, start;
    owner_host(here);
    return value_as_int(value_get(owner, "pid"), &pid) && value_as_int(value_get(owner, "start"), &start) &&
           value_text_is(value_get(owner, "host"), here) && start >= 0 && pid != getpid() &&
           process_start(pid) == start;
}

/* *lives: a host with the process id that `owner` describes uses the store. */
static int32_t owner_is_present(struct session *session, tn_value owner, bool *lives, struct error *error) {
    tn_value where = value_set_take(value_object_reserve(2), "host", value_ref(value_get(owner, "host"))), count = NULL;
    where = value_set_take(where, "pid", value_ref(value_get(owner, "pid")));
    tn_value query = value_set_take(value_object_reserve(2), "collection", value_text(STORE_HOSTS));
    query = value_set_take(query, "where", where);
    query = value_set_take(value_object_reserve(1), "count", query);
    int32_t status = session_query_take(session, query, &count, error);
    *lives = status == TN_OK && value_to_int(count) > 0;
    value_unref(count);
    return status;
}

int32_t thread_owner_error(const char *id, tn_value owner, struct error *error) {
    char who[THREAD_OWNER_TEXT];
    thread_owner_text(owner, who);
    return error_set(error, TN_INVALID, "OWNED",
                     "the thread `%s` is being run by %s: wait until that run has ended, stop it, or take the "
                     "thread over (`force`)",
                     id, who);
}

int32_t thread_owner_check(const struct store *store, const char *id, tn_value record, struct error *error) {
    char key[THREAD_KEY_MAX];
    tn_value owner = value_get(record, "owner");
    thread_key(key, id);
    if (!value_text_is(value_get(record, "status"), "running")) return TN_OK;
    if (!thread_owner_lives(store, key, thread_record_int(record, "fence", 0)) &&
        !(owner_file_is_missing(store) && owner_process_runs(owner)))
        return TN_OK;
    return thread_owner_error(id, owner, error);
}

int32_t thread_owner_check_remote(struct session *session, const char *id, tn_value record, struct error *error) {
    tn_value owner = value_get(record, "owner"), host = value_get(owner, "host");
    char here[HOST_TEXT];
    bool lives = false;
    owner_host(here);
    if (!value_text_is(value_get(record, "status"), "running") || !value_is(host, TN_STRING) ||
        !value_is(value_get(owner, "pid"), TN_INT) || value_text_is(host, here))
        return TN_OK;
    int32_t status = owner_is_present(session, owner, &lives, error);
    return status == TN_OK && lives ? thread_owner_error(id, owner, error) : status;
}
