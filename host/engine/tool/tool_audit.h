/*
 * tool_audit.h - the audit log: one line of JSON for each use of a tool, appended to a file that the operator chooses.
 *
 *     {"time", "run_id"?, "thread_id"?, "runner_id"?, "task_id", "tool", "effects", "approval", "by", "why", "caller"?,
 * "agreed"?, "duration_ms", "outcome", "input_bytes", "output_bytes", "arguments"?}
 *
 * `outcome` is "ok" or an error code. `agreed` is how the use was approved: "answer" (by a person) or "grant" (by the
 * caller). A line is one write in append mode, so lines of several processes do not mix. An interrupted use is logged
 * when it ends, by the process that ends it.
 *
 *     if (audit_ready(&audit, config, &error) != TN_OK) refuse(&error);   // fails only if the log is required
 *     audit_note_take(&audit, config, line);
 *     audit_finish(&audit);
 *
 * Thread: loop.
 */
#ifndef TENON_HOST_ENGINE_TOOL_TOOL_AUDIT_H
#define TENON_HOST_ENGINE_TOOL_TOOL_AUDIT_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

struct config;

#define AUDIT_LINE_MAX (64u << 10) /* bytes of a line; arguments that do not fit are replaced by a note */

struct audit {
    int descriptor; /* -1 if not open */
    bool warned;
};

#define AUDIT_INIT                                                                                                     \
    { -1, false }

void audit_finish(struct audit *audit);
bool audit_is_enabled(const struct config *config);
/* Opens the file. AUDIT_FAILED if tenon.yaml requires the log and the file cannot be opened. */
int32_t audit_ready(struct audit *audit, const struct config *config, struct error *error);
/* Writes a line. On failure: AUDIT_FAILED if the log is required; otherwise one warning, and TN_OK. */
int32_t audit_note_take(struct audit *audit, const struct config *config, tn_value line, struct error *error);

#endif
