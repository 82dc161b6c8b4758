/*
 * log.h - the log of a host: lines for the operator, on standard error or to a sink.
 *
 * Each host has one log. `loop_enter` and each job of a worker make it the current log of their thread; log_write
 * writes to the current log. A thread without a host writes to the log of the process, which the functions below call
 * NULL. A log without a sink writes where the log of the process writes.
 *
 *     struct log *log = log_new();
 *     log_set_level(log, LOG_INFO);
 *     log_enter(log);
 *     log_write(LOG_WARN, "acme.search", "retrying in %d ms", wait);      // tenon: warning: acme.search: retrying …
 *     log_enter(NULL);
 *     log_unref(log);
 *
 * Thread: any, for all functions. A line is cut at LOG_LINE_MAX bytes, control characters in it become spaces, and it
 * is written with one system call.
 */
#ifndef TENON_HOST_BASE_LOG_H
#define TENON_HOST_BASE_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <tenon.h>

#define LOG_DEBUG    TN_LOG_DEBUG
#define LOG_INFO     TN_LOG_INFO
#define LOG_WARN     TN_LOG_WARN
#define LOG_ERROR    TN_LOG_ERROR
#define LOG_LINE_MAX 4096u

struct log;

/* Receives one line. `who` may be NULL. The line has no line end and is borrowed for the time of the call. */
typedef void log_sink_fn(void *user, int32_t level, const char *who, const char *line);

struct log *log_new(void);            /* one reference; level LOG_WARN, no sink */
struct log *log_ref(struct log *log); /* NULL is allowed and returned */
void log_unref(struct log *log);      /* NULL is allowed */
/* The current log of this thread; borrowed until the next log_enter. NULL if it is the process's log. */
struct log *log_current(void);
void log_enter(struct log *log); /* makes it the current log of this thread, which then holds a reference */

/* Lines below the level are dropped. `log` may be NULL. */
void log_set_level(struct log *log, int32_t level);
int32_t log_level(const struct log *log);
/*
 * Replaces the sink of `log` (NULL for the process's log). A NULL sink restores the default. A line that another thread
 * writes at the same time can still reach the old sink.
 */
void log_set_sink(struct log *log, log_sink_fn *sink, void *user);
/*
 * Replaces each line of `log` by what `scrub` returns (mem_free it), unless it returns NULL. When the call returns, no
 * other thread runs the old function any more. NULL: lines are not changed.
 */
void log_set_scrub(struct log *log, char *(*scrub)(void *user, const char *line), void *user);

/* `who` is a plugin's id, or NULL for the host itself. Do not write values, keys or secrets to the log. */
void log_write(int32_t level, const char *who, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* As log_write, to `log` (NULL for the process's log) instead of the current log: for threads that a plugin started. */
void log_write_to(struct log *log, int32_t level, const char *who, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * While `text` is not NULL, it receives the last error that this thread writes, even if the level drops the line. It
 * is emptied first. Returns the previous setting, which the caller restores.
 */
struct log_text {
    char *text;
    size_t size;
};
struct log_text log_remember(struct log_text remembered);

#endif
