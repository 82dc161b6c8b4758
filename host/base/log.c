/*
 * log.c - writes log lines.
 *
 * The level is atomic; the other members change under the mutex, which is not held while the sink runs. A thread holds
 * a reference to its current log, so a worker that hangs in a plugin can outlive the host. The reference of a thread
 * that ends is released by the destructor of a thread-specific key.
 */
#include "host/base/log.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/terminal.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct log {
    _Atomic uint32_t references;
    _Atomic int32_t level;
    pthread_mutex_t mutex; /* guards the members below */
    log_sink_fn *sink;
    void *user;
    char *(*scrub)(void *scrub_user, const char *line); /* runs under the mutex */
    void *scrub_user;
};

static struct log process_log = {.level = LOG_WARN, .mutex = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct log *current_log; /* NULL for process_log */
static _Thread_local struct log_text remembered_text;
static pthread_once_t current_log_key_once = PTHREAD_ONCE_INIT;
static pthread_key_t current_log_key; /* its value is current_log; exists only for its destructor */

/* ---- Logs ---- */

struct log *log_new(void) {
    struct log *log = mem_zalloc(sizeof *log);
    log->references = 1;
    log->level = LOG_WARN;
    pthread_mutex_init(&log->mutex, NULL);
    return log;
}

struct log *log_ref(struct log *log) {
    if (log) atomic_fetch_add(&log->references, 1);
    return log;
}

void log_unref(struct log *log) {
    if (!log || atomic_fetch_sub(&log->references, 1) != 1) return;
    pthread_mutex_destroy(&log->mutex);
    mem_free(log);
}

static struct log *log_or_process(struct log *log) { return log ? log : &process_log; }

void log_set_level(struct log *log, int32_t level) { log_or_process(log)->level = level; }
int32_t log_level(const struct log *log) { return log ? log->level : process_log.level; }

void log_set_sink(struct log *log, log_sink_fn *sink, void *user) {
    log = log_or_process(log);
    pthread_mutex_lock(&log->mutex);
    log->sink = sink;
    log->user = user;
    pthread_mutex_unlock(&log->mutex);
}

static log_sink_fn *log_get_sink(struct log *log, void **user) {
    pthread_mutex_lock(&log->mutex);
    log_sink_fn *sink = log->sink;
    *user = log->user;
    pthread_mutex_unlock(&log->mutex);
    return sink;
}

void log_set_scrub(struct log *log, char *(*scrub)(void *user, const char *line), void *user) {
    pthread_mutex_lock(&log->mutex);
    log->scrub = scrub;
    log->scrub_user = user;
    pthread_mutex_unlock(&log->mutex);
}

/* A replacement that is longer than the line is cut. */
static void log_scrub_line(struct log *log, char *line, size_t size) {
    pthread_mutex_lock(&log->mutex);
    char *safe = log->scrub ? log->scrub(log->scrub_user, line) : NULL;
    pthread_mutex_unlock(&log->mutex);
    if (safe) snprintf(line, size, "%s", safe);
    mem_free(safe);
}

/* ---- The log of a thread ---- */

static void current_log_release(void *log) {
    current_log = NULL;
    log_unref(log);
}

static void current_log_key_create(void) {
    if (pthread_key_create(&current_log_key, current_log_release) != 0) mem_exhausted(sizeof current_log_key);
}

struct log *log_current(void) {
    return current_log;
}

void log_enter(struct log *log) {
    struct log *before = current_log;
    if (log == before) return;
    pthread_once(&current_log_key_once, current_log_key_create);
    current_log = log_ref(log);
    (void)pthread_setspecific(current_log_key, log);
    log_unref(before);
}

struct log_text log_remember(struct log_text remembered) {
    struct log_text before = remembered_text;
    remembered_text = remembered;
    if (remembered.text) remembered.text[0] = 0;
    return before;
}

/* ---- Lines ---- */

static const char *log_level_name(int32_t level) {
    static const char *const names[] = {"debug", "info", "warning", "error"};
    return level >= LOG_DEBUG && level <= LOG_ERROR ? names[level] : "error";
}

static void log_write_stderr(int32_t level, const char *who, const char *line) {
    struct buffer whole;
    buffer_init(&whole, SIZE_MAX);
    buffer_format(&whole, "tenon: %s: ", log_level_name(level));
    if (who) terminal_text(&whole, who, strlen(who), TERMINAL_LINE);
    if (who) buffer_text(&whole, ": ");
    terminal_text(&whole, line, strlen(line), TERMINAL_LINE);
    buffer_char(&whole, '\n');
    /* One write, so that lines of several threads do not mix. A failure is ignored: it cannot be reported anywhere. */
    ssize_t written = write(STDERR_FILENO, whole.data, whole.length);
    (void)written;
    buffer_finish(&whole);
}

__attribute__((format(printf, 4, 0))) static void log_write_line(struct log *log, int32_t level, const char *who,
                                                                 const char *format, va_list args) {
    bool remember = level >= LOG_ERROR && remembered_text.text, drop = level < log->level;
    if (drop && !remember) return;
    char line[LOG_LINE_MAX];
    if (vsnprintf(line, sizeof line, format, args) < 0) return;
    log_scrub_line(log, line, sizeof line);
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f) *at = ' ';
    if (remember) snprintf(remembered_text.text, remembered_text.size, "%s", line);
    if (drop) return;
    void *user;
    log_sink_fn *sink = log_get_sink(log, &user);
    if (!sink && log != &process_log) sink = log_get_sink(&process_log, &user);
    if (sink)
        sink(user, level, who, line);
    else
        log_write_stderr(level, who, line);
}

void log_write(int32_t level, const char *who, const char *format, ...) {
    va_list args;
    va_start(args, format);
    log_write_line(log_or_process(current_log), level, who, format, args);
    va_end(args);
}

void log_write_to(struct log *log, int32_t level, const char *who, const char *format, ...) {
    va_list args;
    va_start(args, format);
    log_write_line(log_or_process(log), level, who, format, args);
    va_end(args);
}
