/*
 * audit.h - the audit log: a line of JSON for every use of a tool, at the end of a file that the operator names.
 *
 *     {"time", "run_id"?, "thread_id"?, "runner_id"?, "task_id", "tool", "effects", "approval", "by", "why", "agreed"?,
 *      "duration_ms", "outcome", "input_bytes", "output_bytes", "arguments"?}
 *
 * `outcome` is "ok" or the error's code; `agreed` is by what a question was settled: "answer" (of a person), "grant"
 * (of the caller). A line is one write to a file opened for appending, so that lines of several processes do not mix.
 * A use that waits for an answer is noted when it has ended, by whichever process ends it.
 *
 *     if (audit_ready(&audit, config, &error) != TN_OK) refuse(&error);   // only where a line is required
 *     audit_note_take(&audit, config, line);
 *     audit_finish(&audit);
 *
 * Everything is [loop].
 */
#ifndef TENON_HOST_TOOL_AUDIT_H
#define TENON_HOST_TOOL_AUDIT_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

struct config;

#define AUDIT_LINE_MAX (64u << 10) /* bytes of a line; arguments that do not fit are left out, and it says so */

struct audit {
    int descriptor; /* -1: not open */
    bool warned;
};

#define AUDIT_INIT                                                                                                     \
    { -1, false }

void audit_finish(struct audit *audit);
bool audit_wanted(const struct config *config);
/* TN_OK, or, where tenon.yaml requires it and the file cannot be written, AUDIT_FAILED. */
int32_t audit_ready(struct audit *audit, const struct config *config, struct error *error);
/* Writes it. Where that fails: AUDIT_FAILED if it is required; else a warning, once, and TN_OK. */
int32_t audit_note_take(struct audit *audit, const struct config *config, tn_value line, struct error *error);

#endif
