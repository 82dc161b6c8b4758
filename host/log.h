/*
 * log.h - one line for each thing worth telling the operator, on standard error or to whoever embeds the host.
 *
 *     log_write(LOG_WARN, "acme.search", "retrying in %d ms", wait);      // tenon: warning: acme.search: retrying …
 *
 * [any thread] Lines are cut at LOG_LINE_MAX, control characters in them are replaced, and each is written at once.
 */
#ifndef TENON_HOST_LOG_H
#define TENON_HOST_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <tenon.h>

#define LOG_DEBUG    TN_LOG_DEBUG
#define LOG_INFO     TN_LOG_INFO
#define LOG_WARN     TN_LOG_WARN
#define LOG_ERROR    TN_LOG_ERROR
#define LOG_LINE_MAX 4096u

/* `who` is a plugin's id, or NULL for the host itself. Never asked for values, keys or secrets. */
void log_write(int32_t level, const char *who, const char *format, ...) __attribute__((format(printf, 3, 4)));
void log_set_level(int32_t level); /* what is below is dropped; LOG_WARN to begin with */
int32_t log_level(void);
/* Where lines go instead of standard error; NULL: back there. The line has no line end, and is borrowed. */
void log_set_sink(void (*sink)(void *user, int32_t level, const char *who, const char *line), void *user);

/*
 * While `text` is set, it has the last error that this thread has written, whatever the level is; "" where there was
 * none. NULL: no longer. Returns what was set before, to be set again.
 */
struct log_text {
    char *text;
    size_t size;
};
struct log_text log_remember(struct log_text remembered);

#endif
