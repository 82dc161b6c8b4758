/*
 * web_log.c - writes the access log: a line is one write, so lines of several processes do not mix.
 */
#include "host/server/web/web_log.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/base/random.h"
#include "host/base/time_text.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct web_log {
    char *path; /* NULL: standard error */
    int descriptor;
    bool failing; /* the last line could not be written */
    bool broken;  /* only a part of it was written */
    struct buffer line;
};

static int log_open(const char *path) { return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640); }

struct web_log *web_log_new(tn_value where, struct error *error) {
    struct web_log *log = mem_zalloc(sizeof *log);
    bool off = where && value_is(where, TN_BOOL) && !value_to_bool(where);
    log->descriptor = off ? -1 : STDERR_FILENO;
    if (where && value_is(where, TN_STRING) && !value_text_is(where, "-")) {
        log->path = mem_text(value_chars(where, NULL));
        log->descriptor = log_open(log->path);
    }
    if (log->descriptor < 0 && !off) {
        error_set(error, TN_FAILED, "IO", "the access log %s cannot be opened: %s; check `serve.log` in tenon.yaml",
                  log->path, strerror(errno));
        web_log_free(log);
        return NULL;
    }
    buffer_init(&log->line, SIZE_MAX);
    return log;
}

void web_log_free(struct web_log *log) {
    if (!log) return;
    if (log->path && log->descriptor >= 0) close(log->descriptor);
    buffer_finish(&log->line);
    mem_free(log->path);
    mem_free(log);
}

void web_log_reopen(struct web_log *log) {
    int descriptor = log->path ? log_open(log->path) : -1;
    if (!log->path) return;
    if (descriptor < 0) {
        log_write(LOG_ERROR, NULL, "the access log %s cannot be opened again: %s; the old file is used", log->path,
                  strerror(errno));
        return;
    }
    close(log->descriptor);
    log->descriptor = descriptor;
    log->broken = false;
}

/* `"name":"text",`; nothing if the text is NULL. It is cut, and malformed UTF-8 is replaced. */
static void member_write(struct buffer *line, const char *name, const char *text) {
    if (!text) return;
    size_t length = strnlen(text, WEB_LOG_TEXT);
    tn_value value = value_string_lossy(text, length);
    buffer_format(line, ",\"%s\":", name);
    json_write(line, value, JSON_COMPACT);
    value_unref(value);
}

static void line_write(struct buffer *out, const struct web_log_line *line, bool after_part) {
    char time[TIME_TEXT];
    time_text(line->time_ms, time);
    buffer_clear(out);
    if (after_part) buffer_char(out, '\n');
    buffer_format(out, "{\"time\":\"%s\"", time);
    member_write(out, "id", line->id);
    member_write(out, "address", line->address);
    member_write(out, "key", line->key);
    member_write(out, "method", line->method);
    member_write(out, "route", line->route);
    member_write(out, "path", line->path);
    buffer_format(out, ",\"status\":%d,\"ms\":%lld.%03d,\"bytes_in\":%llu,\"bytes_out\":%llu", line->status,
                  (long long)(line->us / 1000), (int)(line->us % 1000), (unsigned long long)line->bytes_in,
                  (unsigned long long)line->bytes_out);
    member_write(out, "code", line->code);
    member_write(out, "reason", line->reason);
    buffer_text(out, "}\n");
}

void web_log_write(struct web_log *log, const struct web_log_line *line) {
    if (log->descriptor < 0) return;
    line_write(&log->line, line, log->broken);
    ssize_t written = write(log->descriptor, log->line.data, log->line.length);
    bool failed = written != (ssize_t)log->line.length;
    if (failed && !log->failing)
        log_write(LOG_ERROR, NULL, "a line of the access log cannot be written: %s; requests are served all the same",
                  written < 0 ? strerror(errno) : "the disk is full");
    log->failing = failed;
    if (written > 0) log->broken = failed && log->line.data[written - 1] != '\n';
}

static bool is_token(const char *text) {
    size_t length = strlen(text);
    return length > 0 && length <= WEB_ID_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") == length;
}

void web_log_id(const char *given, char out[WEB_ID_TEXT]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[12];
    if (given && is_token(given)) {
        memcpy(out, given, strlen(given) + 1);
        return;
    }
    random_fill(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * sizeof bytes] = '\0';
}
