/*
 * log.h - the folder of a store: its lock, and the log of what was committed.
 *
 * The folder has two files. `lock` is empty; a reader of the log holds a shared lock on it, a writer an exclusive one.
 * `log` has one line for each commit: a checksum, a blank, and JSON without line breaks. A commit is one write, which
 * is durable before it is acknowledged. If the process or the machine dies in it, the last line is torn: readers ignore
 * it, and the next writer removes it. A log that has grown too long is replaced with rename.
 *
 *     why = log_lock(&log, LOCK_EX);
 *     if (why == NULL) why = log_read(&log, on_line, store);   // what other processes have written since
 *     if (why == NULL) why = log_append(&log, json, length);   // on failure the log is as it was
 *     log_unlock(&log);
 *
 * The functions return a failure (tenon/store/base.h), or NULL. A log belongs to one thread at a time.
 */
#ifndef ACME_FOLDER_LOG_H
#define ACME_FOLDER_LOG_H

#include <sys/file.h>
#include <sys/types.h>
#include <tenon/store/base.h>
#include <tenon/util/text.h>

struct log {
    char *folder;
    struct tn_text_buffer first; /* the line that every log begins with; log_close frees it */
    int64_t busy_ms;             /* how long to wait for the lock */
    bool sync;                   /* wait for the disk */
    int lock, file;              /* descriptors; -1: closed */
    dev_t device;                /* of the file that is open: another process may have replaced it */
    ino_t inode;
    off_t known; /* bytes that were read or written; only whole lines */
};

/* Receives the JSON of a line. NULL `json`: forget everything, the log is read from its start. */
typedef tn_value log_line(void *user, const char *json, uint64_t length);

/* Creates the folder and its files if they do not exist. log_close is necessary also after a failure. */
tn_value log_open(struct log *log, const char *folder, uint64_t length);
void log_close(struct log *log);

/* `mode`: LOCK_SH or LOCK_EX. STORE_BUSY if another process holds the lock for longer than busy_ms. */
tn_value log_lock(struct log *log, int mode);
void log_unlock(struct log *log);

/*
 * Needs the lock. Calls `line` for every line since the last call. STORE_CORRUPT if a line is damaged, or if the file
 * does not begin as a log: log_append would overwrite the file of another program.
 */
tn_value log_read(struct log *log, log_line *line, void *user);
/* Needs the exclusive lock, and that the log has been read. STORE_FULL if there is no space. */
tn_value log_append(struct log *log, const char *json, uint64_t length);
/* The same, but replaces the whole log by these lines, each with its line break: atomic, also if the machine dies. */
tn_value log_replace(struct log *log, const char *lines, uint64_t length);

/* The line of this JSON: with its checksum and a line break. Appends it to `out`. */
void log_make_line(struct tn_text_buffer *out, const char *json, uint64_t length);

#endif
