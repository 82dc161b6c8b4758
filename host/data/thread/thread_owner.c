/*
 * thread_owner.c - locks of writers, on bytes of the file STORE-owners.
 *
 * The locks belong to an open file (F_OFD_SETLK), not to the process. The hosts of a process share one for each file of
 * locks, so the table of locks is what excludes two writers of this process from each other; the kernel excludes those
 * of other processes. The file stays empty, because bytes beyond its end can be locked.
 */
#include "host/data/thread/thread_owner.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_records.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static struct flock owner_range(const char *key, int64_t fence) {
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = owner_byte(key, fence), .l_len = 1};
}

/* The path of the file of locks. */
static void owner_name(const struct store *store, struct buffer *name) {
    const char *path = store_path(store);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    buffer_init(name, SIZE_MAX);
    buffer_format(name, "%.*s-owners", (int)length, path);
}

/*
 * Returns -1 if the store has no file, or its folder accepts no new file. A link is not followed: an isolated store may
 * change the folder, and must not make the host open another file.
 */
static int owner_open(const struct store *store, int flags) {
    if (access(store_path(store), F_OK) != 0) return -1;
    struct buffer name;
    owner_name(store, &name);
    int descriptor = open(buffer_cstr(&name), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | flags, 0600);
    buffer_finish(&name);
    return descriptor;
}

bool thread_owner_lives(const struct store *store, const char *key, int64_t fence) {
    struct flock lock = owner_range(key, fence);
    int descriptor = owner_open(store, 0);
    if (descriptor < 0) return false;
    bool lives = fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(descriptor);
    return lives;
}

/* ---- The locks of this process ---- */

struct owner_lock {
    struct owner_lock *next; /* in its bucket */
    struct owner_file *file;
    off_t byte;
};

struct owner_file {
    struct owner_file *next;
    dev_t device;
    ino_t inode;
    int descriptor;
    size_t count, bucket_count; /* locks; bucket_count is a power of two */
    struct owner_lock **buckets;
};

static pthread_mutex_t owner_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct owner_file *owner_files; /* that have a lock; under the mutex */

static struct owner_lock **owner_bucket(const struct owner_file *file, off_t byte) {
    return &file->buckets[(size_t)byte & (file->bucket_count - 1)];
}

static bool owner_file_has(const struct owner_file *file, off_t byte) {
    const struct owner_lock *lock = *owner_bucket(file, byte);
    while (lock && lock->byte != byte) lock = lock->next;
    return lock != NULL;
}

static void owner_file_grow(struct owner_file *file) {
    struct owner_file old = *file;
    file->bucket_count *= 2;
    file->buckets = mem_zalloc(file->bucket_count * sizeof *file->buckets);
    for (size_t i = 0; i < old.bucket_count; i++) {
        for (struct owner_lock *lock = old.buckets[i], *next; lock; lock = next) {
            struct owner_lock **bucket = owner_bucket(file, lock->byte);
            next = lock->next;
            lock->next = *bucket;
            *bucket = lock;
        }
    }
    mem_free((void *)old.buckets);
}

static struct owner_file *owner_file_find(const struct stat *status) {
    struct owner_file *file = owner_files;
    while (file && (file->device != status->st_dev || file->inode != status->st_ino)) file = file->next;
    return file;
}

static void owner_file_close_unused(struct owner_file *file) {
    if (file->count) return;
    struct owner_file **place = &owner_files;
    while (*place != file) place = &(*place)->next;
    *place = file->next;
    close(file->descriptor);
    mem_free((void *)file->buckets);
    mem_free(file);
}

/* The open file of locks of a store; NULL if there is none. */
static struct owner_file *owner_file_open(const struct store *store) {
    struct stat status;
    struct buffer name;
    owner_name(store, &name);
    bool exists = lstat(buffer_cstr(&name), &status) == 0 && access(store_path(store), F_OK) == 0;
    buffer_finish(&name);
    struct owner_file *file = exists ? owner_file_find(&status) : NULL;
    if (file) return file;
    int descriptor = owner_open(store, O_CREAT);
    if (descriptor < 0) return NULL;
    if (fstat(descriptor, &status) != 0 || (file = owner_file_find(&status)) != NULL) {
        close(descriptor);
        return file;
    }
    file = mem_zalloc(sizeof *file);
    *file = (struct owner_file){.next = owner_files,
                                .device = status.st_dev,
                                .inode = status.st_ino,
                                .descriptor = descriptor,
                                .bucket_count = 16};
    file->buckets = mem_zalloc(file->bucket_count * sizeof *file->buckets);
    owner_files = file;
    return file;
}

/* Under the mutex. */
static struct owner_lock *owner_lock_take(struct owner_file *file, struct flock range, bool *taken) {
    *taken = owner_file_has(file, range.l_start);
    if (*taken) return NULL;
    if (fcntl(file->descriptor, F_OFD_SETLK, &range) != 0) {
        *taken = errno == EAGAIN || errno == EACCES;
        return NULL;
    }
    if (++file->count > file->bucket_count) owner_file_grow(file);
    struct owner_lock *lock = mem_alloc(sizeof *lock), **bucket = owner_bucket(file, range.l_start);
    *lock = (struct owner_lock){*bucket, file, range.l_start};
    *bucket = lock;
    return lock;
}

struct owner_lock *thread_owner_lock(const struct store *store, const char *key, int64_t fence, bool *taken) {
    *taken = false;
    pthread_mutex_lock(&owner_mutex);
    struct owner_file *file = owner_file_open(store);
    struct owner_lock *lock = file ? owner_lock_take(file, owner_range(key, fence), taken) : NULL;
    if (file) owner_file_close_unused(file);
    pthread_mutex_unlock(&owner_mutex);
    return lock;
}

void thread_owner_unlock(struct owner_lock *lock) {
    if (!lock) return;
    pthread_mutex_lock(&owner_mutex);
    struct owner_file *file = lock->file;
    struct flock range = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = lock->byte, .l_len = 1};
    struct owner_lock **place = owner_bucket(file, lock->byte);
    while (*place != lock) place = &(*place)->next;
    *place = lock->next;
    (void)fcntl(file->descriptor, F_OFD_SETLK, &range);
    file->count--;
    owner_file_close_unused(file);
    pthread_mutex_unlock(&owner_mutex);
    mem_free(lock);
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

struct owner_lock *thread_owner_lock(const struct store *store, const char *key, int64_t fence, bool *taken) {
    (void)store, (void)key, (void)fence;
    *taken = false;
    return NULL;
}

void thread_owner_unlock(struct owner_lock *lock) { (void)lock; }

#endif

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

bool thread_owner_runs(tn_value owner, bool *here) {
    char host[HOST_TEXT];
    owner_host(host);
    *here = value_text_is(value_get(owner, "host"), host);
    return owner_process_runs(owner);
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
