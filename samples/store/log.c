/*
 * log.c - see log.h.
 */
#include "log.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHECKSUM_DIGITS 8
#define POLL_NS         2000000 /* between two attempts to lock */

/* ---- Failures ---- */

static tn_value log_failure(const struct log *log, const char *what, int number) {
    const char *code = number == ENOSPC || number == EDQUOT || number == EFBIG  ? "STORE_FULL"
                       : number == EROFS || number == EACCES || number == EPERM ? "STORE_READ_ONLY"
                                                                                : "STORE_ERROR";
    return tn_store_failure(code, "%s: cannot %s: %s", log->folder, what, strerror(number));
}

/* ---- Lines ---- */

/* CRC-32, as in gzip. */
static uint32_t checksum(const char *bytes, uint64_t length) {
    uint32_t crc = 0xffffffffu;
    for (uint64_t i = 0; i < length; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

void log_make_line(struct tn_text_buffer *out, const char *json, uint64_t length) {
    tn_text_append_format(out, "%08x ", (unsigned)checksum(json, length));
    tn_text_append_n(out, json, length);
    tn_text_append_char(out, '\n');
}

/* True if the line, without its line break, has the checksum that it begins with. */
static bool line_is_whole(const char *line, uint64_t length) {
    char expected[CHECKSUM_DIGITS + 2];
    if (length <= CHECKSUM_DIGITS) return false;
    (void)snprintf(expected, sizeof(expected), "%08x ",
                   (unsigned)checksum(line + CHECKSUM_DIGITS + 1, length - CHECKSUM_DIGITS - 1));
    return memcmp(line, expected, CHECKSUM_DIGITS + 1) == 0;
}

/* ---- Opening ---- */

static int open_in(const struct log *log, const char *name, int flags) {
    char *path = NULL;
    struct tn_text_buffer text = TN_TEXT_BUFFER(0);
    tn_text_append(&text, log->folder);
    tn_text_append(&text, name);
    path = text.status == TN_OK ? text.bytes : NULL;
    int file = path != NULL ? open(path, flags | O_CLOEXEC, 0600) : -1;
    int number = path != NULL ? errno : ENOMEM;
    tn_text_free(&text);
    errno = number;
    return file;
}

/* A file that was created or renamed is durable when its folder is. Returns 0 or the error. */
static int sync_folder(const struct log *log, const char *name) {
    int folder = open_in(log, name, O_RDONLY | O_DIRECTORY);
    int number = folder < 0 || fsync(folder) != 0 ? errno : 0;
    if (folder >= 0) (void)close(folder);
    return number;
}

tn_value log_open(struct log *log, const char *folder, uint64_t length) {
    struct stat status;
    log->lock = log->file = -1;
    log->folder = tn_store_alloc(length + 1);
    if (log->folder == NULL) return tn_store_failure_memory();
    while (length > 1 && folder[length - 1] == '/') length--;
    memcpy(log->folder, folder, length);
    bool created = mkdir(log->folder, 0700) == 0;
    if (!created && errno != EEXIST) return log_failure(log, "create the folder", errno);
    int number = created && log->sync ? sync_folder(log, "/..") : 0;
    if (number != 0) return log_failure(log, "create the folder", number);
    if (stat(log->folder, &status) == 0 && !S_ISDIR(status.st_mode))
        return tn_store_failure("INVALID", "%s is a file; `path` must be a folder, or not exist", log->folder);
    log->lock = open_in(log, "/lock", O_RDWR | O_CREAT);
    return log->lock >= 0 ? NULL : log_failure(log, "open `lock`", errno);
}

void log_close(struct log *log) {
    if (log->lock >= 0) (void)close(log->lock);
    if (log->file >= 0) (void)close(log->file);
    log->lock = log->file = -1;
    tn_store_free(log->folder);
    log->folder = NULL;
    tn_text_free(&log->first);
}

/* ---- Locking ---- */

/* The lock of flock ends with the process, also after kill -9. */
tn_value log_lock(struct log *log, int mode) {
    int64_t end_ns = tn.core->monotonic_ns(tn.host) + log->busy_ms * 1000000;
    struct timespec pause = {0, POLL_NS};
    while (flock(log->lock, mode | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK) return log_failure(log, "lock the folder", errno);
        if (tn.core->monotonic_ns(tn.host) >= end_ns)
            return tn_store_failure_retryable_take(tn_store_failure(
                "STORE_BUSY", "%s: another process has used the store for %lld ms; retry, or set `busy_ms`",
                log->folder, (long long)log->busy_ms));
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

void log_unlock(struct log *log) { (void)flock(log->lock, LOCK_UN); }

/* ---- Reading ---- */

/* Opens the log, again if another process has replaced it. */
static tn_value log_follow(struct log *log, log_line *line, void *user) {
    struct stat found;
    int file = open_in(log, "/log", O_RDWR | O_CREAT);
    if (file < 0 || fstat(file, &found) != 0) {
        tn_value why = log_failure(log, "open `log`", errno);
        if (file >= 0) (void)close(file);
        return why;
    }
    if (log->file >= 0 && log->device == found.st_dev && log->inode == found.st_ino && found.st_size >= log->known) {
        (void)close(file);
        return NULL;
    }
    if (log->file >= 0) (void)close(log->file);
    log->file = file;
    log->device = found.st_dev;
    log->inode = found.st_ino;
    log->known = 0;
    return line(user, NULL, 0);
}

/* Reads the rest of the file, from the first byte that is not known. */
static tn_value log_read_rest(const struct log *log, char **out, uint64_t *length) {
    struct stat status;
    *length = 0;
    if (fstat(log->file, &status) != 0) return log_failure(log, "read `log`", errno);
    uint64_t size = status.st_size > log->known ? (uint64_t)(status.st_size - log->known) : 0;
    *out = size > 0 ? tn_store_alloc(size) : NULL;
    if (size > 0 && *out == NULL) return tn_store_failure_memory();
    while (*length < size) {
        ssize_t got = pread(log->file, *out + *length, size - *length, log->known + (off_t)*length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return log_failure(log, "read `log`", errno);
        if (got == 0) break;
        *length += (uint64_t)got;
    }
    return NULL;
}

/*
 * The last line, which is damaged, is torn: it was never acknowledged. At the start of the file, it must be a part of
 * the first line; anything else was not written by this store.
 */
static bool line_can_be_torn(const struct log *log, const char *line, uint64_t length) {
    return log->known > 0 || (length < log->first.length && memcmp(line, log->first.bytes, length) == 0);
}

tn_value log_read(struct log *log, log_line *line, void *user) {
    char *bytes = NULL;
    uint64_t length = 0, at = 0;
    tn_value why = log_follow(log, line, user);
    if (why == NULL) why = log_read_rest(log, &bytes, &length);
    while (why == NULL && at < length) {
        const char *end = memchr(bytes + at, '\n', length - at);
        uint64_t next = end != NULL ? (uint64_t)(end - bytes) + 1 : length;
        if (end == NULL || !line_is_whole(bytes + at, next - 1 - at)) {
            if (next == length && line_can_be_torn(log, bytes + at, length - at)) break;
            if (log->known == 0)
                why = tn_store_failure("STORE_CORRUPT",
                                       "%s/log does not begin as a log of this store; set another `path`, or restore a "
                                       "backup",
                                       log->folder);
            else
                why = tn_store_failure("STORE_CORRUPT", "%s/log: the line at byte %lld is damaged; restore a backup",
                                       log->folder, (long long)log->known);
            break;
        }
        why = line(user, bytes + at + CHECKSUM_DIGITS + 1, next - at - CHECKSUM_DIGITS - 2);
        if (why == NULL) log->known += (off_t)(next - at);
        at = next;
    }
    tn_store_free(bytes);
    return why;
}

/* ---- Writing ---- */

/* Writes everything at this place, and waits for the disk. Returns 0 or the error. */
static int write_all(int file, const char *bytes, uint64_t length, off_t at, bool sync) {
    for (uint64_t done = 0; done < length;) {
        ssize_t wrote = pwrite(file, bytes + done, length - done, at + (off_t)done);
        if (wrote < 0 && errno != EINTR) return errno;
        if (wrote > 0) done += (uint64_t)wrote;
    }
    return sync && fdatasync(file) != 0 ? errno : 0;
}

tn_value log_append(struct log *log, const char *json, uint64_t length) {
    struct tn_text_buffer line = TN_TEXT_BUFFER(0);
    int number = 0;
    log_make_line(&line, json, length);
    if (line.status != TN_OK) {
        tn_text_free(&line);
        return tn_store_failure_memory();
    }
    /* A torn line of a process that died is after the known bytes; the new line must not join it. */
    if (ftruncate(log->file, log->known) != 0) number = errno;
    if (number == 0) number = write_all(log->file, line.bytes, line.length, log->known, log->sync);
    if (number == 0 && log->known == 0 && log->sync) number = sync_folder(log, "");
    if (number == 0)
        log->known += (off_t)line.length;
    else if (ftruncate(log->file, log->known) != 0) /* a whole line would count as committed: damage its checksum */
        (void)!pwrite(log->file, "-", 1, log->known);
    tn_text_free(&line);
    return number == 0 ? NULL : log_failure(log, "write `log`", number);
}

tn_value log_replace(struct log *log, const char *lines, uint64_t length) {
    struct tn_text_buffer from = TN_TEXT_BUFFER(0), to = TN_TEXT_BUFFER(0);
    struct stat status;
    tn_text_append_format(&from, "%s/log.new", log->folder);
    tn_text_append_format(&to, "%s/log", log->folder);
    int file = open_in(log, "/log.new", O_RDWR | O_CREAT | O_TRUNC), number = file < 0 ? errno : 0;
    if (number == 0) number = write_all(file, lines, length, 0, true);
    if (number == 0 && fstat(file, &status) != 0) number = errno;
    if (number == 0 && rename(tn_text_chars(&from), tn_text_chars(&to)) != 0) number = errno;
    if (number == 0) {
        if (log->file >= 0) (void)close(log->file);
        log->file = file;
        log->device = status.st_dev;
        log->inode = status.st_ino;
        log->known = (off_t)length;
        number = log->sync ? sync_folder(log, "") : 0;
        if (number != 0) log->inode = 0; /* read it again: the caller takes the lines for not written */
    } else if (file >= 0) {
        (void)close(file);
        (void)unlink(tn_text_chars(&from));
    }
    tn_text_free(&from);
    tn_text_free(&to);
    return number == 0 ? NULL : log_failure(log, "replace `log`", number);
}
