/*
 * tool_audit.c - writes the audit log.
 *
 * The file is opened for the first line, and opened again after a failure, because the cause may be temporary.
 */
#include "host/engine/tool/tool_audit.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "host/base/config/config.h"
#include "host/base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void audit_finish(struct audit *audit) {
    if (audit->descriptor >= 0) close(audit->descriptor);
    audit->descriptor = -1;
}

bool audit_is_enabled(const struct config *config) { return config_tool_audit(config) != NULL; }

static bool is_audit_required(const struct config *config) { return config_tool_flag(config, "audit_required"); }

static int32_t audit_failed(struct audit *audit, const struct config *config, const char *what, int number,
                            struct error *error) {
    const char *path = config_tool_audit(config), *why = strerror(number);
    audit_finish(audit);
    if (is_audit_required(config))
        return error_set(error, TN_FAILED, "AUDIT_FAILED", "tools.audit_required is set, but %s cannot be %s: %s",
                         path ? path : "the audit log", path ? what : "opened", path ? why : "tools.audit is not set");
    if (!audit->warned) log_write(LOG_WARN, NULL, "tool uses are not logged: %s cannot be %s: %s", path, what, why);
    audit->warned = true;
    return TN_OK;
}

int32_t audit_ready(struct audit *audit, const struct config *config, struct error *error) {
    const char *path = config_tool_audit(config);
    if (!path) return is_audit_required(config) ? audit_failed(audit, config, "opened", 0, error) : TN_OK;
    if (audit->descriptor >= 0) return TN_OK;
    /* Do not wait for the reader of a FIFO, and do not acquire a terminal. */
    audit->descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    return audit->descriptor >= 0 ? TN_OK : audit_failed(audit, config, "opened", errno, error);
}

static void append_audit_line(struct buffer *text, tn_value line) {
    json_write(text, line, JSON_COMPACT);
    buffer_char(text, '\n');
}

int32_t audit_note_take(struct audit *audit, const struct config *config, tn_value line, struct error *error) {
    struct buffer text;
    int32_t status = audit_ready(audit, config, error);
    if (status != TN_OK || audit->descriptor < 0) {
        value_unref(line);
        return status;
    }
    buffer_init(&text, AUDIT_LINE_MAX);
    append_audit_line(&text, line);
    if (text.overflow) {
        buffer_finish(&text);
        buffer_init(&text, AUDIT_LINE_MAX);
        line = value_set_take(line, "arguments", value_text("too long for the audit log"));
        append_audit_line(&text, line);
    }
    ssize_t written;
    do written = write(audit->descriptor, buffer_cstr(&text), text.length);
    while (written < 0 && errno == EINTR);
    if (written != (ssize_t)text.length)
        status = audit_failed(audit, config, "written", written < 0 ? errno : ENOSPC, error);
    buffer_finish(&text);
    value_unref(line);
    return status;
}
