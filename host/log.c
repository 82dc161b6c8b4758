/*
 * log.c - the one place that writes log lines. The sink is set once, before threads are started; the level is atomic.
 */
#include "host/log.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Atomic int32_t lowest = LOG_WARN;
static void (*sink_function)(void *user, int32_t level, const char *who, const char *line);
static void *sink_user;
static _Thread_local struct log_text remembered_here;

void log_set_level(int32_t level) { lowest = level; }
int32_t log_level(void) { return lowest; }

void log_set_sink(void (*sink)(void *user, int32_t level, const char *who, const char *line), void *user) {
    sink_function = sink;
    sink_user = user;
}

struct log_text log_remember(struct log_text remembered) {
    struct log_text before = remembered_here;
    remembered_here = remembered;
    if (remembered.text) remembered.text[0] = 0;
    return before;
}

static const char *level_name(int32_t level) {
    static const char *const names[] = {"debug", "info", "warning", "error"};
    return level >= LOG_DEBUG && level <= LOG_ERROR ? names[level] : "error";
}

void log_write(int32_t level, const char *who, const char *format, ...) {
    bool remembers = level >= LOG_ERROR && remembered_here.text;
    if (level < lowest && !remembers) return;
    char line[LOG_LINE_MAX];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length < 0) return;
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f) *at = ' ';
    if (remembers) snprintf(remembered_here.text, remembered_here.size, "%s", line);
    if (level < lowest) return;
    if (sink_function) {
        sink_function(sink_user, level, who, line);
        return;
    }
    char whole[LOG_LINE_MAX + 160];
    length =
        snprintf(whole, sizeof whole, "tenon: %s: %s%s%s\n", level_name(level), who ? who : "", who ? ": " : "", line);
    size_t size = (size_t)length < sizeof whole ? (size_t)length : sizeof whole - 1;
    /* One write, so that lines of several threads do not mix; a log that cannot be written is nobody's failure. */
    if (write(STDERR_FILENO, whole, size) < 0) return;
}
