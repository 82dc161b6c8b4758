/*
 * command_plugin_reset.h - describes the recorded deaths of a plugin, for `plugin list` and `doctor`.
 *
 *     if (plugin_deaths_describe(host_plugin_deaths(host, id), id, now_ms, &text)) puts(buffer_cstr(&text));
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_PLUGIN_RESET_H
#define TENON_HOST_PROGRAM_COMMAND_PLUGIN_RESET_H

#include "adl/value/value.h"
#include <stdint.h>

struct buffer;

/*
 * Appends one sentence, and returns the number of deaths. If `record`, which is that of host_plugin_deaths, is NULL,
 * returns 0 and appends nothing. The record is borrowed.
 */
int64_t plugin_deaths_describe(tn_value record, const char *plugin_id, int64_t now_ms, struct buffer *out);

#endif
