/*
 * command_plugin_reset.h - describes the recorded deaths of a plugin, for `plugin list` and `doctor`.
 *
 *     if (plugin_deaths_describe(host, "acme.search", &text)) puts(buffer_cstr(&text));
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_PLUGIN_RESET_H
#define TENON_HOST_PROGRAM_COMMAND_PLUGIN_RESET_H

#include <stdint.h>

struct buffer;
struct host;

/* Appends one sentence, and returns the number of deaths. If there is none, returns 0 and appends nothing. */
int64_t plugin_deaths_describe(const struct host *host, const char *plugin_id, struct buffer *out);

#endif
